/// The clock of a game, reconstructed from packets that tell how long it has played.
///
/// The lateness of a beat is the real time since the first beat, minus the time that the game has played since then.
/// After the game has stood still, all later beats are late; a beat that was only delayed on the way is late alone.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// Stretches in which the clock ran without a jump.
    stretches: Vec<Vec<Beat>>,
    /// Where the current stretch has begun, how far the game has got in it, and how late the earliest beat was.
    begin: f64,
    played: f64,
    least: f64,
}

/// A packet that tells how long a game has played.
#[derive(Debug, Clone, Copy)]
struct Beat {
    /// The time, in seconds.
    at: f64,
    /// The beat's lateness, in seconds.
    late: f64,
    seq: u64,
}

/// A beat, and by how much it was late.
#[derive(Debug, Clone, Copy)]
pub(super) struct Late {
    /// The time of the beat before, and the number of its packet.
    pub(super) before: f64,
    pub(super) seq: u64,
    /// The time of the beat.
    pub(super) at: f64,
    /// The time by which it was late that the game caught up with later, in seconds.
    pub(super) waited: f64,
    /// The time that the game has permanently lost since the beat before, in seconds.
    pub(super) lost: f64,
    /// `true` if it was about as late as the beat before.
    pub(super) is_steady: bool,
    /// The time from the beat to the last one by the same clock, in seconds.
    pub(super) settled: f64,
}

impl Clock {
    /// Starts again, since the clock jumps.
    pub(super) fn restart(&mut self) {
        // What is too short to tell something is not kept, so that their number depends on the time alone.
        match self.stretches.last_mut() {
            Some(last) if last.len() < MIN_BEATS => last.clear(),
            Some(_) => self.stretches.push(Vec::new()),
            None => {}
        }
    }

    /// Returns the clock that goes on from the last beat, with times from so many seconds later on.
    pub(super) fn next(&self, length: f64) -> Self {
        let last = self.stretches.last().map(|stretch| stretch.last());
        let beat = |it: &Beat| Beat { at: it.at - length, ..*it };
        let stretches = last.map(|it| it.map(beat).into_iter().collect());
        let Self { begin, played, least, .. } = *self;
        Self { stretches: stretches.into_iter().collect(), begin: begin - length, played, least }
    }

    /// Takes a beat at a time, before which the game has played for so many seconds since the one before.
    pub(super) fn beat(&mut self, at: f64, played: f64, seq: u64) {
        if self.stretches.last().is_none_or(Vec::is_empty) {
            return self.start(at, seq);
        }
        self.played += played;
        let late = at - self.begin - self.played;
        // A game that is ahead of its own clock has jumped.
        if late < self.least - AHEAD {
            self.restart();
            return self.start(at, seq);
        }
        self.least = self.least.min(late);
        let Some(stretch) = self.stretches.last_mut() else { return };
        if stretch.last().is_none_or(|last| at - last.at >= SPACING) {
            stretch.push(Beat { at, late, seq });
        }
    }

    /// Returns how many beats were taken.
    pub(super) fn beats(&self) -> usize {
        self.stretches.iter().map(Vec::len).sum()
    }

    /// Returns by how much each beat was late.
    pub(super) fn lates(&self) -> Vec<Late> {
        self.stretches.iter().filter(|it| it.len() >= MIN_BEATS).flat_map(|it| lates(it)).collect()
    }

    fn start(&mut self, at: f64, seq: u64) {
        (self.begin, self.played, self.least) = (at, 0.0, 0.0);
        if self.stretches.is_empty() {
            self.stretches.push(Vec::new());
        }
        if let Some(stretch) = self.stretches.last_mut() {
            stretch.push(Beat { at, late: 0.0, seq });
        }
    }
}

/// Splits how late beats are into what was caught up with and what was lost: a beat cannot be late by more than
/// the clock has lost if a later one is less late.
fn lates(beats: &[Beat]) -> Vec<Late> {
    let mut bases: Vec<f64> = beats.iter().map(|beat| beat.late).collect();
    for place in (0..bases.len().saturating_sub(1)).rev() {
        bases[place] = bases[place].min(bases[place + 1]);
    }
    // Clocks that run a little fast are never late.
    let mut least = f64::INFINITY;
    for (base, beat) in bases.iter_mut().zip(beats) {
        least = least.min(beat.late);
        *base = base.max(least);
    }
    let end = beats.last().map_or(0.0, |beat| beat.at);
    let pairs = beats.windows(2).zip(bases.windows(2));
    pairs
        .map(|(beats, bases)| Late {
            before: beats[0].at,
            seq: beats[0].seq,
            at: beats[1].at,
            waited: beats[1].late - bases[1],
            lost: (bases[1] - bases[0]).max(0.0),
            is_steady: (beats[1].late - beats[0].late).abs() < STEADY,
            settled: end - beats[1].at,
        })
        .collect()
}

/// Seconds by which a beat may come before it can.
const AHEAD: f64 = 0.5;

/// Seconds between beats that are kept.
const SPACING: f64 = 0.25;

/// Beats of a stretch that tells something.
const MIN_BEATS: usize = 5;

/// Seconds by which beats that are equally late differ.
const STEADY: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;

    fn lates(beats: impl IntoIterator<Item = f64>) -> Vec<Late> {
        let mut clock = Clock::default();
        for (place, at) in beats.into_iter().enumerate() {
            clock.beat(at, 1.0, place as u64);
        }
        clock.lates()
    }

    #[test]
    fn what_comes_late_alone_has_waited_and_what_stays_late_is_lost() {
        let delayed = lates((0..20).map(|it| if it == 9 { 9.7 } else { f64::from(it) }));
        let waited: Vec<u64> =
            delayed.iter().filter(|it| it.waited > 0.6).map(|it| it.seq).collect();
        assert_eq!(waited, [8]);
        assert!(delayed.iter().all(|it| it.lost < 1e-6));
        let stood = lates((0..20).map(|it| f64::from(it) + if it > 9 { 5.0 } else { 0.0 }));
        let lost: Vec<(u64, f64)> =
            stood.iter().filter(|it| it.lost > 0.1).map(|it| (it.seq, it.lost)).collect();
        assert_eq!(lost, [(9, 5.0)]);
        assert!(stood.iter().all(|it| it.waited < 1e-6));
    }

    #[test]
    fn a_clock_that_runs_fast_or_jumps_is_not_late() {
        let fast = lates((0..60).map(|it| f64::from(it) * 0.98));
        assert!(fast.iter().all(|it| it.waited + it.lost < 1e-6));
        let mut clock = Clock::default();
        for place in 0..20 {
            let played = if place == 10 { 600.0 } else { 1.0 };
            clock.beat(f64::from(place), played, 0);
        }
        assert!(clock.lates().iter().all(|it| it.waited + it.lost < 1e-6));
        assert_eq!(clock.beats(), 20);
        (0..100).for_each(|_| clock.restart());
        assert_eq!(clock.stretches.len(), 3);
    }
}
