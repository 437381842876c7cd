use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::behaviour::name;
use super::{Behaviour, Deviation, Freedom, Normalisation};
use crate::analysis::{DiffSide, Differ, Difference, entity_ids, fingerprint};
use crate::capture::{Entry, Record};
use crate::report::{Case, Report, Suite, Verdict};
use crate::text::LineOptions;
use mitmcraft_protocol::schema::{Role, State, Value};

/// The result of comparing two behaviours.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Comparison {
    /// The number of packets of the first behaviour, or of the second one if it has more, that were
    /// compared.
    pub compared: u64,
    /// How the second differs.
    pub deviations: Vec<Deviation>,
}

impl Behaviour {
    /// Compares another behaviour with this one.
    ///
    /// Packets are aligned by type, those of each type in order, and then the order of types is compared.
    #[must_use]
    pub fn compare(&self, other: &Self, normalisation: &Normalisation) -> Comparison {
        let placed = normalisation.placed(self, other);
        let other = placed.as_ref().unwrap_or(other);
        let comparing = Comparing { normalisation, a: self, b: other };
        let [a, b] = [self, other].map(|it| comparing.selected(it));
        let compared = a.len().max(b.len()) as u64;
        let mut deviations = comparing.packets(a, b);
        deviations.extend(comparing.late());
        Comparison { compared, deviations }
    }
}

impl Report for Comparison {
    /// Returns whether packets were compared, and none deviates.
    fn passed(&self) -> bool {
        self.deviations.is_empty() && self.compared > 0
    }

    fn json(&self) -> Json {
        let deviations: Json = self.deviations.iter().map(Deviation::json).collect();
        json!({ "compared": self.compared, "deviations": deviations })
    }

    /// Appends the deviations.
    fn write_text(&self, out: &mut String, options: &LineOptions) {
        self.deviations.iter().for_each(|deviation| deviation.write(out, options));
    }

    /// Returns one suite, with a case for each kind of deviation.
    fn suites(&self, options: &LineOptions) -> Vec<Suite> {
        let cases = Deviation::KINDS.map(|kind| {
            let found: Vec<_> = self.deviations.iter().filter(|it| it.kind() == kind).collect();
            if found.is_empty() {
                return Case::new(kind, Verdict::Passed, "");
            }
            let mut case = Case::new(kind, Verdict::Failed, format!("{kind}: {}", found.len()));
            found.iter().for_each(|deviation| deviation.write(&mut case.text, options));
            case
        });
        vec![Suite { name: "regress".to_owned(), cases: cases.into() }]
    }
}

/// Packets that correspond, and the remaining ones of both.
type Matched<'c> = (Vec<(&'c Record, &'c Record)>, Vec<&'c Record>, Vec<&'c Record>);

struct Comparing<'c> {
    normalisation: &'c Normalisation,
    a: &'c Behaviour,
    b: &'c Behaviour,
}

impl<'c> Comparing<'c> {
    /// Returns the packets of a behaviour whose values are compared.
    fn selected(&self, behaviour: &'c Behaviour) -> Vec<&'c Record> {
        let mut listed = HashSet::new();
        let wanted = |record: &&Record| {
            !self.normalisation.ignore.packet(&record.packet)
                && !is_latency(record, &mut listed)
                && !self.normalisation.allows(Freedom::Periodic, name(record))
        };
        behaviour.records.iter().filter(wanted).collect()
    }

    fn packets(&self, a: Vec<&'c Record>, b: Vec<&'c Record>) -> Vec<Deviation> {
        let (known, mut a, mut b) = self.matched(a, b);
        let mut differ = Differ::new(self.normalisation.ignore.clone());
        differ.compared = Some(Vec::new());
        let mut push = |side, record: &Record| differ.push(side, &Entry::Packet(record.clone()));
        // Equal spawns say first which entity ids correspond.
        for (a, b) in known {
            push(DiffSide::A, a);
            push(DiffSide::B, b);
        }
        a.sort_by_key(kind);
        b.sort_by_key(kind);
        a.into_iter().for_each(|record| push(DiffSide::A, record));
        b.into_iter().for_each(|record| push(DiffSide::B, record));
        differ.finish();
        let differences: Vec<Difference> = std::iter::from_fn(|| differ.poll()).collect();
        self.ordered(differences, differ.compared.unwrap_or_default())
    }

    /// Pairs equal packets whose order is free. Returns the pairs of packets that spawn entities, and the
    /// packets of both that have no equal one.
    fn matched(&self, a: Vec<&'c Record>, b: Vec<&'c Record>) -> Matched<'c> {
        let has_role = |role| move |record: &&Record| record.packet.role() == Some(role);
        let [joins_a, joins_b] =
            [&a, &b].map(|all| all.iter().copied().filter(has_role(Role::JoinGame)));
        // A proxy lets the player join several servers.
        let joins: Vec<_> = joins_a.zip(joins_b).collect();
        let [(spawns_a, others_a), (spawns_b, others_b)] =
            [a, b].map(|all| all.into_iter().partition::<Vec<&Record>, _>(has_role(Role::Spawn)));
        let (spawns, mut rest_a, mut rest_b) = self.equal(spawns_a, spawns_b, None);
        let known = joins.iter().chain(&spawns);
        // The ids in the second of entities of the first.
        let entities = known.filter_map(|(a, b)| entity(a).zip(entity(b))).collect();
        let (_, more_a, more_b) = self.equal(others_a, others_b, Some(&entities));
        rest_a.extend(more_a);
        rest_b.extend(more_b);
        rest_a.sort_by_key(|record| record.packet.seq());
        rest_b.sort_by_key(|record| record.packet.seq());
        (spawns, rest_a, rest_b)
    }

    /// Pairs equal packets whose order is free, and returns the pairs and the rest. With `entities`, only
    /// those of the same entities are equal.
    fn equal(
        &self,
        a: Vec<&'c Record>,
        b: Vec<&'c Record>,
        entities: Option<&HashMap<i64, i64>>,
    ) -> Matched<'c> {
        let known: HashSet<i64> =
            entities.into_iter().flat_map(|it| it.values().copied()).collect();
        // All entities that are not known are taken for the same one.
        let ids = |record: &Record, there: &dyn Fn(i64) -> Option<i64>| {
            let fields = entities.and_then(|_| record.packet.value().ok());
            fields.map(|fields| entity_ids(&fields, there)).unwrap_or_default()
        };
        let key = |record: &Record, there: &dyn Fn(i64) -> Option<i64>| {
            let free = self.normalisation.allows(Freedom::AnyOrder, name(record));
            free.then(|| (fingerprint(record, &self.normalisation.ignore), ids(record, there)))
        };
        let mut waiting: HashMap<_, Vec<&Record>> = HashMap::new();
        let (mut pairs, mut rest_a, mut rest_b) = (Vec::new(), Vec::new(), Vec::new());
        for record in a.into_iter().rev() {
            match key(record, &|id| entities?.get(&id).copied()) {
                Some(key) => waiting.entry(key).or_default().push(record),
                None => rest_a.push(record),
            }
        }
        for record in b {
            let key = key(record, &|id| known.contains(&id).then_some(id));
            match key.and_then(|key| waiting.get_mut(&key)?.pop()) {
                Some(first) => pairs.push((first, record)),
                None => rest_b.push(record),
            }
        }
        rest_a.extend(waiting.into_values().flatten());
        (pairs, rest_a, rest_b)
    }

    /// Adds packets that have moved to the differences, among which each is missing and new.
    fn ordered(&self, differences: Vec<Difference>, mut pairs: Vec<(u64, u64)>) -> Vec<Deviation> {
        let print = |record: &Record| fingerprint(record, &self.normalisation.ignore);
        let mut added: HashMap<u64, Vec<u64>> = HashMap::new();
        for difference in differences.iter().rev() {
            if let Difference::Added(record) = difference {
                added.entry(print(record)).or_default().push(record.packet.seq());
            }
        }
        let (mut deviations, mut moved) = (Vec::new(), Vec::new());
        for difference in differences {
            if let Difference::Removed(record) = &difference
                && let Some(place) = added.get_mut(&print(record)).and_then(Vec::pop)
            {
                moved.push(place);
                pairs.push((record.packet.seq(), place));
                continue;
            }
            deviations.push(difference);
        }
        deviations.retain(|difference| match difference {
            Difference::Added(record) if moved.contains(&record.packet.seq()) => false,
            Difference::Added(record) | Difference::Removed(record) => {
                !self.normalisation.allows(Freedom::AnyNumber, name(record))
            }
            Difference::Changed(..) => true,
        });
        let moved = self.moved(pairs);
        deviations.into_iter().map(Deviation::Packet).chain(moved).collect()
    }

    /// Returns the packets that came at another place, given which packets correspond.
    fn moved(&self, mut pairs: Vec<(u64, u64)>) -> Vec<Deviation> {
        let [a, b] = [self.a, self.b].map(|it| {
            let free = |record: &&Record| {
                self.normalisation.allows(Freedom::AnyOrder, name(record))
                    || self.normalisation.allows(Freedom::AnyNumber, name(record))
            };
            let ordered = it.records.iter().filter(|record| !free(record));
            ordered.map(|record| (record.packet.seq(), record)).collect::<BTreeMap<_, _>>()
        });
        pairs.retain(|(first, second)| a.contains_key(first) && b.contains_key(second));
        pairs.sort_unstable();
        let kept = longest_rising(&pairs.iter().map(|pair| pair.1).collect::<Vec<_>>());
        let seqs = kept.iter().map(|place| pairs[*place]);
        let (in_a, in_b): (HashSet<u64>, HashSet<u64>) = seqs.unzip();
        let before = |all: &BTreeMap<u64, &Record>, place: u64, known: &HashSet<u64>| {
            let mut before = all.range(..place).rev();
            let found = before.find(|(seq, _)| known.contains(seq));
            found.map(|(_, record)| name(record).to_owned())
        };
        let moved =
            pairs.iter().enumerate().filter(|(place, _)| kept.binary_search(place).is_err());
        let moved = moved.filter_map(|(_, (first, second))| {
            let after = [before(&a, *first, &in_a), before(&b, *second, &in_b)];
            let record = Box::new(Record::clone(b.get(second)?));
            Some(Deviation::Moved { record, after })
        });
        moved.collect()
    }

    /// Returns the periodic packets that came too late.
    fn late(&self) -> Vec<Deviation> {
        let names = self.a.records.iter().filter(|it| it.packet.state() == State::Play).map(name);
        let mut names: Vec<&str> =
            names.filter(|name| self.normalisation.allows(Freedom::Periodic, name)).collect();
        names.sort_unstable();
        names.dedup();
        let late = names.into_iter().filter_map(|name| {
            let longest = [self.a, self.b].map(|it| longest_without(it, name));
            let is_late = longest[1] > longest[0] + self.normalisation.late;
            is_late.then(|| Deviation::Late { packet: name.to_owned(), longest })
        });
        late.collect()
    }
}

/// Returns the longest time without a packet, from the first packet of the server to the session's end.
fn longest_without(behaviour: &Behaviour, packet: &str) -> Duration {
    let Some(first) = behaviour.records.first() else { return Duration::ZERO };
    let (mut longest, mut last) = (Duration::ZERO, first.packet.at());
    let came = behaviour.records.iter().filter(|record| name(record) == packet);
    for at in came.map(|record| record.packet.at()).chain([behaviour.ended]) {
        longest = longest.max(at.since(last));
        last = at;
    }
    longest
}

/// Returns the places of a longest rising subsequence.
fn longest_rising(values: &[u64]) -> Vec<usize> {
    // The place of the smallest last value of a subsequence of each length.
    let mut ends: Vec<usize> = Vec::new();
    let mut previous = vec![None; values.len()];
    for (place, value) in values.iter().enumerate() {
        let length = ends.partition_point(|end| values[*end] < *value);
        previous[place] = length.checked_sub(1).map(|before| ends[before]);
        if length == ends.len() {
            ends.push(place);
        } else {
            ends[length] = place;
        }
    }
    let mut found: Vec<usize> =
        std::iter::successors(ends.last().copied(), |place| previous[*place]).collect();
    found.reverse();
    found
}

/// Sorts packets by type: first those with the player's entity id, then those that spawn other entities.
fn kind<'r>(record: &&'r Record) -> (u8, State, &'r str) {
    let rank = match record.packet.role() {
        Some(Role::JoinGame) => 0,
        Some(Role::Spawn) => 1,
        _ => 2,
    };
    (rank, record.packet.state(), name(record))
}

/// Returns whether a packet only tells the latencies of players, as servers do at intervals. `listed` are
/// the players of a list before 1.8, which tells them with each player's name.
fn is_latency(record: &Record, listed: &mut HashSet<String>) -> bool {
    if name(record) != "player_info" {
        return false;
    }
    let Ok(fields) = record.packet.value() else { return false };
    let plain = |name: &str| fields.get(name).map(Value::plain);
    match (plain("action"), plain("playerName"), plain("online")) {
        (Some(Value::Text(action)), ..) => &**action == "update_latency",
        (Some(Value::Map(actions)), ..) => actions
            .iter()
            .all(|(action, is_set)| is_set.plain() == &Value::Bool(&**action == "update_latency")),
        (_, Some(Value::Text(name)), Some(Value::Bool(true))) => !listed.insert(name.to_string()),
        (_, Some(Value::Text(name)), _) => {
            listed.remove(&**name);
            false
        }
        _ => false,
    }
}

/// Returns the entity that a packet is about.
fn entity(record: &Record) -> Option<i64> {
    record.packet.value().ok()?.get("entityId")?.as_int()
}
