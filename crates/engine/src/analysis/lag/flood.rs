use super::finding::LagPlace;
use super::judge::Judgement;
use super::shares::{ChannelShare, SLOT};
use super::spans::{Evidence, Span};
use crate::report::Certainty;
use crate::text::{ByteSize, Escaped, count};
use mitmcraft_protocol::schema::Direction;

impl Evidence<'_> {
    /// Blames the sender of a plugin channel that took most of a direction, if there is one.
    pub(super) fn flood(&self, judgement: &mut Judgement) {
        let span = judgement.span;
        let (from, to) = (span.from - SLOT, span.to);
        for channel in self.seen.shares.channels(from, to) {
            let ChannelShare { direction, name, packets, bytes } = &channel;
            let (flow, sender) = match direction {
                Direction::Clientbound => (&self.seen.down, LagPlace::Server),
                Direction::Serverbound => (&self.seen.up, LagPlace::Client),
            };
            let all = flow.sum(slot_begin(from), slot_begin(to) + SLOT);
            let part = |part: u64, all: u64| part as f64 / all.max(1) as f64;
            let per_second = |count: u64| count as f64 / (span.seconds() + SLOT);
            let is_most = part(*bytes, all.1) >= 0.5 && per_second(*bytes) >= FLOOD
                || part(*packets, all.0) >= 0.6 && per_second(*packets) >= FLOOD_PACKETS;
            if !is_most || per_second(*bytes) < 4.0 * self.usual_of_channel(span, &channel) {
                continue;
            }
            judgement.reason = format!(
                "the {} floods the plugin channel `{}`: {}, {}, {:.0}% of what it sent; {}",
                sender.name(),
                Escaped(name),
                count(*packets, "packet"),
                ByteSize(*bytes),
                100.0 * part(*bytes, all.1),
                judgement.reason,
            );
            (judgement.place, judgement.certainty) = (sender, Certainty::Likely);
            judgement.among = &[];
            return;
        }
    }

    /// Returns the bytes per second of a plugin channel outside a period.
    fn usual_of_channel(&self, span: Span, channel: &ChannelShare) -> f64 {
        let (begin, end) = (span.from - 2.0 * SLOT, span.to + 2.0 * SLOT);
        let shares = &self.seen.shares;
        let before = if begin > 0.0 { shares.channels(0.0, begin) } else { Vec::new() };
        let is_same =
            |it: &&ChannelShare| it.direction == channel.direction && it.name == channel.name;
        let after = shares.channels(end, self.end.max(end));
        let bytes: u64 = before.iter().chain(&after).filter(is_same).map(|it| it.bytes).sum();
        bytes as f64 / (self.end - span.seconds()).max(SLOT)
    }
}

fn slot_begin(at: f64) -> f64 {
    (at / SLOT).floor() * SLOT
}

/// Bytes and packets per second of a channel that floods.
const FLOOD: f64 = 16384.0;
const FLOOD_PACKETS: f64 = 100.0;
