use std::collections::VecDeque;
use std::sync::Arc;

use super::Recording;
use crate::capture::{Entry, EventKind, Record};
use crate::filter::Pipeline;
use crate::link::{Engine, Input, Notice, Output, Side, Upstream};
use crate::session::{Config, Session, Timeouts};
use mitmcraft_protocol::codec::{Limits, MemoryBudget};
use mitmcraft_protocol::packet::{Context, Tally, Timestamp};
use mitmcraft_protocol::schema::{Catalog, Family};

/// A replay behind filters: a [`Session`] in memory between the replay and its peer, as the proxy has it
/// between a client and a server.
///
/// ```text
///  replay ── inner side ── Session (filters, records) ── outer side ── peer
/// ```
///
/// The records are the session's. Of the replay's own, only its comments and the reason for its end are
/// kept.
#[derive(Debug)]
pub struct Filtered<E> {
    replay: E,
    session: Session,
    /// The side of the peer.
    outer: Side,
    now: Timestamp,
    outputs: VecDeque<Output>,
    /// The parts that wait for a key, in the order of their requests.
    awaiting_keys: VecDeque<Part>,
    /// The state of the replay's side of the connection between the two.
    replay_closes: Closes,
    /// The state of the session's side of the connection between the two.
    session_closes: Closes,
    /// The reason for the replay's end, once it is over.
    reason: Option<String>,
    /// Entries of the session that have not been taken yet.
    entries: Vec<Entry>,
}

/// The parts of a [`Filtered`].
#[derive(Debug, Clone, Copy)]
enum Part {
    Replay,
    Session,
}

/// The progress of a part in closing its connection to the other one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Closes {
    #[default]
    No,
    /// It closes behind what is pending.
    Soon,
    /// The other part knows.
    Told,
}

impl Closes {
    fn soon(&mut self) {
        if *self == Self::No {
            *self = Self::Soon;
        }
    }

    /// Returns whether the other part is to be told now.
    fn tell(&mut self) -> bool {
        let soon = *self == Self::Soon;
        if soon {
            *self = Self::Told;
        }
        soon
    }
}

/// Returns the options of the session that is put between a replay and its peer.
pub(super) fn session_config(
    recording: &Recording,
    mut catalog: Catalog,
    limits: Limits,
    memory: MemoryBudget,
) -> Config {
    // The capture may have a description of its own.
    let protocol = recording.protocol();
    if protocol.family() == Family::Java && protocol.version() == recording.version() {
        catalog.insert(Arc::clone(protocol));
    }
    Config {
        catalog,
        limits,
        memory,
        keep_host: true,
        follow_transfers: false,
        // The replay has its own.
        timeouts: Timeouts { connect: None, login: None, idle: None },
        ..Config::default()
    }
}

impl<E: Engine> Filtered<E> {
    /// Puts `pipeline` between `replay`, which has just begun, and its peer on the side `outer`.
    pub(super) fn new(
        replay: E,
        outer: Side,
        config: Config,
        context: Context,
        pipeline: Pipeline,
    ) -> Self {
        let (now, server) = (context.opened, context.server.unwrap_or(context.client));
        let upstream = Upstream { host: server.ip().to_string(), port: server.port() };
        let mut session = Session::begin(Arc::new(config), context, upstream, pipeline);
        session.handle(now, Input::Connected(server));
        let mut filtered = Self {
            replay,
            session,
            outer,
            now,
            outputs: VecDeque::new(),
            awaiting_keys: VecDeque::new(),
            replay_closes: Closes::No,
            session_closes: Closes::No,
            reason: None,
            entries: Vec::new(),
        };
        filtered.pump();
        filtered
    }

    /// Moves all that can be moved between the two parts.
    fn pump(&mut self) {
        loop {
            self.take_outputs();
            let sent = self.replay_to_session();
            self.take_outputs();
            if !self.session_to_replay() && !sent {
                return;
            }
        }
    }

    fn take_outputs(&mut self) {
        while let Some(output) = self.replay.poll_output() {
            match output {
                Output::GenerateKey => self.want_key(Part::Replay),
                Output::Shutdown(_) | Output::Close(_) | Output::Reset(_) => {
                    self.replay_closes.soon();
                }
                output => self.outputs.push_back(output),
            }
        }
        while let Some(output) = self.session.poll_output() {
            match output {
                Output::GenerateKey => self.want_key(Part::Session),
                Output::Shutdown(side) | Output::Close(side) | Output::Reset(side)
                    if side != self.outer =>
                {
                    self.session_closes.soon();
                }
                // The connection is the replay's, and so is what is to be said of it.
                Output::Connect => {}
                Output::Notice(notice) if !matches!(notice, Notice::Filter(_)) => {}
                output => self.outputs.push_back(output),
            }
        }
    }

    fn want_key(&mut self, part: Part) {
        self.awaiting_keys.push_back(part);
        self.outputs.push_back(Output::GenerateKey);
    }

    /// Passes on what the replay sends. Returns whether anything was passed on.
    fn replay_to_session(&mut self) -> bool {
        let (inner, over) = (self.outer.other(), self.replay.is_over());
        let pending = self.replay.pending(self.outer);
        if !pending.is_empty() {
            // Nothing follows what is pending at the end.
            let takes = over || self.session.wants_read(inner) || self.session.is_over();
            if takes {
                let count = pending.len().min(PIECE);
                self.session.handle(self.now, Input::Received(inner, &pending[..count]));
                self.replay.advance(self.outer, count);
            }
            return takes;
        }
        self.take_replay_entries();
        if self.session.is_over() {
            return false;
        }
        if let Some(reason) = self.reason.take().filter(|_| over) {
            self.session.end_because(reason);
            return true;
        }
        let closes = self.replay_closes.tell();
        if closes {
            self.session.handle(self.now, Input::Closed(inner));
        }
        closes
    }

    /// Passes on what the peer sends. Returns whether anything was passed on.
    fn session_to_replay(&mut self) -> bool {
        let (inner, over) = (self.outer.other(), self.session.is_over());
        let pending = self.session.pending(inner);
        if !pending.is_empty() {
            let takes = over || self.replay.wants_read(self.outer) || self.replay.is_over();
            if takes {
                let count = pending.len().min(PIECE);
                self.replay.handle(self.now, Input::Received(self.outer, &pending[..count]));
                self.session.advance(inner, count);
            }
            return takes;
        }
        let closes = self.session_closes.tell();
        if closes {
            self.replay.handle(self.now, Input::Closed(self.outer));
        }
        closes
    }

    /// Takes the replay's comments and the reason for its end over from its records.
    fn take_replay_entries(&mut self) {
        let mut entries = Vec::new();
        self.replay.take_entries(&mut entries);
        for entry in entries {
            match entry {
                Entry::Event(event) => {
                    if let EventKind::Close(summary) = event.kind {
                        self.reason = Some(summary.reason);
                    }
                }
                Entry::Packet(Record { packet, comment: Some(comment), .. }) => {
                    self.session.take_entries(&mut self.entries);
                    let same = |it: &&mut Record| {
                        it.outcome.went()
                            && it.comment.is_none()
                            && it.packet.direction() == packet.direction()
                            && it.packet.body().ok() == packet.body().ok()
                    };
                    let records = self.entries.iter_mut().filter_map(|entry| match entry {
                        Entry::Packet(record) => Some(record),
                        Entry::Event(_) => None,
                    });
                    if let Some(record) = { records }.find(same) {
                        record.comment = Some(comment);
                    }
                }
                Entry::Packet(_) => {}
            }
        }
    }

    /// Returns whether there is something to be moved: the peer has read what kept it waiting.
    fn can_move(&self) -> bool {
        let (outer, inner) = (self.outer, self.outer.other());
        !self.replay.pending(outer).is_empty() && self.session.wants_read(inner)
            || !self.session.pending(inner).is_empty() && self.replay.wants_read(outer)
    }
}

impl<E: Engine> Engine for Filtered<E> {
    fn is_slow(&self, at: Timestamp) -> bool {
        self.session.is_slow(at)
    }

    fn handle(&mut self, at: Timestamp, input: Input<'_>) {
        self.now = at;
        if self.is_over() {
            return;
        }
        match input {
            Input::Timeout => {
                let due = |timeout: Option<Timestamp>| timeout.is_some_and(|due| due <= at);
                if due(self.session.poll_timeout()) {
                    self.session.handle(at, Input::Timeout);
                }
                if due(self.replay.poll_timeout()) {
                    self.replay.handle(at, Input::Timeout);
                }
            }
            Input::Key(material) => match self.awaiting_keys.pop_front() {
                Some(Part::Replay) => self.replay.handle(at, Input::Key(material)),
                Some(Part::Session) => self.session.handle(at, Input::Key(material)),
                None => {}
            },
            // The session ends with the replay, which says why.
            input @ (Input::Lost(..) | Input::Stop(_)) => self.replay.handle(at, input),
            input @ Input::Closed(_) if self.replay_closes != Closes::No => {
                self.replay.handle(at, input);
            }
            input => self.session.handle(at, input),
        }
        self.pump();
    }

    fn set_pipeline(&mut self, pipeline: Pipeline) {
        self.session.set_pipeline(pipeline);
        self.pump();
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn take_entries(&mut self, into: &mut Vec<Entry>) {
        into.append(&mut self.entries);
        self.session.take_entries(into);
    }

    fn start_tally(&mut self) {
        self.session.start_tally();
    }

    fn tally(&mut self) -> Option<&mut Tally> {
        self.session.tally()
    }

    fn advance(&mut self, side: Side, count: usize) {
        if side == self.outer {
            self.session.advance(side, count);
        }
    }

    fn pending(&self, side: Side) -> &[u8] {
        if side == self.outer { self.session.pending(side) } else { &[] }
    }

    fn wants_read(&self, side: Side) -> bool {
        side == self.outer && self.session.wants_read(side)
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        let moves = self.can_move().then_some(self.now);
        let timeouts = [self.session.poll_timeout(), self.replay.poll_timeout(), moves];
        timeouts.into_iter().flatten().min().filter(|_| !self.is_over())
    }

    fn is_over(&self) -> bool {
        self.session.is_over()
    }
}

/// Bytes passed on at a time, after which the receiver is asked whether it wants more.
const PIECE: usize = 16 << 10;
