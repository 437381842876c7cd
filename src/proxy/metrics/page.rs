use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::counters::{Histogram, Metrics, Trouble};
use crate::proxy::log::Depth;
use mitmcraft_engine::capture::Outcome;
use mitmcraft_engine::filter::RuleCount;
use mitmcraft_engine::link::Side;
use mitmcraft_protocol::schema::{Direction, State};

/// What the page contains besides the counters.
#[derive(Debug, Default)]
pub(super) struct Moment {
    /// The counts of the rules of all filter files.
    pub(super) rules: Vec<RuleCount>,
    /// The entries that wait to be written.
    pub(super) depth: Depth,
    /// Bytes that may wait.
    pub(super) limit: usize,
    /// Start of the run, in seconds since 1970.
    pub(super) started: f64,
}

/// Returns the page in Prometheus' text format, version 0.0.4.
///
/// `prometheus-client` would not make this smaller: the counters are plain atomics that sessions share
/// without a registry, and all that it would replace is [`Page`].
pub(super) fn page(metrics: &Metrics, moment: &Moment) -> String {
    let mut page = Page::default();
    page.family("build_info", "gauge", "The running version; always 1.");
    page.sample("build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
    page.family("start_time_seconds", "gauge", "Start of the run, in seconds since 1970.");
    page.sample("start_time_seconds", &[], moment.started);
    sessions(&mut page, metrics);
    packets(&mut page, metrics);
    forwarding(&mut page, metrics);
    rules(&mut page, &moment.rules);
    log(&mut page, metrics, moment);
    page.family("errors_total", "counter", "Errors, by kind.");
    for trouble in Trouble::ALL {
        page.sample("errors_total", &[("kind", trouble.name())], metrics.troubles(trouble));
    }
    page.text
}

fn sessions(page: &mut Page, metrics: &Metrics) {
    // Reading `closed` first keeps the number of open sessions from being negative.
    let closed = metrics.closed.get();
    let opened = metrics.opened.get().max(closed);
    page.family("sessions_total", "counter", "Sessions accepted.");
    page.sample("sessions_total", &[], opened);
    page.family("sessions_open", "gauge", "Sessions in progress.");
    page.sample("sessions_open", &[], opened - closed);
    page.family("players", "gauge", "Players in the game.");
    page.sample("players", &[], metrics.players());
}

fn packets(page: &mut Page, metrics: &Metrics) {
    let directions = [Direction::Serverbound, Direction::Clientbound];
    let kinds = || directions.into_iter().flat_map(|it| State::ALL.map(|state| (it, state)));
    let help = "Packets, by verdict. Received: pass, drop and rewrite; sent: pass and send, which is \
                a packet that the proxy made, also in the place of a rewritten one.";
    page.family("packets_total", "counter", help);
    for (direction, state) in kinds() {
        for outcome in Outcome::ALL {
            let labels = [
                ("direction", direction.name()),
                ("state", state.name()),
                ("verdict", outcome.name()),
            ];
            let packets = &metrics.packets[direction][state as usize][outcome as usize];
            page.sample("packets_total", &labels, packets.get());
        }
    }
    page.family("bytes_total", "counter", "Bytes received, as on the wire.");
    for (direction, state) in kinds() {
        let labels = [("direction", direction.name()), ("state", state.name())];
        page.sample("bytes_total", &labels, metrics.bytes[direction][state as usize].get());
    }
    page.family(
        "raw_bytes_total",
        "counter",
        "Bytes received that are not part of a complete packet.",
    );
    for direction in directions {
        let labels = [("direction", direction.name())];
        page.sample("raw_bytes_total", &labels, metrics.raw_bytes[direction].get());
    }
}

fn forwarding(page: &mut Page, metrics: &Metrics) {
    let help = "Time from reading bytes to writing them, by the side that gets them, without bytes that rules, programs or people hold, and those read while the side takes nothing.";
    page.family("forward_seconds", "histogram", help);
    for side in Side::ALL {
        let (histogram, to) = (&metrics.forwarding[side], ("to", side.name()));
        let counts = histogram.cumulative();
        let limits = Histogram::LIMITS.map(|limit| limit.to_string());
        let limits = limits.iter().map(String::as_str).chain(["+Inf"]);
        for (limit, count) in limits.zip(counts) {
            page.sample("forward_seconds_bucket", &[to, ("le", limit)], count);
        }
        page.sample("forward_seconds_sum", &[to], histogram.seconds());
        page.sample("forward_seconds_count", &[to], counts[counts.len() - 1]);
    }
    let help = "Time for which bytes waited because a side took no more.";
    page.family("write_blocked_seconds_total", "counter", help);
    for side in Side::ALL {
        let seconds = metrics.blocked[side].get() as f64 / 1e9;
        page.sample("write_blocked_seconds_total", &[("to", side.name())], seconds);
    }
}

fn rules(page: &mut Page, counts: &[RuleCount]) {
    // Two files may have rules of the same name, but a series may occur only once.
    let mut rules: BTreeMap<&str, [u64; 3]> = BTreeMap::new();
    for count in counts {
        let sums = rules.entry(&count.name).or_default();
        for (sum, more) in sums.iter_mut().zip([count.matched, count.acted, count.failed]) {
            *sum += more;
        }
    }
    for (place, (name, help)) in [
        ("rule_matched_total", "Packets that a rule's `when` matched."),
        ("rule_acted_total", "Packets that a rule acted on."),
        ("rule_failed_total", "Packets that a rule could not act on."),
    ]
    .into_iter()
    .enumerate()
    {
        page.family(name, "counter", help);
        for (rule, sums) in &rules {
            page.sample(name, &[("rule", rule)], sums[place]);
        }
    }
}

fn log(page: &mut Page, metrics: &Metrics, moment: &Moment) {
    page.family("log_entries_written_total", "counter", "Entries written to screen and captures.");
    page.sample("log_entries_written_total", &[], metrics.written.get());
    let help = "Entries dropped because the log queue was full.";
    page.family("log_entries_dropped_total", "counter", help);
    page.sample("log_entries_dropped_total", &[], metrics.left_out.get());
    page.family("log_queue_batches", "gauge", "Batches of entries waiting to be written.");
    page.sample("log_queue_batches", &[], moment.depth.batches);
    page.family("log_queue_bytes", "gauge", "Approximate memory of the waiting batches.");
    page.sample("log_queue_bytes", &[], moment.depth.bytes);
    page.family("log_queue_limit_bytes", "gauge", "Memory that waiting batches can take.");
    page.sample("log_queue_limit_bytes", &[], moment.limit);
    page.family("log_stalled", "gauge", "1 while a screen or capture takes nothing.");
    page.sample("log_stalled", &[], u8::from(metrics.is_stalled()));
}

#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.text, "# HELP {PREFIX}{name} {help}");
        let _ = writeln!(self.text, "# TYPE {PREFIX}{name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        let _ = write!(self.text, "{PREFIX}{name}");
        for (place, (label, value)) in labels.iter().enumerate() {
            let before = if place == 0 { '{' } else { ',' };
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.text, "{before}{label}=\"{value}\"");
        }
        let after = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.text, "{after} {value}");
    }
}

const PREFIX: &str = "mitmcraft_";

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_of_forwarding_are_a_histogram_of_prometheus() {
        let metrics = Metrics::default();
        for millis in [0, 5, 5, 2000] {
            metrics.forwarding.client.add(Duration::from_millis(millis));
        }
        metrics.blocked.server.add(1_500_000_000);
        let page = page(&metrics, &Moment::default());
        for line in [
            "mitmcraft_forward_seconds_bucket{to=\"client\",le=\"0.0001\"} 1",
            "mitmcraft_forward_seconds_bucket{to=\"client\",le=\"0.01\"} 3",
            "mitmcraft_forward_seconds_bucket{to=\"client\",le=\"1\"} 3",
            "mitmcraft_forward_seconds_bucket{to=\"client\",le=\"+Inf\"} 4",
            "mitmcraft_forward_seconds_sum{to=\"client\"} 2.01",
            "mitmcraft_forward_seconds_count{to=\"client\"} 4",
            "mitmcraft_forward_seconds_count{to=\"server\"} 0",
            "mitmcraft_write_blocked_seconds_total{to=\"server\"} 1.5",
        ] {
            assert!(page.lines().any(|it| it == line), "{line}: {page}");
        }
    }

    #[test]
    fn rules_of_the_same_name_are_one_series_and_odd_names_are_escaped() {
        let rule =
            |name: &str, matched| RuleCount { name: name.to_owned(), matched, acted: 1, failed: 0 };
        let rules = vec![rule("a", 2), rule("say \"hi\"\\\n", 1), rule("a", 3)];
        let page = page(&Metrics::default(), &Moment { rules, ..Moment::default() });
        assert!(page.contains("mitmcraft_rule_matched_total{rule=\"a\"} 5\n"), "{page}");
        assert!(page.contains("mitmcraft_rule_acted_total{rule=\"a\"} 2\n"), "{page}");
        let odd = "mitmcraft_rule_failed_total{rule=\"say \\\"hi\\\"\\\\\\n\"} 0\n";
        assert!(page.contains(odd), "{page}");
    }
}
