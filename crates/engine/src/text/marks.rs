use super::paint::{Color, Paint};
use crate::capture::{Outcome, Record};

/// Returns the marks in front of a packet's line, with a space if there are any: what the proxy did,
/// and `!` if the packet does not decode. `merged`: see [`mark`].
pub(super) fn marks(record: &Record, merged: bool, undecoded: bool, paint: Paint) -> String {
    let mark = mark(record, merged);
    let color = match record.outcome {
        Outcome::Drop => Color::Red,
        Outcome::Send if record.of.is_none() => Color::Magenta,
        _ => Color::Yellow,
    };
    let mut marks = String::new();
    if !mark.is_empty() {
        paint.text(&mut marks, color, &mark);
    }
    if undecoded {
        paint.text(&mut marks, Color::Red, &'!');
    }
    if !marks.is_empty() {
        marks.push(' ');
    }
    marks
}

/// Returns the mark for what the proxy did with a packet. `merged`: one line shows both versions of a
/// rewritten packet.
pub(super) fn mark(record: &Record, merged: bool) -> &'static str {
    match (record.outcome, record.of) {
        (Outcome::Pass, _) => "",
        (Outcome::Drop, _) => "✗",
        (Outcome::Rewrite, _) => "~-",
        (Outcome::Send, Some(_)) if merged => "~",
        (Outcome::Send, Some(_)) => "~+",
        (Outcome::Send, None) => "+",
    }
}
