use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::counts::Shared;
use super::edit_path::EditPath;
use super::template::Template;
use crate::filter::{Detail, Ring};
use crate::lang::amount::{Jittered, Rate};
use crate::lang::{Expr, FieldIndex, Possible};
use mitmcraft_protocol::schema::{Direction, Name, PacketType, Protocol, State};

/// A rule of a filter file.
#[derive(Debug, Default)]
pub(super) struct Rule {
    pub(super) name: String,
    /// The condition; `None` for every packet.
    pub(super) when: Option<Expr>,
    pub(super) conditions: Conditions,
    pub(super) actions: Actions,
    pub(super) shared: Arc<Shared>,
}

impl Rule {
    /// Returns the packets of a protocol for which `when` can hold.
    pub(super) fn possible(&self, index: &FieldIndex) -> Possible {
        let all = || Possible::all(index.protocol());
        self.when.as_ref().map_or_else(all, |when| when.possible(index))
    }
}

/// The conditions in addition to `when`.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    /// Act at this interval instead of on packets.
    pub(super) timer: Option<Duration>,
    /// The minimum age of the session.
    pub(super) after: Option<Duration>,
    /// The time during which the rule applies, from its first match after `after`.
    pub(super) during: Option<Duration>,
    /// Act on the first of every `n` matches.
    pub(super) every: Option<u64>,
    /// The probability of acting, from 0 to 1.
    pub(super) chance: Option<f64>,
    pub(super) once_per: Option<Scope>,
    /// The most times that the rule acts per session.
    pub(super) limit: Option<u64>,
    pub(super) seed: Option<u64>,
}

/// The scope of `once_per`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    Session,
    Player,
    Run,
}

/// The actions of a rule.
#[derive(Debug, Default)]
pub(super) struct Actions {
    pub(super) show: Option<bool>,
    pub(super) record: Option<bool>,
    pub(super) detail: Option<Detail>,
    pub(super) comment: Option<Template>,
    pub(super) tags: Vec<String>,
    pub(super) write: Option<Ring>,
    pub(super) drop: bool,
    pub(super) set: Vec<(EditPath, Template)>,
    pub(super) remove: Vec<EditPath>,
    pub(super) replace: Option<Body>,
    pub(super) truncate: Option<usize>,
    pub(super) corrupt: Option<usize>,
    pub(super) send: Vec<Send>,
    pub(super) delay: Option<Jittered>,
    pub(super) throttle: Option<Rate>,
    pub(super) reorder: bool,
    pub(super) copy: u32,
    pub(super) close: Option<Template>,
}

impl Actions {
    /// Returns whether the packet is not forwarded unchanged and at once.
    pub(super) fn changes(&self) -> bool {
        self.drops() || self.rewrites() || self.delays() || self.copy > 0
    }

    /// Returns whether the packet goes no further: it is dropped, or the session ends at it.
    pub(super) fn drops(&self) -> bool {
        self.drop || self.close.is_some()
    }

    /// Returns whether the packet's body is replaced.
    pub(super) fn rewrites(&self) -> bool {
        !self.set.is_empty()
            || !self.remove.is_empty()
            || self.replace.is_some()
            || self.truncate.is_some()
            || self.corrupt.is_some()
    }

    /// Returns whether the rule may send a packet of a type, as far as names tell.
    pub(super) fn sends(&self, packet: &PacketType) -> bool {
        self.send.iter().any(|send| match &send.body {
            Body::Fields(Some(name), _) => {
                send.direction == packet.direction() && name == packet.name()
            }
            Body::Fields(None, _) | Body::Bytes(_) | Body::Raw(_) => false,
        })
    }

    /// Returns whether each packet that the rule sends by name exists in a state.
    pub(super) fn can_send(&self, protocol: &Protocol, state: State) -> bool {
        self.send.iter().all(|send| match &send.body {
            Body::Fields(Some(name), _) => {
                protocol.named_or_official(state, send.direction, name).is_some()
            }
            Body::Fields(None, _) | Body::Bytes(_) | Body::Raw(_) => true,
        })
    }

    pub(super) fn delays(&self) -> bool {
        self.delay.is_some() || self.throttle.is_some()
    }
}

/// A packet that a rule makes.
#[derive(Debug)]
pub(super) enum Body {
    /// The fields of the named packet, or of the matching one.
    Fields(Option<Name>, Template),
    /// Id and fields.
    Bytes(Bytes),
    /// Raw bytes, sent without a frame.
    Raw(Bytes),
}

/// A packet that a rule sends.
#[derive(Debug)]
pub(super) struct Send {
    pub(super) direction: Direction,
    pub(super) before: bool,
    pub(super) body: Body,
}
