use std::sync::Arc;

use super::Session;
use crate::link::{Notice, Output};
use mitmcraft_protocol::packet::{Content, Packet, ReadAs};
use mitmcraft_protocol::schema::{Direction, Protocol, State};

/// Compares how packets fit the versions around one that has no description of its own.
#[derive(Debug)]
pub(super) struct Neighbors {
    /// The version whose description is not used now.
    other: Arc<Protocol>,
    /// The score of `other` minus the score of the version in use, over all packets compared so far.
    lead: i32,
    /// The packets that are still compared.
    left: u32,
}

impl Neighbors {
    pub(super) fn new(other: Arc<Protocol>) -> Self {
        Self { other, lead: 0, left: MOST_COMPARED }
    }

    /// Takes a packet. Returns the state in which it fits the other version, if packets fit that one better.
    fn take(&mut self, packet: &Packet) -> Option<State> {
        self.left = self.left.saturating_sub(1);
        let own = fit(packet, &packet.context().protocol).filter(|it| it.0 == packet.state());
        let other = fit(packet, &self.other).filter(|it| it.0 == packet.state() || it.1 == SURE);
        let value = |fit: Option<(State, i32)>| fit.map_or(0, |it| it.1);
        self.lead += value(other) - value(own);
        other.filter(|_| self.lead >= SURE).map(|it| it.0)
    }
}

/// Returns the state in which a packet decodes with the description of a version, and the score for that; `None` if
/// it does not decode.
fn fit(packet: &Packet, protocol: &Arc<Protocol>) -> Option<(State, i32)> {
    let reading = ReadAs::Version(Arc::clone(protocol)).read(packet)?;
    Some((reading.state, if reading.is_sure() { SURE } else { WHOLE }))
}

impl Session {
    /// Goes over to the description of the other version around the session's if packets fit that one better.
    #[cold]
    pub(super) fn compare_neighbors(&mut self, direction: Direction, content: &Content) {
        let packet = self.delivery.recorder.unnumbered(direction, content.clone());
        let Some(neighbors) = &mut self.neighbors else { return };
        if matches!(packet.state(), State::Handshaking | State::Status) {
            return;
        }
        let found = neighbors.take(&packet);
        let is_last = neighbors.left == 0;
        if let Some(state) = found {
            let used = Arc::clone(&packet.context().protocol);
            let protocol = std::mem::replace(&mut neighbors.other, used);
            neighbors.lead = -neighbors.lead;
            self.go_over(protocol, &packet, state);
        }
        if is_last {
            self.neighbors = None;
        }
    }

    fn go_over(&mut self, protocol: Arc<Protocol>, packet: &Packet, state: State) {
        self.role_limits.describe(&protocol);
        if let Some(version) = packet.context().version {
            let (used, name) = (protocol.version(), protocol.newest_name().to_owned());
            let notice = Notice::GuessedVersion { version, used, name };
            self.outputs.push_back(Output::Notice(notice));
        }
        let recorder = &mut self.delivery.recorder;
        recorder.update_context(|context| context.protocol = protocol);
        // What has changed the state was not read.
        for direction in Direction::ALL {
            if recorder.states[direction] == packet.state() {
                recorder.states[direction] = state;
            }
        }
        // It gets another number if what is held goes before it.
        if !self.control.holds_any() {
            recorder.remark(packet.seq(), FITS_BETTER);
        }
        self.state_event();
    }
}

/// The score of a version for a packet that decodes to its last byte.
const WHOLE: i32 = 1;

/// The score for a packet that, besides, has a text, a list or NBT that cannot fit by chance. A lead of as much is
/// enough to switch versions.
const SURE: i32 = 2;

/// The packets that are compared, from the login on.
const MOST_COMPARED: u32 = 256;

/// Why the packets from one on are read as those of another version.
const FITS_BETTER: &str = "read as the other version around the client's from here on, because its \
                           packets fit that one better";
