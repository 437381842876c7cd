use bytes::Bytes;

use super::{Exact, Flow, Leaf, Name, Scalar, Value, Visitor};

/// Builds a lossless [`Value`] from the parts of a walk.
#[derive(Debug, Default)]
pub(super) struct ValueVisitor {
    /// `true` if lists of single bytes become [`Value::Bytes`], which takes less time and memory.
    packs: bool,
    open: Vec<Open>,
    /// Prefixes of the next value, outermost first.
    prefixes: Vec<Bytes>,
    root: Option<Value>,
}

#[derive(Debug)]
struct Open {
    prefixes: Vec<Bytes>,
    parts: Parts,
}

#[derive(Debug)]
enum Parts {
    Map { fields: Vec<(Name, Value)>, next: Option<Name> },
    List(Vec<Value>),
}

impl ValueVisitor {
    /// Creates a visitor whose lists of single bytes become [`Value::Bytes`].
    pub(super) fn packing() -> Self {
        Self { packs: true, ..Self::default() }
    }

    pub(super) fn finish(self) -> Value {
        self.root.unwrap_or(Value::Absent)
    }

    fn open(&mut self, parts: Parts) -> Flow {
        self.open.push(Open { prefixes: std::mem::take(&mut self.prefixes), parts });
        Flow::Continue(())
    }

    fn put(&mut self, value: Value) {
        let value = self.prefixes.drain(..).rev().fold(value, prefixed);
        match self.open.last_mut().map(|open| &mut open.parts) {
            Some(Parts::Map { fields, next }) => {
                if let Some(name) = next.take() {
                    fields.push((name, value));
                }
            }
            Some(Parts::List(items)) => items.push(value),
            None => self.root = Some(value),
        }
    }
}

impl Visitor for ValueVisitor {
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow {
        let value = value(leaf);
        self.put(value);
        Flow::Continue(())
    }

    fn field(&mut self, name: &Name) -> Flow {
        if let Some(Open { parts: Parts::Map { next, .. }, .. }) = self.open.last_mut() {
            *next = Some(Name::clone(name));
        }
        Flow::Continue(())
    }

    fn open_map(&mut self, _at: usize) -> Flow {
        self.open(Parts::Map { fields: Vec::new(), next: None })
    }

    fn open_list(&mut self, _at: usize, count: Option<usize>) -> Flow {
        let room = count.unwrap_or(0).min(MAX_ROOM);
        self.open(Parts::List(Vec::with_capacity(room)))
    }

    fn close(&mut self, _at: usize) -> Flow {
        if let Some(open) = self.open.pop() {
            let value = match open.parts {
                Parts::Map { fields, .. } => Value::Map(fields),
                Parts::List(items) => Value::List(items),
            };
            self.prefixes = open.prefixes;
            self.put(value);
        }
        Flow::Continue(())
    }

    fn byte_list(&mut self, _at: usize, bytes: &[u8]) -> Option<Flow> {
        self.packs.then(|| {
            self.put(Value::Bytes(Bytes::copy_from_slice(bytes)));
            Flow::Continue(())
        })
    }

    fn prefix(&mut self, _at: usize, wire: &[u8]) {
        self.prefixes.push(match wire {
            PRESENT => Bytes::from_static(PRESENT),
            odd => Bytes::copy_from_slice(odd),
        });
    }
}

/// Returns the value of a leaf, with its bytes if encoding would produce others.
pub(super) fn value(leaf: &Leaf<'_>) -> Value {
    let wire = || Bytes::copy_from_slice(leaf.wire);
    let value = match leaf.value {
        Scalar::Absent => Value::Absent,
        Scalar::Bool(bool) => Value::Bool(bool),
        Scalar::Int(int) => Value::Int(int),
        Scalar::Unsigned(int) => Value::Unsigned(int),
        Scalar::Float32(float) => Value::Float32(float),
        Scalar::Float64(float) => Value::Float64(float),
        Scalar::Name(name, _) => Value::Text(Name::clone(name)),
        Scalar::Uuid(uuid) => Value::Uuid(uuid),
        Scalar::Bytes(bytes) => Value::Bytes(Bytes::copy_from_slice(bytes)),
        Scalar::Text(bytes, encoding) => {
            let text = encoding.decode_lossy(bytes);
            let same = *encoding.encode(&text) == *bytes;
            let value = Value::Text(text.as_ref().into());
            return if same && leaf.canonical { value } else { exact(value, wire()) };
        }
        Scalar::Nbt { .. } => match leaf.value.nbt() {
            Some(nbt) => Value::Nbt(Box::new(nbt)),
            None => return exact(Value::Absent, wire()),
        },
        Scalar::CompressedNbt(bytes) => {
            let bytes = || Value::Bytes(Bytes::copy_from_slice(bytes));
            let value = leaf.value.nbt().map_or_else(bytes, |nbt| Value::Nbt(Box::new(nbt)));
            return exact(value, wire());
        }
    };
    if leaf.canonical { value } else { exact(value, wire()) }
}

/// Attaches a prefix to a value. The usual prefix of an option is implied by its value, except for
/// an absent one. An unusual encoding of the value itself must not be taken for the option's.
fn prefixed(value: Value, wire: Bytes) -> Value {
    match value {
        Value::Absent | Value::Exact(_) => exact(value, wire),
        value if wire == PRESENT => value,
        value => exact(value, wire),
    }
}

fn exact(value: Value, wire: Bytes) -> Value {
    Value::Exact(Box::new(Exact { value, wire }))
}

/// The usual prefix of a present option. No list has an unusual count of this form.
const PRESENT: &[u8] = &[1];

/// Elements for which a list reserves space before they are read.
const MAX_ROOM: usize = 1024;
