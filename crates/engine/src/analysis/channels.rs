use std::collections::BTreeMap;

use super::PacketCounts;
use crate::capture::Record;
use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::{Direction, Flow, Leaf, Name, Visitor};

/// Counts the traffic of plugin channels by channel and direction.
///
/// Memory is bounded: after 512 channels, further ones are counted together.
#[derive(Debug, Default)]
pub struct Channels {
    counts: BTreeMap<(Direction, String), PacketCounts>,
}

impl Channels {
    /// Counts a packet if it belongs to a plugin channel.
    pub fn count(&mut self, record: &Record) {
        let Some(name) = Self::name(&record.packet) else { return };
        self.of((record.packet.direction(), name)).count(record);
    }

    /// Returns the plugin channel of a packet, if it belongs to one.
    #[must_use]
    pub fn name(packet: &Packet) -> Option<String> {
        packet.kind().filter(|packet| PACKETS.contains(&&**packet.name()))?;
        let mut visitor = ChannelVisitor::default();
        // A packet that does not decode after the channel's name still belongs to the channel.
        let _ = packet.walk_dyn(&mut visitor);
        visitor.name
    }

    /// Adds other counts.
    pub(super) fn add(&mut self, other: Self) {
        for (channel, counts) in other.counts {
            self.of(channel).add(&counts);
        }
    }

    /// Returns the counts of a channel, or those of others if there are too many.
    fn of(&mut self, mut channel: (Direction, String)) -> &mut PacketCounts {
        let known = self.counts.len() < MAX_CHANNELS || self.counts.contains_key(&channel);
        if !known || channel.1.len() > MAX_NAME {
            OTHERS.clone_into(&mut channel.1);
        }
        self.counts.entry(channel).or_default()
    }

    /// Iterates over the channels with their counts, ordered by direction and name.
    pub fn iter(&self) -> impl Iterator<Item = (Direction, &str, &PacketCounts)> {
        self.counts.iter().map(|((direction, name), counts)| (*direction, &**name, counts))
    }
}

/// Reads the field `channel` and stops.
#[derive(Debug, Default)]
struct ChannelVisitor {
    here: bool,
    name: Option<String>,
}

impl Visitor for ChannelVisitor {
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow {
        if !self.here {
            return Flow::Continue(());
        }
        self.name = leaf.value.text().map(|text| text.into_owned());
        Flow::Break(())
    }

    fn field(&mut self, name: &Name) -> Flow {
        self.here = **name == *"channel";
        Flow::Continue(())
    }
}

/// The packets that carry the payload of plugin channels in all versions.
const PACKETS: [&str; 2] = ["custom_payload", "login_plugin_request"];

/// Channels counted separately.
const MAX_CHANNELS: usize = 512;

/// Greatest length of a name that is kept, in bytes. Those of the game are shorter.
const MAX_NAME: usize = 512;

const OTHERS: &str = "(other channels)";
