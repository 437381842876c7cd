//! Each limit, planted into a packet of its first and of its last version: at its bound, where nothing is wrong,
//! and beyond it.

use super::*;
use crate::meaning::limits::{Bound, table};
use crate::meaning::rows::{ANY, Place, Row};
use crate::meaning::{Breach, Grade, LimitTracker};
use crate::schema::{Flow, Leaf, Name, NamePath, Scalar, Visitor, random_body};
use crate::wire::{Compound, Encoding, Tag};

#[test]
fn a_limit_that_ends_the_session_is_not_hidden_by_a_milder_one() {
    let protocol = Catalog::embedded().find(767).unwrap().protocol;
    let (state, direction) = (State::Play, Direction::Serverbound);
    let kind = protocol.named(state, direction, "name_item").unwrap();
    let found = |length: usize| {
        let mut found = Found::new(protocol.release(), kind);
        let text = "x".repeat(length);
        found.path.field(&Name::from("name"));
        found.path.leaf();
        found.value(&Scalar::Text(text.as_bytes(), Encoding::Utf8));
        let breaches = found.found.into_iter();
        breaches.map(|(_, it)| (it.grade, it.reason)).collect::<Vec<_>>()
    };
    let reads = |length, most| format!("{length} characters, the game reads up to {most}");
    assert_eq!(found(50), []);
    assert_eq!(found(51), [(Grade::Corrects, reads(51, 50))]);
    assert_eq!(found(32_768), [(Grade::Ends, reads(32_768, 32_767))]);
}

#[test]
fn every_limit_is_found_beyond_its_bound_and_not_at_it() {
    let all = protocols(Family::Java).into_iter().chain(protocols(Family::Legacy));
    let all: Vec<_> = all.chain(protocols(Family::Alpha)).collect();
    let (mut planted, mut failures) = (0, Vec::new());
    for (place, packet, fields) in table().iter() {
        for row in fields.rows.values().flatten() {
            let within = all.iter().filter(|it| {
                it.release().family() == place.0 && row.versions.contains(it.release())
            });
            let mut within: Vec<_> = within.filter(|it| has(it, place, packet, row)).collect();
            // Fields of a type are not in every state of every version.
            let Some(last) = within.pop() else {
                assert_eq!(packet, ANY, "{}", row.path);
                continue;
            };
            for protocol in within.first().copied().into_iter().chain([last]) {
                planted += 1;
                if let Err(fault) = plant(protocol, place, packet, row) {
                    failures.push(format!(
                        "{packet}.{} of {place:?} in {}: {fault}",
                        row.path,
                        protocol.version()
                    ));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} of {planted}\n{}", failures.len(), failures.join("\n"));
    assert!(planted > 400, "{planted}");
}

/// The types of packets into which a row is planted.
fn kinds<'p>(
    protocol: &'p Protocol,
    place: Place,
    packet: &str,
    path: &str,
) -> Vec<&'p PacketType> {
    let kinds =
        protocol.packets().iter().filter(|it| (it.state(), it.direction()) == (place.1, place.2));
    match (packet, path) {
        (ANY, "(text)") => {
            kinds.filter(|it| !texts(protocol, it, false).is_empty()).take(3).collect()
        }
        (ANY, "(component)") => {
            kinds.filter(|it| !texts(protocol, it, true).is_empty()).take(3).collect()
        }
        (ANY, "(nbt)") => kinds.filter(|it| !trees(protocol, it).is_empty()).take(3).collect(),
        (ANY, "") => kinds.take(1).collect(),
        (ANY, _) => {
            let items = ["set_slot", "set_creative_slot"];
            kinds.filter(|it| items.contains(&&**it.name())).collect()
        }
        _ => kinds.filter(|it| **it.name() == *packet).collect(),
    }
}

/// The texts of a packet that have no limit of their own: components, or other texts.
fn texts(protocol: &Protocol, packet: &PacketType, components: bool) -> Vec<String> {
    let release = protocol.release();
    let limits = super::super::Limits::of(release, packet, true);
    let is = |(path, wire): &(String, String)| {
        wire.starts_with("text, VarInt")
            && !path.contains('.')
            && crate::meaning::is_component(release, packet, path) == components
            && !limits.is_some_and(|it| it.has_size(&path.replace("[*]", "")))
    };
    paths(protocol, packet, 3).into_iter().filter(is).map(|(path, _)| path).collect()
}

fn trees(protocol: &Protocol, packet: &PacketType) -> Vec<String> {
    let limits = super::super::Limits::of(protocol.release(), packet, true);
    let is = |(path, wire): &(String, String)| {
        wire.starts_with("NBT")
            && !path.contains('.')
            && !limits.is_some_and(|it| it.has_size(&path.replace("[*]", "")))
    };
    paths(protocol, packet, 3).into_iter().filter(is).map(|(path, _)| path).collect()
}

fn has(protocol: &Protocol, place: Place, packet: &str, row: &Row<Limit>) -> bool {
    let kinds = kinds(protocol, place, packet, &row.path);
    match row.path.strip_prefix(ANY) {
        Some(end) => {
            kinds.iter().any(|it| paths(protocol, it, 8).keys().any(|path| path.ends_with(end)))
        }
        None => !kinds.is_empty(),
    }
}

/// Plants a limit at its bound and beyond it.
fn plant(
    protocol: &Arc<Protocol>,
    place: Place,
    packet: &str,
    row: &Row<Limit>,
) -> Result<(), String> {
    let kind = *kinds(protocol, place, packet, &row.path).first().ok_or("no such packet")?;
    let path = match &*row.path {
        "(text)" => texts(protocol, kind, false).remove(0),
        "(component)" => texts(protocol, kind, true).remove(0),
        "(nbt)" => trees(protocol, kind).remove(0),
        path => path.to_owned(),
    };
    let bound = row.entry.bound();
    if let Bound::Inflated(most) = bound {
        for (size, is_bad) in [(most, false), (most + 1, true)] {
            let packet = packet_of(protocol, kind, vec![0; size]);
            if Breach::of_inflated(&packet).is_some() != is_bad {
                return Err(format!("{size} bytes"));
            }
        }
        return Ok(());
    }
    let diagnostic = row.entry.diagnostic();
    let (mut why, mut seen) = ("no packet has it".to_owned(), [false; 2]);
    // A component of one type is rare.
    let attempts = if row.when.is_empty() { ATTEMPTS } else { 8 * ATTEMPTS };
    for attempt in 0..attempts {
        let body = random_body(protocol, kind, &choices(attempt));
        let packet = packet_of(protocol, kind, body);
        let Ok(mut value) = packet.value() else { continue };
        for condition in row.when {
            for (field, is) in condition.examples() {
                set(&mut value, &field, &mut |_| Some(Value::Int(is)));
            }
        }
        let planted = |change: &Change| {
            let mut value = value.clone();
            let count = set(&mut value, &path, &mut |old| change(old));
            let body = if count == 0 { None } else { protocol.encode(kind, &value).ok() };
            let mut visitor = Found::new(protocol.release(), kind);
            packet_of(protocol, kind, body?).walk(&mut visitor).ok()?;
            Some(visitor.found)
        };
        let (good, bad) = changes(&bound);
        let is_found = |found: &[(String, Breach)]| {
            let names = path.replace("[*]", "");
            found.iter().any(|(at, breach)| {
                let is_there = match names.strip_prefix('*') {
                    Some(end) => at.ends_with(end),
                    None => *at == names,
                };
                is_there && breach.diagnostic == diagnostic
            })
        };
        let at_bound: Vec<_> = good.iter().filter_map(|it| planted(it)).collect();
        let beyond: Vec<_> = bad.iter().filter_map(|it| planted(it)).collect();
        // Where the number decides which fields follow, those that were generated are taken as they are.
        if at_bound.is_empty() || beyond.is_empty() {
            let Bound::Numbers(range) = &bound else { continue };
            let Some(number) = value.get(&path).and_then(Value::as_int) else { continue };
            let is_good = range.contains(&(number as f64));
            let mut visitor = Found::new(protocol.release(), kind);
            let _ = packet.walk(&mut visitor);
            if is_found(&visitor.found) == is_good {
                return Err(format!("{number}: {:?}", visitor.found));
            }
            seen[usize::from(is_good)] = true;
            if seen == [true; 2] {
                return Ok(());
            }
            continue;
        }
        if let Some(found) = at_bound.iter().find(|it| is_found(it)) {
            return Err(format!("found at the bound: {found:?}"));
        }
        if beyond.iter().all(|it| is_found(it)) {
            return Ok(());
        }
        why = format!("not found beyond the bound, but {beyond:?}");
        // A condition on another field may not hold.
        if row.when.is_empty() {
            break;
        }
    }
    Err(why)
}

/// Packets that are generated at most for one that has a field.
const ATTEMPTS: u64 = 1000;

type Change = Box<dyn Fn(&Value) -> Option<Value>>;

/// What makes a value one at the bound, and what makes it one beyond.
fn changes(bound: &Bound) -> (Vec<Change>, Vec<Change>) {
    fn to(value: Value) -> Change {
        Box::new(move |_| Some(value.clone()))
    }
    fn number(number: f64) -> Change {
        Box::new(move |old| match old.plain() {
            Value::Float32(_) => Some(Value::Float32(number as f32)),
            Value::Float64(_) => Some(Value::Float64(number)),
            _ if number.fract() != 0.0 || !number.is_finite() => None,
            // The name of a number.
            Value::Text(_) | Value::Int(_) => Some(Value::Int(number as i64)),
            _ => None,
        })
    }
    fn length(length: f64) -> Change {
        Box::new(move |old| match old.plain() {
            Value::Bytes(_) => Some(Value::Bytes(vec![1; length as usize].into())),
            Value::List(items) => {
                // Light is a list of single bytes.
                let byte = [Value::Int(1)];
                let items = if items.is_empty() { &byte[..] } else { items };
                Some(Value::List(items.iter().cycle().take(length as usize).cloned().collect()))
            }
            _ => None,
        })
    }
    fn tree(size: usize) -> Change {
        Box::new(move |old| {
            let Value::Nbt(nbt) = old.plain() else { return None };
            let mut nbt = nbt.clone();
            // A compound, its entry, and the array without its elements.
            let bytes = Tag::ByteArray(vec![0; size - 48 - 64 - 2 - 24].into());
            nbt.root = Tag::Compound(Compound { entries: vec![("a".into(), bytes)] });
            Some(Value::Nbt(nbt))
        })
    }
    let text = |text: String| to(Value::Text(text.into()));
    let ends = |range: &std::ops::RangeInclusive<f64>, of: fn(f64) -> Change, is_length: bool| {
        let (least, most) = (*range.start(), *range.end());
        let good = [least, most, 1.0].into_iter().filter(|it| it.abs() < 1e9 && range.contains(it));
        let good = good.map(of).collect();
        let beyond = |end: f64, step: f64| match end.abs() < 1e9 {
            true => of(end + step),
            // A float that cannot be counted up.
            false => of(if end == f64::MAX { f64::INFINITY } else { end * 1.01 }),
        };
        let mut bad = Vec::new();
        if least.is_finite() && least > f64::MIN && (least > 0.0 || !is_length) {
            bad.push(beyond(least, -1.0));
        }
        if most.is_finite() {
            bad.push(beyond(most, 1.0));
        }
        if least == f64::NEG_INFINITY {
            bad.push(of(f64::NAN));
        }
        (good, bad)
    };
    match bound {
        Bound::Characters(most) => {
            (vec![text("a".repeat(*most))], vec![text("a".repeat(most + 1))])
        }
        Bound::Numbers(range) => ends(range, number, false),
        Bound::Lengths(range) => ends(range, length, true),
        Bound::Identifier => {
            let good = vec![text("a.b:c/d_e-9".into()), text("a".into())];
            let bad = ["A", "a b", "a:b:c", "a/b:c"];
            (good, bad.into_iter().map(|it| text(it.into())).collect())
        }
        Bound::Hash(digits) => {
            (vec![text(digits.clone()), text(String::new())], vec![text(digits[1..].into())])
        }
        Bound::Texts(good, bad) => {
            let all = |texts: &[String]| texts.iter().map(|it| text(it.clone())).collect();
            (all(good), all(bad))
        }
        Bound::Bits(count) => {
            let last = |byte: u8| -> Change {
                let place = count / 8;
                Box::new(move |old| {
                    let mut bytes = old.as_bytes()?.to_vec();
                    bytes[place] = byte;
                    Some(Value::Bytes(bytes.into()))
                })
            };
            let beyond = 1 << (count % 8);
            (vec![last(beyond - 1)], vec![last(beyond), last(0xff)])
        }
        Bound::Nbt(most) => (vec![tree(*most)], vec![tree(most + 1)]),
        Bound::Inflated(_) => unreachable!(),
    }
}

/// Changes every value at a path with `[*]` for elements, or that ends with what follows a `*`. Returns how many
/// there were.
fn set(value: &mut Value, path: &str, change: &mut dyn FnMut(&Value) -> Option<Value>) -> usize {
    let Some(end) = path.strip_prefix("*.") else { return step(value, path, change) };
    let mut count = step(value, end, change);
    match value {
        Value::Map(fields) => {
            for (_, field) in fields {
                count += set(field, path, change);
            }
        }
        Value::List(items) => items.iter_mut().for_each(|item| count += set(item, path, change)),
        _ => {}
    }
    count
}

fn step(value: &mut Value, path: &str, change: &mut dyn FnMut(&Value) -> Option<Value>) -> usize {
    if path.is_empty() {
        let changed = change(value);
        let count = usize::from(changed.is_some());
        changed.into_iter().for_each(|new| *value = new);
        return count;
    }
    if let Value::Exact(exact) = value {
        *value = exact.value.clone();
    }
    match value {
        Value::List(items) => {
            let Some(rest) = path.strip_prefix("[*]") else { return 0 };
            items.iter_mut().map(|item| step(item, rest.trim_start_matches('.'), change)).sum()
        }
        Value::Map(fields) => {
            let end = path.find(['.', '[']).unwrap_or(path.len());
            let (name, rest) = path.split_at(end);
            let fields = fields.iter_mut().filter(|(key, _)| **key == *name);
            fields.map(|(_, field)| step(field, rest.trim_start_matches('.'), change)).sum()
        }
        _ => 0,
    }
}

/// Bytes by which a packet is generated.
fn choices(attempt: u64) -> Vec<u8> {
    let mut state = attempt.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut byte = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..400).map(|_| byte()).collect()
}

fn packet_of(protocol: &Arc<Protocol>, kind: &PacketType, body: Vec<u8>) -> Packet {
    let context =
        Context::new(1, Timestamp(0), ([127, 0, 0, 1], 50000).into(), Arc::clone(protocol));
    let content = Content::Frame(Frame::from_body(body.into()));
    Packet::new(context.into(), 1, Timestamp(0), kind.direction(), kind.state(), content)
}

/// A [`Visitor`] that collects what breaks a limit, with the paths.
struct Found {
    limits: Option<LimitTracker>,
    path: NamePath,
    found: Vec<(String, Breach)>,
}

impl Found {
    fn new(release: Release, kind: &PacketType) -> Self {
        Self {
            limits: LimitTracker::of(release, kind),
            path: NamePath::default(),
            found: Vec::new(),
        }
    }

    fn take(&mut self, breach: Option<Breach>) {
        let path = self.path.as_str().to_owned();
        self.found.extend(breach.map(|it| (path, it)));
    }

    fn value(&mut self, value: &Scalar<'_>) {
        let path = self.path.as_str();
        let breach = self.limits.as_mut().and_then(|it| it.leaf(path, value));
        self.take(breach);
    }

    fn end(&mut self, count: usize) {
        let breach = self.limits.as_ref().and_then(|it| it.list(self.path.as_str(), count));
        self.take(breach);
    }
}

impl Visitor for Found {
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow {
        self.path.leaf();
        self.value(&leaf.value);
        Flow::Continue(())
    }

    fn field(&mut self, name: &Name) -> Flow {
        self.path.field(name);
        Flow::Continue(())
    }

    fn open_map(&mut self, _at: usize) -> Flow {
        self.path.open();
        Flow::Continue(())
    }

    fn open_list(&mut self, _at: usize, _count: Option<usize>) -> Flow {
        self.path.open();
        Flow::Continue(())
    }

    fn close(&mut self, _at: usize) -> Flow {
        let count = self.path.close();
        self.end(count);
        Flow::Continue(())
    }

    fn byte_list(&mut self, _at: usize, bytes: &[u8]) -> Option<Flow> {
        self.path.leaf();
        self.value(&Scalar::Bytes(bytes));
        self.end(bytes.len());
        Some(Flow::Continue(()))
    }
}
