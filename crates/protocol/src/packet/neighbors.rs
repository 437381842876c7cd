use std::sync::Arc;

use super::{Packet, ReadAs};
use crate::schema::{Protocol, State};

/// Compares how packets fit the two versions around one that has no description of its own.
#[derive(Debug)]
pub struct Neighbors {
    /// The version whose description is not used now.
    other: Arc<Protocol>,
    /// The score of `other` minus the score of the version in use, over all packets compared so far.
    lead: i32,
    /// The packets that are still compared.
    left: u32,
}

impl Neighbors {
    /// Why the packets from one on are read as those of another version.
    pub const FITS_BETTER: &str = "read as the other version around the client's from here on, because its \
                                   packets fit that one better";

    /// Begins with the version whose description is not used.
    #[must_use]
    pub fn new(other: Arc<Protocol>) -> Self {
        Self { other, lead: 0, left: MOST_COMPARED }
    }

    /// Returns whether no more packets are compared.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.left == 0
    }

    /// Takes a packet with the version in use. If packets fit the other version better, goes over to that one, and
    /// returns it with the state in which the packet fits it.
    pub fn take(&mut self, packet: &Packet) -> Option<(Arc<Protocol>, State)> {
        if matches!(packet.state(), State::Handshaking | State::Status) || self.is_over() {
            return None;
        }
        self.left -= 1;
        let used = &packet.context().protocol;
        let own = fit(packet, used).filter(|it| it.0 == packet.state());
        let other = fit(packet, &self.other).filter(|it| it.0 == packet.state() || it.1 == SURE);
        let value = |fit: Option<(State, i32)>| fit.map_or(0, |it| it.1);
        self.lead += value(other) - value(own);
        let (state, _) = other.filter(|_| self.lead >= SURE)?;
        self.lead = -self.lead;
        Some((std::mem::replace(&mut self.other, Arc::clone(used)), state))
    }
}

/// Returns the state in which a packet decodes with the description of a version, and the score for that; `None` if
/// it does not decode.
fn fit(packet: &Packet, protocol: &Arc<Protocol>) -> Option<(State, i32)> {
    let reading = ReadAs::Version(Arc::clone(protocol)).read(packet)?;
    Some((reading.state, if reading.is_sure() { SURE } else { WHOLE }))
}

/// The score of a version for a packet that decodes to its last byte.
const WHOLE: i32 = 1;

/// The score for a packet that, besides, has a text, a list or NBT that cannot fit by chance. A lead of as much is
/// enough to switch versions.
const SURE: i32 = 2;

/// The packets that are compared, from the login on.
const MOST_COMPARED: u32 = 256;
