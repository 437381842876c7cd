/// Things to do one after the other, spread evenly over a number of ticks.
#[derive(Debug)]
pub(super) struct Timeline<T> {
    things: std::vec::IntoIter<T>,
    count: usize,
    ticks: usize,
    tick: usize,
}

impl<T> Timeline<T> {
    /// Creates a timeline whose last things are due after `ticks`.
    pub(super) fn new(things: Vec<T>, ticks: u32) -> Self {
        let ticks = usize::try_from(ticks).unwrap_or(usize::MAX).max(1);
        Self { count: things.len(), things: things.into_iter(), ticks, tick: 0 }
    }

    /// Counts a tick, and returns the things that are due.
    pub(super) fn step(&mut self) -> Vec<T> {
        self.tick = self.ticks.min(self.tick + 1);
        let done = self.count - self.things.len();
        let due = self.count.saturating_mul(self.tick) / self.ticks;
        self.things.by_ref().take(due.saturating_sub(done)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_comes_once_in_order_and_in_time() {
        for count in [0, 1, 7, 100] {
            for ticks in [0, 1, 7, 100] {
                let mut timeline = Timeline::new((0..count).collect(), ticks);
                let steps: Vec<Vec<u32>> = (0..ticks.max(1)).map(|_| timeline.step()).collect();
                let largest = steps.iter().map(Vec::len).max().unwrap();
                assert!(largest <= count.div_ceil(ticks.max(1)) as usize);
                assert_eq!(steps.concat(), (0..count).collect::<Vec<_>>());
                assert!(timeline.step().is_empty());
            }
        }
    }
}
