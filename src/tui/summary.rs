use super::Browser;
use crate::analysis::{Sort, Stats};
use crate::capture::{Entry, Sink as _};
use crate::lang::Expr;
use crate::schema::Catalog;
use crate::store::{Details, Matches, Selection};
use crate::text::{Escaped, FieldLine, write_info};

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
    let table = |key: &str| report[key].as_array().filter(|rows| !rows.is_empty());
    if let Some(channels) = table("channels") {
        lines.extend([String::new(), format!("{:>9} {:>12}   plugin channel", "packets", "bytes")]);
        for channel in channels {
            let number = |key: &str| channel[key].as_u64().unwrap_or_default();
            let text = |key: &str| Escaped(channel[key].as_str().unwrap_or_default()).to_string();
            let (packets, bytes) = (number("packets"), number("bytes"));
            lines.push(format!("{packets:>9} {bytes:>12}   {} {}", text("dir"), text("channel")));
        }
    }
    if let Some(trips) = table("round_trips") {
        let heads = ["answered", "unanswered", "shortest", "mean", "longest"];
        let heads: String = heads.map(|head| format!("{head:>11}")).concat();
        lines.extend([String::new(), format!("{heads}   round trip, ms")]);
        for trip in trips {
            let number = |key: &str| trip[key].as_u64().unwrap_or_default();
            let millis = |key: &str| match trip[key].as_f64() {
                Some(seconds) => format!("{:>11.1}", seconds * 1000.0),
                None => format!("{:>11}", "-"),
            };
            lines.push(format!(
                "{:>11}{:>11}{}{}{}   {}",
                number("answered"),
                number("unanswered"),
                millis("shortest"),
                millis("mean"),
                millis("longest"),
                Escaped(trip["name"].as_str().unwrap_or_default())
            ));
        }
    }
    lines
}

/// Returns the packets of the list over time as lines, each with a bar for both directions: all, or those of
/// one name, in the order of [`Timeline::names_json`](crate::analysis::Timeline::names_json), from 1.
pub(super) fn timeline(browser: &Browser, name: usize) -> Vec<String> {
    let mut stats = Stats::default();
    let from = newest(&browser.matches, MAX_COUNTED);
    browser.matches.records(from, usize::MAX, |_, record| {
        // Counting does not fail.
        let _ = stats.write(&Entry::Packet(record));
    });
    let timeline = &stats.report(Sort::Bytes).json()["timeline"];
    let names = stats.timeline().names_json();
    let mut known: Vec<&str> = Vec::new();
    for series in names.as_array().into_iter().flatten() {
        let name = series["name"].as_str().unwrap_or_default();
        if !known.contains(&name) {
            known.push(name);
        }
    }
    let chosen = match name % (known.len() + 1) {
        0 => None,
        place => known.get(place - 1).copied(),
    };
    let step = timeline["step"].as_f64().unwrap_or(1.0);
    let packets = |way: usize| -> Vec<u64> {
        let way = &timeline["directions"][way];
        let series = match chosen {
            None => Some(way),
            Some(name) => {
                let mut all = names.as_array().into_iter().flatten();
                all.find(|it| it["name"] == name && it["dir"] == way["dir"])
            }
        };
        let bins = series.and_then(|series| series["packets"].as_array());
        bins.into_iter().flatten().filter_map(serde_json::Value::as_u64).collect()
    };
    let (one, other) = (packets(0), packets(1));
    let most = one.iter().chain(&other).copied().max().unwrap_or_default().max(1);
    let what = Escaped(chosen.unwrap_or("all packets"));
    let mut lines = vec![format!(
        "{:>9} {:>8} {:>8}  < to the client, > to the server; {what}; Tab: the next name",
        "s", "<", ">"
    )];
    for bin in 0..one.len().max(other.len()) {
        let [a, b] = [&one, &other].map(|bins| bins.get(bin).copied().unwrap_or_default());
        let bar = |count: u64, sign: &str| sign.repeat((count * BAR).div_ceil(most) as usize);
        let at = bin as f64 * step;
        lines.push(format!("{at:>9.1} {a:>8} {b:>8}  {}{}", bar(a, "<"), bar(b, ">")));
    }
    lines
}

/// Returns the fields of two packets side by side; those that differ are marked.
pub(super) fn comparison(one: &Details, other: &Details) -> Vec<String> {
    let name = |details: &Details| {
        let packet = &details.record.packet;
        let name = packet.kind().map_or("?", |kind| kind.name());
        format!("{} (no {})", Escaped(name), packet.seq)
    };
    let mut lines = vec![format!("  {} | {}", name(one), name(other))];
    let value = |details: &Details, path: &str| {
        let found = details.fields.iter().find(|line| line.path == path);
        found.map_or_else(|| "-".to_owned(), |line| line.value.clone())
    };
    let only = |line: &&FieldLine| one.fields.iter().all(|it| it.path != line.path);
    for line in one.fields.iter().chain(other.fields.iter().filter(only)).take(MAX_COMPARED) {
        if line.path.is_empty() {
            continue;
        }
        let (a, b) = (value(one, &line.path), value(other, &line.path));
        let sign = if a == b { ' ' } else { '*' };
        lines.push(format!("{sign} {}: {a} | {b}", Escaped(&line.path)));
    }
    lines
}

/// Returns what was said, as lines.
pub(super) fn conversation(browser: &Browser, catalog: &Catalog) -> Vec<String> {
    let Ok((expr, _)) = Expr::parse(CHAT, catalog) else { return Vec::new() };
    let sessions = browser.session.into_iter().collect();
    let selection = Selection { expr: Some(expr), sessions, ..Selection::default() };
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

/// Most signs of a bar.
const BAR: u64 = 24;

/// Most fields that are compared.
const MAX_COMPARED: usize = 2000;

/// Most packets that are counted at once.
const MAX_COUNTED: u64 = 200_000;

/// Most lines of a conversation.
const MAX_LINES: u64 = 1000;
