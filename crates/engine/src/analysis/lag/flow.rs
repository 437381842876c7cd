use std::ops::Range;

/// Packets of one direction over time, and the gaps between them.
#[derive(Debug)]
pub(super) struct Flow {
    /// Seconds without a packet that are a gap.
    long: f64,
    /// The time and the number of the last packet.
    pub(super) last: Option<(f64, u64)>,
    /// Packets and bytes of each second, and the time of the first.
    seconds: Vec<(u32, u64)>,
    first: f64,
    gaps: Vec<Gap>,
    /// The number of packets that came about a second after the one before.
    pub(super) each_second: usize,
}

/// A period without packets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gap {
    pub(super) from: f64,
    pub(super) to: f64,
    /// The number of the packet before.
    pub(super) seq: u64,
    /// The packets that came at once at the end.
    pub(super) released: u32,
    /// The packets that would have come in the time, as often as they came before.
    pub(super) missing: f64,
}

impl Gap {
    pub(super) fn seconds(&self) -> f64 {
        self.to - self.from
    }

    /// The seconds by which it is longer than what is usual between packets.
    pub(super) fn excess(&self) -> f64 {
        self.seconds() * (1.0 - 1.0 / self.missing.max(1.0))
    }
}

impl Flow {
    /// A flow in which nothing is a gap for so many seconds.
    pub(super) fn new(long: f64) -> Self {
        Self { long, last: None, seconds: Vec::new(), first: 0.0, gaps: Vec::new(), each_second: 0 }
    }

    /// Returns the flow that goes on after the last seconds, with times from so many full seconds later on.
    pub(super) fn next(&self, length: f64) -> Self {
        let end = self.place(length);
        let begin = end.saturating_sub(TAIL as usize);
        let mut seconds = self.seconds.get(begin..).unwrap_or_default().to_vec();
        seconds.resize(end - begin, (0, 0));
        let last = self.last.map(|(last, seq)| (last - length, seq));
        Self { last, first: -(seconds.len() as f64), seconds, ..Self::new(self.long) }
    }

    /// Takes a packet.
    pub(super) fn take(&mut self, at: f64, bytes: usize, seq: u64) {
        if let Some((last, before)) = self.last
            && at - last >= self.long
        {
            let missing = self.rate(last) * (at - last);
            self.gaps.push(Gap { from: last, to: at, seq: before, released: 0, missing });
        }
        let is_second = |last: f64| (0.85..1.15).contains(&(at - last));
        self.each_second += usize::from(self.last.is_some_and(|(last, _)| is_second(last)));
        if let Some(gap) = self.gaps.last_mut()
            && at - gap.to <= AT_ONCE
        {
            gap.released += 1;
        }
        self.last = Some((at, seq));
        let second = self.place(at);
        if self.seconds.len() <= second {
            self.seconds.resize(second + 1, (0, 0));
        }
        self.seconds[second].0 += 1;
        self.seconds[second].1 += bytes as u64;
    }

    /// Forgets all gaps, since packets are missing.
    pub(super) fn forget_gaps(&mut self) {
        self.gaps.clear();
    }

    /// Iterates over the gaps that overlap a period.
    pub(super) fn gaps(&self, from: f64, to: f64) -> impl Iterator<Item = &Gap> {
        self.gaps.iter().filter(move |gap| gap.from < to && gap.to > from)
    }

    /// Sums up the packets and bytes of a period.
    pub(super) fn sum(&self, from: f64, to: f64) -> (u64, u64) {
        let seconds = self.seconds(from, to).iter();
        seconds.fold((0, 0), |(packets, bytes), it| (packets + u64::from(it.0), bytes + it.1))
    }

    /// Returns the most packets of a second within a period, or outside it.
    pub(super) fn most(&self, from: f64, to: f64, is_within: bool) -> u32 {
        let within = self.range(from, to);
        let seconds = self.seconds.iter().enumerate();
        let wanted = seconds.filter(|(place, _)| within.contains(place) == is_within);
        wanted.map(|(_, it)| it.0).max().unwrap_or_default()
    }

    /// Returns the packets per second before a moment.
    pub(super) fn rate(&self, at: f64) -> f64 {
        let seconds = self.seconds(at - BEFORE, at);
        let sum: u32 = seconds.iter().map(|it| it.0).sum();
        f64::from(sum) / seconds.len().max(1) as f64
    }

    /// Returns whether packets came in each second before and after a gap.
    pub(super) fn is_rhythmic(&self, gap: &Gap) -> bool {
        let before = self.seconds(gap.from - 2.0 * BEFORE, gap.from.floor());
        let after = self.seconds(gap.to.ceil(), gap.to.ceil() + BEFORE);
        let is_long = before.len() >= 8 && after.len() >= 4;
        is_long && before.iter().chain(after).all(|it| it.0 >= RHYTHM)
    }

    fn seconds(&self, from: f64, to: f64) -> &[(u32, u64)] {
        self.seconds.get(self.range(from, to)).unwrap_or_default()
    }

    fn range(&self, from: f64, to: f64) -> Range<usize> {
        let end = self.place(to.ceil()).min(self.seconds.len());
        self.place(from).min(end)..end
    }

    fn place(&self, at: f64) -> usize {
        (at - self.first).max(0.0) as usize
    }
}

/// Seconds in which packets come at once.
const AT_ONCE: f64 = 0.025;

/// Packets in each second of a rhythm.
const RHYTHM: u32 = 4;

/// Seconds before the beginning that are known of a session that goes on.
pub(super) const TAIL: f64 = 60.0;

/// Seconds whose packets tell how many come.
const BEFORE: f64 = 5.0;
