//! The layouts of our own tables, in the form in which the witnesses have them.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::layout::{Count, Key, Kind, Node, On, normal, unique, whole};
use crate::schema::Name;
use crate::schema::types::{self, Names, Path, Switch, Symbol, Type, TypeId};
use crate::wire::Encoding;

/// The tables of one version.
pub(super) struct Tables<'t> {
    types: &'t [Type],
    /// Containers that contain themselves, and refer to nothing around them: layouts with a name.
    named: HashSet<TypeId>,
}

impl<'t> Tables<'t> {
    pub(super) fn new(types: &'t [Type]) -> Self {
        let mut tables = Self { types, named: HashSet::new() };
        let mut named = recursive(types);
        // What is at one place alone needs no name.
        let mut places: HashMap<TypeId, usize> = HashMap::new();
        types.iter().flat_map(parts).for_each(|part| *places.entry(part).or_default() += 1);
        named.retain(|id| places[id] > 1 && matches!(tables.ty(*id), Type::Container(_)));
        tables.named = named;
        let open: Vec<TypeId> =
            tables.named.iter().copied().filter(|id| tables.is_open(*id)).collect();
        open.iter().for_each(|id| _ = tables.named.remove(id));
        tables
    }

    /// Returns the layout of a type.
    pub(super) fn layout(&self, id: TypeId) -> Vec<Node> {
        let mut reading = Reading { tables: self, around: Vec::new() };
        let mut frames = vec![HashMap::new()];
        normal(reading.sequence(id, "", &mut frames, false))
    }

    /// Returns the text of the layout of a type, with those that it names.
    pub(super) fn whole(&self, id: TypeId) -> String {
        whole(&self.layout(id), |name| self.named(name))
    }

    /// Returns the layout behind a [`Node::Named`].
    pub(super) fn named(&self, name: &str) -> Vec<Node> {
        self.layout(TypeId(name.parse().expect("the number of a type")))
    }

    /// Returns whether a type refers to fields around it.
    fn is_open(&self, id: TypeId) -> bool {
        fn unknown(nodes: &[Node]) -> bool {
            nodes.iter().any(|node| match node {
                Node::Leaf { wire, .. } => wire == UNKNOWN,
                Node::Group { kind, parts, .. } => {
                    matches!(kind, Kind::List(Count::Label(label)) if label == UNKNOWN)
                        || parts.iter().any(|part| unknown(part))
                }
                Node::Switch { cases, .. } => cases.values().any(|part| unknown(part)),
                Node::Named { .. } => false,
            })
        }
        unknown(&self.layout(id))
    }

    fn ty(&self, id: TypeId) -> &'t Type {
        &self.types[id.0 as usize]
    }
}

/// Returns the types that contain themselves or are between two that do.
fn recursive(types: &[Type]) -> HashSet<TypeId> {
    let ids = || (0..types.len()).map(|index| TypeId(u32::try_from(index).expect("few types")));
    let parts: HashMap<TypeId, Vec<TypeId>> =
        ids().zip(types).map(|(id, ty)| (id, parts(ty))).collect();
    let mut left: HashSet<TypeId> = ids().collect();
    loop {
        let within: HashSet<TypeId> = left.iter().flat_map(|id| &parts[id]).copied().collect();
        let before = left.len();
        let all = left.clone();
        left.retain(|id| within.contains(id) && parts[id].iter().any(|part| all.contains(part)));
        if left.len() == before {
            return left;
        }
    }
}

/// Returns the types of which a type is made.
fn parts(ty: &Type) -> Vec<TypeId> {
    match ty {
        Type::Container(fields) => fields.iter().map(|field| field.ty).collect(),
        Type::Switch(switch) => switch.cases().collect(),
        Type::Option(part) | Type::TopBit(part) => vec![*part],
        Type::Array { element, .. } | Type::Metadata { element, .. } => vec![*element],
        Type::IfMore { some, otherwise, .. } => [*some].into_iter().chain(*otherwise).collect(),
        Type::Holder { inline, .. } => vec![inline.ty],
        Type::HolderSet { base, entries } => vec![base.ty, entries.ty],
        _ => Vec::new(),
    }
}

/// A type that is being translated.
struct Reading<'r, 't> {
    tables: &'r Tables<'t>,
    /// The types around the current one.
    around: Vec<TypeId>,
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

impl<'t> Reading<'_, 't> {
    fn ty(&self, id: TypeId) -> &'t Type {
        self.tables.ty(id)
    }

    fn sequence(&mut self, id: TypeId, at: &str, frames: &mut Vec<Frame>, anon: bool) -> Vec<Node> {
        let named = !self.around.is_empty() && !anon && self.tables.named.contains(&id);
        if named || self.around.contains(&id) {
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
                frames.push(Frame::new());
                let mut nodes = Vec::new();
                for field in fields {
                    let Some(name) = &field.name else {
                        let mut part = self.sequence(field.ty, at, frames, true);
                        if let Type::Bitfield(bits) = self.ty(field.ty) {
                            let label = format!("bits#{}", unique());
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
                        let label = format!("{name}#{}", unique());
                        set_label(&mut part, &label);
                        if let Some(frame) = frames.last_mut() {
                            frame.insert(symbol, Seen { label, ty: field.ty, part: None });
                        }
                    }
                    nodes.extend(part);
                }
                // Later fields refer to those of a container without a name as to their neighbours.
                if let (Some(inner), true, Some(frame)) = (frames.pop(), anon, frames.last_mut()) {
                    frame.extend(inner);
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
            // The witnesses have bytes.
            Type::Buffer(count) | Type::Sized { count, .. } => {
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
            return vec![Node::Leaf { wire: UNKNOWN.into(), label: None, at: at.into() }];
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
                Count::Label(label.unwrap_or_else(|| UNKNOWN.into()))
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
            Type::Rest | Type::RestText | Type::RestTexts | Type::Between(_) => "rest".into(),
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

/// A value on which a layout depends and that is not in it.
const UNKNOWN: &str = "unknown";
