use super::Shared;
use crate::store::Details;
use crate::view::{Comparison, Group, Interface};
use mitmcraft_engine::analysis::{PacketCounts, Sort, Stats, share};
use mitmcraft_engine::text::Escaped;

/// Returns statistics as lines.
pub(super) fn statistics(stats: &Stats, sort: Sort) -> Vec<String> {
    let report = stats.report(sort);
    let heads = ["packets", "bytes", "share", "on wire", "share"];
    let mut lines = vec![format!("{}   packet", columns(heads))];
    let rows = report.rows();
    let sum = |of: fn(&PacketCounts) -> u64| rows.iter().map(|row| of(&row.counts)).sum();
    let (bytes, wire) = (sum(|it| it.bytes), sum(|it| it.wire));
    for row in rows {
        let (counts, way, state) = (row.counts, row.direction, row.state);
        let numbers = [counts.packets, counts.bytes, counts.wire].map(|it| it.to_string());
        let [packets, of_bytes, of_wire] = numbers.each_ref().map(String::as_str);
        let (byte_share, wire_share) = (share(counts.bytes, bytes), share(counts.wire, wire));
        let numbers = columns([packets, of_bytes, &byte_share, of_wire, &wire_share]);
        lines.push(format!("{numbers}   {way} {state} {}", Escaped(&row.name)));
    }
    let channels = report.channel_rows();
    if !channels.is_empty() {
        lines.extend([String::new(), format!("{:>9} {:>12}   plugin channel", "packets", "bytes")]);
    }
    for (way, channel, counts) in channels {
        let (packets, bytes) = (counts.packets, counts.bytes);
        lines.push(format!("{packets:>9} {bytes:>12}   {way} {}", Escaped(channel)));
    }
    for (place, (name, _, trip)) in stats.round_trips.iter().enumerate() {
        if place == 0 {
            let heads = ["answered", "unanswered", "shortest", "mean", "longest"];
            let heads: String = heads.map(|head| format!("{head:>11}")).concat();
            lines.extend([String::new(), format!("{heads}   round trip, ms")]);
        }
        let times = match trip.mean() {
            Some(mean) => [trip.shortest, mean, trip.longest]
                .map(|time| format!("{:>11.1}", time.as_secs_f64() * 1000.0))
                .concat(),
            None => format!("{:>11}", "-").repeat(3),
        };
        let (answered, unanswered) = (trip.answered, trip.unanswered);
        lines.push(format!("{answered:>11}{unanswered:>11}{times}   {}", Escaped(name)));
    }
    lines
}

/// Returns the columns of numbers in statistics.
fn columns([packets, bytes, byte_share, wire, wire_share]: [&str; 5]) -> String {
    format!("{packets:>9} {bytes:>12} {byte_share:>6} {wire:>12} {wire_share:>6}")
}

/// The orders of statistics, each with the end of its column on the screen and its name.
pub(super) const SORTS: [(u16, Sort, &str); 4] = [
    (9, Sort::Packets, "packets"),
    (29, Sort::Bytes, "bytes"),
    (49, Sort::Wire, "bytes on the wire"),
    (u16::MAX, Sort::Name, "name"),
];

/// Returns the keys.
pub(super) fn keys() -> Vec<String> {
    let mut lines = Vec::new();
    for group in Group::ALL {
        lines.extend([String::new(), group.title().to_owned()]);
        for binding in Interface::Terminal.bindings().filter(|it| it.group == group) {
            lines.push(format!("  {:<10} {}", binding.key_names(), binding.help));
        }
    }
    lines.extend(
        ["", "Mouse: click a tab, a head, a row, a field or a byte; the wheel moves."]
            .map(str::to_owned),
    );
    lines[0] = "PgDn shows more".to_owned();
    lines
}

/// Returns the fields of the packet that was marked last and of that of a row side by side; those that differ are marked.
pub(super) fn comparison(shared: &Shared, row: u64) -> Vec<String> {
    let details = |row: Option<u64>| shared.list.snapshot().details(row?);
    let packets = details(shared.marked).zip(details(Some(row)));
    let Some((one, other)) = packets else {
        return vec!["m marks a packet; x compares it with the selected one".to_owned()];
    };
    let name = |details: &Details| {
        let packet = &details.record.packet;
        let name = packet.kind().map_or("?", |kind| kind.name());
        format!("{} (no {})", Escaped(name), packet.seq())
    };
    let mut lines = vec![format!("  {} | {}", name(&one), name(&other))];
    for field in &Comparison::new(&one, &other).fields {
        let [a, b] = [&field.a, &field.b].map(|it| it.as_deref().unwrap_or("-"));
        let sign = if field.same { ' ' } else { '*' };
        lines.push(format!("{sign} {}: {a} | {b}", Escaped(&field.path)));
    }
    lines
}
