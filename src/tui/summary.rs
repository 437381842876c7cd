use super::Browser;
use crate::analysis::{Sort, Stats};
use crate::capture::{Entry, Sink as _};
use crate::lang::Expr;
use crate::schema::Catalog;
use crate::store::{Matches, Selection};
use crate::text::{Escaped, write_info};

/// Returns the statistics of the listed packets as lines. Of a long list, only the newest are counted.
pub(super) fn statistics(browser: &Browser) -> Vec<String> {
    let mut stats = Stats::default();
    let from = newest(&browser.matches, MAX_COUNTED);
    browser.matches.records(from, usize::MAX, |_, record| {
        // Counting does not fail.
        let _ = stats.write(&Entry::Packet(record));
    });
    let report = stats.report(Sort::Bytes).json();
    let mut lines = vec![format!("{:>9} {:>12} {:>12}   packet", "packets", "bytes", "on wire")];
    for packet in report["packets"].as_array().into_iter().flatten() {
        let number = |key: &str| packet[key].as_u64().unwrap_or_default();
        let text = |key: &str| Escaped(packet[key].as_str().unwrap_or_default()).to_string();
        let (packets, bytes, wire) = (number("packets"), number("bytes"), number("wire"));
        let (way, state, name) = (text("dir"), text("state"), text("packet"));
        lines.push(format!("{packets:>9} {bytes:>12} {wire:>12}   {way} {state} {name}"));
    }
    lines
}

/// Returns what was said, as lines.
pub(super) fn conversation(browser: &Browser, catalog: &Catalog) -> Vec<String> {
    let Ok((expr, _)) = Expr::parse(CHAT, catalog) else { return Vec::new() };
    let sessions = browser.session.into_iter().collect();
    let selection = Selection { expr: Some(expr), sessions, times: None };
    let mut matches = Matches::new(selection, browser.snapshot().clone());
    while !matches.advance(usize::MAX) {}
    let mut lines = Vec::new();
    let from = newest(&matches, MAX_LINES);
    matches.records(from, usize::MAX, |_, record| {
        let (number, way) = (record.packet.context.session, record.packet.direction.name());
        let arrow = if way == "serverbound" { '→' } else { '←' };
        let mut line = format!("#{number} {arrow} ");
        write_info(&mut line, &Entry::Packet(record));
        lines.push(line);
    });
    lines
}

/// Returns the row from which on `count` rows were found.
fn newest(matches: &Matches, count: u64) -> u64 {
    matches.nth(matches.count().saturating_sub(count)).unwrap_or_default()
}

/// The packets with which people talk, in all versions.
const CHAT: &str = "chat or chat_message or chat_command or chat_command_signed or system_chat \
                    or player_chat or profileless_chat";

/// Most packets that are counted at once.
const MAX_COUNTED: u64 = 200_000;

/// Most lines of a conversation.
const MAX_LINES: u64 = 1000;
