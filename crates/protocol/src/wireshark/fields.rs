use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;

use crate::schema::types::{Bits, Int, Type, TypeId};
use crate::schema::{Name, Protocol, rest_name};

/// The fields of all packets of some versions, by path. A path is a packet name followed by at most
/// [`LEVELS`] field names. Deeper fields share the path `nested.<outer>.<name>`, so that recursive
/// types have finitely many.
#[derive(Debug, Default)]
pub(super) struct Fields(BTreeMap<String, BTreeSet<Class>>);

/// The Wireshark field types of a path; the first one has the path's own name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Int,
    Long,
    Ulong,
    Float,
    Double,
    Text,
    Bool,
    Guid,
    Bytes,
    None,
}

impl Class {
    fn name(self) -> &'static str {
        match self {
            Self::Int => "int",
            Self::Long => "long",
            Self::Ulong => "ulong",
            Self::Float => "float",
            Self::Double => "double",
            Self::Text => "text",
            Self::Bool => "bool",
            Self::Guid => "guid",
            Self::Bytes => "bytes",
            Self::None => "none",
        }
    }
}

/// A position in a packet.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Node {
    path: String,
    name: Name,
    depth: usize,
}

impl Node {
    fn child(&self, name: &Name) -> Self {
        let (outer, inner) = (clean(&self.name), clean(name));
        let (path, depth) = if self.depth < LEVELS {
            (format!("{}.{inner}", self.path), self.depth + 1)
        } else {
            (format!("nested.{outer}.{inner}"), LEVELS)
        };
        Self { path, name: Name::clone(name), depth }
    }
}

impl Fields {
    /// Adds all fields of a version.
    pub(super) fn add(&mut self, protocol: &Protocol) {
        let mut seen = HashSet::new();
        for packet in protocol.packets() {
            let name = Name::clone(packet.name());
            let node = Node { path: clean(&name), name, depth: 0 };
            self.visit(&protocol.types, packet.ty, &node, false, &mut seen);
        }
    }

    /// Writes one line per path: its classes and the name suffix of each.
    pub(super) fn write(&self, out: &mut String) {
        for (path, classes) in &self.0 {
            let merged = merge(classes);
            out.push_str(path);
            for (index, class) in merged.iter().enumerate() {
                let class = class.name();
                let mut suffix = String::new();
                if index > 0 {
                    let _ = write!(suffix, "_{class}");
                    while self.0.contains_key(&format!("{path}{suffix}")) {
                        suffix.push('_');
                    }
                }
                let _ = write!(out, " {class}:{suffix}");
            }
            out.push('\n');
        }
    }

    fn put(&mut self, node: &Node, class: Class) {
        self.0.entry(node.path.clone()).or_default().insert(class);
    }

    /// Adds the fields of a type. `inside` is true if they are merged into the surrounding
    /// container.
    fn visit(
        &mut self,
        types: &[Type],
        id: TypeId,
        node: &Node,
        inside: bool,
        seen: &mut HashSet<(Node, TypeId, bool)>,
    ) {
        if !seen.insert((node.clone(), id, inside)) {
            return;
        }
        match &types[id.0 as usize] {
            Type::Void => {}
            Type::Bool => self.put(node, Class::Bool),
            Type::Int(int) => self.put(node, class_of(*int)),
            Type::VarInt => self.put(node, Class::Int),
            Type::VarLong => self.put(node, Class::Long),
            Type::F32 => self.put(node, Class::Float),
            Type::F64 => self.put(node, Class::Double),
            Type::Uuid => self.put(node, Class::Guid),
            Type::Text { .. }
            | Type::Terminated(_)
            | Type::RestText
            | Type::RestTexts
            | Type::Between(_) => self.put(node, Class::Text),
            Type::Mapper { .. } => self.put(node, Class::Text),
            Type::Buffer(_) | Type::Rest | Type::Nbt { .. } | Type::CompressedNbt { .. } => {
                self.put(node, Class::Bytes);
            }
            Type::Container(fields) => {
                if !inside {
                    self.put(node, Class::None);
                }
                for field in fields {
                    match &field.name {
                        Some(name) => {
                            self.visit(types, field.ty, &node.child(name), false, seen);
                        }
                        None => self.visit(types, field.ty, node, true, seen),
                    }
                }
            }
            Type::Sized { of, .. } => {
                self.put(node, Class::Bytes);
                self.visit(types, *of, node, false, seen);
            }
            ty @ (Type::Switch(_) | Type::IfMore { .. }) => {
                for case in ty.cases() {
                    self.visit(types, case, node, inside, seen);
                }
            }
            Type::Array { element: inner, .. }
            | Type::Metadata { element: inner, .. }
            | Type::TopBit(inner)
            | Type::Option(inner)
            | Type::CountFor { base: inner, .. }
            | Type::RestLength { base: inner } => self.visit(types, *inner, node, false, seen),
            // Only an old, unframed ping has this type: the text, without its parts.
            Type::TextForms(forms) => {
                if !inside {
                    self.put(node, Class::None);
                }
                self.put(&node.child(&forms.whole), Class::Text);
            }
            Type::Bitfield(bits) => {
                if !inside {
                    self.put(node, Class::None);
                }
                for it in bits {
                    self.put(&node.child(&it.name), class_of_bits(it));
                }
            }
            Type::Flags { flags, .. } => {
                self.put(node, Class::None);
                for (name, _) in flags {
                    self.put(&node.child(name), Class::Bool);
                }
                self.put(&node.child(&rest_name()), Class::Long);
            }
            Type::Holder { base, inline } => {
                self.put(node, Class::None);
                self.put(&node.child(base), Class::Int);
                self.visit(types, inline.ty, &node.child(&inline.name), false, seen);
            }
            Type::HolderSet { base, entries } => {
                self.put(node, Class::None);
                self.visit(types, base.ty, &node.child(&base.name), false, seen);
                self.visit(types, entries.ty, &node.child(&entries.name), false, seen);
            }
            Type::Vec3 => {
                self.put(node, Class::None);
                for name in crate::schema::vec3::names() {
                    self.put(&node.child(name), Class::Double);
                }
            }
        }
    }
}

/// Narrow classes are widened, so that a field that grew between versions is still one field.
fn merge(classes: &BTreeSet<Class>) -> Vec<Class> {
    let has = |class| classes.contains(&class);
    let narrow = |class: &Class| match class {
        Class::Int => has(Class::Long),
        Class::Float => has(Class::Double),
        _ => false,
    };
    classes.iter().copied().filter(|class| !narrow(class)).collect()
}

fn class_of(int: Int) -> Class {
    match (int.bytes, int.signed) {
        (8, false) => Class::Ulong,
        (8, true) | (4, false) => Class::Long,
        _ => Class::Int,
    }
}

fn class_of_bits(bits: &Bits) -> Class {
    match (bits.size, bits.signed) {
        (..32, _) | (32, true) => Class::Int,
        _ => Class::Long,
    }
}

/// Returns a name with the characters that Wireshark does not allow in a field name replaced.
pub(super) fn clean(name: &str) -> String {
    let valid = |char: char| char.is_ascii_alphanumeric() || char == '_' || char == '-';
    name.chars().map(|char| if valid(char) { char } else { '_' }).collect()
}

/// Field names in a path. With this many, all versions together have about 6,000 fields.
pub(super) const LEVELS: usize = 5;
