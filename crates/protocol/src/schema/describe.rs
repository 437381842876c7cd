use std::fmt;

use super::encode::Encode;
use super::types::{Count, Type, TypeId};
use super::{Kind, Kinds, Name, PacketType, Protocol, Value, vec3};

/// The structure of a packet or field, known from its schema without any bytes.
///
/// Definitions recurse, so nothing is expanded in advance: a shape gives its
/// [`fields`](Self::fields) and its [`element`](Self::element) one level at a time. An option has
/// the shape of its content, possibly absent; a switch has the union of the shapes of its cases.
#[derive(Clone)]
pub struct Shape<'p> {
    types: &'p [Type],
    /// The cases, without duplicates.
    parts: Vec<Part>,
}

/// One case of a [`Shape`]: never a switch or an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Type(TypeId),
    /// A leaf that has no type of its own.
    Leaf(Kind),
    /// A list of this element type that has no type of its own.
    List(TypeId),
}

impl<'p> Shape<'p> {
    /// Returns the shape of `packet`, which must belong to `protocol`: usually a map of its fields.
    #[must_use]
    pub fn of(protocol: &'p Protocol, packet: &PacketType) -> Self {
        Self { types: &protocol.types, parts: Vec::new() }.with(Part::Type(packet.ty))
    }

    /// Returns the kinds of values that this shape allows.
    #[must_use]
    pub fn kinds(&self) -> Kinds {
        self.parts.iter().fold(Kinds::NONE, |kinds, part| kinds | self.kind(*part).into())
    }

    /// Returns the shape of the named field, combined from all cases that have it.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<Self> {
        let mut field = self.empty();
        self.members(&mut |key, part| {
            if **key == *name {
                field.add(part);
            }
        });
        (!field.parts.is_empty()).then_some(field)
    }

    /// Returns the fields of all cases, in wire order.
    #[must_use]
    pub fn fields(&self) -> Vec<(Name, Self)> {
        let mut fields: Vec<(Name, Self)> = Vec::new();
        self.members(&mut |key, part| {
            let place = fields.iter().position(|(name, _)| name == key).unwrap_or_else(|| {
                fields.push((Name::clone(key), self.empty()));
                fields.len() - 1
            });
            fields[place].1.add(part);
        });
        fields
    }

    /// Returns the shape of the elements, if the shape allows a list.
    #[must_use]
    pub fn element(&self) -> Option<Self> {
        let mut element = self.empty();
        for part in &self.parts {
            match part {
                Part::List(id) => element.add(Part::Type(*id)),
                Part::Leaf(_) => {}
                Part::Type(id) => match self.ty(*id) {
                    Type::Array { element: id, .. }
                    | Type::Metadata { element: id, .. }
                    | Type::TopBit(id) => element.add(Part::Type(*id)),
                    Type::RestTexts => element.add(Part::Leaf(Kind::Text)),
                    _ => {}
                },
            }
        }
        (!element.parts.is_empty()).then_some(element)
    }

    /// Returns the numbers and names of the mappers in this shape.
    #[must_use]
    pub fn names(&self) -> Vec<(i64, Name)> {
        let mut all = Vec::new();
        for part in &self.parts {
            if let Part::Type(id) = part
                && let Type::Mapper { names, .. } = self.ty(*id)
            {
                all.extend(names.iter().cloned());
            }
        }
        all
    }

    /// Returns why no case accepts `value`, as a message. Returns `None` if one does, or if that
    /// depends on surrounding fields.
    #[must_use]
    pub fn refuses(&self, value: &Value) -> Option<String> {
        let mut why = None;
        for part in &self.parts {
            let Part::Type(id) = part else { return None };
            let alone = match self.ty(*id) {
                Type::Text { count, .. } | Type::Buffer(count) => !matches!(count, Count::Field(_)),
                Type::Switch(_)
                | Type::Option(_)
                | Type::Sized { .. }
                | Type::Nbt { .. }
                | Type::CompressedNbt { .. } => false,
                Type::CountFor { .. } | Type::RestLength { .. } => false,
                _ => true,
            };
            if !alone {
                return None;
            }
            match Encode::new(self.types, &mut Vec::new()).run(*id, value) {
                Ok(()) => return None,
                Err(fault) => why = why.or_else(|| Some(fault.to_string())),
            }
        }
        why
    }

    /// Returns the fields that only repeat what other fields say, and would contradict them once
    /// the fields for which `changed` is true are modified. Encoding recomputes them when they are
    /// absent.
    #[must_use]
    pub fn redundant(&self, changed: impl Fn(&str) -> bool) -> Vec<Name> {
        let mut redundant = Vec::new();
        self.add_redundant(&changed, &mut redundant);
        redundant
    }

    fn add_redundant(&self, changed: &impl Fn(&str) -> bool, redundant: &mut Vec<Name>) {
        let containers = self.parts.iter().filter_map(|part| match part {
            Part::Type(id) => match self.ty(*id) {
                Type::Container(fields) => Some(fields),
                _ => None,
            },
            Part::Leaf(_) | Part::List(_) => None,
        });
        for field in containers.flatten() {
            match (self.ty(field.ty), &field.name) {
                (Type::TextForms(forms), _) => {
                    if changed(&forms.whole) {
                        redundant.extend(forms.parts().map(|part| Name::clone(&part.name)));
                    } else if forms.parts().any(|part| changed(&part.name)) {
                        redundant.push(Name::clone(&forms.whole));
                    }
                }
                (Type::RestLength { .. }, Some(name)) if !changed(name) => {
                    redundant.push(Name::clone(name));
                }
                (_, None) => {
                    let inside = self.empty().with(Part::Type(field.ty));
                    inside.add_redundant(changed, redundant);
                }
                _ => {}
            }
        }
    }

    /// Returns a shape without cases.
    fn empty(&self) -> Self {
        Self { types: self.types, parts: Vec::new() }
    }

    fn with(mut self, part: Part) -> Self {
        self.add(part);
        self
    }

    /// Adds a case, or each of its cases if it is a switch or an option.
    fn add(&mut self, part: Part) {
        let mut open = vec![part];
        let mut seen = Vec::new();
        while let Some(part) = open.pop() {
            if seen.contains(&part) {
                continue;
            }
            seen.push(part);
            match part {
                Part::Type(id) => match self.ty(id) {
                    Type::IfMore { some, otherwise: Some(otherwise), .. } => {
                        open.push(Part::Type(*otherwise));
                        open.push(Part::Type(*some));
                    }
                    Type::Option(some) | Type::IfMore { some, .. } => {
                        open.push(Part::Leaf(Kind::Absent));
                        open.push(Part::Type(*some));
                    }
                    Type::Switch(switch) => open.extend(switch.cases().map(Part::Type)),
                    Type::Sized { of, .. } => {
                        open.push(Part::Leaf(Kind::Bytes));
                        open.push(Part::Type(*of));
                    }
                    _ => self.keep(part),
                },
                Part::Leaf(_) | Part::List(_) => self.keep(part),
            }
        }
    }

    fn keep(&mut self, part: Part) {
        if !self.parts.contains(&part) {
            self.parts.push(part);
        }
    }

    /// Calls `see` with every field of every case.
    fn members(&self, see: &mut dyn FnMut(&Name, Part)) {
        for part in &self.parts {
            let Part::Type(id) = part else { continue };
            match self.ty(*id) {
                Type::Container(fields) => {
                    for field in fields {
                        match &field.name {
                            Some(name) => see(name, Part::Type(field.ty)),
                            None => self.empty().with(Part::Type(field.ty)).members(see),
                        }
                    }
                }
                Type::Bitfield(bits) => {
                    bits.iter().for_each(|it| see(&it.name, Part::Leaf(Kind::Int)));
                }
                Type::Flags { flags, .. } => {
                    flags.iter().for_each(|(name, _)| see(name, Part::Leaf(Kind::Bool)));
                    see(&super::rest_name(), Part::Leaf(Kind::Int));
                }
                Type::Holder { base, inline } => {
                    see(base, Part::Leaf(Kind::Int));
                    see(&inline.name, Part::Type(inline.ty));
                }
                Type::HolderSet { base, entries } => {
                    see(&base.name, Part::Type(base.ty));
                    see(&entries.name, Part::List(entries.ty));
                }
                Type::TextForms(forms) => {
                    see(&forms.whole, Part::Leaf(Kind::Text));
                    for part in forms.parts() {
                        see(&part.name, Part::Leaf(Kind::Absent));
                        let kind = if part.number { Kind::Int } else { Kind::Text };
                        see(&part.name, Part::Leaf(kind));
                    }
                }
                Type::Vec3 => {
                    vec3::names().iter().for_each(|name| see(name, Part::Leaf(Kind::Float)));
                }
                _ => {}
            }
        }
    }

    fn kind(&self, part: Part) -> Kind {
        let id = match part {
            Part::Type(id) => id,
            Part::Leaf(kind) => return kind,
            Part::List(_) => return Kind::List,
        };
        match self.ty(id) {
            Type::Void | Type::Switch(_) | Type::Option(_) | Type::IfMore { .. } => Kind::Absent,
            Type::Sized { of, .. } => self.kind(Part::Type(*of)),
            Type::Bool => Kind::Bool,
            Type::Int(_) | Type::VarInt | Type::VarLong => Kind::Int,
            Type::CountFor { .. } | Type::RestLength { .. } => Kind::Int,
            Type::F32 | Type::F64 => Kind::Float,
            Type::Uuid => Kind::Uuid,
            Type::Text { .. } | Type::Terminated(_) | Type::RestText | Type::Between(_) => {
                Kind::Text
            }
            Type::Mapper { .. } => Kind::Name,
            Type::Buffer(_) | Type::Rest => Kind::Bytes,
            Type::Nbt { .. } | Type::CompressedNbt { .. } => Kind::Nbt,
            Type::Array { .. } | Type::Metadata { .. } | Type::TopBit(_) => Kind::List,
            Type::RestTexts => Kind::List,
            Type::Container(_) | Type::Bitfield(_) | Type::Flags { .. } => Kind::Map,
            Type::Holder { .. } | Type::HolderSet { .. } | Type::Vec3 => Kind::Map,
            Type::TextForms(_) => Kind::Map,
        }
    }

    fn ty(&self, id: TypeId) -> &'p Type {
        &self.types[id.0 as usize]
    }
}

impl fmt::Debug for Shape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shape").field("parts", &self.parts).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Catalog, Direction, State};

    fn outline(name: &str) -> Vec<String> {
        let protocol = Catalog::embedded().find(47).unwrap().protocol;
        let packet = protocol.named(State::Play, Direction::Clientbound, name).unwrap();
        let mut rows = Vec::new();
        outline_into(&Shape::of(&protocol, packet), "", &mut rows);
        rows
    }

    fn outline_into(shape: &Shape<'_>, path: &str, rows: &mut Vec<String>) {
        let dot = if path.is_empty() { "" } else { "." };
        let fields =
            shape.fields().into_iter().map(|(name, it)| (format!("{path}{dot}{name}"), it));
        let element = shape.element().map(|it| (format!("{path}[*]"), it));
        for (path, shape) in fields.chain(element) {
            rows.push(format!("{path}: {}", shape.kinds()));
            outline_into(&shape, &path, rows);
        }
    }

    #[test]
    fn lists_the_fields_of_a_packet_with_their_types() {
        let item = [
            "windowId: integer",
            "slot: integer",
            "item: container",
            "item.blockId: integer",
            "item.itemCount: integer",
            "item.itemDamage: integer",
            "item.nbtData: NBT",
        ];
        assert_eq!(outline("set_slot"), item);
        assert_eq!(outline("difficulty"), ["difficulty: name"]);
        assert_eq!(outline("entity_destroy"), ["entityIds: list", "entityIds[*]: integer"]);
    }

    #[test]
    fn a_switch_has_the_kinds_of_all_its_cases_and_an_option_those_of_its_content() {
        let combat = [
            "event: integer",
            "duration: absent or integer",
            "playerId: absent or integer",
            "entityId: absent or integer",
            "message: absent or text",
        ];
        assert_eq!(outline("combat_event"), combat);
        let metadata = outline("entity_metadata");
        for row in [
            "metadata[*].value: absent, integer, float, text or container",
            "metadata[*].value.x: integer",
            "metadata[*].value.pitch: float",
            "metadata[*].value.nbtData: NBT",
        ] {
            assert!(metadata.contains(&row.into()), "{metadata:#?}");
        }
    }

    #[test]
    fn names_are_those_of_the_mapped_number() {
        let protocol = Catalog::embedded().find(47).unwrap().protocol;
        let packet = protocol.named(State::Play, Direction::Clientbound, "difficulty").unwrap();
        let names = Shape::of(&protocol, packet).field("difficulty").unwrap().names();
        assert_eq!(names[3], (3, "hard".into()));
    }
}
