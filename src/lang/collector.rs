use std::ops::ControlFlow;

use super::field::{Field, Step, position};
use super::slot::{Found, Slot};
use crate::schema::{Flow, Leaf, Name, PacketType, Protocol, Visitor};

/// Reads the fields of `live` from a body into their slots, and nothing behind the last of them.
///
/// What comes behind a fault in the body is absent.
pub(super) fn collect(
    protocol: &Protocol,
    packet: &PacketType,
    (body, start): (&[u8], usize),
    fields: &[Field],
    live: &[usize],
    slots: &mut [Slot],
) {
    let mut collector = Collector::new(fields, live, slots, None);
    // A fault is as good an end as any other.
    let _ = protocol.walk(packet, body, start, &mut collector);
    if !collector.uncounted {
        return;
    }
    let mut counter = Counter::default();
    let _ = protocol.walk(packet, body, start, &mut counter);
    live.iter().for_each(|place| slots[*place] = Slot::default());
    let mut collector = Collector::new(fields, live, slots, Some(&counter.counts));
    let _ = protocol.walk(packet, body, start, &mut collector);
}

/// Finds the fields of a packet as it is walked. What no field leads into is passed over.
pub(super) struct Collector<'s> {
    fields: &'s [Field],
    live: &'s [usize],
    slots: &'s mut [Slot],
    /// How many of `live` are still looked for.
    left: usize,
    /// Whether the packet's own container is open.
    started: bool,
    /// How many containers inside it are open that some field leads into.
    depth: usize,
    /// How many more are open that none leads into.
    skipped: usize,
    /// Whether the name of the value that comes next was seen, and whether a field has it.
    named: Option<bool>,
    /// Those of the open containers that are lists.
    lists: Vec<Open>,
    /// How many lists without a count were seen.
    countless: usize,
    /// The numbers of their elements, where they end.
    counts: Option<&'s [Option<usize>]>,
    /// Whether a place from the end is asked for in a list whose length is not known yet.
    uncounted: bool,
}

#[derive(Debug, Clone, Copy)]
struct Open {
    next: usize,
    count: Option<usize>,
}

impl<'s> Collector<'s> {
    pub(super) fn new(
        fields: &'s [Field],
        live: &'s [usize],
        slots: &'s mut [Slot],
        counts: Option<&'s [Option<usize>]>,
    ) -> Self {
        Self {
            fields,
            live,
            slots,
            left: live.len(),
            started: false,
            depth: 0,
            skipped: 0,
            named: None,
            lists: Vec::new(),
            countless: 0,
            counts,
            uncounted: false,
        }
    }

    /// Marks the slots whose next step is the value that comes next.
    #[inline]
    fn mark(&mut self, is_next: impl Fn(&Step) -> bool) -> bool {
        let mut hit = false;
        for place in self.live {
            let slot = &mut self.slots[*place];
            let step = self.fields[*place].steps.get(self.depth);
            slot.next = !slot.done && slot.matched == self.depth && step.is_some_and(&is_next);
            hit |= slot.next;
        }
        hit
    }

    /// Whether some field leads to or through the value that comes next.
    #[inline]
    fn enter(&mut self) -> bool {
        if let Some(hit) = self.named.take() {
            return hit;
        }
        let Some(list) = self.lists.last_mut() else { return false };
        let (at, count) = (list.next, list.count);
        list.next += 1;
        self.mark(|step| match step {
            Step::Name(_) => false,
            Step::Each => true,
            Step::Index(index) if *index < 0 => {
                count.is_some_and(|count| position(*index, count) == Some(at))
            }
            Step::Index(index) => usize::try_from(*index) == Ok(at),
        })
    }

    fn open(&mut self, list: Option<Open>) -> Flow {
        if !self.started {
            self.started = true;
            return ControlFlow::Continue(());
        }
        if self.skipped > 0 || !self.enter() {
            self.skipped += 1;
            return ControlFlow::Continue(());
        }
        self.depth += 1;
        let countless = list.is_some_and(|list| list.count.is_none());
        let mut deeper = countless;
        for place in self.live {
            let slot = &mut self.slots[*place];
            if !std::mem::take(&mut slot.next) {
                continue;
            }
            slot.matched = self.depth;
            match self.fields[*place].steps.get(self.depth) {
                Some(Step::Index(index)) if *index < 0 && countless && self.counts.is_none() => {
                    self.uncounted = true;
                    return ControlFlow::Break(());
                }
                Some(_) => deeper = true,
                None if countless => {}
                None => {
                    let count = list.and_then(|list| list.count);
                    self.put(*place, count.map_or(Found::Map, Found::List));
                }
            }
        }
        match list {
            _ if !deeper => {
                self.leave();
                self.skipped = 1;
            }
            Some(list) => self.lists.push(list),
            None => {}
        }
        self.flow()
    }

    fn close(&mut self, is_list: bool) -> Flow {
        if self.skipped > 0 {
            self.skipped -= 1;
            return ControlFlow::Continue(());
        }
        if self.depth == 0 {
            return ControlFlow::Continue(());
        }
        let list = if is_list { self.lists.pop() } else { None };
        for place in self.live {
            let (slot, field) = (&mut self.slots[*place], &self.fields[*place]);
            if slot.matched != self.depth || slot.done {
                continue;
            }
            if let Some(Open { next, count: None }) = list
                && field.steps.len() == self.depth
            {
                self.put(*place, Found::List(next));
            } else if field.first_each().is_none_or(|each| each >= self.depth) {
                // The container is the only one that the field leads into.
                slot.done = true;
                self.left -= 1;
            }
        }
        self.leave();
        self.flow()
    }

    fn leave(&mut self) {
        for place in self.live {
            let slot = &mut self.slots[*place];
            if slot.matched == self.depth {
                slot.matched -= 1;
            }
        }
        self.depth -= 1;
    }

    /// Keeps what a field's first `depth` steps lead to.
    #[inline]
    fn put(&mut self, place: usize, found: Found) {
        let slot = &mut self.slots[place];
        match self.fields[place].first_each() {
            Some(each) if each < self.depth => {
                if !found.is_absent() {
                    slot.found.push(found);
                }
            }
            _ => {
                slot.found = found;
                slot.done = true;
                self.left -= 1;
            }
        }
    }

    #[inline]
    fn flow(&self) -> Flow {
        if self.left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Visitor for Collector<'_> {
    #[inline]
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow {
        if self.skipped > 0 || !self.enter() {
            return ControlFlow::Continue(());
        }
        self.depth += 1;
        for place in self.live {
            if !std::mem::take(&mut self.slots[*place].next) {
                continue;
            }
            let found = Found::leaf(leaf, self.depth);
            let ends = self.fields[*place].steps.len() == self.depth;
            self.put(
                *place,
                if ends || matches!(found, Found::Nbt(_)) { found } else { Found::Absent },
            );
        }
        self.depth -= 1;
        self.flow()
    }

    #[inline]
    fn field(&mut self, name: &Name) -> Flow {
        if self.skipped == 0 {
            let hit = self.mark(|step| matches!(step, Step::Name(wanted) if **wanted == **name));
            self.named = Some(hit);
        }
        ControlFlow::Continue(())
    }

    fn open_map(&mut self, _at: usize) -> Flow {
        self.open(None)
    }

    fn close_map(&mut self, _at: usize) -> Flow {
        self.close(false)
    }

    fn open_list(&mut self, _at: usize, count: Option<usize>) -> Flow {
        let count = count.or_else(|| {
            self.countless += 1;
            self.counts.and_then(|counts| *counts.get(self.countless - 1)?)
        });
        self.open(Some(Open { next: 0, count }))
    }

    fn close_list(&mut self, _at: usize) -> Flow {
        self.close(true)
    }
}

/// Counts the elements of the lists that have no count.
#[derive(Default)]
struct Counter {
    /// In the order in which they begin; none for those that do not end.
    counts: Vec<Option<usize>>,
    /// For each open container how many values are in it, and its place in `counts`.
    open: Vec<(usize, Option<usize>)>,
}

impl Counter {
    fn count(&mut self) {
        if let Some((count, _)) = self.open.last_mut() {
            *count += 1;
        }
    }

    fn close(&mut self) -> Flow {
        if let Some((count, Some(place))) = self.open.pop() {
            self.counts[place] = Some(count);
        }
        ControlFlow::Continue(())
    }
}

impl Visitor for Counter {
    fn leaf(&mut self, _leaf: &Leaf<'_>) -> Flow {
        self.count();
        ControlFlow::Continue(())
    }

    fn open_map(&mut self, _at: usize) -> Flow {
        self.count();
        self.open.push((0, None));
        ControlFlow::Continue(())
    }

    fn close_map(&mut self, _at: usize) -> Flow {
        self.close()
    }

    fn open_list(&mut self, _at: usize, count: Option<usize>) -> Flow {
        self.count();
        if count.is_none() {
            self.counts.push(None);
        }
        self.open.push((0, count.is_none().then(|| self.counts.len() - 1)));
        ControlFlow::Continue(())
    }

    fn close_list(&mut self, _at: usize) -> Flow {
        self.close()
    }
}
