use super::clock::Late;
use super::judge::{Fact, seconds};
use super::observed::TICKS;
use super::spans::{SOME, Span, WAITED};

/// The delays of the packets by which the clock of a game is followed, in a part of a session.
#[derive(Debug)]
pub(super) struct Lates<'e> {
    /// The seconds for which the clock was followed.
    pub(super) covered: f64,
    /// The seconds that the game lost, the most at once, and how often it lost some.
    pub(super) lost: f64,
    pub(super) most: f64,
    pub(super) steps: usize,
    /// The beat before which it lost most.
    pub(super) step: Option<&'e Late>,
    /// The most seconds that a beat waited, how many did, and how many of them as long as the one before.
    pub(super) waited: f64,
    pub(super) late: usize,
    pub(super) steady: usize,
    /// The beat that waited longest.
    pub(super) longest: Option<&'e Late>,
    /// The seconds for which the clock was followed after the last loss.
    pub(super) settled: f64,
}

impl<'e> Lates<'e> {
    pub(super) fn of(lates: &'e [Late], span: Span) -> Self {
        let within = |it: &&Late| it.at > span.from && it.at <= span.to + 0.001;
        let within: Vec<&Late> = lates.iter().filter(within).collect();
        let step = within.iter().copied().max_by(|a, b| a.lost.total_cmp(&b.lost));
        let longest = within.iter().copied().max_by(|a, b| a.waited.total_cmp(&b.waited));
        let late = || within.iter().filter(|it| it.waited >= WAITED);
        let last = within.iter().rev().find(|it| it.lost >= SOME);
        Self {
            covered: within.iter().map(|it| it.at - it.before.max(span.from)).sum(),
            lost: within.iter().map(|it| it.lost).sum(),
            most: step.map_or(0.0, |it| it.lost),
            steps: within.iter().filter(|it| it.lost >= STEP).count(),
            step: step.filter(|it| it.lost >= STEP),
            waited: longest.map_or(0.0, |it| it.waited),
            late: late().count(),
            steady: late().filter(|it| it.is_steady).count(),
            longest: longest.filter(|it| it.waited >= WAITED),
            settled: last.map_or(0.0, |it| it.settled),
        }
    }

    /// Returns whether the game lost nearly all of the time at once.
    pub(super) fn is_once(&self) -> bool {
        self.most >= 0.8 * self.lost
    }

    /// The ticks per second that the game played in a period.
    pub(super) fn rate(&self, span: Span) -> f64 {
        TICKS * (1.0 - self.lost / span.seconds().max(self.lost)).max(0.0)
    }

    /// Returns the beats before which the game lost most and waited longest.
    pub(super) fn facts(&self, whose: &str) -> Vec<Fact> {
        let lost = self.step.map(|it| {
            let text = format!("{whose} lost {} after this packet", seconds(it.lost));
            Fact { at: it.before, seq: it.seq, text }
        });
        let waited = self.longest.map(|it| {
            let waited = seconds(it.waited);
            let text = format!("{whose} was {waited} late after this packet, and caught up");
            Fact { at: it.before, seq: it.seq, text }
        });
        lost.into_iter().chain(waited).collect()
    }
}

/// Seconds that a game loses at once if it stands still.
const STEP: f64 = 0.3;
