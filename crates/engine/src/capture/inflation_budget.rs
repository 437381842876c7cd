use std::collections::HashMap;

use super::{Entry, EventKind, Record};
use crate::filter::is_own;
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, Timestamp};

/// The bytes to which the packets of each session may inflate in the log, per second.
///
/// A packet of a few kilobytes may inflate to megabytes. One that exceeds the budget is recorded as it
/// came, with a remark; it was forwarded like any other.
#[derive(Debug)]
pub struct InflationBudget {
    limit: usize,
    /// The second that began last in a session, and the bytes to which packets have inflated in it.
    seconds: HashMap<u64, Second>,
}

#[derive(Debug)]
struct Second {
    began: Timestamp,
    used: usize,
    /// `true` once a packet has exceeded the budget.
    exceeded: bool,
}

impl InflationBudget {
    /// The usual limit, far above what the game sends.
    pub const DEFAULT: usize = 128 << 20;

    /// Creates a budget of `limit` bytes per session and second.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { limit, seconds: HashMap::new() }
    }

    /// Keeps all packets compressed from now on.
    pub fn stop(&mut self) {
        self.limit = 0;
    }

    /// Keeps the packet of an entry compressed if it exceeds the budget of its session. Returns the
    /// number of the session if this is the first such packet of it.
    pub fn bound(&mut self, entry: &mut Entry) -> Option<u64> {
        let record = match entry {
            Entry::Packet(record) => record,
            Entry::Event(event) => {
                if matches!(event.kind, EventKind::Close(_)) {
                    self.seconds.remove(&event.context.session);
                }
                return None;
            }
        };
        let size = record.packet.frame().filter(|it| it.is_deflated()).map(Frame::size)?;
        let (at, session) = (record.packet.at(), record.packet.context().session);
        let new = || Second { began: at, used: 0, exceeded: false };
        let second = self.seconds.entry(session).or_insert_with(new);
        if at.0.saturating_sub(second.began.0) >= SECOND {
            (second.began, second.used) = (at, 0);
        }
        let left = self.limit.saturating_sub(second.used);
        if size <= left {
            second.used += size;
            return None;
        }
        keep_deflated(record, left);
        (!std::mem::replace(&mut second.exceeded, true)).then_some(session)
    }
}

/// Replaces the packet's frame by one that does not inflate beyond `limit` bytes, and says so.
fn keep_deflated(record: &mut Record, limit: usize) {
    let Some(frame) = record.packet.frame().and_then(|frame| frame.limited(limit)) else { return };
    record.packet.set_content(Content::Frame(frame));
    let before = record.comment.take().map_or(String::new(), |comment| format!("{comment}; "));
    debug_assert!(is_own(REMARK), "redaction does not know the remark");
    record.comment = Some(format!("{before}{REMARK}"));
}

/// The remark on packets that are recorded compressed.
const REMARK: &str = "recorded compressed: it exceeds what may inflate in a second";

/// Nanoseconds.
const SECOND: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::capture::{
        Compression, CreateOptions, Event, FileType, Format, Summary, open_capture, write_sink,
    };
    use mitmcraft_protocol::codec::{Decoder, Encoder, Limits, Unit};
    use mitmcraft_protocol::packet::{Context, Packet};
    use mitmcraft_protocol::schema::{Catalog, Direction, State};

    fn context(session: u64) -> Arc<Context> {
        let protocol = Catalog::embedded().find(47).unwrap().protocol;
        Arc::new(Context::new(session, Timestamp(0), ([127, 0, 0, 1], 5000).into(), protocol))
    }

    /// A packet as it comes with compression, whose body of `size` zeros begins with a known id.
    fn packet(session: u64, millisecond: u64, size: usize) -> Entry {
        let mut body = vec![0; size];
        body[0] = 0x02;
        let mut encoder = Encoder::new();
        encoder.set_compression(Some(64));
        let wire = encoder.send(&body).wire().clone();
        let mut decoder = Decoder::new(Limits::default());
        decoder.set_compression(Some(64));
        decoder.receive(&wire);
        let Some(Unit::Frame(frame)) = decoder.poll() else { panic!("a frame") };
        let at = Timestamp(millisecond * 1_000_000);
        let (to, state) = (Direction::Clientbound, State::Play);
        let content = Content::Frame(frame);
        Entry::Packet(Record::passed(Packet::new(context(session), 1, at, to, state, content)))
    }

    fn comment(entry: &Entry) -> Option<&str> {
        entry.record().unwrap().comment.as_deref()
    }

    #[test]
    fn a_session_has_a_budget_for_each_second() {
        let mut inflation = InflationBudget::new(100_000);
        let mut bound = |session, at, size| {
            let mut entry = packet(session, at, size);
            let first = inflation.bound(&mut entry);
            (comment(&entry).is_some(), first)
        };
        assert_eq!(bound(1, 0, 60_000), (false, None));
        assert_eq!(bound(1, 10, 60_000), (true, Some(1)));
        assert_eq!(bound(1, 20, 60_000), (true, None));
        assert_eq!(bound(1, 30, 40_000), (false, None), "a smaller packet still fits");
        assert_eq!(bound(2, 30, 60_000), (false, None), "the other session has its own");
        assert_eq!(bound(1, 40, 63), (false, None), "below the threshold");
        assert_eq!(bound(1, 1000, 60_000), (false, None));
        inflation.stop();
        let mut entry = packet(1, 3000, 64);
        inflation.bound(&mut entry);
        assert_eq!(comment(&entry), Some(REMARK));
        let summary = Summary {
            reason: String::new(),
            serverbound_packets: 0,
            clientbound_packets: 0,
            serverbound_bytes: 0,
            clientbound_bytes: 0,
        };
        let kind = EventKind::Close(summary);
        for session in [1, 2] {
            let event = Event { context: context(session), at: Timestamp(0), kind: kind.clone() };
            inflation.bound(&mut Entry::Event(event));
        }
        assert!(inflation.seconds.is_empty());
    }

    #[test]
    fn what_is_recorded_compressed_has_its_name_its_size_and_all_its_bytes() {
        let mut entry = packet(1, 0, 1 << 20);
        let wire = entry.record().unwrap().packet.frame().unwrap().wire().clone();
        InflationBudget::new(1000).bound(&mut entry);
        for format in [Format::Jsonl, Format::Pcapng] {
            let out = tempfile::NamedTempFile::new().unwrap();
            let kind = FileType { format, compression: Compression::None };
            let file = Box::new(out.reopen().unwrap());
            let mut sink = write_sink(file, kind, &CreateOptions::default()).unwrap();
            sink.write(&entry).unwrap();
            sink.finish().unwrap();
            drop(sink);
            assert!(out.as_file().metadata().unwrap().len() < 10_000);
            let entries = open_capture(out.path(), Catalog::embedded()).unwrap();
            let entries: Vec<Entry> = entries.map(Result::unwrap).collect();
            let again = entries.iter().find_map(Entry::record).unwrap();
            let frame = again.packet.frame().unwrap();
            assert_eq!((frame.wire(), frame.size()), (&wire, 1 << 20));
            assert_eq!(&**again.packet.kind().unwrap().name(), "chat");
            assert_eq!(again.comment.as_deref(), Some(REMARK));
            let error = again.packet.body().unwrap_err().to_string();
            assert_eq!(error, "body inflates to 1048576 bytes, and the limit is 1000");
        }
    }
}
