//! The meaning of names in an expression, in all versions together.

use std::collections::BTreeSet;

use super::ast::{Path, PathPart};
use super::attribute::Attribute;
use super::error::{ExprError, Warning, closest, did_you_mean};
use super::field::Field;
use super::lexer::Span;
use super::packets::{Packets, RoleName};
use super::renamed;
use super::vocabulary::{Vocabulary, has_packet};
use mitmcraft_protocol::packet::{Glob, PathStep};
use mitmcraft_protocol::schema::{
    Direction, Family, Kind, Kinds, MAX_LISTED, State, official_names,
};

/// The meaning of a path.
pub(super) enum Target {
    State(State),
    Direction(Direction),
    Packets(Packets),
    Attribute(Attribute),
    /// A field and its kinds.
    Field(Field, Kinds),
}

impl Vocabulary<'_> {
    /// Resolves a path used as a condition.
    pub(super) fn condition(&self, path: &Path) -> Result<Target, ExprError> {
        let packets = match path.parts.as_slice() {
            [PathPart { step: PathStep::Name(glob), .. }] if path.is_glob() => self.packets(glob),
            [PathPart { step: PathStep::Name(name), .. }] => {
                if let Ok(direction) = name.parse() {
                    return Ok(Target::Direction(direction));
                }
                match name.parse() {
                    // State names take precedence, except `login`, which is also a packet.
                    Ok(state) if state != State::Login => return Ok(Target::State(state)),
                    _ => self.packets(name),
                }
            }
            _ => return self.target(path, &|kinds| kinds.has(Kind::Bool)),
        };
        let field = Field { packets: None, path: path.steps_from(0) };
        let bool = |kinds: Kinds| kinds.has(Kind::Bool);
        for index in self.indexes() {
            if has_packet(index.protocol(), &packets) {
                return Ok(Target::Packets(packets));
            }
            let kinds = index.kinds(&field, Kinds::NONE, bool);
            if bool(kinds) {
                return Ok(Target::Field(field, kinds));
            }
        }
        if let Some(Ok(state)) = path.word().map(str::parse) {
            return Ok(Target::State(state));
        }
        if self.has_packet(&packets) {
            return Ok(Target::Packets(packets));
        }
        let kinds = self.kinds(&field, bool);
        if bool(kinds) {
            return Ok(Target::Field(field, kinds));
        }
        Err(self.no_condition(path, field))
    }

    /// Resolves a path used as a value.
    pub(super) fn target(
        &self,
        path: &Path,
        takes: &dyn Fn(Kinds) -> bool,
    ) -> Result<Target, ExprError> {
        let (first, rest) = path.parts.split_first().expect("a path has a first part");
        let name = match (&first.step, rest) {
            (PathStep::Name(glob), _) if path.is_glob() => {
                let packets = self.packets(glob);
                match (rest, self.has_packet(&packets)) {
                    ([], true) => return Ok(Target::Packets(packets)),
                    ([], false) => return Err(no_match(path)),
                    (_, true) => {}
                    (_, false) => {
                        let message = format!("no packet matches `{glob}`");
                        return Err(ExprError::new(&first.location.0, message));
                    }
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
        if let ("role", [PathPart { step: PathStep::Name(role), location }, more @ ..]) =
            (name, rest)
        {
            let span = first.location.0.start..location.0.end;
            let packets = Packets::Role(role_name(role, &span)?);
            if more.is_empty() {
                return Ok(Target::Packets(packets));
            }
            let field = Field { packets: Some(packets), path: path.steps_from(2) };
            return self.found(path, 2, field, takes);
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
        let packets = self.packets(name);
        let whole = Field { packets: None, path: path.steps_from(0) };
        let behind_name =
            matches!(path.parts.get(1), Some(PathPart { step: PathStep::Name(_), .. }));
        let of_packet =
            behind_name.then(|| Field { packets: Some(packets.clone()), path: path.steps_from(1) });
        for index in self.indexes() {
            if let Some(field) = of_packet.as_ref().filter(|field| index.has(field)) {
                return self.found(path, 1, field.clone(), takes);
            }
            if index.has(&whole) {
                return self.found(path, 0, whole, takes);
            }
        }
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
        if before.parts.is_empty()
            && let Some(property) = property(name)
        {
            return Err(error.hint(format!("did you mean `{property}`?")));
        }
        if before.parts.is_empty()
            && let Some((_, ours)) = FOREIGN.iter().find(|(theirs, _)| *theirs == &**name)
        {
            let hint = format!("{ours}; docs/filters.md has this language");
            return Err(error.hint(hint));
        }
        let names = self.field_names(field.packets.as_ref(), &field.path.steps()[..good]);
        Err(match closest(name, names.iter().map(String::as_str)) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None if before.to_string().ends_with("payload") => {
                error.hint("a protocol description of your own adds the fields of a plugin channel")
            }
            None if good > 0 || field.packets.is_some() => listed(error, &names),
            None => error,
        })
    }

    /// Returns the packets of a name or glob: by their names in the tables, or, if it is none of
    /// these in any version, by their official names.
    fn packets(&self, glob: &str) -> Packets {
        let glob = Glob::new(glob);
        let is_official = official_names().iter().any(|it| glob.matches(it.official));
        let named = Packets::Named(glob.clone());
        if is_official && !self.has_packet(&named) { Packets::Official(glob) } else { named }
    }

    fn no_condition(&self, path: &Path, field: Field) -> ExprError {
        let (span, name) = (path.span(), &*path.to_string());
        if path.is_glob() {
            return no_match(path);
        }
        let kinds = self.kinds(&field, |kinds| !kinds.is_empty());
        if !kinds.is_empty() {
            let message = format!("`{name}` is a field ({kinds}), not a condition");
            return ExprError::new(&span, message)
                .hint(format!("compare it, or write `{name}.exists`"));
        }
        let error = ExprError::new(&span, format!("no packet `{name}`"));
        if matches!(name, "pkt" | "session" | "state" | "role") {
            return error.hint(format!(
                "`{name}` is a prefix: `{name}.{}`",
                match name {
                    "pkt" => "name",
                    "session" => "player",
                    "role" => "chat",
                    _ => "login",
                }
            ));
        }
        if RoleName::named(name).is_some() {
            return error.hint(format!("did you mean `role.{name}`?"));
        }
        let direction = DIRECTIONS.iter().find(|(word, _)| *word == name);
        if let Some((_, direction)) = direction {
            return error.hint(format!("did you mean `{direction}`?"));
        }
        let names = self.packet_names();
        let words =
            State::ALL.map(State::name).into_iter().chain(Direction::ALL.map(Direction::name));
        let words = words.chain(official_names().iter().map(|it| it.official));
        ExprError {
            hint: did_you_mean(name, names.iter().map(String::as_str).chain(words)),
            ..error
        }
    }
}

/// Returns the error for a glob that no packet matches.
fn no_match(path: &Path) -> ExprError {
    ExprError::new(&path.span(), format!("no packet matches `{path}`"))
        .hint("with spaces around it, `*` multiplies")
}

/// Returns the property that every packet or session has, if `word` is a word for one.
pub(super) fn property(word: &str) -> Option<&'static str> {
    PROPERTIES.iter().find(|(known, _)| *known == word).map(|(_, property)| *property)
}

/// Words of other tools for directions.
const DIRECTIONS: [(&str, Direction); 8] = [
    ("s2c", Direction::Clientbound),
    ("c2s", Direction::Serverbound),
    ("inbound", Direction::Clientbound),
    ("outbound", Direction::Serverbound),
    ("toClient", Direction::Clientbound),
    ("toServer", Direction::Serverbound),
    ("downstream", Direction::Clientbound),
    ("upstream", Direction::Serverbound),
];

/// Words for properties that every packet or session has.
const PROPERTIES: [(&str, &str); 22] = [
    ("packet", "pkt.name"),
    ("name", "pkt.name"),
    ("kind", "pkt.name"),
    ("id", "pkt.id"),
    ("dir", "pkt.dir"),
    ("direction", "pkt.dir"),
    ("state", "pkt.state"),
    ("size", "pkt.size"),
    ("length", "pkt.size"),
    ("wire", "pkt.wire"),
    ("time", "pkt.time"),
    ("number", "pkt.n"),
    ("seq", "pkt.n"),
    ("verdict", "pkt.verdict"),
    ("comment", "pkt.comment"),
    ("marked", "pkt.marked"),
    ("error", "pkt.error"),
    ("diagnostic", "pkt.diagnostic"),
    ("protocol", "pkt.protocol"),
    ("version", "pkt.version"),
    ("player", "session.player"),
    ("session", "session.id"),
];

/// Resolves `prefix.name`; `more` says whether further parts follow.
fn attribute(prefix: &str, name: &str, more: bool, span: &Span) -> Result<Attribute, ExprError> {
    match Attribute::named(prefix, name) {
        Some(_) if more => Err(ExprError::new(span, format!("`{prefix}.{name}` has no parts"))),
        Some(attribute) => Ok(attribute),
        None => Err(ExprError::new(span, format!("no `{prefix}.{name}`")).hint(among(
            prefix,
            name,
            Attribute::names(prefix).collect(),
        ))),
    }
}

fn role_name(name: &str, span: &Span) -> Result<&'static RoleName, ExprError> {
    RoleName::named(name).ok_or_else(|| {
        let names = RoleName::ALL.iter().map(|role| role.name).collect();
        ExprError::new(span, format!("no role `{name}`")).hint(among("role", name, names))
    })
}

/// Returns a hint that says which of the names after a prefix may be meant, or lists them.
fn among(prefix: &str, name: &str, names: Vec<&str>) -> String {
    match closest(name, names.iter().copied()) {
        Some(near) => format!("did you mean `{prefix}.{near}`?"),
        None => format!("there are `{}`", names.join("`, `")),
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

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Mentioned {
    Packets(Packets),
    Field(Field),
}

impl Mention {
    pub(super) fn is_packet(&self) -> bool {
        matches!(&self.what, Mentioned::Packets(_))
    }

    /// Returns a warning that says which releases have the name, unless all have. Compiles no more
    /// versions than needed.
    pub(super) fn warning(&self, vocabulary: &Vocabulary<'_>) -> Option<Warning> {
        let message = vocabulary.warning(&self.what)?;
        let hint = match &self.what {
            Mentioned::Packets(packets) => {
                let others = renamed::elsewhere(packets, vocabulary);
                let role = vocabulary.wider(packets);
                let role = role.map(|role| format!("; `{role}` matches all of them"));
                (!others.is_empty()).then(|| {
                    format!("others have `{}`{}", others.join("`, `"), role.unwrap_or_default())
                })
            }
            Mentioned::Field(field) => match field.path.steps().last() {
                Some(PathStep::Name(name)) => renamed::field_elsewhere(name)
                    .map(|other| format!("others have a field `{other}`")),
                _ => None,
            },
        };
        Some(Warning { message, span: self.span.clone(), hint })
    }

    /// Returns whether it is the packet `login`, which has the name of a state.
    pub(super) fn is_login(&self) -> bool {
        matches!(&self.what, Mentioned::Packets(packets) if packets.to_string() == "login")
    }
}

impl Mentioned {
    /// Returns a message that says which releases have the name, unless all have.
    pub(super) fn partial(&self, vocabulary: &Vocabulary<'_>) -> Option<String> {
        let versions = vocabulary.versions_of(self);
        let has = |version| versions.binary_search(&version).is_ok();
        let releases = vocabulary.catalog.releases_where(has)?;
        let old = vocabulary.families(|index| match self {
            Self::Packets(packets) => has_packet(index.protocol(), packets),
            Self::Field(field) => index.has(field),
        });
        let who = match versions.is_empty() && old.is_empty() {
            true => "versions that are not checked have".to_owned(),
            false => who_have(&releases, old),
        };
        Some(match self {
            Self::Packets(packets) => format!("only {who} a packet `{packets}`"),
            Self::Field(field) => format!("only {who} a field `{field}`"),
        })
    }
}

/// Formats the start of a version warning: `versions 1.8-1.12 have`.
fn who_have(releases: &str, old: BTreeSet<Family>) -> String {
    let old = old.into_iter().map(|family| match family {
        Family::Java => "later versions",
        Family::Alpha => "Alpha",
        Family::Legacy => "Beta 1.0 to 1.6.4",
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

/// What Wireshark and mitmproxy call things, and what to write instead.
const FOREIGN: [(&str, &str); 7] = [
    ("frame", "a packet's number is `pkt.n`, its time `pkt.time`, its length `pkt.wire`"),
    ("tcp", SESSION),
    ("ip", SESSION),
    ("ipv6", SESSION),
    ("udp", SESSION),
    ("minecraft", "a packet is its name, `chat`, and a field `chat.message`"),
    ("data", "the bytes of a packet are `pkt.body`"),
];

const SESSION: &str =
    "a connection is a session, `session.id`, between `session.client` and `session.server`";
