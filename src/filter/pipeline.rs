use super::{Packet, Verdict};

/// Judges packets, one at a time, in the order in which they came.
pub trait Filter: Send {
    /// What messages call it.
    fn name(&self) -> &str;

    /// Says what becomes of the packet.
    fn apply(&mut self, packet: &mut Packet) -> Verdict;
}

/// Filters in order: each sees what the one before has made of the packet, and the first that
/// drops it ends it.
#[derive(Default)]
pub struct Pipeline {
    filters: Vec<Box<dyn Filter>>,
}

impl Pipeline {
    /// Puts a filter behind the others.
    pub fn push(&mut self, filter: Box<dyn Filter>) {
        self.filters.push(filter);
    }

    /// What the filters make of the packet together.
    pub fn apply(&mut self, packet: &Packet) -> Verdict {
        let mut verdict = Verdict::Pass;
        let mut current = None;
        for filter in &mut self.filters {
            let packet = current.get_or_insert_with(|| packet.clone());
            match filter.apply(packet) {
                Verdict::Pass => {}
                Verdict::Drop => return Verdict::Drop,
                Verdict::Replace(body) => {
                    packet.replace_body(body.clone());
                    verdict = Verdict::Replace(body);
                }
            }
        }
        verdict
    }

    /// Whether there is nothing to judge with.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.filters.is_empty()
    }
}

impl std::fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.filters.iter().map(|filter| filter.name())).finish()
    }
}
