use std::ops::RangeInclusive;

use super::Name;
use super::scope::FieldValue;
use super::text_forms::TextForms;
use crate::wire::Encoding;

/// Index of a [`Type`] in its protocol's arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct TypeId(pub(crate) u32);

/// A node of the type tree. Definitions recurse, so nodes refer to each other by index.
#[derive(Debug)]
pub(crate) enum Type {
    Void,
    Bool,
    Int(Int),
    F32,
    F64,
    VarInt,
    VarLong,
    Uuid,
    /// Text with a length, counted in units of the encoding.
    Text {
        count: Count,
        encoding: Encoding,
    },
    /// Text terminated by NUL.
    Terminated(Encoding),
    Buffer(Count),
    /// All remaining bytes.
    Rest,
    /// Text in UTF-8 up to the end of the packet, where plugin messages have no length. An extension of
    /// ProtoDef.
    RestText,
    /// Text in UTF-8 between marks. An extension of ProtoDef: data that proxies append to host names.
    Between(Box<Between>),
    /// Texts in UTF-8 with a NUL between them, up to the end of the packet. An extension of ProtoDef.
    RestTexts,
    /// A value behind its length in bytes; bytes, if they are not exactly such a value. An extension of ProtoDef:
    /// components of items from clients that the server does not trust.
    Sized {
        count: Count,
        of: TypeId,
    },
    Container(Box<[Field]>),
    Switch(Box<Switch>),
    Array {
        count: Count,
        element: TypeId,
    },
    Option(TypeId),
    /// Present if the remaining bytes start with `starts`, otherwise another type. An extension of
    /// ProtoDef: old pings differ only in where they end.
    IfMore {
        some: TypeId,
        starts: Box<[u8]>,
        /// The number of bytes that must remain; `some` is then an unusual form of `otherwise`, an integer.
        exactly: Option<usize>,
        otherwise: Option<TypeId>,
    },
    /// Numbers of some bits each, most significant first. The widths add up to whole bytes.
    Bitfield(Box<[Bits]>),
    Flags {
        base: TypeId,
        flags: Box<[(Name, u64)]>,
    },
    /// A number with a name.
    Mapper {
        base: TypeId,
        names: Names,
    },
    /// Text whose parts are fields too.
    TextForms(Box<TextForms>),
    /// A number that counts the bytes after it up to the end of the packet. An extension of
    /// ProtoDef.
    RestLength {
        base: TypeId,
    },
    /// A number that counts the elements of the named array.
    CountFor {
        base: TypeId,
        array: Name,
    },
    Nbt {
        named: bool,
    },
    /// Gzip-compressed NBT with a 16-bit length; -1 means absent, unless `unsigned` (an extension
    /// of ProtoDef).
    CompressedNbt {
        unsigned: bool,
    },
    /// Elements up to a byte that marks the end.
    Metadata {
        end: u8,
        element: TypeId,
    },
    /// Elements in which bit 7 of the first byte says whether another follows.
    TopBit(TypeId),
    /// A VarInt n: a reference to n-1, or for 0 the value itself.
    Holder {
        base: Name,
        inline: Named,
    },
    /// A VarInt n: for 0 the name of a tag, otherwise n-1 entries.
    HolderSet {
        base: Named,
        entries: Named,
    },
    /// Three numbers quantised to a common scale, since 1.21.9.
    Vec3,
}

impl Type {
    /// Returns the types of which a value has one, if the type is a choice between others.
    pub(crate) fn cases(&self) -> impl Iterator<Item = TypeId> {
        let (switch, more) = match self {
            Self::Switch(switch) => (Some(switch), [None, None]),
            Self::IfMore { some, otherwise, .. } => (None, [Some(*some), *otherwise]),
            _ => (None, [None, None]),
        };
        switch.into_iter().flat_map(|it| it.cases()).chain(more.into_iter().flatten())
    }

    /// Returns the numbers that an integer type can have; those of a VarInt for other types.
    #[inline]
    pub(crate) fn range(&self) -> RangeInclusive<i128> {
        match self {
            Self::Int(Int { bytes, signed, .. }) => {
                let bits = 8 * u32::from(*bytes);
                if *signed { -1 << (bits - 1)..=(1 << (bits - 1)) - 1 } else { 0..=(1 << bits) - 1 }
            }
            Self::VarLong => i64::MIN.into()..=i64::MAX.into(),
            _ => i32::MIN.into()..=i32::MAX.into(),
        }
    }
}

/// Returns whether `is` is true for a name among the fields that a type merges into a container, those of
/// all its cases.
pub(super) fn merges<'t>(
    types: &'t [Type],
    id: TypeId,
    is: &mut impl FnMut(&'t Name) -> bool,
) -> bool {
    match &types[id.0 as usize] {
        Type::Container(fields) => has_field(types, fields, is),
        Type::Bitfield(bits) => bits.iter().any(|it| is(&it.name)),
        Type::TextForms(forms) => forms.names().any(is),
        ty => ty.cases().any(|case| merges(types, case, is)),
    }
}

/// Returns whether `is` is true for a name among `fields`, with those that they merge into their container.
pub(super) fn has_field<'t>(
    types: &'t [Type],
    fields: &'t [Field],
    is: &mut impl FnMut(&'t Name) -> bool,
) -> bool {
    fields.iter().any(|field| match &field.name {
        Some(name) => is(name),
        None => merges(types, field.ty, is),
    })
}

/// The bytes around a text.
#[derive(Debug)]
pub(crate) struct Between {
    /// The bytes before it.
    pub(crate) starts: Box<[u8]>,
    /// The text goes up to the first of these, or to the end of the packet.
    pub(crate) ends: Box<[Box<[u8]>]>,
    /// `true` if the first of `ends` belongs to the text, otherwise it begins what follows.
    pub(crate) closed: bool,
}

impl Between {
    /// Returns the length of the text that `bytes` begin with, and the mark behind it.
    pub(super) fn split<'t>(&'t self, bytes: &[u8]) -> (usize, Option<&'t [u8]>) {
        let mark = |at: usize| self.ends.iter().find(|end| bytes[at..].starts_with(end));
        let found = (0..bytes.len()).find_map(|at| Some((at, &**mark(at)?)));
        found.map_or((bytes.len(), None), |(at, end)| (at, Some(end)))
    }
}

/// An integer of fixed width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Int {
    /// 1, 2, 4 or 8.
    pub(crate) bytes: u8,
    pub(crate) signed: bool,
    pub(crate) little: bool,
}

/// The source of a length.
#[derive(Debug)]
pub(crate) enum Count {
    Fixed(usize),
    Prefix(TypeId),
    Field(Path),
}

#[derive(Debug, Clone)]
pub(crate) struct Field {
    /// `None` if the value's own fields are merged into the container's.
    pub(crate) name: Option<Name>,
    pub(crate) ty: TypeId,
    /// Set if some path refers to a field of this name.
    pub(crate) symbol: Option<Symbol>,
}

#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) name: Name,
    pub(crate) ty: TypeId,
}

#[derive(Debug)]
pub(crate) struct Bits {
    pub(crate) name: Name,
    /// 1 to 64
    pub(crate) size: u32,
    pub(crate) signed: bool,
    pub(crate) symbol: Option<Symbol>,
}

#[derive(Debug)]
pub(crate) struct Switch {
    pub(crate) on: Path,
    /// Sorted by number.
    pub(crate) ints: Box<[(i64, TypeId)]>,
    /// Sorted by name.
    pub(crate) texts: Box<[(Name, TypeId)]>,
    /// The case of all negative numbers without a case of their own. An extension of ProtoDef: the
    /// documents have fields that exist "if > 0" and "if >= 0".
    pub(crate) negative: Option<TypeId>,
    pub(crate) default: TypeId,
    /// `true` if the description has no default: a number or text without a case is one that the version does
    /// not have, and what follows it has no layout. Booleans, absent values and numbers with a name in their
    /// mapper are known without a case, and have no data then.
    pub(crate) closed: bool,
}

impl Switch {
    /// Returns the type for a value; `None` if the version does not have the value.
    #[inline]
    pub(super) fn case(&self, value: FieldValue<'_>) -> Option<TypeId> {
        let (case, is_known) = match value {
            FieldValue::Int(int) => (self.int(int), !self.closed),
            FieldValue::Text(text) => (self.text(text), !self.closed),
            FieldValue::Name(name) => (self.text(name.as_bytes()), true),
            FieldValue::Bool(bool) => {
                let name = if bool { "true" } else { "false" };
                (self.text(name.as_bytes()).or_else(|| self.int(bool.into())), true)
            }
            FieldValue::Absent | FieldValue::Bits(..) => (None, true),
        };
        case.or_else(|| is_known.then_some(self.default))
    }

    /// Returns the case of a number.
    fn int(&self, int: i64) -> Option<TypeId> {
        match self.ints.binary_search_by_key(&int, |(key, _)| *key) {
            Ok(index) => Some(self.ints[index].1),
            Err(_) => self.negative.filter(|_| int < 0),
        }
    }

    /// Returns the case of a text.
    fn text(&self, text: &[u8]) -> Option<TypeId> {
        let index = self.texts.binary_search_by(|(key, _)| key.as_bytes().cmp(text)).ok()?;
        Some(self.texts[index].1)
    }

    pub(crate) fn cases(&self) -> impl Iterator<Item = TypeId> {
        let ints = self.ints.iter().map(|(_, ty)| *ty);
        let texts = self.texts.iter().map(|(_, ty)| *ty);
        ints.chain(texts).chain(self.negative).chain([self.default])
    }
}

/// A mapping between numbers and names.
#[derive(Debug)]
pub(crate) struct Names {
    /// Sorted by number.
    by_number: Box<[(i64, Name)]>,
    /// Indices into `by_number`, sorted by name.
    by_name: Box<[u32]>,
}

impl Names {
    pub(crate) fn new(mut pairs: Vec<(i64, Name)>) -> Self {
        pairs.sort_by_key(|(number, _)| *number);
        pairs.dedup_by_key(|(number, _)| *number);
        let mut by_name: Vec<u32> = (0u32..).take(pairs.len()).collect();
        by_name.sort_by(|a, b| pairs[*a as usize].1.cmp(&pairs[*b as usize].1));
        Self { by_number: pairs.into(), by_name: by_name.into() }
    }

    pub(crate) fn name(&self, number: i64) -> Option<&Name> {
        // Most tables count from 0 without a gap.
        let direct = usize::try_from(number).ok().and_then(|index| self.by_number.get(index));
        if let Some((key, name)) = direct
            && *key == number
        {
            return Some(name);
        }
        let index = self.by_number.binary_search_by_key(&number, |(key, _)| *key).ok()?;
        Some(&self.by_number[index].1)
    }

    pub(crate) fn number(&self, name: &str) -> Option<i64> {
        let place = |index: &u32| &self.by_number[*index as usize];
        let index = self.by_name.binary_search_by(|index| (*place(index).1).cmp(name)).ok()?;
        Some(place(&self.by_name[index]).0)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &(i64, Name)> {
        self.by_number.iter()
    }
}

/// Number of a field name that some path refers to.
pub(crate) type Symbol = u16;

/// A reference from a count or a switch to an earlier field.
#[derive(Debug, Clone)]
pub(crate) struct Path {
    /// Number of containers to go up, 0 or 1.
    pub(crate) up: u8,
    pub(crate) symbol: Symbol,
    /// A bit field or flag of the field.
    pub(crate) part: Option<Name>,
    /// The path as written in the description, for messages.
    pub(crate) text: Name,
}
