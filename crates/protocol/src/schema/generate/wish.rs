use std::collections::HashSet;
use std::rc::Rc;

use super::Shapes;
use crate::schema::Name;
use crate::schema::types::{Count, Field, Path, Symbol, Type, TypeId};

/// A value that a `switch` or a count needs a field to have.
pub(super) enum Wish {
    Int(i64, u32),
    Text(Name, u32),
    Count,
    /// No other value has a layout.
    Closed,
}

impl<'a> Shapes<'a> {
    /// Returns the values wished for the field at that place of a container.
    pub(super) fn wishes(
        &self,
        container: TypeId,
        place: usize,
        fields: &'a [Field],
    ) -> Rc<[Wish]> {
        let Some(symbol) = fields[place].symbol else { return Rc::new([]) };
        let mut known = self.wishes.borrow_mut();
        let wishes = known.entry((container, place)).or_insert_with(|| {
            let (mut wishes, mut seen) = (Vec::new(), HashSet::new());
            for field in &fields[place + 1..] {
                self.collect(field.ty, 0, symbol, &mut seen, &mut wishes);
            }
            wishes.into()
        });
        Rc::clone(wishes)
    }

    /// `up`: the number of containers entered on the way to `id`.
    fn collect(
        &self,
        id: TypeId,
        up: u8,
        symbol: Symbol,
        seen: &mut HashSet<(TypeId, u8)>,
        wishes: &mut Vec<Wish>,
    ) {
        if !seen.insert((id, up)) {
            return;
        }
        let is = |path: &Path| path.up == up && path.symbol == symbol && path.part.is_none();
        match self.get(id) {
            Type::Switch(switch) => {
                if is(&switch.on) {
                    let ints = switch.ints.iter();
                    wishes.extend(ints.map(|(key, ty)| Wish::Int(*key, self.height(*ty))));
                    let texts = switch.texts.iter();
                    wishes.extend(texts.map(|(key, ty)| Wish::Text(key.clone(), self.height(*ty))));
                    if let Some(negative) = switch.negative {
                        wishes.push(Wish::Int(-2, self.height(negative)));
                    }
                    if switch.closed {
                        wishes.push(Wish::Closed);
                    }
                }
                for case in switch.cases() {
                    self.collect(case, up, symbol, seen, wishes);
                }
            }
            Type::Container(fields) if up == 0 => {
                for field in fields {
                    self.collect(field.ty, 1, symbol, seen, wishes);
                }
            }
            Type::Array { count, element } => {
                if matches!(count, Count::Field(path) if is(path)) {
                    wishes.push(Wish::Count);
                }
                self.collect(*element, up, symbol, seen, wishes);
            }
            Type::Text { count: Count::Field(path), .. } | Type::Buffer(Count::Field(path))
                if is(path) =>
            {
                wishes.push(Wish::Count);
            }
            Type::Option(inner) | Type::TopBit(inner) | Type::Metadata { element: inner, .. } => {
                self.collect(*inner, up, symbol, seen, wishes);
            }
            Type::Sized { of, .. } => self.collect(*of, up, symbol, seen, wishes),
            Type::Holder { inline, .. } => self.collect(inline.ty, up, symbol, seen, wishes),
            Type::HolderSet { base, entries } => {
                self.collect(base.ty, up, symbol, seen, wishes);
                self.collect(entries.ty, up, symbol, seen, wishes);
            }
            _ => {}
        }
    }
}

/// The smallest nesting depth of each type.
pub(super) fn heights(types: &[Type]) -> Vec<u32> {
    let mut heights = vec![u32::MAX; types.len()];
    loop {
        let next: Vec<u32> = types.iter().map(|ty| height(ty, &heights)).collect();
        if next == heights {
            return heights;
        }
        heights = next;
    }
}

fn height(ty: &Type, heights: &[u32]) -> u32 {
    let of = |id: TypeId| heights[id.0 as usize];
    let inner = match ty {
        Type::Container(fields) => fields.iter().map(|field| of(field.ty)).max(),
        Type::Switch(switch) => switch.cases().map(of).min(),
        Type::Array { count: Count::Fixed(1..), element } => Some(of(*element)),
        Type::TopBit(element) | Type::Sized { of: element, .. } => Some(of(*element)),
        _ => None,
    };
    inner.map_or(0, |inner| inner.saturating_add(1))
}
