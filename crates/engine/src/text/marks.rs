use super::Verbosity;
use super::paint::{Color, Paint};
use crate::capture::{Outcome, Record};

/// Returns the number of columns in front of the time on every line: two, or three where the two
/// packets of a rewrite have a line each.
pub(super) fn gutter_width(verbosity: Verbosity) -> usize {
    if verbosity == Verbosity::Main { 2 } else { 3 }
}

/// Returns the gutter of a packet's line: what the proxy did, `!` if the packet does not decode, and in
/// the last column the bracket of a bundle, as far as there is room. `merged`: see [`mark`].
pub(super) fn gutter(
    record: &Record,
    merged: bool,
    undecoded: bool,
    bracket: Option<char>,
    width: usize,
    paint: Paint,
) -> String {
    let mark = mark(record, merged);
    let color = match record.outcome {
        Outcome::Drop => Color::Red,
        Outcome::Send if record.of.is_none() => Color::Magenta,
        _ => Color::Yellow,
    };
    let mut gutter = String::new();
    let mut used = mark.chars().count();
    if used > 0 {
        paint.text(&mut gutter, color, &mark);
    }
    if undecoded && used < width {
        paint.text(&mut gutter, Color::Red, &'!');
        used += 1;
    }
    let free = width.saturating_sub(used);
    gutter.extend(std::iter::repeat_n(' ', free));
    if let Some(bracket) = bracket
        && free > 0
    {
        gutter.pop();
        gutter.push(bracket);
    }
    gutter
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
