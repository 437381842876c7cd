use std::sync::Arc;

use super::Session;
use crate::link::{Notice, Output};
use mitmcraft_protocol::packet::{Content, Neighbors, Packet};
use mitmcraft_protocol::schema::{Direction, Protocol, State};

impl Session {
    /// Goes over to the description of the other version around the session's if packets fit that one better.
    #[cold]
    pub(super) fn compare_neighbors(&mut self, direction: Direction, content: &Content) {
        let packet = self.delivery.recorder.unnumbered(direction, content.clone());
        let Some(neighbors) = &mut self.neighbors else { return };
        let found = neighbors.take(&packet);
        if neighbors.is_over() {
            self.neighbors = None;
        }
        if let Some((protocol, state)) = found {
            self.go_over(protocol, &packet, state);
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
            recorder.remark(packet.seq(), Neighbors::FITS_BETTER);
        }
        self.state_event();
    }
}
