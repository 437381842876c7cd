use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// A ceiling for the memory that grows with traffic: buffers of unfinished frames, delayed packets,
/// bytes to be written, inflated bodies. Cheap to clone; clones share the ceiling.
///
/// Nobody waits for memory: an owner that is refused does without it. An unfinished frame is passed
/// on in pieces, and a body is inflated again each time that somebody looks at it.
#[derive(Debug, Clone)]
pub struct MemoryBudget(Arc<Pool>);

#[derive(Debug)]
struct Pool {
    limit: usize,
    used: AtomicUsize,
    streamed: AtomicU64,
}

/// The memory of one owner within a [`MemoryBudget`], which gets it back on drop. The default has no
/// budget and is never refused memory.
///
/// Up to [`FREE`](Self::FREE) bytes are not counted, so that most owners never touch the counter that
/// all share.
#[derive(Debug, Default)]
pub struct Reservation {
    budget: Option<MemoryBudget>,
    /// Bytes counted in `budget`: 0 or a multiple of `FREE`.
    counted: usize,
}

impl MemoryBudget {
    /// The ceiling of a program that was told no other: 512 MiB.
    pub const DEFAULT: usize = 512 << 20;

    /// Creates a budget of `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self(Arc::new(Pool { limit, used: AtomicUsize::new(0), streamed: AtomicU64::new(0) }))
    }

    /// Returns a reservation without memory.
    #[must_use]
    pub fn reservation(&self) -> Reservation {
        Reservation { budget: Some(self.clone()), counted: 0 }
    }

    /// Returns the ceiling in bytes.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.0.limit
    }

    /// Returns the bytes in use. May exceed the limit by memory that was in use already when it was
    /// counted.
    #[must_use]
    pub fn used(&self) -> usize {
        self.0.used.load(Relaxed)
    }

    /// Returns how many packets were passed on in pieces because there was no memory for them.
    #[must_use]
    pub fn streamed(&self) -> u64 {
        self.0.streamed.load(Relaxed)
    }

    pub(super) fn count_streamed(&self) {
        self.0.streamed.fetch_add(1, Relaxed);
    }

    /// Returns `true` if no memory is left.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.used() >= self.0.limit
    }
}

/// Returns a budget of [`MemoryBudget::DEFAULT`].
impl Default for MemoryBudget {
    fn default() -> Self {
        Self::new(Self::DEFAULT)
    }
}

impl Reservation {
    /// The number of bytes of each owner that are not counted against the budget.
    pub const FREE: usize = 64 << 10;

    /// Sets the size to `bytes`. Returns `false`, and changes nothing, if that is more than before and
    /// more than the budget has left.
    #[must_use]
    pub fn try_resize(&mut self, bytes: usize) -> bool {
        let counted = count(bytes);
        let Some(MemoryBudget(pool)) = self.budget.as_ref().filter(|_| counted > self.counted)
        else {
            self.set(counted);
            return true;
        };
        let more = counted - self.counted;
        let taken = pool.used.fetch_update(Relaxed, Relaxed, |used| {
            used.checked_add(more).filter(|used| *used <= pool.limit)
        });
        if taken.is_err() {
            return false;
        }
        self.counted = counted;
        true
    }

    /// Sets the size to `bytes`, for memory that is in use whatever the budget says.
    #[inline]
    pub fn resize(&mut self, bytes: usize) {
        self.set(count(bytes));
    }

    /// Returns the bytes that are counted, 0 if there is no budget.
    #[must_use]
    pub fn counted(&self) -> usize {
        self.counted
    }

    /// Returns the budget, if there is one.
    #[must_use]
    pub fn budget(&self) -> Option<&MemoryBudget> {
        self.budget.as_ref()
    }

    /// Returns `true` if the owner has more than what is free, and more than its budget has left. Whoever
    /// stops growing then leaves as much as it has to the others, however many there are.
    #[inline]
    #[must_use]
    pub fn is_pressed(&self) -> bool {
        self.counted > 0
            && self
                .budget
                .as_ref()
                .is_some_and(|it| self.counted > it.limit().saturating_sub(it.used()))
    }

    #[inline]
    fn set(&mut self, counted: usize) {
        if counted != self.counted {
            if let Some(MemoryBudget(pool)) = &self.budget {
                pool.used.fetch_add(counted.wrapping_sub(self.counted), Relaxed);
            }
            self.counted = counted;
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[inline]
fn count(bytes: usize) -> usize {
    if bytes <= Reservation::FREE {
        return 0;
    }
    bytes.checked_next_multiple_of(Reservation::FREE).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: usize = Reservation::FREE;

    #[test]
    fn what_is_dropped_or_shrunk_is_given_back() {
        let budget = MemoryBudget::new(10 * FREE);
        let (mut one, mut other) = (budget.reservation(), budget.reservation());
        assert!(one.try_resize(6 * FREE) && other.try_resize(4 * FREE));
        assert!(budget.is_exhausted());
        assert!(!one.try_resize(6 * FREE + 1));
        assert_eq!(budget.used(), 10 * FREE);
        assert!(one.try_resize(2 * FREE));
        assert!(other.try_resize(8 * FREE));
        drop(other);
        assert_eq!(budget.used(), 2 * FREE);
        one.resize(0);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn a_little_is_free_and_memory_in_use_is_counted_beyond_the_limit() {
        let budget = MemoryBudget::new(0);
        let mut reservation = budget.reservation();
        assert!(reservation.try_resize(FREE));
        assert_eq!(budget.used(), 0);
        assert!(!reservation.try_resize(FREE + 1));
        reservation.resize(FREE + 1);
        assert_eq!(budget.used(), 2 * FREE);
        assert!(reservation.try_resize(FREE + 2), "rounded up already");
        assert!(reservation.try_resize(1));
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn who_stops_when_pressed_leaves_a_share_to_the_others() {
        let budget = MemoryBudget::new(110 * FREE);
        let mut owners: Vec<_> = (0..10).map(|_| budget.reservation()).collect();
        // Ten take what they can get, and the eleventh comes later.
        for size in 1..100 {
            for owner in owners.iter_mut().filter(|it| !it.is_pressed()) {
                owner.resize(size * FREE);
            }
        }
        assert!(owners.iter().all(|it| it.counted <= 11 * FREE), "{owners:?}");
        let mut last = budget.reservation();
        // Half of the 9 that they leave.
        last.resize(4 * FREE);
        assert!(!last.is_pressed());
        assert!(owners.iter().all(Reservation::is_pressed));
    }

    #[test]
    fn without_a_budget_nothing_is_refused() {
        let mut reservation = Reservation::default();
        assert!(reservation.try_resize(usize::MAX) && reservation.try_resize(0));
    }
}
