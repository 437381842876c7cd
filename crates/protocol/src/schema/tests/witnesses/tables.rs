//! The layouts of our own tables, in the form in which the witnesses have them.

use std::collections::{BTreeMap, HashMap};

use super::layout::{Count, Key, Kind, Node, On, normal};
use crate::schema::Name;
use crate::schema::types::{self, Names, Path, Switch, Symbol, Type, TypeId};
use crate::wire::Encoding;

/// Returns the layout of a type.
pub(super) fn layout(types: &[Type], id: TypeId, at: &str) -> Vec<Node> {
    let mut tables = Tables { types, around: Vec::new(), labels: 0 };
    let mut frames = vec![HashMap::new()];
    normal(tables.sequence(id, at, &mut frames, false))
}

struct Tables<'t> {
    types: &'t [Type],
    /// The types around the current one.
    around: Vec<TypeId>,
    labels: usize,
}

/// The fields of a container to which paths refer.
type Frame = HashMap<Symbol, Seen>;

/// A field to which paths refer.
struct Seen {
    label: String,
    ty: TypeId,
    /// The part of a bitfield without a name of its own.
    part: Option<Name>,
}

impl<'t> Tables<'t> {
    fn ty(&self, id: TypeId) -> &'t Type {
        &self.types[id.0 as usize]
    }

    fn sequence(&mut self, id: TypeId, at: &str, frames: &mut Vec<Frame>, anon: bool) -> Vec<Node> {
        if self.around.contains(&id) {
            return vec![Node::Named { name: id.0.to_string(), at: at.into() }];
        }
        self.around.push(id);
        let nodes = self.nodes(id, at, frames, anon);
        self.around.pop();
        nodes
    }

    fn nodes(&mut self, id: TypeId, at: &str, frames: &mut Vec<Frame>, anon: bool) -> Vec<Node> {
        let element = format!("{at}[]");
        let inner = |name: &str| if at.is_empty() { name.into() } else { format!("{at}.{name}") };
        let group = |kind, parts| vec![Node::Group { kind, parts, label: None, at: at.into() }];
        match self.ty(id) {
            Type::Container(fields) => {
                if !anon {
                    frames.push(Frame::new());
                }
                let mut nodes = Vec::new();
                for field in fields {
                    let Some(name) = &field.name else {
                        let mut part = self.sequence(field.ty, at, frames, true);
                        if let Type::Bitfield(bits) = self.ty(field.ty) {
                            self.labels += 1;
                            let label = format!("bits#{}", self.labels);
                            set_label(&mut part, &label);
                            for it in bits {
                                let (label, part) = (label.clone(), Some(it.name.clone()));
                                let seen = Seen { label, ty: field.ty, part };
                                if let (Some(symbol), Some(frame)) = (it.symbol, frames.last_mut())
                                {
                                    frame.insert(symbol, seen);
                                }
                            }
                        }
                        nodes.extend(part);
                        continue;
                    };
                    let mut part = self.sequence(field.ty, &inner(name), frames, false);
                    if let Some(symbol) = field.symbol {
                        self.labels += 1;
                        let label = format!("{name}#{}", self.labels);
                        set_label(&mut part, &label);
                        if let Some(frame) = frames.last_mut() {
                            frame.insert(symbol, Seen { label, ty: field.ty, part: None });
                        }
                    }
                    nodes.extend(part);
                }
                if !anon {
                    frames.pop();
                }
                nodes
            }
            Type::Switch(switch) => self.switch(switch, at, frames, anon),
            Type::Option(some) => {
                let some = self.sequence(*some, at, frames, anon);
                group(Kind::Option, vec![some])
            }
            Type::IfMore { some, otherwise: None, .. } => {
                let some = self.sequence(*some, at, frames, anon);
                group(Kind::More, vec![some])
            }
            Type::Array { count, element: ty } => {
                let count = self.count(count, frames);
                let part = self.sequence(*ty, &element, frames, false);
                group(Kind::List(count), vec![part])
            }
            Type::Buffer(count) => {
                let byte = Node::Leaf { wire: "x8".into(), label: None, at: element };
                group(Kind::List(self.count(count, frames)), vec![vec![byte]])
            }
            Type::Metadata { end, element: ty } => {
                let part = self.sequence(*ty, &element, frames, false);
                group(Kind::Until(*end), vec![part])
            }
            Type::TopBit(ty) => {
                let part = self.sequence(*ty, &element, frames, false);
                group(Kind::TopBit, vec![part])
            }
            Type::Holder { inline, .. } => {
                let part = self.sequence(inline.ty, &inner(&inline.name), frames, false);
                group(Kind::Holder, vec![part])
            }
            Type::HolderSet { base, entries } => {
                let base = self.sequence(base.ty, &inner(&base.name), frames, false);
                let entries = self.sequence(entries.ty, &inner(&entries.name), frames, false);
                group(Kind::Set, vec![base, entries])
            }
            Type::Void => Vec::new(),
            Type::Flags { base, .. } => {
                // Bits have no sign.
                let mut nodes = self.sequence(*base, at, frames, anon);
                for node in &mut nodes {
                    if let Node::Leaf { wire, .. } = node
                        && let Some(width) = wire.strip_prefix(['i', 'u'])
                    {
                        *wire = format!("x{width}");
                    }
                }
                nodes
            }
            Type::Mapper { base, .. } | Type::RestLength { base } | Type::CountFor { base, .. } => {
                self.sequence(*base, at, frames, anon)
            }
            ty => vec![Node::Leaf { wire: self.leaf(ty), label: None, at: at.into() }],
        }
    }

    fn switch(
        &mut self,
        switch: &'t Switch,
        at: &str,
        frames: &mut Vec<Frame>,
        anon: bool,
    ) -> Vec<Node> {
        let Some((on, names)) = self.on(&switch.on, frames) else {
            return vec![Node::Leaf { wire: "unknown".into(), label: None, at: at.into() }];
        };
        let ints = switch.ints.iter().map(|(int, ty)| (Key::Int(*int), *ty));
        let texts = switch.texts.iter().map(|(text, ty)| {
            let number = names.and_then(|names| names.number(text));
            let key = match (&**text, number) {
                (_, Some(number)) => Key::Int(number),
                ("true", None) => Key::Int(1),
                ("false", None) => Key::Int(0),
                (text, None) => Key::Text(text.into()),
            };
            (key, *ty)
        });
        let negative = switch.negative.map(|ty| (Key::Negative, ty));
        let all = ints.chain(texts).chain(negative).chain([(Key::Else, switch.default)]);
        let mut cases = BTreeMap::new();
        for (key, ty) in all.collect::<Vec<_>>() {
            let nodes = self.sequence(ty, at, frames, anon);
            cases.insert(key, nodes);
        }
        vec![Node::Switch { on, cases, at: at.into() }]
    }

    /// Returns the value that a path refers to, and the names of its numbers.
    fn on(&self, path: &Path, frames: &[Frame]) -> Option<(On, Option<&'t Names>)> {
        let frame = frames.len().checked_sub(1 + usize::from(path.up))?;
        let Seen { label, ty, part } = frames[frame].get(&path.symbol)?;
        let mask = match (path.part.as_ref().or(part.as_ref()), self.ty(*ty)) {
            (None, _) => None,
            (Some(part), Type::Flags { flags, .. }) => {
                Some(flags.iter().find(|(name, _)| name == part)?.1)
            }
            (Some(part), Type::Bitfield(bits)) => {
                let mut left: u32 = bits.iter().map(|it| it.size).sum();
                let mut found = None;
                for it in bits {
                    left -= it.size;
                    if it.name == *part {
                        found = Some((u64::MAX >> (64 - it.size)) << left);
                    }
                }
                Some(found?)
            }
            _ => return None,
        };
        Some((On { label: label.clone(), mask }, self.names(*ty)))
    }

    fn names(&self, id: TypeId) -> Option<&'t Names> {
        match self.ty(id) {
            Type::Mapper { names, .. } => Some(names),
            Type::Option(some) => self.names(*some),
            Type::Switch(switch) => switch.cases().find_map(|case| self.names(case)),
            _ => None,
        }
    }

    fn count(&self, count: &types::Count, frames: &[Frame]) -> Count {
        match count {
            types::Count::Fixed(count) => Count::Fixed(*count),
            types::Count::Prefix(ty) => Count::Prefix(self.leaf(self.ty(*ty))),
            types::Count::Field(path) => {
                let label = self.on(path, frames).map(|(on, _)| on.label);
                Count::Label(label.unwrap_or_else(|| "unknown".into()))
            }
        }
    }

    fn leaf(&self, ty: &Type) -> String {
        match ty {
            Type::Bool => "bool".into(),
            Type::Int(int) => {
                let sign = if int.signed { 'i' } else { 'u' };
                format!("{sign}{}", u32::from(int.bytes) * 8)
            }
            Type::F32 => "f32".into(),
            Type::F64 => "f64".into(),
            Type::VarInt => "varint".into(),
            Type::VarLong => "varlong".into(),
            Type::Uuid => "uuid".into(),
            Type::Text { count: types::Count::Prefix(prefix), encoding: Encoding::Utf8 } => {
                match self.ty(*prefix) {
                    Type::VarInt => "string".into(),
                    prefix => format!("string with {}", self.leaf(prefix)),
                }
            }
            Type::TextForms(_) => "string".into(),
            Type::Rest | Type::RestText | Type::RestTexts => "rest".into(),
            Type::Bitfield(bits) => {
                let parts: Vec<(&str, u32)> = bits.iter().map(|it| (&*it.name, it.size)).collect();
                match parts[..] {
                    [("x", 26), ("z", 26), ("y", 12)] => "position".into(),
                    [("x", 26), ("y", 12), ("z", 26)] => "old_position".into(),
                    _ => format!("x{}", bits.iter().map(|it| it.size).sum::<u32>()),
                }
            }
            Type::Nbt { named: true } => "named_nbt".into(),
            Type::Nbt { named: false } => "nbt".into(),
            Type::CompressedNbt { .. } => "gzip_nbt".into(),
            Type::Vec3 => "lpvec3".into(),
            ty => format!("{ty:?}"),
        }
    }
}

/// Gives the value of a field a label, wherever a switch has it.
fn set_label(nodes: &mut [Node], to: &str) {
    match nodes {
        [Node::Leaf { label, .. } | Node::Group { label, .. }] => *label = Some(to.into()),
        [Node::Switch { cases, .. }] => cases.values_mut().for_each(|nodes| set_label(nodes, to)),
        _ => {}
    }
}
