use super::Shared;
use crate::store::Details;
use crate::view::{Comparison, Group, Interface};
use mitmcraft_engine::analysis::{Sort, Stats};
use mitmcraft_engine::text::Escaped;

/// Returns statistics as lines.
pub(super) fn statistics(stats: &Stats) -> Vec<String> {
    let report = stats.report(Sort::Bytes);
    let mut lines = vec![format!("{:>9} {:>12} {:>12}   packet", "packets", "bytes", "on wire")];
    for row in report.rows() {
        let (counts, way, state) = (row.counts, row.direction, row.state);
        lines.push(format!(
            "{:>9} {:>12} {:>12}   {way} {state} {}",
            counts.packets,
            counts.bytes,
            counts.wire,
            Escaped(&row.name)
        ));
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

/// Returns the keys.
pub(super) fn keys(_shared: &Shared) -> Vec<String> {
    let mut lines = Vec::new();
    for group in Group::ALL {
        lines.extend([String::new(), group.title().to_owned()]);
        for binding in Interface::Terminal.bindings().filter(|it| it.group == group) {
            lines.push(format!("  {:<10} {}", binding.key_names(), binding.help));
        }
    }
    lines
        .extend(["", "Mouse: click a row, a field or a byte; the wheel moves."].map(str::to_owned));
    lines[0] = "PgDn shows more".to_owned();
    lines
}

/// Returns the fields of the packet that was marked last and of the selected one side by side; those that differ are
/// marked.
pub(super) fn comparison(shared: &Shared) -> Vec<String> {
    let details = |row: Option<u64>| shared.list.snapshot().details(row?);
    let packets = details(shared.marked).zip(details(shared.cursor.selected()));
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
