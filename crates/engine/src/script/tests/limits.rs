//! The sandbox.

use super::*;
use crate::filter::Filter as _;
use crate::script::lua_filter::LuaFilter;

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
    let message = fails("for i = 1, 1000 do p:comment(('x'):rep(1000) .. i) end");
    assert_eq!(message, "x.lua:2: comments and tags of one call are longer than 65536 bytes");
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
    let budget = mitmcraft_protocol::codec::MemoryBudget::new(64 << 20);
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
        "s:send('client', ('x'):rep(1000000), {})",
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
