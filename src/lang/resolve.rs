//! What the names in an expression mean.

use std::collections::BTreeSet;

use super::ExprError;
use super::checker::Checker;
use super::field::{Field, Step};
use super::node::{Part, PartKind, Path};
use super::subject::Subject;
use super::suggest::closest;
use super::tables::{has_packet, kinds};
use super::token::Span;
use crate::packet::Glob;
use crate::schema::{Direction, Kind, Kinds, MAX_LISTED, State};

/// What a path means.
pub(super) enum Target {
    State(State),
    Direction(Direction),
    Packets(Glob),
    Subject(Subject),
    /// A field, with what it can be.
    Field(Field, Kinds),
}

impl Checker<'_> {
    /// What a path means where a condition stands.
    pub(super) fn condition(&self, path: &Path) -> Result<Target, ExprError> {
        let packets = match path.parts.as_slice() {
            [Part { kind: PartKind::Glob(glob), .. }] => Glob::new(glob),
            [Part { kind: PartKind::Name(name), .. }] => {
                if let Ok(direction) = name.parse() {
                    return Ok(Target::Direction(direction));
                }
                match name.parse() {
                    // What is called as a state is; only `login` is a packet too.
                    Ok(state) if state != State::Login => return Ok(Target::State(state)),
                    _ => Glob::new(name),
                }
            }
            _ => return self.target(path, &|kinds| kinds.has(Kind::Bool)),
        };
        let field = Field { packets: None, steps: [Step::Name(packets.as_str().into())].into() };
        let bool = |kinds: Kinds| kinds.has(Kind::Bool);
        for protocol in self.tables.protocols() {
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

    /// What a path means where a value stands.
    pub(super) fn target(
        &self,
        path: &Path,
        takes: &dyn Fn(Kinds) -> bool,
    ) -> Result<Target, ExprError> {
        let (first, rest) = path.parts.split_first().expect("a path has a first part");
        let name = match (&first.kind, rest) {
            (PartKind::Glob(glob), []) => return self.lone_glob(path, glob),
            (PartKind::Glob(glob), _) => {
                let packets = Glob::new(glob);
                if !self.tables.has_packet(&packets) {
                    return Err(ExprError::new(
                        &first.place.0,
                        format!("no packet matches `{glob}`"),
                    ));
                }
                let field = Field { packets: Some(packets), steps: steps(rest) };
                return self.found(path, 1, field, takes);
            }
            (PartKind::Name(name), _) => name,
            (PartKind::Index(_) | PartKind::Each, _) => {
                return Err(ExprError::new(&first.place.0, "an index of nothing"));
            }
        };
        if matches!(name.as_str(), "pkt" | "session")
            && let Some(Part { kind: PartKind::Name(second), place }) = rest.first()
        {
            let span = first.place.0.start..place.0.end;
            return subject(name, second, rest.len() > 1, &span).map(Target::Subject);
        }
        if let ("state", [Part { kind: PartKind::Name(state), .. }]) = (name.as_str(), rest)
            && let Ok(state) = state.parse()
        {
            return Ok(Target::State(state));
        }
        self.named(path, name, takes)
    }

    /// A path that begins with a name: `chat.message` is a field of the packet `chat` if that has
    /// it, else a field in the field `chat` of any packet.
    fn named(
        &self,
        path: &Path,
        name: &str,
        takes: &dyn Fn(Kinds) -> bool,
    ) -> Result<Target, ExprError> {
        let whole = Field { packets: None, steps: steps(&path.parts) };
        let behind_name = matches!(path.parts.get(1), Some(Part { kind: PartKind::Name(_), .. }));
        let of_packet = behind_name
            .then(|| Field { packets: Some(Glob::new(name)), steps: steps(&path.parts[1..]) });
        for protocol in self.tables.protocols() {
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
        if self.tables.has_packet(&packets) {
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

    /// A field with what it can be; an error when no version has it. The first of its steps is the
    /// path's part `from`.
    fn found(
        &self,
        path: &Path,
        from: usize,
        field: Field,
        takes: &dyn Fn(Kinds) -> bool,
    ) -> Result<Target, ExprError> {
        let kinds = self.tables.kinds(&field, takes);
        if !kinds.is_empty() {
            return Ok(Target::Field(field, kinds));
        }
        let part_of = |count: usize| Field {
            packets: field.packets.clone(),
            steps: field.steps[..count].into(),
        };
        let exists = |count: &usize| {
            !self.tables.kinds(&part_of(*count), |kinds| !kinds.is_empty()).is_empty()
        };
        // How many steps lead somewhere.
        let good = (0..field.steps.len()).rev().find(|count| *count == 0 || exists(count));
        let good = good.unwrap_or(0);
        let wrong = &path.parts[from + good];
        let before = Path { parts: path.parts[..from + good].to_vec() };
        let kinds = self.tables.kinds(&part_of(good), |_| false);
        let span = &wrong.place.0;
        let PartKind::Name(name) = &wrong.kind else {
            let message = format!("`{before}` is {kinds}, not a list");
            return Err(ExprError::new(span, message));
        };
        let container = good == 0 || kinds.has(Kind::Map);
        if !container {
            let error = ExprError::new(span, format!("`{before}` is {kinds} and has no fields"));
            return Err(match kinds.has(Kind::List) {
                true => error.hint(format!("those of its elements: `{before}[*].{name}`")),
                false => error,
            });
        }
        let message = match before.parts.is_empty() {
            true => format!("no packet has a field `{name}`"),
            false => format!("`{before}` has no field `{name}`"),
        };
        let error = ExprError::new(span, message);
        let names = self.tables.field_names(field.packets.as_ref(), &field.steps[..good]);
        Err(match closest(name, names.iter().map(String::as_str)) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None if good > 0 || field.packets.is_some() => listed(error, &names),
            None => error,
        })
    }

    fn lone_glob(&self, path: &Path, glob: &str) -> Result<Target, ExprError> {
        let packets = Glob::new(glob);
        if self.tables.has_packet(&packets) {
            return Ok(Target::Packets(packets));
        }
        Err(ExprError::new(&path.span(), format!("no packet matches `{glob}`"))
            .hint("with spaces around it, `*` multiplies"))
    }

    fn no_condition(&self, path: &Path, packets: &Glob, field: Field) -> ExprError {
        let (span, name) = (path.span(), packets.as_str());
        if matches!(path.parts[0].kind, PartKind::Glob(_)) {
            return ExprError::new(&span, format!("no packet matches `{name}`"))
                .hint("with spaces around it, `*` multiplies");
        }
        let kinds = self.tables.kinds(&field, |kinds| !kinds.is_empty());
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
        let names = self.tables.packet_names();
        let words =
            State::ALL.map(State::name).into_iter().chain(Direction::ALL.map(Direction::name));
        match closest(name, names.iter().map(String::as_str).chain(words)) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error,
        }
    }
}

/// What `prefix.name` means; nothing stands behind it.
fn subject(prefix: &str, name: &str, more: bool, span: &Span) -> Result<Subject, ExprError> {
    let error = |hint| ExprError::new(span, format!("no `{prefix}.{name}`")).hint(hint);
    match (Subject::named(prefix, name), closest(name, Subject::names(prefix))) {
        (Some(_), _) if more => {
            Err(ExprError::new(span, format!("`{prefix}.{name}` has no parts")))
        }
        (Some(subject), _) => Ok(subject),
        (None, Some(near)) => Err(error(format!("did you mean `{prefix}.{near}`?"))),
        (None, None) => {
            let names: Vec<&str> = Subject::names(prefix).collect();
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

fn steps(parts: &[Part]) -> Box<[Step]> {
    let step = |part: &Part| match &part.kind {
        PartKind::Name(name) | PartKind::Glob(name) => Step::Name(name.as_str().into()),
        PartKind::Index(index) => Step::Index(*index),
        PartKind::Each => Step::Each,
    };
    parts.iter().map(step).collect()
}
