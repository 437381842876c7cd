use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::attribute::{Attribute, Subject};
use super::checker::Checker;
use super::collector::Evaluation;
use super::condition::Condition;
use super::error::{ExprError, Warning};
use super::field::Field;
use super::field_index::{FieldIndex, Owners};
use super::names::Mention;
use super::parser::parse;
#[cfg(test)]
use super::plan::Plan;
use super::plan::{Facts, KindFact, Plans, Quick, Table};
use super::predicate::{Predicate, Property};
use super::vocabulary::Vocabulary;
use mitmcraft_protocol::schema::{Catalog, Direction, Family, PacketType, Protocol, State};

/// A compiled condition on packets, as given to `-Y`, `--write-where` and `when`.
///
/// Cheap to clone, and shared between sessions: the plans made for a protocol are kept for all
/// clones.
///
/// ```
/// use mitmcraft_engine::lang::Expr;
/// use mitmcraft_protocol::schema::Catalog;
///
/// let catalog = Catalog::embedded();
/// let (condition, warnings) = Expr::parse(r#"chat and message matches "^!""#, catalog)?;
/// assert_eq!(condition.to_string(), r#"chat and message matches "^!""#);
/// let error = Expr::parse("chat and mesage == 3", catalog).unwrap_err();
/// assert_eq!(error.hint.as_deref(), Some("did you mean `message`?"));
/// # Ok::<(), mitmcraft_engine::lang::ExprError>(())
/// ```
#[derive(Clone)]
pub struct Expr(Arc<Inner>);

struct Inner {
    text: Box<str>,
    predicate: Predicate,
    fields: Box<[Field]>,
    mentions: Box<[Mention]>,
    plans: Plans,
}

impl Expr {
    /// Parses a condition and checks it against the packets of all versions; see
    /// [`parse_in`](Self::parse_in).
    ///
    /// # Errors
    /// [`ExprError`], with its place.
    pub fn parse(text: &str, catalog: &Catalog) -> Result<(Self, Vec<Warning>), ExprError> {
        Self::parse_in(text, &Vocabulary::new(catalog))
    }

    /// Parses a condition and checks it against a vocabulary, which several conditions can share.
    ///
    /// A name that only some versions have is not an error: see
    /// [`version_warnings`](Self::version_warnings).
    ///
    /// # Errors
    /// [`ExprError`], with its place: invalid syntax, names that no version has, operands that
    /// never fit their operator.
    pub fn parse_in(
        text: &str,
        vocabulary: &Vocabulary<'_>,
    ) -> Result<(Self, Vec<Warning>), ExprError> {
        let node = parse(text)?;
        let mut checker = Checker::new(vocabulary);
        let predicate = checker.predicate(&node)?;
        let Checker { fields, mentions, mut warnings, .. } = checker;
        let (fields, mentions, plans) = (fields.into(), mentions.into(), Plans::default());
        let expr = Self(Arc::new(Inner { text: text.into(), predicate, fields, mentions, plans }));
        warnings.extend(expr.never(&node.location.0, vocabulary));
        Ok((expr, warnings))
    }

    /// Checks a condition against a vocabulary. The places of errors are those in its text.
    ///
    /// # Errors
    /// [`ExprError`]: names that no version has, operands that never fit their operator, or too long a text.
    pub fn new(
        condition: &Condition,
        vocabulary: &Vocabulary<'_>,
    ) -> Result<(Self, Vec<Warning>), ExprError> {
        Self::parse_in(&condition.to_string(), vocabulary)
    }

    /// Returns whether a packet matches.
    ///
    /// Reads no more of the packet than needed: a decision that needs no field neither inflates
    /// nor decodes, and decoding stops after the last field asked for. A comparison with an absent
    /// value is false.
    #[must_use]
    pub fn matches<'a>(&self, subject: impl Into<Subject<'a>>) -> bool {
        self.matches_subject(subject.into())
    }

    fn matches_subject(&self, subject: Subject<'_>) -> bool {
        let packet = subject.packet;
        let protocol = &packet.context().protocol;
        let table = self.table(protocol, packet.state(), packet.direction());
        match table.quick {
            Quick::All => return table.predicate.holds(&Evaluation::without_fields(subject)),
            Quick::Some => {
                if let Some(holds) = table.predicate.quick(&Evaluation::without_fields(subject)) {
                    return holds;
                }
            }
            Quick::None => {}
        }
        let kind = subject.kind();
        let facts = self.facts(protocol, packet.state(), packet.direction(), kind);
        table.with(&facts, |plan| match &plan.predicate {
            Predicate::Constant(bool) => *bool,
            predicate => plan
                .reads
                .evaluate(subject, kind, &self.0.fields, |evaluation| predicate.holds(evaluation)),
        })
    }

    /// Returns whether all packets of a type match, or none of them does; `None` if that depends on the
    /// packet.
    ///
    /// `kind` is one of `protocol`'s packets, or `None` for packets with an unassigned id.
    #[must_use]
    pub fn decide(
        &self,
        protocol: &Arc<Protocol>,
        state: State,
        direction: Direction,
        kind: Option<&PacketType>,
    ) -> Option<bool> {
        self.0.predicate.decide(&self.facts(protocol, state, direction, kind))
    }

    /// Returns whether packets of a type may be decided by [`decide_by_facts`](Self::decide_by_facts).
    pub fn asks_for_facts(
        &self,
        protocol: &Arc<Protocol>,
        state: State,
        direction: Direction,
        kind: Option<&PacketType>,
    ) -> bool {
        let facts = self.facts(protocol, state, direction, kind);
        let table = self.table(protocol, state, direction);
        table.with(&facts, |plan| plan.predicate.has_quick())
    }

    /// Decides on a packet of a type by everything but its bytes: its size, time and verdict, its
    /// session. Returns `None` if its bytes are needed.
    pub fn decide_by_facts(&self, subject: Subject<'_>, kind: Option<&PacketType>) -> Option<bool> {
        let packet = subject.packet;
        let protocol = &packet.context().protocol;
        let facts = self.facts(protocol, packet.state(), packet.direction(), kind);
        let table = self.table(protocol, packet.state(), packet.direction());
        table.with(&facts, |plan| plan.predicate.quick(&Evaluation::without_fields(subject)))
    }

    /// Returns the packets of a protocol that can match.
    pub(crate) fn possible(&self, index: &FieldIndex) -> Possible {
        let Inner { predicate, fields, .. } = &*self.0;
        let owners: Vec<Owners> = fields.iter().map(|field| index.owners(field)).collect();
        let protocol = index.protocol();
        let can = |state, direction, kind| {
            let owners = Some(&owners[..]);
            let facts = Facts { protocol, state, direction, kind, fields, owners };
            predicate.decide(&facts) != Some(false)
        };
        let mut packets = Vec::new();
        let place = |it: &PacketType| (it.state(), it.direction());
        for these in protocol.packets().chunk_by(|a, b| place(a) == place(b)) {
            let (state, direction) = place(&these[0]);
            if can(state, direction, KindFact::Unknown) {
                let these = these.iter().filter(|it| can(state, direction, KindFact::Is(it)));
                packets.extend(these.map(|packet| protocol.place(packet)));
            }
        }
        let unknown = Possible::places()
            .filter(|(state, direction)| can(*state, *direction, KindFact::Invalid));
        Possible { packets, unknown: unknown.collect() }
    }

    /// Calls `see` with the plan for packets of a type.
    #[cfg(test)]
    pub(super) fn with_plan<R>(
        &self,
        protocol: &Arc<Protocol>,
        state: State,
        direction: Direction,
        kind: Option<&PacketType>,
        see: impl FnOnce(&Plan) -> R,
    ) -> R {
        let facts = self.facts(protocol, state, direction, kind);
        self.table(protocol, state, direction).with(&facts, see)
    }

    /// Returns warnings about names that only some releases have. Alternatives of which every
    /// release has one (`chat or chat_message`) give no warning, nor does an expression that asks for the version.
    #[must_use]
    pub fn version_warnings(&self, vocabulary: &Vocabulary<'_>) -> Vec<Warning> {
        if self.asks(|it| matches!(it, Attribute::Protocol | Attribute::Version)) {
            return Vec::new();
        }
        let mentions = &self.0.mentions;
        let releases = |has: &dyn Fn(i32) -> bool| vocabulary.catalog.releases_where(has);
        let packets = mentions.iter().filter(|it| it.is_packet());
        let versions: Vec<_> = packets.map(|it| vocabulary.versions_of(&it.what)).collect();
        let some = |version| versions.iter().any(|known| known.binary_search(&version).is_ok());
        let complete = releases(&some).is_none();
        let mentions = mentions.iter().filter(|it| !(complete && it.is_packet()));
        let lacked = mentions.filter(|it| {
            let known = vocabulary.versions_of(&it.what);
            let has = |version: i32| known.binary_search(&version).is_ok();
            releases(&has).is_some()
        });
        lacked.filter_map(|mention| mention.warning(vocabulary)).collect()
    }

    /// Returns `false` if comparisons of `pkt.protocol`, `pkt.version` and `pkt.family` exclude all packets
    /// of a protocol.
    pub(crate) fn admits_protocol(&self, protocol: &Protocol) -> bool {
        let number = match protocol.family() {
            Family::Java => Some(protocol.version()),
            Family::Alpha | Family::Legacy => None,
            // Pings and requests of Query have the number of the game that sent them, if any.
            Family::LegacyPing | Family::Query => return true,
        };
        self.0.predicate.by_version(number, Some(protocol)) != Some(false)
    }

    /// Returns whether it asks for `pkt.diagnostic`.
    pub(crate) fn asks_diagnostics(&self) -> bool {
        self.asks(|attribute| attribute == Attribute::Diagnostic)
    }

    /// Returns whether it asks for the comment of packets, or for marks, which are part of it.
    #[must_use]
    pub fn asks_comments(&self) -> bool {
        self.asks(|attribute| matches!(attribute, Attribute::Comment | Attribute::Marked))
    }

    fn asks(&self, wanted: impl Fn(Attribute) -> bool) -> bool {
        let mut asks = false;
        self.0.predicate.visit(&mut |asked| {
            asks |= matches!(asked, Property::Attribute(attribute) if wanted(attribute));
        });
        asks
    }

    /// Returns the text as it was parsed.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0.text
    }

    #[inline]
    fn table(&self, protocol: &Arc<Protocol>, state: State, direction: Direction) -> &Table {
        let Inner { predicate, fields, plans, .. } = &*self.0;
        plans.table(protocol, state, direction, predicate, fields)
    }

    fn facts<'a>(
        &'a self,
        protocol: &'a Protocol,
        state: State,
        direction: Direction,
        kind: Option<&'a PacketType>,
    ) -> Facts<'a> {
        // An id without a type is unassigned.
        let (kind, fields) = (kind.map_or(KindFact::Invalid, KindFact::Is), &self.0.fields);
        Facts { protocol, state, direction, kind, fields, owners: None }
    }

    /// Returns a warning if no packet of any version can match.
    fn never(&self, span: &Range<usize>, vocabulary: &Vocabulary<'_>) -> Option<Warning> {
        let restricted = vocabulary.is_restricted();
        let can = |index: &FieldIndex| {
            // A version that is not known is decoded by the tables of another.
            (!restricted || self.admits_protocol(index.protocol()))
                && !self.possible(index).is_empty()
        };
        if vocabulary.indexes().any(can) {
            return None;
        }
        let of = if restricted { " of the versions checked" } else { "" };
        let login = self.0.mentions.iter().any(Mention::is_login);
        let warning = Warning::new(span, format!("no packet{of} can match this"));
        Some(match login {
            true => warning.hint("`login` is a packet; the state is `state.login`"),
            false => warning,
        })
    }
}

/// The packets of a protocol that an expression can match.
pub(crate) struct Possible {
    /// The places of the packets in the protocol, in order.
    pub(crate) packets: Vec<u16>,
    /// Where packets with an unassigned id can match.
    pub(crate) unknown: Vec<(State, Direction)>,
}

impl Possible {
    /// Returns all packets of a protocol.
    pub(crate) fn all(protocol: &Protocol) -> Self {
        let packets = protocol.packets().iter().map(|packet| protocol.place(packet)).collect();
        Self { packets, unknown: Self::places().collect() }
    }

    fn places() -> impl Iterator<Item = (State, Direction)> {
        let both = |state| Direction::ALL.map(|direction| (state, direction));
        State::ALL.into_iter().flat_map(both)
    }

    fn is_empty(&self) -> bool {
        self.packets.is_empty() && self.unknown.is_empty()
    }
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expr").field(&self.0.text).finish()
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text)
    }
}
