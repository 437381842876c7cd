use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use mitmcraft::replay::{Counted, Tally};

use crate::cli::output::Output;

/// Shows how far a replay is: a bar on a terminal, now and then a line elsewhere.
pub(crate) struct Progress {
    tally: Tally,
    /// Steps of the recording.
    length: u64,
    output: Output,
    /// None: no terminal.
    bar: Option<ProgressBar>,
}

impl Progress {
    pub(crate) fn new(tally: Tally, length: usize, output: &Output) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{bar:30} {pos}/{len} packets {msg}");
            let bar = ProgressBar::new(length as u64);
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        Self { tally, length: length as u64, output: *output, bar }
    }

    /// Shows it as long as it is polled.
    pub(crate) async fn show(&self) {
        let pause = if self.bar.is_some() { REDRAW } else { LINE };
        let mut last = Counted::default();
        loop {
            tokio::time::sleep(pause).await;
            let counted = self.tally.counted();
            if counted == last {
                continue;
            }
            last = counted;
            match &self.bar {
                Some(bar) => {
                    bar.set_position(counted.position);
                    bar.set_message(words(&counted));
                }
                None => self.output.note(&format!(
                    "{}/{} packets {}",
                    counted.position,
                    self.length,
                    words(&counted)
                )),
            }
        }
    }

    /// Leaves the terminal as it was.
    pub(crate) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn words(counted: &Counted) -> String {
    let Counted { moment, playing, .. } = *counted;
    format!("at {:.1} s, {playing} in the game", moment as f64 / 1000.0)
}

/// The summary of a replay, in a line.
pub(crate) fn summary(counted: &Counted) -> String {
    let Counted { sessions, finished, sent, received, extra, missed, .. } = counted;
    let mut text = format!(
        "{sessions} in the game, {finished} to the end; {sent} packets sent, {received} received, \
         {extra} of them not in the recording"
    );
    if *missed > 0 {
        text.push_str(&format!("; {missed} kinds waited for in vain"));
    }
    text
}

const REDRAW: Duration = Duration::from_millis(200);

/// Between two lines where there is no terminal.
const LINE: Duration = Duration::from_secs(5);
