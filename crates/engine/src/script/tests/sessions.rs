//! Sessions, timers and reloads.

use super::*;

#[test]
fn events_are_told_and_timers_fire_in_order() {
    let script = script(
        r#"
        every("10s", function(session) log("tick", session.time) end)
        on_open(function(session)
          log("open", session.player)
          after("5s", function() log("once") end)
        end)
        on_state(function(session) log(session.state) end)
        on_close(function() log("close") end)"#,
    );
    let mut pipeline = pipeline(&script);
    let context = context(1, 47);
    assert!(pipeline.is_active());
    let said_at = |pipeline: &mut Pipeline, event, seconds| {
        said(&pipeline.on_event(event, &moment(&context, seconds)))
    };
    assert_eq!(said_at(&mut pipeline, SessionEvent::Open, 0), ["open Steve"]);
    assert_eq!(said_at(&mut pipeline, SessionEvent::State, 1), ["play"]);
    let mut fired = Vec::new();
    for _ in 0..4 {
        let due = pipeline.poll_timeout().unwrap().0 / 1_000_000_000;
        fired.push((due, said(&pipeline.on_timeout(&moment(&context, due)))));
    }
    let text = |text: &str| vec![text.to_owned()];
    let expected = [
        (5, text("once")),
        (10, text("tick 10.0")),
        (20, text("tick 20.0")),
        (30, text("tick 30.0")),
    ];
    assert_eq!(fired, expected);
    // What was missed is not made up for.
    assert_eq!(said(&pipeline.on_timeout(&moment(&context, 100))), ["tick 100.0"]);
    assert_eq!(pipeline.poll_timeout(), Some(Timestamp(110_000_000_000)));
    assert_eq!(said_at(&mut pipeline, SessionEvent::Close, 101), ["close"]);
    assert_eq!(pipeline.poll_timeout(), None);
}

#[test]
fn a_timer_is_stopped_and_one_of_a_call_that_fails_never_starts() {
    let script = script(
        r#"
        local timer
        on("chat", function(p)
          if p.message == "start" then timer = every("1s", function() log("tick") end) end
          if p.message == "stop" then timer:stop() end
          if p.message == "fail" then after("1s", function() log("never") end); error("oops") end
        end)"#,
    );
    let mut pipeline = pipeline(&script);
    pipeline.apply(&chat("fail"));
    assert_eq!(pipeline.poll_timeout(), None);
    pipeline.apply(&chat("start"));
    assert_eq!(pipeline.poll_timeout(), Some(Timestamp(1_000_000_000)));
    pipeline.apply(&chat("stop"));
    assert_eq!(pipeline.poll_timeout(), None);
}

#[test]
fn a_reload_keeps_the_variables_and_stops_the_old_timers() {
    let first = script(
        r#"every("1s", function() log("old") end)
           on("chat", function(p, s)
             s.vars.list = {1, {x = "y"}}
             s.vars.none = function() end
             run.vars.count = (run.vars.count or 0) + 1
           end)"#,
    );
    let mut old = pipeline(&first);
    old.apply(&chat("x"));
    old.apply(&chat("x"));
    let mut second = script(
        r#"on_open(function(s) log(s.vars.list[2].x, s.vars.none, run.vars.count) end)
           on("chat", function() end)"#,
    );
    second.carry_over(&first);
    assert_eq!(second.counts()[0].matched, 2);
    let mut new = pipeline(&second);
    new.take_over(old);
    let context = context(1, 47);
    let effects = new.on_event(SessionEvent::Open, &moment(&context, 9));
    assert_eq!(said(&effects), ["y nil 2"]);
    assert_eq!(new.poll_timeout(), None);
}

#[test]
fn variables_of_a_run_are_shared_and_those_of_a_session_are_not() {
    let script = script(
        r#"on("chat", function(p, s)
             s.vars.n = (s.vars.n or 0) + 1
             run.vars.n = (run.vars.n or 0) + 1
             run.vars.name = "x"
             local names = {}
             for name, value in pairs(run.vars) do names[#names + 1] = name .. "=" .. tostring(value) end
             log(s.vars.n, table.concat(names, " "))
           end)"#,
    );
    let mut one = pipeline(&script);
    let mut other = pipeline(&script);
    assert_eq!(said(&one.apply(&chat("x")).effects), ["1 n=1 name=x"]);
    assert_eq!(said(&one.apply(&chat("x")).effects), ["2 n=2 name=x"]);
    assert_eq!(said(&other.apply(&chat("x")).effects), ["1 n=3 name=x"]);
    let table = says("on('chat', function() run.vars.t = {} end)", &chat("x"));
    assert_eq!(table, ["x.lua:1: a variable of the run is a number, a string or a boolean"]);
}

#[test]
fn a_player_is_kicked() {
    let judgement = judge("on('chat', function(p, s) s:kick('enough') end)", &chat("x"));
    assert_eq!(
        (judgement.verdict, judgement.effects.close.as_deref()),
        (Verdict::Drop, Some("enough"))
    );
}

#[test]
fn faults_have_their_places() {
    let found = faults("on('chat', function() end\n");
    assert!(
        found[0].contains("error: ')' expected (to close '(' at line 1) near <eof>"),
        "{found:?}"
    );
    let text = "local x = 1\non('chat and mesage == \"x\"', function() end)\n";
    assert_eq!(
        faults(text),
        [
            "error: no packet has a field `mesage`\n --> x.lua:2:14\n  | on('chat and mesage == \"x\"', function() end)\n  |              ^^^^^^ did you mean `message`?"
        ]
    );
    assert_eq!(
        faults("on('chat', function() end)\n  nonsense()"),
        [
            "error: attempt to call a nil value (global 'nonsense')\n --> x.lua:2:3\n  |   nonsense()\n  |   ^^^^^^^^^^"
        ]
    );
    assert_eq!(
        faults("while true do end")[0].lines().next().unwrap(),
        "error: ran for too long: an endless loop?"
    );
    assert!(faults("on_open(function() end) log(session)").is_empty());
}

#[test]
fn callbacks_are_not_registered_later() {
    let found = says("on('chat', function() on('chat', function() end) end)", &chat("x"));
    assert!(
        found[0].starts_with("x.lua:1: callbacks are registered while the script is loaded"),
        "{found:?}"
    );
}

/// Returns the faults but those about versions.
fn mistakes(text: &str) -> Vec<String> {
    faults(text).into_iter().filter(|it| !it.contains("only versions")).collect()
}

#[test]
fn what_callbacks_mention_is_checked_before_they_run() {
    for (line, wanted) in [
        ("lgo(packet.message)", "there is no function `lgo`|did you mean `log`?"),
        ("log(string.frmat('%d', 1))", "there is no function `string.frmat`"),
        ("log(packet.mesage)", "no packet has a field `mesage`|did you mean `message`?"),
        ("packet.mesage = 'x'", "no packet has a field `mesage`"),
        ("packet:drpo()", "a packet has no function `drpo`|did you mean `drop`?"),
        ("log(packet.pkt.sise)", "no packet has a property `pkt.sise`|did you mean `size`?"),
        ("log(session.plyer)", "a session has no `plyer`|did you mean `player`?"),
        ("session:sned('client', 'chat')", "a session has no `sned`|did you mean `send`?"),
        ("session:send('client', 'chta', {})", "no packet `chta`"),
        ("packet:replace('chta', {})", "no packet `chta`"),
        ("if true then\n  for _ = 1, 2 do nothing() end end", "there is no function `nothing`"),
    ] {
        let text =
            format!("on('chat and serverbound', function(packet, session)\n  {line}\nend)\n");
        let found = mistakes(&text);
        assert_eq!(found.len(), 1, "{line}: {found:?}");
        assert!(found[0].starts_with("warning: ") && found[0].contains(" --> x.lua:"), "{found:?}");
        for wanted in wanted.split('|') {
            assert!(found[0].contains(wanted), "{line}: {}", found[0]);
        }
    }
}

#[test]
fn what_a_script_defines_itself_is_not_missing() {
    for line in [
        "local function say(x) log(x) end\n say(packet.message)",
        "helper = function() end\n helper()",
        "local packet = {}\n log(packet.anything, packet:whatever())",
        "local t = {message = 1, call = log}\n t.call(t.other)",
        "log(packet.fields.message, packet['mesage'], #packet.message)",
        "local f <const>, g = log, log\n f(1) g(2)",
        "for _, call in ipairs({log}) do call(1) end",
        "log('packet.mesage', \"x\" --[[ packet.mesage ]]) -- nothing()",
        "pcall(error, {}) string.format('%d', 1) utf8.char(1) table.concat({})",
        "after('1s', function(other) log(other.player) other:kick('x') end)",
        "local other = packet\n return other.anything",
    ] {
        let text = format!("on('chat and serverbound', function(packet, session)\n  {line}\nend)");
        assert_eq!(mistakes(&text), [""; 0], "{line}");
    }
    for example in ["answer", "anti-spam", "brand", "home", "jitter", "tab-list"] {
        let path = format!("{}/../../examples/scripts/{example}.lua", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        assert_eq!(mistakes(&text), [""; 0], "{example}");
    }
}
