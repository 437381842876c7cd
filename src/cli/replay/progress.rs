use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use mitmcraft_engine::replay::{Tally, TallyCounts};

use crate::cli::output::Output;
use crate::cli::plural::count;

/// Shows the progress of a replay: a bar on a terminal, a line every few seconds elsewhere.
pub(super) struct Progress {
    tally: Tally,
    /// Number of packets in the recording.
    length: u64,
    output: Output,
    /// `None` if stderr is not a terminal.
    bar: Option<ProgressBar>,
}

impl Progress {
    pub(super) fn new(tally: Tally, length: usize, output: &Output) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{bar:30} {pos}/{len} packets {msg}");
            let bar = ProgressBar::new(length as u64);
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        Self { tally, length: length as u64, output: *output, bar }
    }

    /// Shows progress for as long as it is polled.
    pub(super) async fn show(&self) {
        let pause = if self.bar.is_some() { REDRAW } else { LINE };
        let mut last = TallyCounts::default();
        loop {
            tokio::time::sleep(pause).await;
            let counted = self.tally.counts();
            if counted == last {
                continue;
            }
            last = counted;
            match &self.bar {
                Some(bar) => {
                    bar.set_position(counted.position);
                    bar.set_message(describe(&counted));
                }
                None => self.output.note(&format!(
                    "{}/{} packets {}",
                    counted.position,
                    self.length,
                    describe(&counted)
                )),
            }
        }
    }

    /// Removes the bar.
    pub(super) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn describe(counted: &TallyCounts) -> String {
    let TallyCounts { moment, playing, .. } = *counted;
    format!("at {:.1} s, {playing} in the game", moment as f64 / 1000.0)
}

/// Returns the summary of a replay.
pub(super) fn summary(counted: &TallyCounts) -> String {
    let TallyCounts { sessions, finished, sent, received, extra, missed, .. } = counted;
    let mut text = format!(
        "{} in the game, {finished} replayed to the end; {} sent, {received} received, {extra} of \
         them not in the recording",
        count(*sessions, "session"),
        count(*sent, "packet"),
    );
    if *missed > 0 {
        text.push_str(&format!("; gave up waiting for {}", count(*missed, "packet type")));
    }
    text
}

/// Between two updates of the bar.
const REDRAW: Duration = Duration::from_millis(200);

/// Between two lines.
const LINE: Duration = Duration::from_secs(5);
