//! Scripts in Lua, made by a grammar: the input chooses.

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use mitmcraft_engine::capture::Record;
use mitmcraft_engine::filter::{Moment, Pipeline, Program as _, SessionEvent, Verdict};
use mitmcraft_engine::script::Script;
use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::{Catalog, PerDirection, State};

use super::Features;
use super::bytes::Bytes;
use super::language::records;

pub fn run(input: &[u8]) -> Features {
    static CATALOG: LazyLock<Catalog> = LazyLock::new(|| Catalog::embedded().only(&[47]));
    let mut features = Features::default();
    let mut writer = Writer { choices: Bytes(input), out: String::new(), left: MAX_PARTS };
    writer.file();
    let text = writer.out;
    let checked = Script::parse("x.lua", &text, &CATALOG);
    for fault in &checked.faults {
        assert!(fault.render("x.lua").contains(" --> x.lua:"), "{text}");
        features.say(&fault.message);
    }
    let Some(script) = checked.script else { return features };
    let mut pipeline = Pipeline::default();
    pipeline.push(script.filter());
    let context = records()[0].packet.context();
    let tell = |pipeline: &mut Pipeline, event| {
        pipeline.on_event(event, &moment(context, Timestamp(0)));
    };
    tell(&mut pipeline, SessionEvent::Open);
    let mut long = 0;
    for record in records() {
        long += usize::from(judge(&mut pipeline, record, &text, &mut features));
        if long == MAX_LONG {
            break;
        }
    }
    for _ in 0..MAX_TIMEOUTS {
        let Some(at) = pipeline.poll_timeout() else { break };
        let effects = pipeline.on_timeout(&moment(context, at));
        assert!(pipeline.poll_timeout().is_none_or(|next| next > at), "{text}");
        effects.messages.iter().for_each(|it| features.say(&it.text));
    }
    tell(&mut pipeline, SessionEvent::Close);
    for count in script.counts() {
        assert!(count.acted + count.failed <= count.matched, "{count:?}\n{text}");
    }
    features
}

fn moment(context: &Arc<mitmcraft_protocol::packet::Context>, at: Timestamp) -> Moment<'_> {
    Moment { at, context, states: PerDirection::from_fn(|_| State::Play) }
}

/// A packet whose callback fails passes as it came; what a script makes of another decodes. Returns whether
/// a callback has had its share of time.
fn judge(pipeline: &mut Pipeline, record: &Record, text: &str, features: &mut Features) -> bool {
    let judgement = pipeline.apply(&record.packet);
    let effects = &judgement.effects;
    let failed = effects.notes.comments.iter().any(|it| it.starts_with("script failed: "));
    features.see((failed, std::mem::discriminant(&judgement.verdict), effects.sends.len().min(3)));
    effects.messages.iter().for_each(|it| features.say(&it.text));
    match &judgement.verdict {
        Verdict::Pass => {}
        verdict if failed => panic!("{verdict:?} although the callback failed\n{text}"),
        Verdict::Replace(body) => {
            let mut changed = record.packet.clone();
            changed.replace_body(body.clone());
            assert!(changed.error().is_none() || record.packet.error().is_some(), "{text}");
        }
        Verdict::Drop => {}
    }
    effects.notes.comments.iter().any(|it| it.contains("ran for too long"))
}

pub fn seeds() -> Vec<Vec<u8>> {
    let pseudo = |seed: u32| {
        let step = |state: &mut u32| {
            *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            Some((*state >> 24) as u8)
        };
        (0..200).scan(seed, |state, _| step(state)).collect()
    };
    (1..33).map(pseudo).collect()
}

/// Writes a script as the input chooses.
struct Writer<'i> {
    choices: Bytes<'i>,
    out: String,
    /// Parts that can still be written.
    left: usize,
}

impl Writer<'_> {
    fn one(&mut self, of: &[&str]) {
        let place = usize::from(self.choices.u8()) % of.len();
        self.out.push_str(of[place]);
    }

    fn file(&mut self) {
        self.out.push_str("local a, b, c = 1, 'x', {1, 2, 3}\n");
        self.block(2);
        self.out.push_str("on('");
        self.one(&[
            "chat",
            "clientbound",
            "play",
            "x > 0",
            "serverbound and not chat",
            "pkt.size < 50",
        ]);
        self.out.push_str("', function(p, s)\n");
        self.block(4);
        self.out.push_str("end)\n");
        self.one(&["on_open", "on_state", "on_close"]);
        self.out.push_str("(function(s)\nlocal p = {}\n");
        self.block(3);
        self.out.push_str("end)\n");
    }

    fn block(&mut self, depth: usize) {
        for _ in 0..self.choices.u8() % 5 {
            if self.left == 0 {
                return;
            }
            self.left -= 1;
            self.statement(depth);
            self.out.push('\n');
        }
    }

    fn inner(&mut self, depth: usize) {
        if depth > 0 {
            self.block(depth - 1);
        }
    }

    fn statement(&mut self, depth: usize) {
        match self.choices.u8() % 16 {
            0 => {
                self.out.push_str("if ");
                self.value(depth);
                self.out.push_str(" then\n");
                self.inner(depth);
                self.out.push_str("else\n");
                self.inner(depth);
                self.out.push_str("end");
            }
            1 => {
                self.out.push_str("for i = 1, ");
                self.value(depth);
                self.out.push_str(" do\n");
                self.inner(depth);
                self.out.push_str("end");
            }
            2 => {
                self.out.push_str("for k, v in ");
                self.one(&[
                    "pairs(p)",
                    "pairs(c)",
                    "ipairs(c)",
                    "string.gmatch(b, '.-')",
                    "next, c",
                ]);
                self.out.push_str(" do\n");
                self.inner(depth);
                self.out.push_str("end");
            }
            3 => {
                self.one(&["pcall", "xpcall"]);
                self.out.push_str("(function()\n");
                self.inner(depth);
                self.out.push_str("end, error)");
            }
            4 => {
                self.one(&["every('1s', ", "after('10ms', ", "every('50ms', "]);
                self.out.push_str("function(s)\nlocal p = {}\n");
                self.inner(depth);
                self.out.push_str("end)");
            }
            5 => {
                self.out.push_str("while ");
                self.one(&["false", "#b < 9 and a", "true"]);
                self.out.push_str(" do\n");
                self.inner(depth);
                self.one(&["break end", "a = nil b = b .. 'x' end", "end"]);
            }
            6 => self.one(&[
                "p:drop()",
                "p:tag('t')",
                "p:comment(b)",
                "p:delay('5ms')",
                "p:delay('1s', true)",
            ]),
            7 => {
                self.out.push_str("p:replace(");
                self.value(depth);
                self.out.push(')');
            }
            8 => {
                self.out.push_str("s:send(");
                self.one(&["'client', 'chat', ", "'server', 'chat', ", "b, 'keep_alive', "]);
                self.value(depth);
                self.out.push(')');
            }
            9 => self.one(&[
                "s:kick(b)",
                "log(p, a, b, c)",
                "error(c)",
                "error(b, 2)",
                "setmetatable(c, c)",
                "c.__index = c",
            ]),
            10 => {
                self.one(&["s.vars.x = ", "run.vars.x = ", "c[a] = ", "c[#c + 1] = "]);
                self.value(depth);
            }
            11 | 12 => {
                self.one(&[
                    "p.message",
                    "p.x",
                    "p.items[1].itemCount",
                    "p.items[-1]",
                    "p.location.x",
                    "p[a]",
                    "p.fields[b]",
                ]);
                self.out.push_str(" = ");
                self.value(depth);
            }
            _ => {
                self.one(&["a = ", "b = ", "c = ", "local d = ", "b = b .. "]);
                self.value(depth);
            }
        }
    }

    fn value(&mut self, depth: usize) {
        let depth = depth.saturating_sub(1);
        let kind = if depth == 0 || self.left == 0 { 0 } else { self.choices.u8() % 8 };
        self.left = self.left.saturating_sub(1);
        match kind {
            0 | 1 => self.one(&[
                "nil",
                "true",
                "0",
                "-1",
                "0.5",
                "9223372036854775807",
                "1 / 0",
                "0 / 0",
                "'x'",
                "'\\xff%d.-'",
                "a",
                "b",
                "c",
                "p",
                "p.message",
                "p.x",
                "p.items",
                "p.pkt.body",
                "s.player",
                "s.vars.x",
                "run.vars.x",
                "{}",
                "{message = b, position = 0}",
                "{keepAliveId = a}",
                "math.random(9)",
                "p.pkt.time",
                "s",
                "#c",
            ]),
            2 => {
                self.out.push('(');
                self.value(depth);
                self.one(&[
                    " + ", " .. ", " == ", " < ", " // ", " % ", " and ", " or ", " << ", " ^ ",
                    " * ",
                ]);
                self.value(depth);
                self.out.push(')');
            }
            3 => {
                self.one(&["not ", "-", "#", "~"]);
                self.value(depth);
            }
            4 => {
                self.out.push('{');
                self.value(depth);
                self.out.push_str(", x = ");
                self.value(depth);
                self.out.push('}');
            }
            5 => {
                self.out.push_str("(function()\n");
                self.inner(depth);
                self.out.push_str("return ");
                self.value(depth);
                self.out.push_str(" end)()");
            }
            _ => {
                self.one(&[
                    "tostring",
                    "tonumber",
                    "type",
                    "copy",
                    "text",
                    "next",
                    "rawlen",
                    "select",
                    "string.rep",
                    "string.find",
                    "string.match",
                    "string.gsub",
                    "string.format",
                    "string.byte",
                    "string.sub",
                    "table.concat",
                    "table.unpack",
                    "table.sort",
                    "table.insert",
                    "table.move",
                    "table.remove",
                    "math.floor",
                    "math.tointeger",
                    "utf8.char",
                    "utf8.codepoint",
                    "getmetatable",
                    "string.pack",
                ]);
                let _ = write!(self.out, "(");
                self.value(depth);
                for _ in 0..self.choices.u8() % 3 {
                    self.out.push_str(", ");
                    self.value(depth);
                }
                self.out.push(')');
            }
        }
    }
}

/// Statements and values of a script.
const MAX_PARTS: usize = 200;

/// Packets whose callbacks take all the time that they may, some 0.3 s: so would those of the next packets.
const MAX_LONG: usize = 3;

/// Timers that are fired.
const MAX_TIMEOUTS: usize = 8;
