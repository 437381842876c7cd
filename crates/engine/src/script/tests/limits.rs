//! The sandbox.

use super::*;
use crate::filter::Filter as _;
use crate::script::lua_filter::LuaFilter;
use mitmcraft_protocol::codec::MemoryBudget;

/// Returns the message of a callback with this body, on line 2, that has to fail while the packet passes.
fn fails(body: &str) -> String {
    let judgement = judge(&format!("on('chat', function(p, s)\n{body}\nend)"), &chat("x"));
    assert_eq!(judgement.verdict, Verdict::Pass, "{body}");
    let messages = judgement.effects.messages;
    assert_eq!(messages.len(), 1, "{body}: {messages:?}");
    assert!(messages[0].is_error, "{body}: {messages:?}");
    messages[0].text.clone()
}

#[test]
fn endless_loops_end_with_an_error_however_they_are_hidden() {
    for body in [
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "while true do pcall(error) end",
        "xpcall(function() while true do end end, function() while true do end end)",
        "local t = setmetatable({}, {__index = function(t, k) return t[k + 1] end}); while true do pcall(function() return t[1] end) end",
        "local function f() return f() end f()",
        "for _ in function() return 1 end do end",
        "table.move({}, 1, math.maxinteger - 1, 2)",
        "string.gsub(('x'):rep(1000), '.', function() while true do end end)",
        "while true do pcall(string.find, ('a'):rep(50000), ('.-'):rep(30) .. 'b') end",
    ] {
        let message = fails(body);
        assert_eq!(message, "x.lua:2: ran for too long: an endless loop?", "{body}");
    }
}

#[test]
fn patterns_and_texts_are_bounded() {
    for body in [
        "string.find(('a'):rep(50000), ('.-'):rep(30) .. 'b')",
        "string.match(('a'):rep(50000), ('a*'):rep(30) .. 'b')",
        "string.gsub(('a'):rep(50000), ('.-'):rep(30) .. 'b', '')",
        "for _ in string.gmatch(('a'):rep(50000), ('.-'):rep(30) .. 'b') do end",
        "string.find(('a'):rep(50000), '[' .. ('b'):rep(1000) .. ']')",
        "string.find(('a'):rep(50000), 'a-[' .. ('b'):rep(1000) .. ']')",
        "string.gsub(('a'):rep(50000), '()', ('%0'):rep(1000))",
    ] {
        assert_eq!(fails(body), "x.lua:2: the pattern takes too long to match", "{body}");
    }
    let message = fails("string.rep('x', 10000000000)");
    assert_eq!(message, "x.lua:2: the text would be longer than 1048576 bytes");
    assert!(fails("string.rep('', 1 << 62)").starts_with("x.lua:2: "));
}

/// Each of these is called a few thousand times, which is far from too many instructions.
#[test]
fn functions_outside_lua_count_as_what_they_take() {
    let prepare = "local long, middle, list = ('a'):rep(1000000), ('a'):rep(100000), {} for i = 1, 10000 do list[i] = i end";
    for body in [
        "string.rep('', 1000000)",
        "long:find('b', 1, true)",
        "middle:find('b.')",
        "middle:gsub('b', 'c')",
        "for _ in middle:gmatch('b') do end",
        "long:upper()",
        "string.format('%q', long)",
        "utf8.len(long)",
        "tonumber(long)",
        "table.sort(list)",
        "table.insert(list, 1, 0)",
        "table.concat(list)",
        "table.unpack(list)",
        "p.message = long",
        "text(long)",
        "pcall(s.send, s, 'client', 'nothing', {})",
        "pcall(p.replace, p, 'nothing', {})",
    ] {
        let message = fails(&format!("{prepare} for i = 1, 2000 do {body} end"));
        assert_eq!(message, "x.lua:2: ran for too long: an endless loop?", "{body}");
    }
    // What scripts do with short texts and at the end of lists costs as little as it takes.
    let body = "local t = {} for i = 1, 3000 do t[#t + 1] = ('x'):upper():byte() end
        for i = 1, 3000 do table.remove(t) end log(#t)";
    let text = format!("on('chat', function(p)\n{body}\nend)");
    assert_eq!(says(&text, &chat("x")), ["0"]);
    assert_eq!(fails("string.upper(nil)"), UPPER);
}

const UPPER: &str = "x.lua:2: bad argument #1 to 'upper' (string expected, got nil)";

#[test]
fn what_a_call_keeps_outside_lua_is_bounded() {
    let longer = "comments and tags of one packet are longer than 65536 bytes";
    let message = fails("for i = 1, 1000 do p:comment(('x'):rep(1000) .. i) end");
    assert_eq!(message, format!("x.lua:2: {longer}"));
    let one = "on('chat', function(p) p:comment(('x'):rep(30000)) end)\n";
    assert_eq!(says(&one.repeat(3), &chat("x")), [format!("x.lua:3: {longer}")]);
    let message = fails("for i = 1, 1000 do run.vars['k' .. i] = ('x'):rep(60000) end");
    assert_eq!(message, "x.lua:2: the variables of the run are too large");
    let faults = faults("for i = 1, 2000 do on('chat', print) end");
    assert!(faults[0].contains("more than 1000 callbacks"), "{faults:?}");
}

#[test]
fn memory_is_bounded() {
    for body in [
        "local t = {} while true do t[#t + 1] = ('x'):rep(1000000) .. #t end",
        "local s = 'x' while true do s = s .. s end",
    ] {
        let message = fails(body);
        assert!(message.starts_with("x.lua:"), "{body}: {message}");
        assert!(message.ends_with("the script used more memory than it may"), "{body}: {message}");
    }
    // Whichever comes first.
    let message = fails("local t = {} for i = 1, 1e9 do t[i] = i end");
    assert!(message.starts_with("x.lua:2: "), "{message}");
    // What a call has thrown away is there for the next.
    let mut pipeline = pipeline(&script(
        "on('chat', function(p) if p.message == 'much' then local s = 'x' while true do s = s .. s end end\n\
         log(#('x'):rep(1000000)) end)",
    ));
    for _ in 0..5 {
        pipeline.apply(&chat("much"));
        assert_eq!(said(&pipeline.apply(&chat("little")).effects), ["1000000"]);
    }
}

#[test]
fn the_memory_of_a_script_counts_against_the_budget_of_the_run() {
    let budget = MemoryBudget::new(64 << 20);
    let script = script(
        "keep = {} on('chat', function(p) keep[#keep + 1] = ('x'):rep(100000) .. #keep end)",
    );
    let mut pipeline = pipeline(&script);
    pipeline.set_budget(&budget);
    pipeline.apply(&chat("x"));
    let before = budget.used();
    for _ in 0..20 {
        pipeline.apply(&chat("x"));
    }
    assert!(budget.used() > before + 1_500_000, "{before} {}", budget.used());
    drop(pipeline);
    assert_eq!(budget.used(), 0);
}

#[test]
fn the_text_of_an_error_is_bounded_everywhere() {
    for body in [
        "error(('x'):rep(1000000))",
        "p[('x'):rep(1000000)] = 1",
        "s:send('client', ('x'):rep(5000), {})",
    ] {
        let judgement = judge(&format!("on('chat', function(p, s) {body} end)"), &chat("x"));
        let texts = [&judgement.effects.messages[0].text, &judgement.effects.notes.comments[0]];
        for text in texts {
            assert!(text.len() < 1100 && text.ends_with("xx.."), "{body}: {}", text.len());
        }
    }
    let said = faults(&format!("on('chat', print) {}", "x".repeat(1_000_000))).remove(0);
    assert!(said.len() < 3000, "{}", said.len());
}

#[test]
fn a_log_takes_any_bytes() {
    let other = "setmetatable({}, {__tostring = function() return '\\x80' end})";
    let text = format!("on('chat', function(p) log('a\\xff\\nb', 1.0, nil, {other}) end)");
    assert_eq!(says(&text, &chat("x")), ["a\\xff\nb 1.0 nil \\x80"]);
    let text = "on('chat', function(p, s) p:comment('\\xff') p:tag('\\xff') s:kick('\\xff') end)";
    assert_eq!(says(text, &chat("x")), [""; 0]);
}

#[test]
fn a_thousand_sessions_that_keep_more_in_every_call_stay_within_the_budget_of_the_run() {
    let budget = MemoryBudget::new(64 << 20);
    let script =
        script("keep = {} on('chat', function(p) keep[#keep + 1] = ('x'):rep(20000) .. #keep end)");
    let new = || {
        let mut pipeline = pipeline(&script);
        pipeline.set_budget(&budget);
        pipeline
    };
    let mut sessions: Vec<Pipeline> = (0..1000).map(|_| new()).collect();
    let mut messages = Vec::new();
    for _ in 0..10 {
        for session in &mut sessions {
            let judgement = session.apply(&chat("x"));
            assert_eq!(judgement.verdict, Verdict::Pass);
            messages.extend(said(&judgement.effects));
            assert!(budget.used() <= budget.limit() / 2, "{}", budget.used());
        }
    }
    assert_eq!(messages, ["x.lua:1: the script used more memory than it may"]);
    let counts = &script.counts()[0];
    assert!(counts.failed > 1000 && counts.acted > 200, "{counts:?}");
    // What others give back is there.
    drop(sessions);
    let mut session = new();
    for _ in 0..50 {
        assert_eq!(session.apply(&chat("x")).effects.notes.comments, [""; 0]);
    }
}

#[test]
fn an_error_of_memory_cannot_be_caught_to_go_on_without_any() {
    let body = "while true do pcall(function() local s = 'x' while true do s = s .. s end end) end";
    assert_eq!(fails(body), "x.lua:1: the script used more memory than it may");
}

#[test]
fn a_caught_error_is_a_text_of_bounded_length() {
    let body = "local ok, why = pcall(s.send, s, 'client', ('x'):rep(5000), {}) log(type(why), #why < 1100)";
    assert_eq!(
        says(&format!("on('chat', function(p, s) {body} end)"), &chat("x")),
        ["string true"]
    );
}

#[test]
fn all_callbacks_for_a_packet_have_one_share_together() {
    let script = script(&"on('chat', function() while true do end end)\n".repeat(1000));
    let mut pipeline = pipeline(&script);
    let judgement = pipeline.apply(&chat("x"));
    assert_eq!(judgement.verdict, Verdict::Pass);
    assert_eq!(judgement.effects.notes.comments.len(), 1);
    let called: u64 = script.counts().iter().map(|count| count.matched).sum();
    assert_eq!(called, 1);
}

#[test]
fn a_script_that_takes_too_long_in_a_second_is_off_for_its_session_and_that_is_said_once() {
    let script = script(
        "on('chat', function(p) if p.message == 'slow' then while true do end end p:comment('on') end)",
    );
    let (mut slow, mut other) = (pipeline(&script), pipeline(&script));
    let at = |message, seconds| packet_at(1, message, seconds);
    // One slow packet each second is an error each, and no reason to do without the script.
    for seconds in 0..20 {
        slow.apply(&at("slow", seconds));
    }
    assert_eq!(slow.apply(&at("fast", 20)).effects.notes.comments, ["on"]);
    let judged: Vec<Judgement> = (0..30).map(|_| slow.apply(&at("slow", 30))).collect();
    let off = "x.lua: takes too much time: it is off for the rest of the session";
    let messages: Vec<String> = judged.iter().flat_map(|it| said(&it.effects)).collect();
    assert_eq!(messages, [off]);
    let comments = judged.iter().flat_map(|it| &it.effects.notes.comments);
    assert_eq!(comments.filter(|it| it.contains(off)).count(), 1);
    assert!(judged.iter().all(|it| it.verdict == Verdict::Pass));
    assert_eq!(slow.apply(&at("fast", 60)).effects.notes.comments, [""; 0]);
    assert_eq!(other.apply(&at("fast", 60)).effects.notes.comments, ["on"]);
    let matched = script.counts()[0].matched;
    assert!((32..=33).contains(&matched), "{matched}");
}

#[test]
fn many_packets_that_cost_little_are_no_reason_to_do_without_a_script() {
    let script = script("on('chat', function(p) p:comment('on') end)");
    let mut pipeline = pipeline(&script);
    let packet = chat("x");
    for number in 0..100_000 {
        assert_eq!(pipeline.apply(&packet).effects.notes.comments, ["on"], "{number}");
    }
}

/// Each of these would have taken a second for each packet of the third session, and more for each tick.
#[test]
fn two_sessions_with_a_thousand_timers_leave_a_third_its_turns() {
    let script = script(
        "on('chat', function(p)
          if p.message ~= '!go' then return end
          for i = 1, 1000 do
            every('10ms', function(s) while true do pcall(s.send, s, 'client', 'nothing', {}) end end)
          end
        end)",
    );
    let mut attackers: Vec<LuaFilter> = (0..2).map(|_| LuaFilter::new(script.clone())).collect();
    let mut third = LuaFilter::new(script.clone());
    let mut effects = Effects::default();
    let calls = || script.counts().get(1).map_or(0, |timers| timers.matched);
    for attacker in &mut attackers {
        attacker.apply(&chat("!go"), &mut effects);
    }
    for tick in 1..1000 {
        let before = calls();
        for (session, attacker) in (2..).zip(&mut attackers) {
            let context = context(session, 47);
            let mut moment = moment(&context, 0);
            moment.at = Timestamp(tick * 10_000_000);
            if attacker.poll_timeout().is_some_and(|due| due <= moment.at) {
                attacker.on_timeout(&moment, &mut effects);
            }
        }
        // Each call is at most a share.
        assert!(calls() - before <= 2, "{} calls in tick {tick}", calls() - before);
        assert_eq!(third.apply(&packet_at(4, "hello", 0), &mut Effects::default()), Verdict::Pass);
    }
    assert!(calls() <= 22, "{}", calls());
    let off: Vec<u64> = effects
        .messages
        .iter()
        .filter(|it| it.text.contains("off for the rest of the session"))
        .map(|it| it.session)
        .collect();
    assert_eq!(off, [2, 3]);
}

/// All sessions may end at once.
#[test]
fn the_end_of_a_session_has_a_small_share() {
    let script = script("on_close(function() for i = 1, 1e6 do end end)");
    let mut pipeline = pipeline(&script);
    let context = context(1, 47);
    let effects = pipeline.on_event(SessionEvent::Close, &moment(&context, 0));
    assert_eq!(said(&effects), ["x.lua:1: ran for too long: an endless loop?"]);
}

#[test]
fn a_script_that_took_long_is_slow_for_a_while_in_all_sessions() {
    let script =
        script("on('chat', function(p) for i = 1, p.message == 'slow' and 1e6 or 1 do end end)");
    let (mut one, other) = (pipeline(&script), pipeline(&script));
    let at = |seconds: u64| Timestamp(seconds * 1_000_000_000);
    one.apply(&packet_at(1, "fast", 5));
    assert!(!one.is_slow(at(5)) && !other.is_slow(at(5)));
    one.apply(&packet_at(1, "slow", 5));
    assert!(one.is_slow(at(5)) && other.is_slow(at(14)) && !other.is_slow(at(15)));
}

/// 64 KiB of small packets can come at once.
#[test]
fn a_script_is_slow_for_many_packets_at_once_also_if_its_calls_fail() {
    for (code, packets) in [("local s = ('x'):rep(1000)", 1000), ("error('no')", 100)] {
        let script = script(&format!("on('chat', function(p) {code} end)"));
        let mut pipeline = pipeline(&script);
        let at = |seconds: u64| Timestamp(seconds * 1_000_000_000);
        for second in 1..10 {
            pipeline.apply(&packet_at(1, "one", second));
        }
        assert!(!pipeline.is_slow(at(10)), "{code}");
        for _ in 0..packets {
            pipeline.apply(&packet_at(1, "of many", 20));
        }
        assert!(pipeline.is_slow(at(20)), "{code}");
    }
}

#[test]
fn nothing_of_the_system_is_there() {
    for name in [
        "io",
        "os",
        "require",
        "package",
        "debug",
        "load",
        "loadfile",
        "dofile",
        "loadstring",
        "collectgarbage",
        "coroutine",
        "string.dump",
    ] {
        let text = format!("on('chat', function(p) log(type({name})) end)");
        assert_eq!(says(&text, &chat("x")), ["nil"], "{name}");
    }
    assert_eq!(
        fails("setmetatable({}, {__gc = function() while true do end end})"),
        "x.lua:2: a script has no finalizers: `__gc` is not allowed"
    );
    let message = faults("\x1bLua").remove(0);
    assert!(message.contains("attempt to load a binary chunk"), "{message}");
}

#[test]
fn an_error_is_reported_once_per_place_and_counted_every_time() {
    let script = script("on('chat', function(p)\n local x = nil + 1 end)");
    let mut pipeline = pipeline(&script);
    let messages: Vec<_> = (0..3).flat_map(|_| said(&pipeline.apply(&chat("x")).effects)).collect();
    assert_eq!(messages, ["x.lua:2: attempt to perform arithmetic on a nil value"]);
    // Another session reports nothing new either.
    let mut other = self::pipeline(&script);
    assert_eq!(said(&other.apply(&chat("x")).effects), [""; 0]);
    let counts = &script.counts()[0];
    assert_eq!(
        (counts.name.as_str(), counts.matched, counts.acted, counts.failed),
        ("x.lua:1", 4, 0, 4)
    );
}

#[test]
fn an_event_that_fails_has_not_acted() {
    let script = script("on_open(function(s) error('x') end)\nevery('1s', function() end)");
    let mut pipeline = pipeline(&script);
    let context = context(1, 47);
    pipeline.on_event(SessionEvent::Open, &moment(&context, 0));
    pipeline.on_timeout(&moment(&context, 1));
    let count = &script.counts()[0];
    assert_eq!((count.matched, count.acted, count.failed), (2, 1, 1));
}

#[test]
fn a_thousand_sessions_take_less_than_150_mib() {
    let lines: String =
        (0..100).map(|n| format!("local function f{n}(x) return x + {n} end\n")).collect();
    let script = script(&format!("{lines}on('chat', function(p) log(f99(1)) end)"));
    let context = context(1, 47);
    let filters: Vec<LuaFilter> = (0..1000)
        .map(|_| {
            let mut filter = LuaFilter::new(script.clone());
            let (moment, mut effects) = (moment(&context, 0), Effects::default());
            filter.on_event(SessionEvent::Open, &moment, &mut effects);
            assert_eq!(effects.messages, []);
            filter
        })
        .collect();
    let used: usize = filters.iter().map(LuaFilter::used_memory).sum();
    assert!(used > 10 << 20 && used < 150 << 20, "{used}");
}
