use super::Name;
use super::text_forms::TextForms;
use crate::wire::Encoding;

/// Place of a [`Type`] in its protocol's arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct TypeId(pub(super) u32);

/// One node of the type tree. Definitions recurse, hence ids.
#[derive(Debug)]
pub(super) enum Type {
    Void,
    Bool,
    Int(Int),
    F32,
    F64,
    VarInt,
    VarLong,
    Uuid,
    /// Text behind its length, counted in units of the encoding.
    Text {
        count: Count,
        encoding: Encoding,
    },
    /// Text up to a NUL.
    Terminated(Encoding),
    Buffer(Count),
    /// All that is left.
    Rest,
    Container(Box<[Field]>),
    Switch(Box<Switch>),
    Array {
        count: Count,
        element: TypeId,
    },
    Option(TypeId),
    /// There if bytes are left that begin like this (ours, not ProtoDef's: old pings only differ in
    /// where they end), or else something else.
    IfMore {
        some: TypeId,
        starts: Box<[u8]>,
        otherwise: Option<TypeId>,
    },
    /// Numbers of some bits each, most significant first; the widths are whole bytes together.
    Bitfield(Box<[Bits]>),
    Flags {
        base: TypeId,
        flags: Box<[(Name, u64)]>,
    },
    /// A number that stands for a name.
    Mapper {
        base: TypeId,
        names: Names,
    },
    /// Text whose parts are fields too.
    TextForms(Box<TextForms>),
    /// A number that says how many bytes of the packet stand behind it (ours, not ProtoDef's).
    RestLength {
        base: TypeId,
    },
    /// A number that says how many elements the array of that name has.
    CountFor {
        base: TypeId,
        array: Name,
    },
    Nbt {
        named: bool,
    },
    /// A 16-bit length (-1: absent, unless it is `unsigned`: ours, not ProtoDef's) and that much gzip
    /// with NBT inside.
    CompressedNbt {
        unsigned: bool,
    },
    /// Elements until a byte that is the end mark.
    Metadata {
        end: u8,
        element: TypeId,
    },
    /// Elements whose first byte says in bit 7 whether another follows.
    TopBit(TypeId),
    /// VarInt n: a reference to n-1, or with 0 the thing itself.
    Holder {
        base: Name,
        inline: Named,
    },
    /// VarInt n: with 0 a tag's name, else n-1 entries.
    HolderSet {
        base: Named,
        entries: Named,
    },
    /// Three quantised numbers of one scale (1.21.9 on).
    Vec3,
}

/// An integer of fixed width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Int {
    /// 1, 2, 4 or 8.
    pub(super) bytes: u8,
    pub(super) signed: bool,
    pub(super) little: bool,
}

/// Where a length comes from.
#[derive(Debug)]
pub(super) enum Count {
    Fixed(usize),
    Prefix(TypeId),
    Field(Path),
}

#[derive(Debug)]
pub(super) struct Field {
    /// None: the value's own fields are put among the container's.
    pub(super) name: Option<Name>,
    pub(super) ty: TypeId,
    /// Set when a path somewhere asks for a field of this name.
    pub(super) symbol: Option<Symbol>,
}

#[derive(Debug)]
pub(super) struct Named {
    pub(super) name: Name,
    pub(super) ty: TypeId,
}

#[derive(Debug)]
pub(super) struct Bits {
    pub(super) name: Name,
    /// 1 to 64
    pub(super) size: u32,
    pub(super) signed: bool,
    pub(super) symbol: Option<Symbol>,
}

#[derive(Debug)]
pub(super) struct Switch {
    pub(super) on: Path,
    /// Sorted.
    pub(super) ints: Box<[(i64, TypeId)]>,
    /// Sorted.
    pub(super) texts: Box<[(Name, TypeId)]>,
    /// Taken by any number below zero that has no case of its own (ours, not ProtoDef's: the
    /// documents have fields that follow "if > 0" and "if >= 0").
    pub(super) negative: Option<TypeId>,
    pub(super) default: TypeId,
}

impl Switch {
    pub(super) fn int(&self, int: i64) -> TypeId {
        match self.ints.binary_search_by_key(&int, |(key, _)| *key) {
            Ok(index) => self.ints[index].1,
            Err(_) if int < 0 => self.negative.unwrap_or(self.default),
            Err(_) => self.default,
        }
    }

    pub(super) fn text(&self, text: &str) -> TypeId {
        match self.texts.binary_search_by(|(key, _)| (**key).cmp(text)) {
            Ok(index) => self.texts[index].1,
            Err(_) => self.default,
        }
    }

    pub(super) fn bool(&self, bool: bool) -> TypeId {
        let name = if bool { "true" } else { "false" };
        match self.texts.binary_search_by(|(key, _)| (**key).cmp(name)) {
            Ok(index) => self.texts[index].1,
            Err(_) => self.int(i64::from(bool)),
        }
    }

    pub(super) fn cases(&self) -> impl Iterator<Item = TypeId> {
        let ints = self.ints.iter().map(|(_, ty)| *ty);
        let texts = self.texts.iter().map(|(_, ty)| *ty);
        ints.chain(texts).chain(self.negative).chain([self.default])
    }
}

/// Numbers and the names they stand for.
#[derive(Debug)]
pub(super) struct Names {
    /// Sorted by number.
    by_number: Box<[(i64, Name)]>,
    /// Places in `by_number`, sorted by name.
    by_name: Box<[u32]>,
}

impl Names {
    pub(super) fn new(mut pairs: Vec<(i64, Name)>) -> Self {
        pairs.sort_by_key(|(number, _)| *number);
        pairs.dedup_by_key(|(number, _)| *number);
        let mut by_name: Vec<u32> = (0u32..).take(pairs.len()).collect();
        by_name.sort_by(|a, b| pairs[*a as usize].1.cmp(&pairs[*b as usize].1));
        Self { by_number: pairs.into(), by_name: by_name.into() }
    }

    pub(super) fn name(&self, number: i64) -> Option<&Name> {
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

    pub(super) fn number(&self, name: &str) -> Option<i64> {
        let place = |index: &u32| &self.by_number[*index as usize];
        let index = self.by_name.binary_search_by(|index| (*place(index).1).cmp(name)).ok()?;
        Some(place(&self.by_name[index]).0)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(i64, Name)> {
        self.by_number.iter()
    }
}

/// A name that some path asks for, numbered.
pub(super) type Symbol = u16;

/// Which earlier field a count or a switch looks at.
#[derive(Debug, Clone)]
pub(super) struct Path {
    /// How many containers up, 0 or 1.
    pub(super) up: u8,
    pub(super) symbol: Symbol,
    /// One bit field or flag of it.
    pub(super) part: Option<Name>,
    /// As the description has it, for messages.
    pub(super) text: Name,
}
