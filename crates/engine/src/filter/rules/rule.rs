//! A rule of a filter file: what it consists of, and how the file has it.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use toml::de::{DeTable, DeValue};

use super::counts::Shared;
use super::draft::Draft;
use super::edit_path::EditPath;
use super::keys::{self, RuleKey};
use super::reader::{Item, Key, Reader, in_order};
use super::template::Template;
use crate::filter::{Detail, Ring, SHORTEST_TIMER};
use crate::lang::amount::{Jittered, Rate};
use crate::lang::{Expr, FieldIndex, Possible};
use mitmcraft_protocol::schema::{Direction, Name, PacketType, Protocol, State};

/// A rule of a filter file.
#[derive(Debug, Default)]
pub(super) struct Rule {
    pub(super) name: String,
    /// The condition; `None` for every packet.
    pub(super) when: Option<Expr>,
    pub(super) conditions: Conditions,
    pub(super) actions: Actions,
    pub(super) shared: Arc<Shared>,
}

impl Rule {
    /// Returns the packets of a protocol for which `when` can hold.
    pub(super) fn possible(&self, index: &FieldIndex) -> Possible {
        let all = || Possible::all(index.protocol());
        self.when.as_ref().map_or_else(all, |when| when.possible(index))
    }
}

/// The conditions in addition to `when`.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    /// Act at this interval instead of on packets.
    pub(super) timer: Option<Duration>,
    /// The minimum age of the session.
    pub(super) after: Option<Duration>,
    /// The time during which the rule applies, from its first match after `after`.
    pub(super) during: Option<Duration>,
    /// Act on the first of every `n` matches.
    pub(super) every: Option<u64>,
    /// The probability of acting, from 0 to 1.
    pub(super) chance: Option<f64>,
    pub(super) once_per: Option<Scope>,
    /// The most times that the rule acts per session.
    pub(super) limit: Option<u64>,
    pub(super) seed: Option<u64>,
}

/// The scope of `once_per`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    Session,
    Player,
    Run,
}

/// The actions of a rule.
#[derive(Debug, Default)]
pub(super) struct Actions {
    pub(super) show: Option<bool>,
    pub(super) record: Option<bool>,
    pub(super) detail: Option<Detail>,
    pub(super) comment: Option<Template>,
    pub(super) tags: Vec<String>,
    pub(super) write: Option<Ring>,
    pub(super) drop: bool,
    pub(super) set: Vec<(EditPath, Template)>,
    pub(super) remove: Vec<EditPath>,
    pub(super) replace: Option<Body>,
    pub(super) truncate: Option<usize>,
    pub(super) corrupt: Option<usize>,
    pub(super) send: Vec<Send>,
    pub(super) delay: Option<Jittered>,
    pub(super) throttle: Option<Rate>,
    pub(super) reorder: bool,
    pub(super) copy: u32,
    pub(super) close: Option<Template>,
}

impl Actions {
    /// Returns whether the packet is not forwarded unchanged and at once.
    pub(super) fn changes(&self) -> bool {
        self.drops() || self.rewrites() || self.delays() || self.copy > 0
    }

    /// Returns whether the packet goes no further: it is dropped, or the session ends at it.
    pub(super) fn drops(&self) -> bool {
        self.drop || self.close.is_some()
    }

    /// Returns whether the packet's body is replaced.
    pub(super) fn rewrites(&self) -> bool {
        !self.set.is_empty()
            || !self.remove.is_empty()
            || self.replace.is_some()
            || self.truncate.is_some()
            || self.corrupt.is_some()
    }

    /// Returns whether the rule may send a packet of a type, as far as names tell.
    pub(super) fn sends(&self, packet: &PacketType) -> bool {
        self.send.iter().any(|send| match &send.body {
            Body::Fields(Some(name), _) => {
                send.direction == packet.direction() && name == packet.name()
            }
            Body::Fields(None, _) | Body::Bytes(_) | Body::Raw(_) => false,
        })
    }

    /// Returns whether each packet that the rule sends by name exists in a state.
    pub(super) fn can_send(&self, protocol: &Protocol, state: State) -> bool {
        self.send.iter().all(|send| match &send.body {
            Body::Fields(Some(name), _) => {
                protocol.named_or_official(state, send.direction, name).is_some()
            }
            Body::Fields(None, _) | Body::Bytes(_) | Body::Raw(_) => true,
        })
    }

    pub(super) fn delays(&self) -> bool {
        self.delay.is_some() || self.throttle.is_some()
    }
}

/// A packet that a rule makes.
#[derive(Debug)]
pub(super) enum Body {
    /// The fields of the named packet, or of the matching one.
    Fields(Option<Name>, Template),
    /// Id and fields.
    Bytes(Bytes),
    /// Raw bytes, sent without a frame.
    Raw(Bytes),
}

/// A packet that a rule sends.
#[derive(Debug)]
pub(super) struct Send {
    pub(super) direction: Direction,
    pub(super) before: bool,
    pub(super) body: Body,
}

impl Reader<'_, '_> {
    /// Reads a rule, the `number`-th of the file from 0.
    pub(super) fn rule(&mut self, table: &DeTable<'_>, span: Range<usize>, number: usize) -> Draft {
        let rule = Rule { name: format!("rule {}", number + 1), ..Rule::default() };
        let mut draft = Draft { rule, span, ..Draft::default() };
        for (number, (key, item)) in in_order(table).into_iter().enumerate() {
            if number == 0 {
                draft.span = key.span();
            }
            match RuleKey::named(key.get_ref()) {
                Some(known) => {
                    draft.keys.push((known, key.span()));
                    self.value(&mut draft, known, key, item);
                }
                None => {
                    draft.has_unknown = true;
                    self.unknown(key, &RuleKey::names());
                }
            }
        }
        draft
    }

    /// Reads the value of a key.
    fn value(&mut self, draft: &mut Draft, known: RuleKey, key: Key<'_, '_>, item: Item<'_, '_>) {
        let Rule { name, when, conditions, actions, .. } = &mut draft.rule;
        let size = |count: i64| usize::try_from(count).unwrap_or(usize::MAX);
        let example = known.info().example.trim_matches('"');
        match known {
            RuleKey::Name => {
                if let Some(text) = self.text(key, item) {
                    text.clone_into(name);
                }
            }
            RuleKey::When => *when = self.when(key, item),
            RuleKey::Timer => {
                let timer = self.period(key, item, example);
                if timer.is_some_and(|timer| timer < SHORTEST_TIMER) {
                    self.source.error(item.span(), "the shortest interval of a timer is 10 ms");
                }
                conditions.timer = timer;
            }
            RuleKey::After => conditions.after = self.period(key, item, example),
            RuleKey::For => conditions.during = self.period(key, item, example),
            RuleKey::Every => conditions.every = self.count(key, item),
            RuleKey::Limit => conditions.limit = self.count(key, item),
            RuleKey::Chance => conditions.chance = self.chance(key, item),
            RuleKey::Seed => {
                let seed = self.int(key, item, i64::MIN..=i64::MAX);
                conditions.seed = seed.map(i64::cast_unsigned);
            }
            RuleKey::OncePer => {
                let words =
                    [("session", Scope::Session), ("player", Scope::Player), ("run", Scope::Run)];
                conditions.once_per = self.word(key, item, &words);
            }
            RuleKey::Log => match item.get_ref() {
                DeValue::Boolean(log) => {
                    actions.show.get_or_insert(*log);
                    actions.record.get_or_insert(*log);
                }
                _ => {
                    let words =
                        [("name", Detail::Name), ("full", Detail::Full), ("hex", Detail::Hex)];
                    actions.detail = self.word(key, item, &words);
                }
            },
            RuleKey::Show => actions.show = self.bool(key, item),
            RuleKey::Record => actions.record = self.bool(key, item),
            RuleKey::Comment => actions.comment = self.words(key, item),
            RuleKey::Tag => match item.get_ref() {
                DeValue::Array(items) => {
                    let tags: Vec<_> = items.iter().map(|item| self.text(key, item)).collect();
                    actions.tags = tags.into_iter().flatten().map(str::to_owned).collect();
                }
                _ => actions.tags.extend(self.text(key, item).map(str::to_owned)),
            },
            RuleKey::Write => {
                let words = [("start", Ring::Start), ("stop", Ring::Stop), ("flush", Ring::Flush)];
                actions.write = self.word(key, item, &words);
            }
            RuleKey::Drop => actions.drop = self.bool(key, item).unwrap_or_default(),
            RuleKey::Set => self.set(draft, key, item),
            RuleKey::Remove => {
                for item in self.list(key, item).unwrap_or_default() {
                    let Some(text) = self.text(key, item) else { continue };
                    let Some(path) = self.path(text, item.span()) else { continue };
                    actions.remove.push(path);
                    draft.remove.push(item.span());
                }
            }
            RuleKey::Replace => {
                let Some(table) = self.table(key, item) else { return };
                actions.replace = self.body(table, key.span(), keys::REPLACE);
            }
            RuleKey::Truncate => actions.truncate = self.int(key, item, 0..=1 << 30).map(size),
            RuleKey::Corrupt => actions.corrupt = self.int(key, item, 1..=1 << 20).map(size),
            RuleKey::Send => {
                let items = match item.get_ref() {
                    DeValue::Table(_) => std::slice::from_ref(item),
                    _ => self.list(key, item).unwrap_or_default(),
                };
                for item in items {
                    let Some(table) = self.table(key, item) else { continue };
                    let Some(send) = self.send(table, item.span()) else { continue };
                    actions.send.push(send);
                    draft.send.push(item.span());
                }
            }
            RuleKey::Delay => actions.delay = self.form(key, item, str::parse, example),
            RuleKey::Throttle => actions.throttle = self.form(key, item, str::parse, example),
            RuleKey::Reorder => actions.reorder = self.bool(key, item).unwrap_or_default(),
            RuleKey::Copy => {
                let count = self.int(key, item, 1..=1000);
                actions.copy = count.and_then(|count| count.try_into().ok()).unwrap_or_default();
            }
            RuleKey::Close => actions.close = self.words(key, item),
        }
    }

    fn count(&mut self, key: Key<'_, '_>, item: Item<'_, '_>) -> Option<u64> {
        self.int(key, item, 1..=i64::MAX).map(i64::cast_unsigned)
    }

    fn chance(&mut self, key: Key<'_, '_>, item: Item<'_, '_>) -> Option<f64> {
        let text = match item.get_ref() {
            DeValue::Float(float) => float.as_str(),
            DeValue::Integer(int) => int.as_str(),
            _ => "",
        };
        let chance = text.parse().ok().filter(|chance| (0.0..=1.0).contains(chance));
        if chance.is_none() {
            let message = format!("`{}` must be a number from 0 to 1", key.get_ref());
            let percent = item.get_ref().as_str().and_then(|it| it.strip_suffix('%')?.parse().ok());
            let hint = percent.map(|it: f64| format!("write `{}`", it / 100.0));
            self.source.error_with(item.span(), message, hint);
        }
        chance
    }

    /// Reads a text, literal or computed.
    fn words(&mut self, key: Key<'_, '_>, item: Item<'_, '_>) -> Option<Template> {
        self.text(key, item)?;
        self.template(item)
    }

    fn set(&mut self, draft: &mut Draft, key: Key<'_, '_>, item: Item<'_, '_>) {
        let Some(table) = self.table(key, item) else { return };
        for (key, item) in in_order(table) {
            let path = self.path(key.get_ref(), key.span());
            let template = self.template(item);
            if let (Some(path), Some(template)) = (path, template) {
                draft.rule.actions.set.push((path, template));
                draft.set.push((key.span(), item.span()));
            }
        }
    }

    fn send(&mut self, table: &DeTable<'_>, span: Range<usize>) -> Option<Send> {
        let (mut to, mut before) = (None, false);
        for (key, item) in in_order(table) {
            match key.get_ref().as_ref() {
                "to" => {
                    let words =
                        [("client", Direction::Clientbound), ("server", Direction::Serverbound)];
                    to = self.word(key, item, &words);
                }
                "place" => {
                    let words = [("before", true), ("after", false)];
                    before = self.word(key, item, &words).unwrap_or_default();
                }
                _ => {}
            }
        }
        if !table.contains_key("to") {
            let hint = "`to = \"client\"` or `to = \"server\"`".to_owned();
            self.source.error_with(span.clone(), "`to` is missing", hint);
        }
        let body = self.body(table, span, keys::SEND)?;
        Some(Send { direction: to?, before, body })
    }

    /// Reads a packet given by its fields or bytes.
    fn body(&mut self, table: &DeTable<'_>, span: Range<usize>, known: &[&str]) -> Option<Body> {
        let (mut packet, mut fields, mut hex, mut raw) = (None, None, None, None);
        for (key, item) in in_order(table) {
            match key.get_ref().as_ref() {
                "packet" => packet = self.text(key, item).map(|name| name.into()),
                "fields" if self.table(key, item).is_some() => fields = self.template(item),
                "hex" => hex = self.hex(key, item),
                "raw" if known.contains(&"raw") => raw = self.hex(key, item),
                name if !known.contains(&name) => self.unknown(key, known),
                _ => {}
            }
        }
        let bodies = ["fields", "hex", "raw"].into_iter().filter(|key| table.contains_key(*key));
        let sends = known.contains(&"to");
        match bodies.collect::<Vec<_>>()[..] {
            [] if sends && table.contains_key("packet") => {
                Some(Body::Fields(packet, Template::Map(Vec::new())))
            }
            [] => {
                let hint = "give `fields = { .. }` or `hex = \"..\"`".to_owned();
                self.source.error_with(span, "the packet is missing", hint);
                None
            }
            ["fields"] if sends && !table.contains_key("packet") => {
                let hint = "which packet has these fields: `packet = \"chat\"`".to_owned();
                self.source.error_with(span, "`packet` is missing", hint);
                None
            }
            ["fields"] => Some(Body::Fields(packet, fields?)),
            ["hex"] => hex.map(Body::Bytes),
            ["raw"] => raw.map(Body::Raw),
            [..] => {
                self.source.error(span, "only one of `fields`, `hex` and `raw` can be the packet");
                None
            }
        }
    }
}
