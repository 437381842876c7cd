use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value as Json};

use super::number::parse_int;
use super::types::{
    Between, Bits, Count, Field, Int, Named, Names, Path, Switch, Symbol, Type, TypeId,
};
use super::{Name, SchemaError};
use crate::wire::{Encoding, parse_hex};

mod check;
mod text_forms;

use check::{Check, distinct};

/// Compiles ProtoDef JSON into the type tree of one protocol.
///
/// Every definition becomes one node, shared by all its users; a parametrised definition
/// (`$compareTo`) becomes one node for each set of arguments.
pub(super) struct Compiler<'j> {
    arena: Vec<Type>,
    names: HashSet<Name>,
    symbols: HashMap<&'j str, Symbol>,
    /// Definitions of the whole protocol.
    global: &'j Map<String, Json>,
    /// Definitions of the current state and direction, which shadow the global ones.
    local: &'j Map<String, Json>,
    /// Number of the current `local`, part of the keys of `known`.
    space: usize,
    known: HashMap<(usize, &'j str, String), TypeId>,
    /// Checks that need the whole tree, with their place in the description.
    checks: Vec<(Check, String)>,
    /// Arguments of the parametrised definition being compiled.
    arguments: Option<Json>,
    /// The place in the description, for error messages.
    at: Vec<String>,
    /// Types around the one being compiled.
    depth: usize,
}

impl<'j> Compiler<'j> {
    pub(super) fn new(description: &'j Json, global: &'j Map<String, Json>) -> Self {
        let mut compiler = Self {
            arena: Vec::new(),
            names: HashSet::new(),
            symbols: HashMap::new(),
            global,
            local: global,
            space: 0,
            known: HashMap::new(),
            checks: Vec::new(),
            arguments: None,
            at: Vec::new(),
            depth: 0,
        };
        compiler.collect_symbols(description);
        compiler
    }

    /// Starts a section: its definitions shadow the global ones.
    pub(super) fn enter(&mut self, at: String, local: &'j Map<String, Json>) {
        self.space += 1;
        self.local = local;
        self.at = vec![at];
    }

    /// Compiles the type that `json` describes.
    pub(super) fn compile(&mut self, json: &'j Json) -> Result<TypeId, SchemaError> {
        if self.depth == MAX_NESTING {
            return Err(self.fault("description nested too deeply"));
        }
        self.depth += 1;
        let id = match (json, json.get(0).and_then(Json::as_str)) {
            (Json::String(name), _) => self.named(name, None)?,
            (_, Some(name)) if self.is_defined(name) => {
                let arguments = self.resolve(json.get(1).unwrap_or(&Json::Null));
                self.named(name, Some(arguments))?
            }
            _ => {
                let ty = self.build(json)?;
                self.push(ty)
            }
        };
        self.depth -= 1;
        Ok(id)
    }

    /// Creates an error for the current place in the description.
    pub(super) fn fault(&self, cause: impl Into<String>) -> SchemaError {
        SchemaError { at: self.at.join("."), cause: cause.into() }
    }

    /// Interns a name.
    pub(super) fn name(&mut self, text: &str) -> Name {
        if let Some(name) = self.names.get(text) {
            return Name::clone(name);
        }
        let name = Name::from(text);
        self.names.insert(Name::clone(&name));
        name
    }

    /// Runs the pending checks and returns all types.
    pub(super) fn finish(self) -> Result<Vec<Type>, SchemaError> {
        if self.symbols.len() > usize::from(Symbol::MAX) {
            let cause = format!("paths refer to more than {} different fields", Symbol::MAX);
            return Err(SchemaError { at: SchemaError::TOP.into(), cause });
        }
        let mut merged = HashMap::new();
        for (check, at) in self.checks {
            check.run(&self.arena, &mut merged).map_err(|cause| SchemaError { at, cause })?;
        }
        Ok(self.arena)
    }

    /// Checks that no two fields have the same name.
    fn distinct<'n>(&self, names: impl Iterator<Item = &'n Name>) -> Result<(), SchemaError> {
        distinct(names, &mut HashSet::new()).map_err(|cause| self.fault(cause))
    }

    fn check(&mut self, check: Check) {
        self.checks.push((check, self.at.join(".")));
    }

    fn push(&mut self, ty: Type) -> TypeId {
        self.arena.push(ty);
        TypeId((self.arena.len() - 1) as u32)
    }

    /// Numbers the fields that paths refer to, so that a walk remembers only those.
    pub(super) fn collect_symbols(&mut self, json: &'j Json) {
        match json {
            Json::Array(items) => items.iter().for_each(|it| self.collect_symbols(it)),
            Json::Object(fields) => {
                for (key, value) in fields {
                    match value {
                        Json::String(path) if key == "compareTo" || key == "count" => {
                            let path = path.strip_prefix("../").unwrap_or(path);
                            let first = path.split('/').next().unwrap_or(path);
                            let next = self.symbols.len() as Symbol;
                            self.symbols.entry(first).or_insert(next);
                        }
                        _ => self.collect_symbols(value),
                    }
                }
            }
            _ => {}
        }
    }

    /// Returns whether the description defines the type, rather than declaring it as built in.
    fn is_defined(&self, name: &str) -> bool {
        let definition = self.local.get(name).or_else(|| self.global.get(name));
        definition.is_some_and(|definition| definition != "native")
    }

    /// Compiles a type by name, with `arguments` if its definition has parameters.
    fn named(&mut self, name: &'j str, arguments: Option<Json>) -> Result<TypeId, SchemaError> {
        if !self.is_defined(name) {
            let ty = native(name).ok_or_else(|| self.fault(format!("unknown type `{name}`")))?;
            return Ok(self.push(ty));
        }
        let (space, definition) = match self.local.get(name) {
            Some(local) => (self.space, local),
            None => (0, &self.global[name]),
        };
        let key = (space, name, arguments.as_ref().map(Json::to_string).unwrap_or_default());
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let kind = definition.as_str().or_else(|| definition.get(0).and_then(Json::as_str));
        if definition.is_string() || kind.is_some_and(|kind| self.is_defined(kind)) {
            if kind == Some(name) || self.at.len() > MAX_NESTING {
                return Err(self.fault(format!("`{name}` is defined by itself")));
            }
            self.at.push(name.to_owned());
            let id = self.compile(definition)?;
            self.at.pop();
            self.known.insert(key, id);
            return Ok(id);
        }
        // The node is reserved first, so that a definition can refer to itself.
        let id = self.push(Type::Void);
        self.known.insert(key, id);
        let outer = std::mem::replace(&mut self.arguments, arguments);
        let at = std::mem::replace(&mut self.at, vec![format!("types.{name}")]);
        let ty = self.build(definition)?;
        self.at = at;
        self.arguments = outer;
        self.arena[id.0 as usize] = ty;
        Ok(id)
    }

    fn build(&mut self, json: &'j Json) -> Result<Type, SchemaError> {
        let (kind, options) = match json {
            Json::Array(parts) => match parts.as_slice() {
                [Json::String(kind)] => (kind.as_str(), &Json::Null),
                [Json::String(kind), options] => (kind.as_str(), options),
                _ => return Err(self.fault("a type is [name, options]")),
            },
            _ => return Err(self.fault(format!("a type is a name or a list, this is {json}"))),
        };
        self.at.push(kind.to_owned());
        let ty = self.build_kind(kind, options)?;
        self.at.pop();
        Ok(ty)
    }

    fn build_kind(&mut self, kind: &'j str, options: &'j Json) -> Result<Type, SchemaError> {
        Ok(match kind {
            "container" => {
                let mut fields = Vec::new();
                self.fields(options, &mut fields)?;
                let fields: Box<[Field]> = fields.into();
                if fields.iter().any(|it| it.name.is_none()) {
                    self.check(Check::Merges(fields.clone()));
                } else {
                    self.distinct(fields.iter().filter_map(|it| it.name.as_ref()))?;
                }
                Type::Container(fields)
            }
            "switch" => self.switch(options)?,
            "array" => {
                Type::Array { count: self.count(options)?, element: self.part(options, "type")? }
            }
            "option" => Type::Option(self.compile(options)?),
            "ifMore" => {
                let exactly = options.get("bytes").and_then(Json::as_u64);
                Type::IfMore {
                    some: match exactly {
                        Some(_) => self.integer(options)?,
                        None => self.part(options, "type")?,
                    },
                    starts: self.hex(options, "startsWith")?,
                    exactly: exactly.and_then(|bytes| bytes.try_into().ok()),
                    otherwise: options.get("else").map(|ty| self.compile(ty)).transpose()?,
                }
            }
            "buffer" => Type::Buffer(self.count(options)?),
            "sized" => Type::Sized { count: self.count(options)?, of: self.part(options, "type")? },
            "compressedNbt" => Type::CompressedNbt { unsigned: options["unsigned"] == true },
            "pstring" => {
                Type::Text { count: self.count(options)?, encoding: self.encoding(options)? }
            }
            "cstring" => Type::Terminated(self.encoding(options)?),
            "bitfield" => self.bitfield(options)?,
            "bitflags" => self.bitflags(options)?,
            "mapper" => self.mapper(options)?,
            "textForms" => Type::TextForms(Box::new(self.text_forms(options)?)),
            "textBetween" => Type::Between(Box::new(self.between(options)?)),
            "restLength" => Type::RestLength { base: self.integer(options)? },
            "count" => {
                let array = self.text(options, "countFor")?;
                let array = array.rsplit('/').next().unwrap_or(array);
                Type::CountFor { base: self.part(options, "type")?, array: self.name(array) }
            }
            "entityMetadataLoop" => {
                let end = options.get("endVal").and_then(Json::as_u64);
                let end = end.and_then(|end| u8::try_from(end).ok());
                let end = end.ok_or_else(|| self.fault("`endVal` must be 0 to 255"))?;
                Type::Metadata { end, element: self.part(options, "type")? }
            }
            "topBitSetTerminatedArray" => {
                let element = self.part(options, "type")?;
                self.check(Check::Begins(element));
                Type::TopBit(element)
            }
            "registryEntryHolder" => {
                let base = self.text(options, "baseName")?;
                let (base, inline) = (self.name(base), self.member(options, "otherwise")?);
                self.distinct([&base, &inline.name].into_iter())?;
                Type::Holder { base, inline }
            }
            "registryEntryHolderSet" => {
                let base = self.member(options, "base")?;
                let entries = self.member(options, "otherwise")?;
                self.distinct([&base.name, &entries.name].into_iter())?;
                Type::HolderSet { base, entries }
            }
            _ => return Err(self.fault(format!("unknown type `{kind}`"))),
        })
    }

    /// Compiles the fields of a container. As in ProtoDef, the fields of an anonymous container are
    /// merged into the surrounding one and share its scope.
    fn fields(&mut self, options: &'j Json, into: &mut Vec<Field>) -> Result<(), SchemaError> {
        let Json::Array(fields) = options else {
            return Err(self.fault("a container has a list of fields"));
        };
        for field in fields {
            let ty = field.get("type").ok_or_else(|| self.fault("a field without `type`"))?;
            if field["anon"] == true {
                match ty.get(0).and_then(Json::as_str) {
                    Some("container") if ty.get(1).is_some() => self.fields(&ty[1], into)?,
                    _ => {
                        into.push(Field { name: None, ty: self.compile(ty)?, symbol: None });
                    }
                }
                continue;
            }
            let name = self.text(field, "name")?;
            self.at.push(name.to_owned());
            let ty = self.compile(ty)?;
            self.at.pop();
            let symbol = self.symbols.get(name).copied();
            into.push(Field { name: Some(self.name(name)), ty, symbol });
        }
        Ok(())
    }

    fn switch(&mut self, options: &'j Json) -> Result<Type, SchemaError> {
        let on = match self.text(options, "compareTo")?.strip_prefix('$') {
            None => self.text(options, "compareTo")?.to_owned(),
            Some(parameter) => {
                let given = self.arguments.as_ref().and_then(|given| given.get(parameter));
                let given = given.and_then(Json::as_str).map(str::to_owned);
                given.ok_or_else(|| self.fault(format!("no argument for `${parameter}`")))?
            }
        };
        let on = self.path(&on)?;
        let Some(Json::Object(cases)) = options.get("fields") else {
            return Err(self.fault("a switch has `fields`"));
        };
        let (mut ints, mut texts) = (Vec::new(), Vec::new());
        for (key, case) in cases {
            self.at.push(key.to_owned());
            let ty = self.compile(case)?;
            self.at.pop();
            match parse_int(key) {
                Some(int) => ints.push((int, ty)),
                None => texts.push((self.name(key), ty)),
            }
        }
        ints.sort_by_key(|(key, _)| *key);
        texts.sort_by(|(a, _), (b, _)| a.cmp(b));
        let negative = options.get("negative").map(|ty| self.compile(ty)).transpose()?;
        let default = match options.get("default") {
            Some(ty) => self.compile(ty)?,
            None => self.push(Type::Void),
        };
        let closed = options.get("default").is_none() && cases.values().any(|case| case != "void");
        let (ints, texts) = (ints.into(), texts.into());
        Ok(Type::Switch(Box::new(Switch { on, ints, texts, negative, default, closed })))
    }

    fn bitfield(&mut self, options: &'j Json) -> Result<Type, SchemaError> {
        let Json::Array(parts) = options else {
            return Err(self.fault("a bitfield has a list of fields"));
        };
        let mut bits = Vec::new();
        for part in parts {
            let name = self.text(part, "name")?;
            let size = part.get("size").and_then(Json::as_u64).unwrap_or(0);
            let signed = part["signed"] == true;
            let symbol = self.symbols.get(name).copied();
            bits.push(Bits { name: self.name(name), size: size as u32, signed, symbol });
        }
        self.distinct(bits.iter().map(|it| &it.name))?;
        let total: u32 = bits.iter().map(|it| it.size).sum();
        if total == 0
            || total > 64
            || !total.is_multiple_of(8)
            || bits.iter().any(|it| it.size == 0)
        {
            return Err(
                self.fault(format!("a bitfield of {total} bits: want 8 to 64, whole bytes"))
            );
        }
        Ok(Type::Bitfield(bits.into()))
    }

    fn bitflags(&mut self, options: &'j Json) -> Result<Type, SchemaError> {
        let base = self.integer(options)?;
        let shift = options["shift"] == true;
        let mut flags = Vec::new();
        match options.get("flags") {
            Some(Json::Array(names)) => {
                for (index, name) in names.iter().enumerate().take(64) {
                    let Some(name) = name.as_str() else { continue };
                    flags.push((self.name(name), 1 << index));
                }
            }
            Some(Json::Object(masks)) => {
                for (name, mask) in masks {
                    let mask = mask.as_u64().unwrap_or(0);
                    let mask =
                        if shift { 1u64.checked_shl(mask as u32).unwrap_or(0) } else { mask };
                    flags.push((self.name(name), mask));
                }
            }
            _ => return Err(self.fault("bitflags have `flags`")),
        }
        self.distinct(flags.iter().map(|(name, _)| name))?;
        Ok(Type::Flags { base, flags: flags.into() })
    }

    fn mapper(&mut self, options: &'j Json) -> Result<Type, SchemaError> {
        let base = self.integer(options)?;
        let Some(Json::Object(mappings)) = options.get("mappings") else {
            return Err(self.fault("a mapper has `mappings`"));
        };
        let mut pairs = Vec::with_capacity(mappings.len());
        for (key, name) in mappings {
            let number =
                parse_int(key).ok_or_else(|| self.fault(format!("`{key}` is not a number")))?;
            let name = name.as_str().ok_or_else(|| self.fault(format!("`{key}` has no name")))?;
            pairs.push((number, self.name(name)));
        }
        Ok(Type::Mapper { base, names: Names::new(pairs) })
    }

    fn count(&mut self, options: &'j Json) -> Result<Count, SchemaError> {
        match (options.get("count"), options.get("countType")) {
            (Some(Json::String(path)), _) => Ok(Count::Field(self.path(path)?)),
            (Some(count), _) => match count.as_u64().and_then(|it| usize::try_from(it).ok()) {
                Some(count) => Ok(Count::Fixed(count)),
                None => Err(self.fault(format!("`count` of {count}"))),
            },
            (None, Some(prefix)) => {
                let prefix = self.compile(prefix)?;
                self.expect_integer(prefix)?;
                Ok(Count::Prefix(prefix))
            }
            (None, None) => Err(self.fault("neither `count` nor `countType`")),
        }
    }

    fn path(&mut self, text: &str) -> Result<Path, SchemaError> {
        let (up, rest) = match text.strip_prefix("../") {
            Some(rest) => (1, rest),
            None => (0, text),
        };
        let mut parts = rest.split('/');
        let first = parts.next().unwrap_or(rest);
        let part = parts.next().map(|part| self.name(part));
        let symbol = self.symbols.get(first).copied();
        match (symbol, parts.next()) {
            (Some(symbol), None) if first != ".." => {
                Ok(Path { up, symbol, part, text: self.name(text) })
            }
            _ => Err(self.fault(format!("path `{text}`: at most one `..`, a field and a part"))),
        }
    }

    fn encoding(&self, options: &Json) -> Result<Encoding, SchemaError> {
        let Some(name) = options.get("encoding").and_then(Json::as_str) else {
            return Ok(Encoding::Utf8);
        };
        Encoding::named(name).ok_or_else(|| self.fault(format!("unknown encoding `{name}`")))
    }

    fn integer(&mut self, options: &'j Json) -> Result<TypeId, SchemaError> {
        let base = self.part(options, "type")?;
        self.expect_integer(base)?;
        Ok(base)
    }

    fn expect_integer(&self, id: TypeId) -> Result<(), SchemaError> {
        match self.arena[id.0 as usize] {
            Type::Int(_) | Type::VarInt | Type::VarLong => Ok(()),
            _ => Err(self.fault("not an integer type")),
        }
    }

    fn member(&mut self, options: &'j Json, key: &str) -> Result<Named, SchemaError> {
        let member = options.get(key).ok_or_else(|| self.fault(format!("no `{key}`")))?;
        let name = self.text(member, "name")?;
        Ok(Named { name: self.name(name), ty: self.part(member, "type")? })
    }

    fn part(&mut self, options: &'j Json, key: &str) -> Result<TypeId, SchemaError> {
        let part = options.get(key).ok_or_else(|| self.fault(format!("no `{key}`")))?;
        self.compile(part)
    }

    fn text(&self, options: &'j Json, key: &str) -> Result<&'j str, SchemaError> {
        let text = options.get(key).and_then(Json::as_str);
        text.ok_or_else(|| self.fault(format!("no `{key}`")))
    }

    /// Returns the bytes of a hex string; no bytes if the key is missing.
    fn hex(&self, options: &Json, key: &str) -> Result<Box<[u8]>, SchemaError> {
        self.hex_digits(key, options.get(key).unwrap_or(&Json::Null))
    }

    fn hex_digits(&self, key: &str, digits: &Json) -> Result<Box<[u8]>, SchemaError> {
        let text = digits.as_str().unwrap_or_default();
        let fault = || self.fault(format!("`{key}` of `{text}`: expected pairs of hex digits"));
        parse_hex(text).map(Vec::into_boxed_slice).ok_or_else(fault)
    }

    fn between(&self, options: &Json) -> Result<Between, SchemaError> {
        let ends = options.get("ends").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
        let ends: Box<[Box<[u8]>]> =
            ends.iter().map(|end| self.hex_digits("ends", end)).collect::<Result<_, _>>()?;
        let closed = options["closed"] == true;
        if ends.iter().any(|end| end.is_empty()) || closed && ends.is_empty() {
            return Err(self.fault("`ends` lacks the bytes after the text"));
        }
        Ok(Between { starts: self.hex(options, "startsWith")?, ends, closed })
    }

    /// Replaces parameters in arguments by the current arguments.
    fn resolve(&self, options: &Json) -> Json {
        let mut resolved = options.clone();
        if let (Json::Object(fields), Some(given)) = (&mut resolved, &self.arguments) {
            for value in fields.values_mut() {
                let parameter = value.as_str().and_then(|text| text.strip_prefix('$'));
                if let Some(argument) = parameter.and_then(|name| given.get(name)) {
                    *value = argument.clone();
                }
            }
        }
        resolved
    }
}

fn native(name: &str) -> Option<Type> {
    if let Some(int) = native_int(name) {
        return Some(Type::Int(int));
    }
    Some(match name {
        "void" => Type::Void,
        "bool" => Type::Bool,
        "f32" => Type::F32,
        "f64" => Type::F64,
        "varint" => Type::VarInt,
        "varlong" => Type::VarLong,
        "UUID" => Type::Uuid,
        "restBuffer" => Type::Rest,
        "restText" => Type::RestText,
        "restTexts" => Type::RestTexts,
        "cstring" => Type::Terminated(Encoding::Utf8),
        "nbt" | "optionalNbt" => Type::Nbt { named: true },
        "anonymousNbt" | "anonOptionalNbt" => Type::Nbt { named: false },
        "compressedNbt" => Type::CompressedNbt { unsigned: false },
        "lpVec3" => Type::Vec3,
        _ => return None,
    })
}

/// Parses `i8` to `u64`, with a leading `l` for little-endian.
fn native_int(name: &str) -> Option<Int> {
    let (little, rest) = match name.strip_prefix('l') {
        Some(rest) => (true, rest),
        None => (false, name),
    };
    let signed = rest.starts_with('i');
    let bits = rest.strip_prefix(['i', 'u'])?;
    let bytes = match bits {
        "8" => 1,
        "16" => 2,
        "32" => 4,
        "64" => 8,
        _ => return None,
    };
    Some(Int { bytes, signed, little })
}

/// Deeper than any hand-written or published description; the stack of a thread has room for it.
const MAX_NESTING: usize = 100;
