use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::fields::clean;
use crate::schema::types::{Count, Path, Symbol, Type, TypeId};
use crate::schema::{Direction, Protocol, Release, Role, State};
use crate::wire::Encoding;

/// Writes the packets and types of a version as Lua tables: in `VERSIONS`, or in `OLD` those from before 1.7, by
/// numbers of their own. The first number of each type is its place in the interpreter's `ops`.
pub(super) fn write(out: &mut String, protocol: &Protocol) {
    let configures =
        protocol.role(State::Login, Direction::Serverbound, Role::LoginAcknowledged).is_some();
    let version = protocol.version();
    let text = protocol.release().unframed_text();
    let table = if text.is_some() { "OLD" } else { "VERSIONS" };
    let name = quoted(protocol.name());
    let _ = write!(out, "{table}[{version}] = {{ name = {name}, types = {{}}, ");
    let _ = match text {
        Some(text) => writeln!(
            out,
            "text = {}, release = {} }}",
            form(text),
            protocol.release() >= Release::V1_3
        ),
        None => writeln!(out, "configures = {configures} }}\nORDER[#ORDER + 1] = {version}"),
    };
    for state in State::ALL {
        for direction in Direction::ALL {
            let _ = writeln!(out, "{table}[{version}][\"{state} {direction}\"] = {{");
            let own = |it: &&crate::schema::PacketType| {
                it.state() == state && it.direction() == direction
            };
            for packet in protocol.packets().iter().filter(own) {
                let role = packet.role().map_or_else(no, |role| quoted(&format!("{role:?}")));
                let (id, name, ty) = (packet.id(), quoted(&clean(packet.name())), packet.ty.0);
                let _ = writeln!(out, "[{id}]={{{name},{ty},{role}}},");
            }
            out.push_str("}\n");
        }
    }
    // Types of payloads of plugin channels, which no packet refers to, are left out.
    let roots = protocol.packets().iter().map(|packet| packet.ty).collect();
    let types = Table { protocol, wanted: RefCell::new(roots) };
    let mut written = BTreeMap::new();
    while let Some(id) = types.next() {
        written.entry(id.0).or_insert_with(|| types.ty(&protocol.types[id.0 as usize]));
    }
    // A Lua function has a limited number of constants.
    let types: Vec<_> = written.into_iter().collect();
    for types in types.chunks(CHUNK) {
        out.push_str(";(function(T)\n");
        for (id, ty) in types {
            let _ = writeln!(out, "T[{id}]={ty}");
        }
        let _ = writeln!(out, "end)({table}[{version}].types)");
    }
    out.push('\n');
}

struct Table<'p> {
    protocol: &'p Protocol,
    /// The types that others refer to; some are written already.
    wanted: RefCell<Vec<TypeId>>,
}

impl Table<'_> {
    /// Returns a type as a table.
    fn ty(&self, ty: &Type) -> String {
        let count = |count: &Count| self.count(count);
        match ty {
            Type::Void => "{1}".into(),
            Type::Bool => "{2}".into(),
            Type::Int(int) => format!("{{3,{},{},{}}}", int.bytes, int.signed, int.little),
            Type::F32 => "{4}".into(),
            Type::F64 => "{5}".into(),
            Type::VarInt => "{6}".into(),
            Type::VarLong => "{7}".into(),
            Type::Uuid => "{8}".into(),
            Type::Text { count: length, encoding } => {
                format!("{{9,{},{},{}}}", count(length), form(*encoding), encoding.unit())
            }
            Type::Terminated(encoding) => format!("{{10,{}}}", form(*encoding)),
            Type::Buffer(length) => format!("{{11,{}}}", count(length)),
            Type::Rest => "{12}".into(),
            Type::RestText => "{30}".into(),
            Type::RestTexts => "{31}".into(),
            Type::Between(marks) => {
                let ends = list(marks.ends.iter().map(|end| format!("\"{}\"", escapes(end))));
                format!("{{32,\"{}\",{{{ends}}},{}}}", escapes(&marks.starts), marks.closed)
            }
            Type::Container(fields) => {
                let fields = fields.iter().map(|field| {
                    let name = field.name.as_ref().map_or_else(no, |it| quoted(&clean(it)));
                    format!("{{{name},{}{}}}", self.refer(&field.ty), symbol(field.symbol))
                });
                format!("{{13,{{{}}}}}", list(fields))
            }
            Type::Switch(switch) => {
                let ints =
                    switch.ints.iter().map(|(key, ty)| format!("[{key}]={}", self.refer(ty)));
                let texts = switch
                    .texts
                    .iter()
                    .map(|(key, ty)| format!("[{}]={}", quoted(key), self.refer(ty)));
                let negative = switch.negative.map_or_else(no, |ty| self.refer(&ty).to_string());
                format!(
                    "{{14,{},{{{}}},{{{}}},{negative},{},{}}}",
                    path(&switch.on),
                    list(ints),
                    list(texts),
                    self.refer(&switch.default),
                    if switch.closed { quoted(&switch.on.text) } else { no() }
                )
            }
            Type::Array { count: length, element } => {
                format!(
                    "{{15,{},{},{}}}",
                    count(length),
                    self.refer(element),
                    self.protocol.smallest(*element)
                )
            }
            Type::Sized { count: length, of } => {
                format!("{{33,{},{}}}", count(length), self.refer(of))
            }
            Type::Option(some) => format!("{{16,{}}}", self.refer(some)),
            Type::IfMore { some, starts, exactly, otherwise } => {
                // The dissector has no old pings, whose packets alone have such a type.
                let some = otherwise.as_ref().filter(|_| exactly.is_some()).unwrap_or(some);
                let starts = escapes(starts);
                let otherwise = otherwise.map_or_else(no, |ty| self.refer(&ty).to_string());
                format!("{{17,{},\"{starts}\",{otherwise}}}", self.refer(some))
            }
            Type::Bitfield(bits) => {
                let total: u32 = bits.iter().map(|it| it.size).sum();
                let bits = bits.iter().map(|it| {
                    let (name, size, signed) = (quoted(&clean(&it.name)), it.size, it.signed);
                    format!("{{{name},{size},{signed}{}}}", symbol(it.symbol))
                });
                format!("{{18,{{{}}},{total}}}", list(bits))
            }
            Type::Flags { base, flags } => {
                let flags = flags.iter().map(|(name, mask)| {
                    let bits = (0..64).filter(|bit| mask >> bit & 1 == 1);
                    let bits = list(bits.map(|bit| bit.to_string()));
                    format!("{{{},{{{bits}}}}}", quoted(&clean(name)))
                });
                format!("{{19,{},{{{}}}}}", self.refer(base), list(flags))
            }
            Type::Mapper { base, names } => {
                let names =
                    names.iter().map(|(number, name)| format!("[{number}]={}", quoted(name)));
                format!("{{20,{},{{{}}}}}", self.refer(base), list(names))
            }
            Type::CountFor { base, .. } | Type::RestLength { base } => {
                format!("{{21,{}}}", self.refer(base))
            }
            Type::Nbt { named } => format!("{{22,{named}}}"),
            Type::CompressedNbt { unsigned } => format!("{{23,{unsigned}}}"),
            Type::Metadata { end, element } => format!("{{24,{end},{}}}", self.refer(element)),
            Type::TopBit(element) => format!("{{25,{}}}", self.refer(element)),
            Type::Holder { base, inline } => format!(
                "{{26,{},{},{}}}",
                quoted(&clean(base)),
                quoted(&clean(&inline.name)),
                self.refer(&inline.ty)
            ),
            Type::HolderSet { base, entries } => format!(
                "{{27,{},{},{},{},{}}}",
                quoted(&clean(&base.name)),
                self.refer(&base.ty),
                quoted(&clean(&entries.name)),
                self.refer(&entries.ty),
                self.protocol.smallest(entries.ty)
            ),
            Type::Vec3 => "{28}".into(),
            Type::TextForms(forms) => {
                let name = quoted(&clean(&forms.whole));
                let (length, unit) = (count(&forms.count), forms.encoding.unit());
                format!("{{29,{name},{length},{},{unit}}}", form(forms.encoding))
            }
        }
    }

    fn count(&self, count: &Count) -> String {
        match count {
            Count::Fixed(number) => format!("{{0,{number}}}"),
            Count::Prefix(ty) => format!("{{1,{}}}", self.refer(ty)),
            Count::Field(on) => format!("{{2,{}}}", path(on)),
        }
    }

    /// Returns the number of a type, which is written too.
    fn refer(&self, id: &TypeId) -> u32 {
        self.wanted.borrow_mut().push(*id);
        id.0
    }

    /// Returns a type that others refer to, or that the caller has named.
    fn next(&self) -> Option<TypeId> {
        self.wanted.borrow_mut().pop()
    }
}

fn path(path: &Path) -> String {
    match &path.part {
        Some(part) => format!("{{{},{},{}}}", path.up, path.symbol, quoted(&clean(part))),
        None => format!("{{{},{}}}", path.up, path.symbol),
    }
}

/// Returns the last entry of a field that paths refer to.
fn symbol(symbol: Option<Symbol>) -> String {
    symbol.map(|symbol| format!(",{symbol}")).unwrap_or_default()
}

/// Returns the number of an encoding in the interpreter.
fn form(encoding: Encoding) -> u8 {
    match encoding {
        Encoding::Utf8 | Encoding::ModifiedUtf8 => 1,
        Encoding::Utf16 => 2,
        Encoding::Latin1 => 3,
    }
}

/// Returns the Lua value of an absent part.
fn no() -> String {
    "false".into()
}

fn list(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(",")
}

/// Returns bytes as they stand in a Lua string literal.
fn escapes(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("\\{byte:03}")).collect()
}

/// Returns a Lua string literal.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..=b'~' => out.push(char::from(byte)),
            other => {
                let _ = write!(out, "\\{other:03}");
            }
        }
    }
    out.push('"');
    out
}

/// Types per Lua function.
const CHUNK: usize = 500;
