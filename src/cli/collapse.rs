use std::collections::HashMap;
use std::time::Duration;

use mitmcraft_engine::capture::{Outcome, Record};
use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::{Direction, Name, State};

/// Finds packets that repeat so often that they would hide the others on a screen: of each type, a
/// few per second are shown one by one, then the last one with the number of those before it.
///
/// Packets that were changed, dropped or made, that a rule has noted, or that do not decode are
/// always shown.
#[derive(Debug, Default)]
pub(super) struct Collapse {
    windows: HashMap<Repeating, Window>,
    /// The time at which the first of the windows ends.
    next: Option<Timestamp>,
}

/// The packets that are counted together: those of one name in one session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Repeating {
    session: u64,
    direction: Direction,
    state: State,
    name: Name,
}

/// The packets counted together within one second.
#[derive(Debug)]
struct Window {
    begin: Timestamp,
    count: u64,
    /// `true` if the previous window had more packets than are shown.
    busy: bool,
    /// The last packet that was not shown, and the number of those since the last line.
    hidden: Option<(Box<Record>, u64)>,
    /// `true` if a line was printed before the window ended.
    printed: bool,
}

/// The last of several packets that were not shown one by one.
#[derive(Debug)]
pub(super) struct Repeats {
    pub(super) last: Box<Record>,
    pub(super) count: u64,
    /// `true` if `count` covers a whole second.
    pub(super) whole_second: bool,
}

impl Collapse {
    /// Counts a packet and returns whether it is shown by itself.
    pub(super) fn shows(&mut self, record: &Record) -> bool {
        let Some(repeating) = Repeating::of(record) else { return true };
        let begin = record.packet.at();
        let window = self.windows.entry(repeating).or_insert_with(|| Window::new(begin, false));
        let end = window.begin.plus(WINDOW);
        self.next = Some(self.next.map_or(end, |next| next.min(end)));
        window.count += 1;
        if (!window.busy && window.count <= SHOWN) || record.packet.error().is_some() {
            return true;
        }
        let count = window.hidden.take().map_or(0, |(_, count)| count);
        window.hidden = Some((Box::new(record.clone()), count + 1));
        false
    }

    /// Takes the packets of windows that have ended by `now`, in order.
    pub(super) fn take_due(&mut self, now: Timestamp) -> Vec<Repeats> {
        if self.next.is_none_or(|next| now < next) {
            return Vec::new();
        }
        self.take(now, |window| now.since(window.begin) >= WINDOW)
    }

    /// Takes packets that no other of their type has followed for a while.
    pub(super) fn take_waiting(&mut self, now: Timestamp) -> Vec<Repeats> {
        self.take(now, |window| {
            let last = window.hidden.as_ref().map(|(last, _)| last.packet.at());
            last.is_some_and(|last| now.since(last) >= PAUSE)
        })
    }

    /// Takes all packets that were not shown.
    pub(super) fn take_all(&mut self, now: Timestamp) -> Vec<Repeats> {
        self.take(now, |_| true)
    }

    fn take(&mut self, now: Timestamp, is_due: impl Fn(&Window) -> bool) -> Vec<Repeats> {
        let mut due = Vec::new();
        self.windows.retain(|_, window| {
            if !is_due(window) {
                return true;
            }
            let over = now.since(window.begin) >= WINDOW;
            if let Some((last, count)) = window.hidden.take() {
                due.push(Repeats { last, count, whole_second: over && !window.printed });
                window.printed = true;
            }
            if over {
                let busy = window.count > SHOWN;
                *window = Window::new(now, busy);
                // Without this, rare packets would fill the map.
                return busy;
            }
            true
        });
        self.next = self.windows.values().map(|window| window.begin.plus(WINDOW)).min();
        due.sort_by_key(|repeats| (repeats.last.packet.at(), repeats.last.packet.seq()));
        due
    }
}

impl Repeating {
    /// Returns `None` for packets that are always shown.
    fn of(record: &Record) -> Option<Self> {
        let packet = &record.packet;
        let plain = record.outcome == Outcome::Pass && record.comment.is_none();
        if !plain || record.notes.is_some() {
            return None;
        }
        let name = Name::clone(packet.kind()?.name());
        let (session, direction, state) =
            (packet.context().session, packet.direction(), packet.state());
        Some(Self { session, direction, state, name })
    }
}

impl Window {
    fn new(begin: Timestamp, busy: bool) -> Self {
        Self { begin, count: 0, busy, hidden: None, printed: false }
    }
}

/// Packets of one type shown one by one in a second.
const SHOWN: u64 = 4;

const WINDOW: Duration = Duration::from_secs(1);

/// Time without another packet of a type after which those that were not shown are printed before
/// their window ends.
const PAUSE: Duration = Duration::from_millis(300);

#[cfg(test)]
mod tests {
    use mitmcraft_engine::capture::{Entries, Entry, read_capture};
    use mitmcraft_protocol::schema::Catalog;

    use super::*;

    #[test]
    fn few_packets_of_a_type_are_shown_and_of_many_the_last_with_their_number() {
        let mut collapse = Collapse::default();
        let records = movement(20, 50);
        let shown = records.iter().filter(|record| collapse.shows(record)).count();
        assert_eq!(shown, 4);
        assert!(collapse.take_due(Timestamp(SECOND - 1)).is_empty());
        let due = collapse.take_due(Timestamp(SECOND + 1));
        assert_eq!(due.len(), 1);
        assert_eq!((due[0].count, due[0].whole_second, due[0].last.packet.seq()), (16, true, 20));
        assert!(collapse.take_all(Timestamp(SECOND + 2)).is_empty());
    }

    #[test]
    fn a_type_with_too_many_packets_is_hidden_in_the_next_second_and_shown_when_it_slows_down() {
        let mut collapse = Collapse::default();
        let records = movement(60, 50);
        let mut shown = Vec::new();
        let mut printed = Vec::new();
        for record in &records {
            printed.extend(
                collapse.take_due(record.packet.at()).into_iter().map(|repeats| repeats.count),
            );
            if collapse.shows(record) {
                shown.push(record.packet.seq());
            }
        }
        assert_eq!(shown, [1, 2, 3, 4]);
        assert_eq!(printed, [16, 20]);
        assert_eq!(collapse.take_all(records[59].packet.at())[0].count, 20);
        // A slow second, and it is shown again.
        let slow = movement(3, 400);
        assert!(!collapse.shows(&slow[0]));
        collapse.take_due(Timestamp(10 * SECOND));
        assert!(!collapse.shows(&slow[1]));
        assert_eq!(collapse.take_due(Timestamp(11 * SECOND)).len(), 1);
        assert!(collapse.shows(&slow[2]));
    }

    #[test]
    fn hidden_packets_are_printed_when_nothing_follows() {
        let mut collapse = Collapse::default();
        let records = movement(10, 10);
        assert_eq!(records.iter().filter(|record| collapse.shows(record)).count(), 4);
        assert!(collapse.take_waiting(Timestamp(SECOND / 4)).is_empty());
        let waiting = collapse.take_waiting(Timestamp(SECOND / 2));
        assert_eq!((waiting[0].count, waiting[0].whole_second), (6, false));
    }

    #[test]
    fn exceptional_packets_are_always_shown() {
        let mut collapse = Collapse::default();
        for record in movement(20, 10) {
            let _ = collapse.shows(&record);
        }
        let mut record = movement(1, 1).remove(0);
        assert!(!collapse.shows(&record));
        record.comment = Some("boom".into());
        assert!(collapse.shows(&record));
        record.comment = None;
        record.outcome = Outcome::Drop;
        assert!(collapse.shows(&record));
        let json = line(1, 0).replace("BQAAAAAAAAAAAQ==", "BQAAAA==");
        let json = json.replace("\"size\":10", "\"size\":4");
        let broken = records(&json).remove(0);
        assert!(broken.packet.error().is_some());
        assert!(collapse.shows(&broken));
    }

    /// Returns `count` packets `look` of 1.8, `millis` apart.
    fn movement(count: u64, millis: u64) -> Vec<Record> {
        let lines: String = (0..count).map(|it| line(it + 1, it * millis)).collect();
        records(&lines)
    }

    fn line(seq: u64, millis: u64) -> String {
        let time = format!("1970-01-01T00:00:{:02}.{:03}000000Z", millis / 1000, millis % 1000);
        format!(
            "{{\"v\":2,\"session\":1,\"seq\":{seq},\"time\":\"{time}\",\"t\":0.0,\
             \"dir\":\"serverbound\",\"origin\":\"client\",\"state\":\"play\",\"protocol\":47,\"id\":5,\
             \"packet\":\"look\",\"wire\":11,\"size\":10,\"verdict\":\"pass\",\
             \"body\":\"BQAAAAAAAAAAAQ==\"}}\n"
        )
    }

    fn records(lines: &str) -> Vec<Record> {
        let entries: Entries =
            read_capture(std::io::Cursor::new(lines.to_owned()), Catalog::embedded()).unwrap();
        let packets = entries.filter_map(|entry| match entry.unwrap() {
            Entry::Packet(record) => Some(record),
            Entry::Event(_) => None,
        });
        packets.collect()
    }

    const SECOND: u64 = 1_000_000_000;
}
