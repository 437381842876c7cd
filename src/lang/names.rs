//! The meaning of names in an expression, in all versions together.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::ast::{Path, PathPart};
use super::attribute::Attribute;
use super::error::{ExprError, Warning, closest};
use super::field::{Field, kinds_at, shape_at};
use super::lexer::Span;
use crate::packet::{Glob, PathStep};
use crate::schema::{
    Catalog, Direction, Family, Kind, Kinds, MAX_LISTED, Name, Protocol, Shape, State,
};

/// The protocols of all known versions, against which names are checked.
///
/// A version is compiled on first use. So the search begins with versions that have nearly every
/// name, and stops early.
pub(super) struct Tables<'c> {
    catalog: &'c Catalog,
}

impl<'c> Tables<'c> {
    pub(super) fn new(catalog: &'c Catalog) -> Self {
        Self { catalog }
    }

    /// Returns every protocol: 1.8, then all others from the newest to the oldest, then those from
    /// before 1.7.
    pub(super) fn protocols(&self) -> impl Iterator<Item = Arc<Protocol>> {
        let mut versions: Vec<i32> = self.catalog.versions().map(|(version, _)| version).collect();
        // Snapshots have the largest numbers, and are rarely used.
        versions.sort_unstable_by_key(|version| {
            (*version != FIRST, *version >= Catalog::FIRST_SNAPSHOT, Reverse(*version))
        });
        let java = versions.into_iter().filter_map(|version| self.catalog.find(version));
        java.map(|found| found.protocol).chain(self.catalog.old())
    }

    /// Returns the protocols of 1.8 and of the newest release, which together have nearly every
    /// name.
    pub(super) fn ends(&self) -> Vec<Arc<Protocol>> {
        self.protocols().take(2).collect()
    }

    /// Returns whether any version has a packet of that name.
    pub(super) fn has_packet(&self, packets: &Glob) -> bool {
        let versions = &mut self.catalog.versions();
        versions.any(|(version, _)| self.catalog.has_packet(version, |name| packets.matches(name)))
            || self.catalog.old().any(|protocol| has_packet(&protocol, packets))
    }

    /// Returns the kinds of a field in all versions, or in as many as are `enough`; empty if no
    /// version has it.
    pub(super) fn kinds(&self, field: &Field, enough: impl Fn(Kinds) -> bool) -> Kinds {
        let mut found = Kinds::NONE;
        for protocol in self.protocols() {
            found = kinds(&protocol, field, found, &enough);
            if !found.is_empty() && enough(found) {
                break;
            }
        }
        found
    }

    /// Returns the names of all packets.
    pub(super) fn packet_names(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for protocol in self.protocols() {
            names.extend(protocol.packets().iter().map(|packet| packet.name().to_string()));
        }
        names
    }

    /// Returns the names of the fields at the end of a path.
    pub(super) fn field_names(
        &self,
        packets: Option<&Glob>,
        steps: &[PathStep],
    ) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        self.each_shape(packets, steps, |shape| {
            names.extend(shape.fields().into_iter().map(|(name, _)| name.to_string()));
        });
        names
    }

    fn each_shape(
        &self,
        packets: Option<&Glob>,
        steps: &[PathStep],
        mut see: impl FnMut(&Shape<'_>),
    ) {
        for protocol in self.protocols() {
            for packet in protocol.packets() {
                if packets.is_some_and(|packets| !packets.matches(packet.name())) {
                    continue;
                }
                shape_at(Shape::of(&protocol, packet), steps).iter().for_each(&mut see);
            }
        }
    }
}

pub(super) fn has_packet(protocol: &Protocol, packets: &Glob) -> bool {
    protocol.packets().iter().any(|packet| packets.matches(packet.name()))
}

/// Adds the kinds of a field in one version to `found`.
pub(super) fn kinds(
    protocol: &Protocol,
    field: &Field,
    mut found: Kinds,
    enough: impl Fn(Kinds) -> bool,
) -> Kinds {
    for packet in protocol.packets() {
        if field.is_of(packet) {
            found = found | kinds_at(Shape::of(protocol, packet), field.path.steps());
            if !found.is_empty() && enough(found) {
                break;
            }
        }
    }
    found
}

/// Returns the names of a mapped number in one version.
pub(super) fn mapped_names(protocol: &Protocol, field: &Field) -> Vec<Name> {
    let packets = protocol.packets().iter().filter(|packet| field.is_of(packet));
    let shapes = packets.filter_map(|it| shape_at(Shape::of(protocol, it), field.path.steps()));
    shapes.flat_map(|shape| shape.names()).map(|(_, name)| name).collect()
}

/// The protocol version of 1.8, which has most names.
const FIRST: i32 = 47;

/// The meaning of a path.
pub(super) enum Target {
    State(State),
    Direction(Direction),
    Packets(Glob),
    Attribute(Attribute),
    /// A field and its kinds.
    Field(Field, Kinds),
}

impl Tables<'_> {
    /// Resolves a path used as a condition.
    pub(super) fn condition(&self, path: &Path) -> Result<Target, ExprError> {
        let packets = match path.parts.as_slice() {
            [PathPart { step: PathStep::Name(glob), .. }] if path.is_glob() => Glob::new(glob),
            [PathPart { step: PathStep::Name(name), .. }] => {
                if let Ok(direction) = name.parse() {
                    return Ok(Target::Direction(direction));
                }
                match name.parse() {
                    // State names take precedence, except `login`, which is also a packet.
                    Ok(state) if state != State::Login => return Ok(Target::State(state)),
                    _ => Glob::new(name),
                }
            }
            _ => return self.target(path, &|kinds| kinds.has(Kind::Bool)),
        };
        let field = Field { packets: None, path: path.steps_from(0) };
        let bool = |kinds: Kinds| kinds.has(Kind::Bool);
        for protocol in self.protocols() {
            if has_packet(&protocol, &packets) {
                return Ok(Target::Packets(packets));
            }
            let kinds = kinds(&protocol, &field, Kinds::NONE, bool);
            if bool(kinds) {
                return Ok(Target::Field(field, kinds));
            }
        }
        if let Ok(state) = packets.as_str().parse() {
            return Ok(Target::State(state));
        }
        Err(self.no_condition(path, &packets, field))
    }

    /// Resolves a path used as a value.
    pub(super) fn target(
        &self,
        path: &Path,
        takes: &dyn Fn(Kinds) -> bool,
    ) -> Result<Target, ExprError> {
        let (first, rest) = path.parts.split_first().expect("a path has a first part");
        let name = match (&first.step, rest) {
            (PathStep::Name(glob), []) if path.is_glob() => return self.lone_glob(path, glob),
            (PathStep::Name(glob), _) if path.is_glob() => {
                let packets = Glob::new(glob);
                if !self.has_packet(&packets) {
                    return Err(ExprError::new(
                        &first.location.0,
                        format!("no packet matches `{glob}`"),
                    ));
                }
                let field = Field { packets: Some(packets), path: path.steps_from(1) };
                return self.found(path, 1, field, takes);
            }
            (PathStep::Name(name), _) => &**name,
            (PathStep::Index(_) | PathStep::Each | PathStep::Append, _) => {
                return Err(ExprError::new(&first.location.0, "an index needs a list before it"));
            }
        };
        if matches!(name, "pkt" | "session")
            && let Some(PathPart { step: PathStep::Name(second), location }) = rest.first()
        {
            let span = first.location.0.start..location.0.end;
            return attribute(name, second, rest.len() > 1, &span).map(Target::Attribute);
        }
        if let ("state", [PathPart { step: PathStep::Name(state), .. }]) = (name, rest)
            && let Ok(state) = state.parse()
        {
            return Ok(Target::State(state));
        }
        self.named(path, name, takes)
    }

    /// Resolves a path that begins with a name: `chat.message` is a field of the packet `chat` if
    /// any version has it, else a field within a field `chat` of any packet.
    fn named(
        &self,
        path: &Path,
        name: &str,
        takes: &dyn Fn(Kinds) -> bool,
    ) -> Result<Target, ExprError> {
        let whole = Field { packets: None, path: path.steps_from(0) };
        let behind_name =
            matches!(path.parts.get(1), Some(PathPart { step: PathStep::Name(_), .. }));
        let of_packet =
            behind_name.then(|| Field { packets: Some(Glob::new(name)), path: path.steps_from(1) });
        for protocol in self.protocols() {
            let exists = |field: &Field| {
                let any = |kinds: Kinds| !kinds.is_empty();
                any(kinds(&protocol, field, Kinds::NONE, any))
            };
            if let Some(field) = of_packet.as_ref().filter(|field| exists(field)) {
                return self.found(path, 1, field.clone(), takes);
            }
            if exists(&whole) {
                return self.found(path, 0, whole, takes);
            }
        }
        let packets = Glob::new(name);
        if self.has_packet(&packets) {
            return match of_packet {
                Some(field) => self.found(path, 1, field, takes),
                None if path.parts.len() == 1 => Ok(Target::Packets(packets)),
                None => self.found(path, 0, whole, takes),
            };
        }
        if let Some(direction) = path.word().and_then(|word| word.parse().ok()) {
            return Ok(Target::Direction(direction));
        }
        self.found(path, 0, whole, takes)
    }

    /// Resolves a field; its first step is the part `from` of the path.
    fn found(
        &self,
        path: &Path,
        from: usize,
        field: Field,
        takes: &dyn Fn(Kinds) -> bool,
    ) -> Result<Target, ExprError> {
        let kinds = self.kinds(&field, takes);
        if !kinds.is_empty() {
            return Ok(Target::Field(field, kinds));
        }
        let part_of = |count: usize| Field {
            packets: field.packets.clone(),
            path: field.path.steps()[..count].iter().cloned().collect(),
        };
        let exists =
            |count: &usize| !self.kinds(&part_of(*count), |kinds| !kinds.is_empty()).is_empty();
        // The number of steps that exist in any version.
        let good = (0..field.path.steps().len()).rev().find(|count| *count == 0 || exists(count));
        let good = good.unwrap_or(0);
        let wrong = &path.parts[from + good];
        let before = Path { parts: path.parts[..from + good].to_vec() };
        let kinds = self.kinds(&part_of(good), |_| false);
        let span = &wrong.location.0;
        let PathStep::Name(name) = &wrong.step else {
            let message = format!("`{before}` is {kinds}, not a list");
            return Err(ExprError::new(span, message));
        };
        let container = good == 0 || kinds.has(Kind::Map);
        if !container {
            let error = ExprError::new(span, format!("`{before}` is {kinds} and has no fields"));
            return Err(if kinds.has(Kind::List) {
                error.hint(format!("those of its elements: `{before}[*].{name}`"))
            } else {
                error
            });
        }
        let message = if before.parts.is_empty() {
            format!("no packet has a field `{name}`")
        } else {
            format!("`{before}` has no field `{name}`")
        };
        let error = ExprError::new(span, message);
        let names = self.field_names(field.packets.as_ref(), &field.path.steps()[..good]);
        Err(match closest(name, names.iter().map(String::as_str)) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None if good > 0 || field.packets.is_some() => listed(error, &names),
            None => error,
        })
    }

    fn lone_glob(&self, path: &Path, glob: &str) -> Result<Target, ExprError> {
        let packets = Glob::new(glob);
        if self.has_packet(&packets) {
            return Ok(Target::Packets(packets));
        }
        Err(ExprError::new(&path.span(), format!("no packet matches `{glob}`"))
            .hint("with spaces around it, `*` multiplies"))
    }

    fn no_condition(&self, path: &Path, packets: &Glob, field: Field) -> ExprError {
        let (span, name) = (path.span(), packets.as_str());
        if path.is_glob() {
            return ExprError::new(&span, format!("no packet matches `{name}`"))
                .hint("with spaces around it, `*` multiplies");
        }
        let kinds = self.kinds(&field, |kinds| !kinds.is_empty());
        if !kinds.is_empty() {
            let message = format!("`{name}` is a field ({kinds}), not a condition");
            return ExprError::new(&span, message)
                .hint(format!("compare it, or write `{name}.exists`"));
        }
        let error = ExprError::new(&span, format!("no packet `{name}`"));
        if matches!(name, "pkt" | "session" | "state") {
            return error.hint(format!(
                "`{name}` is a prefix: `{name}.{}`",
                match name {
                    "pkt" => "name",
                    "session" => "player",
                    _ => "login",
                }
            ));
        }
        let names = self.packet_names();
        let words =
            State::ALL.map(State::name).into_iter().chain(Direction::ALL.map(Direction::name));
        match closest(name, names.iter().map(String::as_str).chain(words)) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error,
        }
    }
}

/// Resolves `prefix.name`; `more` says whether further parts follow.
fn attribute(prefix: &str, name: &str, more: bool, span: &Span) -> Result<Attribute, ExprError> {
    let error = |hint| ExprError::new(span, format!("no `{prefix}.{name}`")).hint(hint);
    match (Attribute::named(prefix, name), closest(name, Attribute::names(prefix))) {
        (Some(_), _) if more => {
            Err(ExprError::new(span, format!("`{prefix}.{name}` has no parts")))
        }
        (Some(attribute), _) => Ok(attribute),
        (None, Some(near)) => Err(error(format!("did you mean `{prefix}.{near}`?"))),
        (None, None) => {
            let names: Vec<&str> = Attribute::names(prefix).collect();
            Err(error(format!("there are `{}`", names.join("`, `"))))
        }
    }
}

fn listed(error: ExprError, names: &BTreeSet<String>) -> ExprError {
    if names.is_empty() || names.len() > MAX_LISTED {
        return error;
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    error.hint(format!("it has `{}`", names.join("`, `")))
}

/// A name in an expression, which some versions may not have.
#[derive(Debug)]
pub(super) struct Mention {
    pub(super) span: Span,
    pub(super) what: Mentioned,
}

#[derive(Debug)]
pub(super) enum Mentioned {
    Packets(Glob),
    Field(Field),
}

impl Mention {
    pub(super) fn is_packet(&self) -> bool {
        matches!(&self.what, Mentioned::Packets(_))
    }

    /// Returns whether it names packets of which that version has at least one.
    pub(super) fn is_packet_of(&self, version: i32, catalog: &Catalog) -> bool {
        match &self.what {
            Mentioned::Packets(packets) => catalog.has_packet(version, |it| packets.matches(it)),
            Mentioned::Field(_) => false,
        }
    }

    /// Returns a warning that says which releases have the name, unless all have. Compiles no more
    /// versions than needed.
    pub(super) fn warning(&self, catalog: &Catalog) -> Option<Warning> {
        let message = match &self.what {
            Mentioned::Packets(packets) => {
                let has = |version| catalog.has_packet(version, |name| packets.matches(name));
                let releases = catalog.releases_where(has)?;
                let old = families(catalog, |protocol| has_packet(protocol, packets));
                format!("only {} a packet `{}`", who_have(&releases, old), packets.as_str())
            }
            Mentioned::Field(field) => {
                let lacks = |protocol: &Protocol| {
                    kinds(protocol, field, Kinds::NONE, |kinds| !kinds.is_empty()).is_empty()
                };
                if !Tables::new(catalog).ends().iter().any(|protocol| lacks(protocol)) {
                    return None;
                }
                let has = |version| match catalog.find(version) {
                    Some(found) => !lacks(&found.protocol),
                    None => false,
                };
                let releases = catalog.releases_where(has)?;
                let old = families(catalog, |protocol| !lacks(protocol));
                format!("only {} a field `{field}`", who_have(&releases, old))
            }
        };
        Some(Warning { message, span: self.span.clone(), hint: None })
    }

    /// Returns whether it is the packet `login`, which has the name of a state.
    pub(super) fn is_login(&self) -> bool {
        matches!(&self.what, Mentioned::Packets(packets) if packets.as_str() == "login")
    }
}

/// Returns the protocol families from before 1.7 in which `has` is true.
fn families(catalog: &Catalog, has: impl Fn(&Protocol) -> bool) -> BTreeSet<Family> {
    catalog.old().filter(|protocol| has(protocol)).map(|protocol| protocol.family()).collect()
}

/// Formats the start of a version warning: `versions 1.8-1.12 have`.
fn who_have(releases: &str, old: BTreeSet<Family>) -> String {
    let old = old.into_iter().map(|family| match family {
        Family::Java => "later versions",
        Family::Alpha => "Alpha",
        Family::LegacyPing => "pings before 1.7",
        Family::Query => "Query",
    });
    let releases = (!releases.is_empty()).then(|| format!("versions {releases}"));
    let all: Vec<String> = releases.into_iter().chain(old.map(str::to_owned)).collect();
    match &all[..] {
        [] => "snapshots have".to_owned(),
        [one] if !one.contains(' ') => format!("{one} has"),
        [one] => format!("{one} have"),
        [most @ .., last] => format!("{} and {last} have", most.join(", ")),
    }
}
