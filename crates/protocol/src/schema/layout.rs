use std::fmt::Write as _;

use super::types::{Count, Names, Switch, Type, TypeId};
use super::{MAX_LISTED, PacketType, Protocol};
use crate::wire::Encoding;

/// A field of a packet as it is on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct LayoutField {
    /// Path of the field, for example `items[*].itemCount`.
    pub path: String,
    /// Wire type, for example `VarInt`, `i64` or `list, VarInt count`.
    pub wire: String,
    /// The condition for the field to be present, for example `action is 0 or 3`.
    pub condition: Option<String>,
}

impl Protocol {
    /// Returns the fields of a packet in wire order, down to `depth` levels. A type nested in itself
    /// is described once.
    #[must_use]
    pub fn layout(&self, packet: &PacketType, depth: usize) -> Vec<LayoutField> {
        let mut layout = Layout { types: &self.types, around: Vec::new(), fields: Vec::new() };
        layout.content(packet.ty, "", None, depth);
        layout.fields
    }
}

struct Layout<'p> {
    types: &'p [Type],
    /// The types around the current one.
    around: Vec<TypeId>,
    fields: Vec<LayoutField>,
}

impl<'p> Layout<'p> {
    fn ty(&self, id: TypeId) -> &'p Type {
        &self.types[id.0 as usize]
    }

    /// Adds a field and what is in it.
    fn field(&mut self, id: TypeId, path: &str, condition: Option<&str>, depth: usize) {
        match self.ty(id) {
            Type::Switch(switch) => self.switch(switch, path, condition, depth, true),
            Type::Option(some) => {
                self.field(*some, path, Some(&both(condition, "a bool before it is true")), depth);
            }
            Type::IfMore { some, otherwise, .. } => {
                self.field(*some, path, Some(&both(condition, "bytes follow")), depth);
                if let Some(otherwise) = otherwise {
                    self.field(*otherwise, path, condition, depth);
                }
            }
            Type::Sized { of, .. } => {
                self.leaf(path.to_owned(), self.wire(id), condition);
                self.field(*of, path, condition, depth);
            }
            _ => {
                self.leaf(path.to_owned(), self.wire(id), condition);
                self.content(id, path, None, depth);
            }
        }
    }

    /// Adds what is in a value.
    fn content(&mut self, id: TypeId, path: &str, condition: Option<&str>, depth: usize) {
        if depth == 0 || self.around.contains(&id) {
            return;
        }
        self.around.push(id);
        let inner =
            |name: &str| if path.is_empty() { name.into() } else { format!("{path}.{name}") };
        let element = format!("{path}[*]");
        match self.ty(id) {
            Type::Container(fields) => {
                for field in fields {
                    match &field.name {
                        Some(name) => self.field(field.ty, &inner(name), condition, depth - 1),
                        None => self.content(field.ty, path, condition, depth),
                    }
                }
            }
            Type::Switch(switch) => self.switch(switch, path, condition, depth, false),
            Type::Sized { of, .. } => self.content(*of, path, condition, depth),
            Type::IfMore { some, otherwise, .. } => {
                self.content(*some, path, Some(&both(condition, "bytes follow")), depth);
                if let Some(otherwise) = otherwise {
                    self.content(*otherwise, path, condition, depth);
                }
            }
            Type::Array { element: ty, .. }
            | Type::Metadata { element: ty, .. }
            | Type::TopBit(ty) => self.field(*ty, &element, condition, depth - 1),
            Type::Bitfield(bits) => {
                for it in bits {
                    let sign = if it.signed { "signed" } else { "unsigned" };
                    self.leaf(inner(&it.name), format!("{} bits, {sign}", it.size), condition);
                }
            }
            Type::Flags { flags, .. } => {
                for (name, mask) in flags {
                    self.leaf(inner(name), format!("bits 0x{mask:02x}"), condition);
                }
            }
            Type::Holder { base, inline } => {
                let reference = both(condition, "the VarInt is above 0");
                self.leaf(inner(base), "the VarInt less 1".into(), Some(&reference));
                let whole = both(condition, "the VarInt is 0");
                self.field(inline.ty, &inner(&inline.name), Some(&whole), depth - 1);
            }
            Type::HolderSet { base, entries } => {
                let tag = both(condition, "the VarInt is 0");
                self.field(base.ty, &inner(&base.name), Some(&tag), depth - 1);
                let listed = both(condition, "the VarInt is above 0");
                let count = "list, the VarInt less 1 counts".into();
                self.leaf(inner(&entries.name), count, Some(&listed));
                let entry = format!("{}[*]", inner(&entries.name));
                self.field(entries.ty, &entry, None, depth - 1);
            }
            Type::TextForms(forms) => {
                for part in forms.parts() {
                    self.leaf(inner(&part.name), "part of the text".into(), condition);
                }
            }
            _ if path.is_empty()
                && self.around.len() == 1
                && !matches!(self.ty(id), Type::Void) =>
            {
                let wire = self.wire(id);
                self.leaf("(all)".into(), wire, condition);
            }
            _ => {}
        }
        self.around.pop();
    }

    /// Adds the cases of a switch, those that are alike together. `whole` is true if a case is a
    /// field of its own, and false if its fields are merged into the surrounding ones.
    fn switch(
        &mut self,
        switch: &Switch,
        path: &str,
        condition: Option<&str>,
        depth: usize,
        whole: bool,
    ) {
        let ints = switch.ints.iter().map(|(key, ty)| (key.to_string(), *ty));
        let texts = switch.texts.iter().map(|(key, ty)| (key.to_string(), *ty));
        let rest = switch.negative.map(|ty| ("negative".to_owned(), ty));
        let rest = rest.into_iter().chain([("anything else".to_owned(), switch.default)]);
        let mut cases: Vec<(Vec<String>, Vec<LayoutField>)> = Vec::new();
        for (key, ty) in ints.chain(texts).chain(rest) {
            if matches!(self.ty(ty), Type::Void) {
                continue;
            }
            let outer = std::mem::take(&mut self.fields);
            if whole {
                self.field(ty, path, None, depth);
            } else {
                self.content(ty, path, None, depth);
            }
            let fields = std::mem::replace(&mut self.fields, outer);
            match cases.iter_mut().find(|(_, alike)| *alike == fields) {
                Some((keys, _)) => keys.push(key),
                None => cases.push((vec![key], fields)),
            }
        }
        for (keys, fields) in cases {
            let case = format!("{} is {}", switch.on.text, keys.join(" or "));
            let case = both(condition, &case);
            self.fields.extend(fields.into_iter().map(|mut field| {
                let deeper = field.path.strip_prefix(path).unwrap_or(&field.path);
                let deeper = deeper.strip_prefix('.').unwrap_or(deeper);
                if (whole && deeper.is_empty()) || (!whole && !deeper.contains(['.', '['])) {
                    let own = field.condition.as_deref();
                    field.condition =
                        Some(own.map_or_else(|| case.clone(), |own| both(Some(&case), own)));
                }
                field
            }));
        }
    }

    fn leaf(&mut self, path: String, wire: String, condition: Option<&str>) {
        self.fields.push(LayoutField { path, wire, condition: condition.map(str::to_owned) });
    }

    fn wire(&self, id: TypeId) -> String {
        match self.ty(id) {
            Type::Void => "nothing".into(),
            Type::Bool => "bool".into(),
            Type::Int(int) => {
                let sign = if int.signed { 'i' } else { 'u' };
                let end = if int.little { ", little-endian" } else { "" };
                format!("{sign}{}{end}", u32::from(int.bytes) * 8)
            }
            Type::F32 => "f32".into(),
            Type::F64 => "f64".into(),
            Type::VarInt => "VarInt".into(),
            Type::VarLong => "VarLong".into(),
            Type::Uuid => "UUID".into(),
            Type::Text { count, encoding } => format!("{}, {}", text(*encoding), self.count(count)),
            Type::Terminated(encoding) => format!("{} up to NUL", text(*encoding)),
            Type::Buffer(count) => format!("bytes, {}", self.count(count)),
            Type::Sized { count, .. } => format!("a value in bytes, {}", self.count(count)),
            Type::Rest => "bytes up to the end".into(),
            Type::RestText => "text up to the end".into(),
            Type::Between(_) => "text up to a mark".into(),
            Type::RestTexts => "list of texts up to the end, a NUL between them".into(),
            Type::Container(_) => "container".into(),
            Type::Switch(_) | Type::Option(_) | Type::IfMore { .. } => "one of several".into(),
            Type::Array { count, .. } => format!("list, {}", self.count(count)),
            Type::Bitfield(bits) => {
                format!("bit field of {} bytes", bits.iter().map(|it| it.size).sum::<u32>() / 8)
            }
            Type::Flags { base, .. } => format!("{} flags", self.wire(*base)),
            Type::Mapper { base, names } => format!("{} ({})", self.wire(*base), listed(names)),
            Type::TextForms(forms) => {
                format!("{}, {}", text(forms.encoding), self.count(&forms.count))
            }
            Type::RestLength { base } => format!("{}, counts the bytes after it", self.wire(*base)),
            Type::CountFor { base, array } => format!("{}, counts `{array}`", self.wire(*base)),
            Type::Nbt { named: true } => "NBT with a name".into(),
            Type::Nbt { named: false } => "NBT".into(),
            Type::CompressedNbt { .. } => "gzip NBT, i16 length".into(),
            Type::Metadata { end, .. } => format!("list, byte 0x{end:02x} ends it"),
            Type::TopBit(_) => "list, bit 7 of the first byte says whether more follow".into(),
            Type::Holder { .. } => "VarInt reference, or the value".into(),
            Type::HolderSet { .. } => "VarInt, then a tag or a list".into(),
            Type::Vec3 => "three numbers with a common scale".into(),
        }
    }

    fn count(&self, count: &Count) -> String {
        match count {
            Count::Fixed(count) => format!("always {count}"),
            Count::Prefix(prefix) => format!("{} length", self.wire(*prefix)),
            Count::Field(path) => format!("`{}` counts", path.text),
        }
    }
}

fn text(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::Utf8 => "text",
        Encoding::ModifiedUtf8 => "modified UTF-8 text",
        Encoding::Utf16 => "UTF-16 text",
        Encoding::Latin1 => "Latin-1 text",
    }
}

fn both(outer: Option<&str>, inner: &str) -> String {
    outer.map_or_else(|| inner.to_owned(), |outer| format!("{outer}, and {inner}"))
}

fn listed(names: &Names) -> String {
    let mut text = String::new();
    for (place, (number, name)) in names.iter().enumerate() {
        if place == MAX_LISTED {
            text.push_str(", ..");
            break;
        }
        let comma = if place == 0 { "" } else { ", " };
        let _ = write!(text, "{comma}{number} {name}");
    }
    text
}

#[cfg(test)]
mod tests {
    use crate::schema::{Catalog, Direction, State};

    fn layout(version: i32, name: &str) -> Vec<String> {
        let protocol = Catalog::embedded().find(version).unwrap().protocol;
        let mut sides = Direction::ALL.into_iter();
        let packet = sides.find_map(|side| protocol.named(State::Play, side, name)).unwrap();
        let line = |field: &super::LayoutField| {
            let condition = field.condition.as_ref().map(|it| format!(" if {it}"));
            format!("{}: {}{}", field.path, field.wire, condition.unwrap_or_default())
        };
        protocol.layout(packet, 6).iter().map(line).collect()
    }

    #[test]
    fn fields_have_their_wire_types_and_conditions() {
        let combat = [
            "event: VarInt",
            "duration: VarInt if event is 1",
            "playerId: VarInt if event is 2",
            "entityId: i32 if event is 1 or 2",
            "message: text, VarInt length if event is 2",
        ];
        assert_eq!(layout(47, "combat_event"), combat);
        assert_eq!(layout(47, "keep_alive"), ["keepAliveId: VarInt"]);
        assert_eq!(
            layout(47, "entity_destroy"),
            ["entityIds: list, VarInt length", "entityIds[*]: VarInt"]
        );
        assert_eq!(
            layout(777, "swing_animation")[3],
            "animation.type: VarInt (0 none, 1 whack, 2 stab)"
        );
        let damage = layout(777, "damage_event");
        assert!(damage.contains(&"sourcePosition: container if a bool before it is true".into()));
        let creative = layout(777, "set_creative_slot");
        let data = creative.iter().filter_map(|row| row.strip_prefix("item.components[*].data: "));
        let data: Vec<&str> = data.collect();
        assert_eq!(data[0], "a value in bytes, VarInt length");
        assert!(data[1..].iter().all(|row| row.contains(" if type is ")), "{data:#?}");
        let item = layout(47, "set_slot");
        assert!(
            item.iter().any(|row| row.starts_with("item.itemCount: i8 if blockId is")),
            "{item:#?}"
        );
    }

    #[test]
    fn every_packet_of_every_version_has_a_layout() {
        for protocol in Catalog::embedded().protocols() {
            for packet in protocol.packets() {
                let rows = protocol.layout(packet, 4);
                assert!(rows.iter().all(|row| !row.path.is_empty()), "{}", packet.name());
            }
        }
    }
}
