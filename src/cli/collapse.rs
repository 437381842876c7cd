use std::collections::HashMap;
use std::time::Duration;

use mitmcraft::capture::{Outcome, Record};
use mitmcraft::packet::Timestamp;
use mitmcraft::schema::{Direction, Name, State};

/// Finds the packets that come so often that they would drown the others on a screen: of each kind
/// a few a second are shown one by one, and of the rest the last, with how many there were.
///
/// What is out of the ordinary is never among them: what was changed, dropped or made, what has a
/// note of a rule, what does not decode.
#[derive(Debug, Default)]
pub(super) struct Collapse {
    kinds: HashMap<Kind, Window>,
    /// When a second of one of them ends.
    next: Option<Timestamp>,
}

/// What repeats: a packet by its name, of one session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Kind {
    session: u64,
    direction: Direction,
    state: State,
    name: Name,
}

/// What has come of a kind since a moment, for a second.
#[derive(Debug)]
struct Window {
    begun: Timestamp,
    count: u64,
    /// Whether there were too many in the second before.
    busy: bool,
    /// The last one that was not shown, with how many there were.
    hidden: Option<(Box<Record>, u64)>,
    /// Whether some of the second were told already.
    told: bool,
}

/// The last of many, and how many there were.
#[derive(Debug)]
pub(super) struct Many {
    pub(super) last: Box<Record>,
    pub(super) count: u64,
    /// Whether that is in a whole second.
    pub(super) whole: bool,
}

impl Collapse {
    /// Whether a packet is shown by itself.
    pub(super) fn shows(&mut self, record: &Record) -> bool {
        let Some(kind) = kind(record) else { return true };
        let window = self.kinds.entry(kind).or_insert_with(|| Window {
            begun: record.packet.at,
            count: 0,
            busy: false,
            hidden: None,
            told: false,
        });
        let end = window.begun.plus(WINDOW);
        self.next = Some(self.next.map_or(end, |next| next.min(end)));
        window.count += 1;
        if (!window.busy && window.count <= SHOWN) || record.packet.error().is_some() {
            return true;
        }
        let count = window.hidden.take().map_or(0, |(_, count)| count);
        window.hidden = Some((Box::new(record.clone()), count + 1));
        false
    }

    /// What has come to the end of its second by now, in order.
    pub(super) fn take_due(&mut self, now: Timestamp) -> Vec<Many> {
        if self.next.is_none_or(|next| now < next) {
            return Vec::new();
        }
        self.take(now, |window| now.since(window.begun) >= WINDOW)
    }

    /// What nothing has followed for a while that would bring it out.
    pub(super) fn take_waiting(&mut self, now: Timestamp) -> Vec<Many> {
        self.take(now, |window| {
            let last = window.hidden.as_ref().map(|(last, _)| last.packet.at);
            last.is_some_and(|last| now.since(last) >= PAUSE)
        })
    }

    /// All that was kept back.
    pub(super) fn take_all(&mut self, now: Timestamp) -> Vec<Many> {
        self.take(now, |_| true)
    }

    fn take(&mut self, now: Timestamp, is_due: impl Fn(&Window) -> bool) -> Vec<Many> {
        let mut due = Vec::new();
        self.kinds.retain(|_, window| {
            if !is_due(window) {
                return true;
            }
            let over = now.since(window.begun) >= WINDOW;
            if let Some((last, count)) = window.hidden.take() {
                due.push(Many { last, count, whole: over && !window.told });
                window.told = true;
            }
            if over {
                let busy = window.count > SHOWN;
                *window = Window { begun: now, count: 0, busy, hidden: None, told: false };
                // A kind that has become rare is forgotten.
                return busy;
            }
            true
        });
        self.next = self.kinds.values().map(|window| window.begun.plus(WINDOW)).min();
        due.sort_by_key(|many| (many.last.packet.at, many.last.packet.seq));
        due
    }
}

/// None: it is out of the ordinary.
fn kind(record: &Record) -> Option<Kind> {
    let packet = &record.packet;
    let plain = record.outcome == Outcome::Pass && record.comment.is_none();
    if !plain || record.notes.is_some() {
        return None;
    }
    let name = Name::clone(packet.kind()?.name());
    let (session, direction, state) = (packet.context.session, packet.direction, packet.state);
    Some(Kind { session, direction, state, name })
}

/// Of one kind in a second.
const SHOWN: u64 = 4;

const WINDOW: Duration = Duration::from_secs(1);

/// So long nothing of a kind must have come for it to be told before its second is over.
const PAUSE: Duration = Duration::from_millis(300);

#[cfg(test)]
mod tests {
    use mitmcraft::capture::{Entries, Entry, read_capture};
    use mitmcraft::schema::Catalog;

    use super::*;

    #[test]
    fn few_of_a_kind_are_shown_and_of_many_the_last_with_their_number() {
        let mut collapse = Collapse::default();
        let records = movement(20, 50);
        let shown = records.iter().filter(|record| collapse.shows(record)).count();
        assert_eq!(shown, 4);
        assert!(collapse.take_due(Timestamp(SECOND - 1)).is_empty());
        let due = collapse.take_due(Timestamp(SECOND + 1));
        assert_eq!(due.len(), 1);
        assert_eq!((due[0].count, due[0].whole, due[0].last.packet.seq), (16, true, 20));
        assert!(collapse.take_all(Timestamp(SECOND + 2)).is_empty());
    }

    #[test]
    fn a_kind_that_was_too_much_is_not_shown_in_the_next_second_and_then_again() {
        let mut collapse = Collapse::default();
        let records = movement(60, 50);
        let mut shown = Vec::new();
        let mut told = Vec::new();
        for record in &records {
            told.extend(collapse.take_due(record.packet.at).into_iter().map(|many| many.count));
            if collapse.shows(record) {
                shown.push(record.packet.seq);
            }
        }
        assert_eq!(shown, [1, 2, 3, 4]);
        assert_eq!(told, [16, 20]);
        assert_eq!(collapse.take_all(records[59].packet.at)[0].count, 20);
        // A slow second, and it is shown again.
        let slow = movement(3, 400);
        assert!(!collapse.shows(&slow[0]));
        collapse.take_due(Timestamp(10 * SECOND));
        assert!(!collapse.shows(&slow[1]));
        assert_eq!(collapse.take_due(Timestamp(11 * SECOND)).len(), 1);
        assert!(collapse.shows(&slow[2]));
    }

    #[test]
    fn what_is_kept_back_comes_out_when_nothing_follows() {
        let mut collapse = Collapse::default();
        let records = movement(10, 10);
        assert_eq!(records.iter().filter(|record| collapse.shows(record)).count(), 4);
        assert!(collapse.take_waiting(Timestamp(SECOND / 4)).is_empty());
        let waiting = collapse.take_waiting(Timestamp(SECOND / 2));
        assert_eq!((waiting[0].count, waiting[0].whole), (6, false));
    }

    #[test]
    fn what_is_out_of_the_ordinary_is_always_shown() {
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

    /// So many `look` of 1.8 every so many milliseconds.
    fn movement(count: u64, millis: u64) -> Vec<Record> {
        let lines: String = (0..count).map(|it| line(it + 1, it * millis)).collect();
        records(&lines)
    }

    fn line(seq: u64, millis: u64) -> String {
        let time = format!("1970-01-01T00:00:{:02}.{:03}000000Z", millis / 1000, millis % 1000);
        format!(
            "{{\"v\":1,\"session\":1,\"seq\":{seq},\"time\":\"{time}\",\"t\":0.0,\
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
