use bytes::Bytes;

use super::datum::{Datum, Number};
use mitmcraft_protocol::meaning::diagnose;
use mitmcraft_protocol::packet::{Diagnostic, Diagnostics, Origin, Outcome, Packet};
use mitmcraft_protocol::schema::{Direction, Family, Kind, Kinds, PacketType, State};
use mitmcraft_protocol::wire::named;

/// A packet, its outcome and its comment: everything that an expression can ask about.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The packet.
    pub packet: &'a Packet,
    /// The packet's outcome; [`Outcome::Pass`] before any verdict.
    pub outcome: Outcome,
    /// The comment that captures have of it: of rules, of the proxy and of people.
    pub comment: Option<&'a str>,
}

impl<'a> Subject<'a> {
    /// Returns the packet's type; may inflate a few bytes.
    pub(super) fn kind(self) -> Option<&'a PacketType> {
        #[cfg(test)]
        asked::count(0);
        self.packet.kind()
    }

    /// Returns the packet's body; may inflate it.
    pub(super) fn body(self) -> Option<Bytes> {
        #[cfg(test)]
        asked::count(1);
        self.packet.frame()?.body().ok()
    }

    /// Returns the reason why the packet does not decode; decodes all of it.
    fn error(self) -> Option<String> {
        #[cfg(test)]
        asked::count(2);
        self.packet.error().map(|error| error.to_string())
    }

    /// Returns what a peer would disconnect for; may decode the packet.
    pub(super) fn diagnostics(self) -> Diagnostics {
        #[cfg(test)]
        asked::count(2);
        diagnose(self.packet)
    }
}

/// Takes a packet that has neither a verdict nor a comment yet.
impl<'a> From<&'a Packet> for Subject<'a> {
    fn from(packet: &'a Packet) -> Self {
        Self { packet, outcome: Outcome::Pass, comment: None }
    }
}

named! {
    /// A property of every packet, independent of its fields: `pkt.size`, `session.player`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(super) enum Attribute {
        Name => "pkt.name",
        Id => "pkt.id",
        Direction => "pkt.dir",
        State => "pkt.state",
        Size => "pkt.size",
        Wire => "pkt.wire",
        Time => "pkt.time",
        Number => "pkt.n",
        Origin => "pkt.origin",
        Verdict => "pkt.verdict",
        Comment => "pkt.comment",
        Marked => "pkt.marked",
        Error => "pkt.error",
        Diagnostic => "pkt.diagnostic",
        Body => "pkt.body",
        Protocol => "pkt.protocol",
        Family => "pkt.family",
        Version => "pkt.version",
        Session => "session.id",
        Player => "session.player",
        Client => "session.client",
        Server => "session.server",
    }
    const ALL;
    pub(super) fn name;
}

impl Attribute {
    pub(super) fn named(prefix: &str, name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name().split_once('.') == Some((prefix, name)))
    }

    /// Returns the names after a prefix (`pkt` or `session`).
    pub(super) fn names(prefix: &str) -> impl Iterator<Item = &'static str> {
        let pairs = Self::ALL.into_iter().filter_map(|it| it.name().split_once('.'));
        pairs.filter(move |(first, _)| *first == prefix).map(|(_, name)| name)
    }

    pub(super) fn kinds(self) -> Kinds {
        match self {
            Self::Id | Self::Size | Self::Wire | Self::Number | Self::Protocol | Self::Session => {
                Kind::Int.into()
            }
            Self::Time => Kind::Float.into(),
            Self::Body => Kind::Bytes.into(),
            Self::Marked => Kind::Bool.into(),
            _ => Kind::Text.into(),
        }
    }

    /// Returns whether only some packets have it, so that it is a condition by itself.
    pub(super) fn is_optional(self) -> bool {
        matches!(
            self,
            Self::Name
                | Self::Id
                | Self::Comment
                | Self::Error
                | Self::Diagnostic
                | Self::Body
                | Self::Protocol
                | Self::Player
        )
    }

    /// Returns all its values, where they are known.
    pub(super) fn values(self) -> Option<Vec<&'static str>> {
        Some(match self {
            Self::Direction => Direction::ALL.map(Direction::name).into(),
            Self::State => State::ALL.map(State::name).into(),
            Self::Origin => Origin::ALL.map(Origin::name).into(),
            Self::Verdict => Outcome::ALL.map(Outcome::name).into(),
            Self::Diagnostic => Diagnostic::ALL.map(Diagnostic::name).into(),
            Self::Family => Family::ALL.map(Family::name).into(),
            _ => return None,
        })
    }

    /// Returns its value for a packet, of several all in one text; `body` is the packet's body, if it was read.
    pub(super) fn datum<'a>(
        self,
        subject: Subject<'a>,
        body: Option<&'a [u8]>,
    ) -> Option<Datum<'a>> {
        let Subject { packet, outcome, comment } = subject;
        let context = packet.context();
        let int = |int: i32| Datum::Number(Number::Int(int.into()));
        Some(match self {
            Self::Name => Datum::text(subject.kind()?.name()),
            Self::Id => int(packet.id()?),
            Self::Direction => Datum::text(packet.direction().name()),
            Self::State => Datum::text(packet.state().name()),
            Self::Size => Datum::Number(Number::from_usize(packet.size())),
            Self::Wire => Datum::Number(Number::from_usize(packet.wire_size())),
            Self::Time => {
                Datum::Number(Number::Double(packet.at().since(context.opened).as_secs_f64()))
            }
            Self::Number => Datum::Number(Number::from_u64(packet.seq())),
            Self::Origin => Datum::text(packet.origin().name()),
            Self::Verdict => Datum::text(outcome.name()),
            Self::Comment => Datum::text(comment?),
            Self::Marked => {
                Datum::Bool(comment.is_some_and(|it| it.split("; ").any(|word| word == MARK)))
            }
            Self::Error => Datum::string(subject.error()?),
            Self::Diagnostic => {
                let names: Vec<&str> = subject.diagnostics().iter().map(Diagnostic::name).collect();
                Datum::string(Some(names.join(", ")).filter(|names| !names.is_empty())?)
            }
            Self::Body => Datum::bytes(body?),
            // Numbers of before 1.7 would be taken for later ones.
            Self::Protocol if context.protocol.family().is_unframed_game() => return None,
            Self::Protocol => int(context.version.unwrap_or_else(|| context.protocol.version())),
            Self::Family => Datum::text(context.protocol.family().name()),
            Self::Version => Datum::text(context.protocol.name()),
            Self::Session => Datum::Number(Number::from_u64(context.session)),
            Self::Player => Datum::text(context.player.as_deref()?),
            Self::Client => Datum::string(context.client.to_string()),
            Self::Server => Datum::text(&context.upstream),
        })
    }
}

/// The tag of a marked packet in the comments of captures, between the other parts of a comment.
pub const MARK: &str = "#marked";

/// Counts, in tests, how often an expression asks for a packet's type, body and error.
#[cfg(test)]
pub(super) mod asked {
    use std::cell::Cell;

    thread_local!(static COUNTS: Cell<[usize; 3]> = const { Cell::new([0; 3]) });

    pub(crate) fn count(what: usize) {
        let mut counts = COUNTS.get();
        counts[what] += 1;
        COUNTS.set(counts);
    }

    pub(crate) fn take() -> [usize; 3] {
        COUNTS.take()
    }
}
