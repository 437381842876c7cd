use super::context::Context;
use super::number::Number;
use super::val::Val;
use crate::schema::{Kind, Kinds};

/// What every packet has, whatever its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    Name,
    Id,
    Direction,
    State,
    Size,
    Wire,
    Time,
    Number,
    Origin,
    Verdict,
    Error,
    Body,
    Protocol,
    Version,
    Session,
    Player,
    Client,
    Server,
}

impl Subject {
    const ALL: [Self; 18] = [
        Self::Name,
        Self::Id,
        Self::Direction,
        Self::State,
        Self::Size,
        Self::Wire,
        Self::Time,
        Self::Number,
        Self::Origin,
        Self::Verdict,
        Self::Error,
        Self::Body,
        Self::Protocol,
        Self::Version,
        Self::Session,
        Self::Player,
        Self::Client,
        Self::Server,
    ];

    pub(super) fn named(prefix: &str, name: &str) -> Option<Self> {
        let same = |it: &Self| it.name().split_once('.') == Some((prefix, name));
        Self::ALL.into_iter().find(same)
    }

    /// The names behind that prefix.
    pub(super) fn names(prefix: &str) -> impl Iterator<Item = &'static str> {
        Self::ALL.into_iter().filter_map(move |it| match it.name().split_once('.') {
            Some((first, name)) if first == prefix => Some(name),
            _ => None,
        })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Name => "pkt.name",
            Self::Id => "pkt.id",
            Self::Direction => "pkt.dir",
            Self::State => "pkt.state",
            Self::Size => "pkt.size",
            Self::Wire => "pkt.wire",
            Self::Time => "pkt.time",
            Self::Number => "pkt.n",
            Self::Origin => "pkt.origin",
            Self::Verdict => "pkt.verdict",
            Self::Error => "pkt.error",
            Self::Body => "pkt.body",
            Self::Protocol => "pkt.protocol",
            Self::Version => "pkt.version",
            Self::Session => "session.id",
            Self::Player => "session.player",
            Self::Client => "session.client",
            Self::Server => "session.server",
        }
    }

    pub(super) fn kinds(self) -> Kinds {
        match self {
            Self::Id | Self::Size | Self::Wire | Self::Number | Self::Protocol | Self::Session => {
                Kind::Int.into()
            }
            Self::Time => Kind::Float.into(),
            Self::Body => Kind::Bytes.into(),
            _ => Kind::Text.into(),
        }
    }

    /// Whether it is there for some packets only, so that it says something by itself.
    pub(super) fn is_optional(self) -> bool {
        matches!(self, Self::Name | Self::Id | Self::Error | Self::Body | Self::Player)
    }

    /// All that it can be, where that is known.
    pub(super) fn values(self) -> Option<&'static [&'static str]> {
        match self {
            Self::Direction => Some(&["clientbound", "serverbound"]),
            Self::State => Some(&["handshaking", "status", "login", "configuration", "play"]),
            Self::Origin => Some(&["client", "server", "proxy"]),
            Self::Verdict => Some(&["pass", "drop", "rewrite", "send"]),
            _ => None,
        }
    }

    pub(super) fn val<'a>(self, context: &Context<'a>) -> Option<Val<'a>> {
        let view = context.view;
        Some(match self {
            Self::Name => Val::text(view.kind()?.name()),
            Self::Id => Val::Number(Number::Int(view.id()?.into())),
            Self::Direction => Val::text(view.direction().name()),
            Self::State => Val::text(view.state().name()),
            Self::Size => Val::Number(Number::from_usize(view.size())),
            Self::Wire => Val::Number(Number::from_usize(view.wire())),
            Self::Time => Val::Number(Number::Double(view.time())),
            Self::Number => Val::Number(Number::from_u64(view.number())),
            Self::Origin => Val::text(view.origin()),
            Self::Verdict => Val::text(view.verdict()),
            Self::Error => Val::cow(view.error()?),
            Self::Body => Val::bytes(context.body?),
            Self::Protocol => Val::Number(Number::Int(view.version().into())),
            Self::Version => Val::text(view.protocol().name()),
            Self::Session => Val::Number(Number::from_u64(view.session())),
            Self::Player => Val::text(view.player()?),
            Self::Client => Val::cow(view.client()),
            Self::Server => Val::cow(view.server()),
        })
    }
}
