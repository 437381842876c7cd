use crate::store::Details;
use crate::view::{Comparison, Group, Interface};
use mitmcraft_engine::analysis::{Bin, Series, Sort, Stats, Timeline};
use mitmcraft_engine::text::Escaped;
use mitmcraft_protocol::schema::Direction;

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
    for (place, (name, _, trip)) in stats.round_trips().iter().enumerate() {
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

/// Returns packets over time as lines, each with a bar for both directions: all, or those of one name, by the
/// bytes of the names, from 1.
pub(super) fn timeline(timeline: &Timeline, name: usize) -> Vec<String> {
    let largest = timeline.largest();
    let mut names: Vec<&str> = Vec::new();
    for (_, series) in &largest {
        if !names.contains(&&*series.name) {
            names.push(&series.name);
        }
    }
    let place = name % (names.len() + 1);
    let chosen = place.checked_sub(1).map(|place| names[place]);
    let series = |direction| -> Vec<Bin> {
        match chosen {
            None => timeline.sum(direction).bins,
            Some(name) => {
                let is_chosen =
                    |(way, it): &&(Direction, Series)| *way == direction && &*it.name == name;
                largest.iter().find(is_chosen).map(|(_, it)| it.bins.clone()).unwrap_or_default()
            }
        }
    };
    let bins = [Direction::Clientbound, Direction::Serverbound].map(series);
    let most = bins.iter().flatten().map(|bin| bin.packets).max().unwrap_or_default().max(1);
    let what = Escaped(chosen.unwrap_or("all packets"));
    let mut lines = vec![format!(
        "{:>9} {:>8} {:>8}  < to the client, > to the server; {what}; Tab: the next name",
        "s", "<", ">"
    )];
    for place in 0..timeline.len() {
        let [a, b] = bins.each_ref().map(|bins| bins.get(place).map_or(0, |bin| bin.packets));
        let bar = |count: u64, sign: &str| sign.repeat((count * BAR).div_ceil(most) as usize);
        let at = place as f64 * timeline.step().as_secs_f64();
        lines.push(format!("{at:>9.1} {a:>8} {b:>8}  {}{}", bar(a, "<"), bar(b, ">")));
    }
    lines
}

/// Returns the keys.
pub(super) fn keys() -> Vec<String> {
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

/// Returns the fields of two packets side by side; those that differ are marked.
pub(super) fn comparison(one: &Details, other: &Details, comparison: &Comparison) -> Vec<String> {
    let name = |details: &Details| {
        let packet = &details.record.packet;
        let name = packet.kind().map_or("?", |kind| kind.name());
        format!("{} (no {})", Escaped(name), packet.seq())
    };
    let mut lines = vec![format!("  {} | {}", name(one), name(other))];
    for field in &comparison.fields {
        let [a, b] = field.values.each_ref().map(|it| it.as_deref().unwrap_or("-"));
        let sign = if field.is_same() { ' ' } else { '*' };
        lines.push(format!("{sign} {}: {a} | {b}", Escaped(&field.path)));
    }
    lines
}

/// Most signs of a bar.
const BAR: u64 = 24;
