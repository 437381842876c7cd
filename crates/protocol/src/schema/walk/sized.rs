use super::{Walk, Walked};
use crate::schema::scope::FrameMark;
use crate::schema::types::{Count, Type, TypeId};
use crate::schema::{Flow, Leaf, Scalar, Visitor};
use crate::wire::Reader;

/// Reads values that have their length in front of them.
impl<'a, V: Visitor + ?Sized> Walk<'a, '_, V> {
    /// Reads the value if the bytes are exactly that, and reports them as bytes otherwise. Values within it refer to
    /// no field outside. A second length within it is not tried: what is read twice is bounded by the packet.
    pub(super) fn sized(
        &mut self,
        count: &'a Count,
        of: TypeId,
        mark: FrameMark,
        at: usize,
    ) -> Walked<()> {
        let (length, canonical) = self.count(count, 1, mark, at)?;
        let start = self.reader.position();
        let prefix = self.reader.since(at);
        let window = Reader::at(&self.reader.whole()[..start + length], start);
        let bytes = self.read(at, |reader| reader.take(length))?;
        let Some(of) = self.chosen(of, mark).filter(|of| self.fits(*of, &window)) else {
            return self.leaf(Scalar::Bytes(bytes), at, canonical);
        };
        self.visitor.prefix(at, prefix);
        let mut within = Walk {
            in_sized: true,
            depth: self.depth,
            empty: self.empty,
            fields: self.fields,
            ..Walk::new(self.types, self.sizes, window, &mut *self.visitor)
        };
        within.value(of, FrameMark::default(), false)?;
        (self.empty, self.fields) = (within.empty, within.fields);
        Ok(())
    }

    /// Returns the type that a value has here; `None` if the version does not have it.
    fn chosen(&self, mut id: TypeId, mark: FrameMark) -> Option<TypeId> {
        for _ in 0..self.depth {
            let Type::Switch(switch) = &self.types[id.0 as usize] else { return Some(id) };
            id = switch.case(self.scope.find(&switch.on, mark, self.types))?;
        }
        None
    }

    /// Returns whether a window has exactly one value of a type.
    fn fits(&mut self, of: TypeId, window: &Reader<'a>) -> bool {
        if self.in_sized {
            return false;
        }
        let mut nobody = Nobody;
        let visitor: &mut dyn Visitor = &mut nobody;
        let mut trial = Walk {
            in_sized: true,
            depth: self.depth,
            empty: self.empty,
            fields: self.fields,
            ..Walk::new(self.types, self.sizes, *window, visitor)
        };
        let read = trial.value(of, FrameMark::default(), false);
        let fits = read.is_ok() && trial.reader.is_empty();
        (self.empty, self.fields) = (trial.empty, trial.fields);
        fits
    }
}

/// Wants to know nothing.
struct Nobody;

impl Visitor for Nobody {
    fn leaf(&mut self, _leaf: &Leaf<'_>) -> Flow {
        Flow::Continue(())
    }
}
