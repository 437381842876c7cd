use std::collections::HashSet;
use std::ops::Range;
use std::time::Duration;

use toml::de::{DeTable, DeValue};

use super::Severity;
use super::draft::Draft;
use super::expect::Expect;
use super::keys;
use super::reader::{Item, Key, Reader, in_order};
use super::ring_capture::RingCapture;
use super::rule::{Actions, Body, Rule, Scope, Send};
use super::template::Template;
use crate::filter::{Detail, Ring, SHORTEST_TIMER};
use crate::lang::Expr;
use crate::lang::amount::{Period, Size};
use mitmcraft_protocol::schema::Direction;

/// The contents of a filter file.
pub(super) struct Parsed {
    pub(super) drafts: Vec<Draft>,
    pub(super) expectations: Vec<Expect>,
    pub(super) capture: Option<RingCapture>,
}

impl Reader<'_, '_> {
    /// Parses the whole file.
    pub(super) fn file(&mut self, table: &DeTable<'_>) -> Parsed {
        let mut drafts: Vec<Draft> = Vec::new();
        let mut expectations: Vec<Expect> = Vec::new();
        let mut names = HashSet::new();
        let mut capture = None;
        for (key, item) in in_order(table) {
            match key.get_ref().as_ref() {
                "rule" => {
                    for item in self.list(key, item).unwrap_or_default() {
                        let Some(table) = self.table(key, item) else { continue };
                        let draft = self.rule(table, item.span(), drafts.len());
                        if !names.insert(draft.rule.name.clone()) {
                            let message = format!("another rule is named `{}`", draft.rule.name);
                            self.source.error(draft.span_of("name"), message);
                        }
                        drafts.push(draft);
                    }
                }
                "expect" => {
                    for item in self.list(key, item).unwrap_or_default() {
                        let Some(table) = self.table(key, item) else { continue };
                        let (expect, named) = self.expect(table, item.span(), expectations.len());
                        if expectations.iter().any(|other| other.name == expect.name) {
                            let message = format!("another expectation is named `{}`", expect.name);
                            self.source.error(named, message);
                        }
                        expectations.push(expect);
                    }
                }
                "capture" => {
                    if let Some(table) = self.table(key, item) {
                        capture = self.capture(table, key.span());
                    }
                }
                _ => self.unknown(key, keys::FILE),
            }
        }
        Parsed { drafts, expectations, capture }
    }

    fn capture(&mut self, table: &DeTable<'_>, span: Range<usize>) -> Option<RingCapture> {
        let (mut file, mut ring, mut bytes) = (None, None, Some(64 << 20));
        for (key, item) in in_order(table) {
            match key.get_ref().as_ref() {
                "file" => {
                    file = self.text(key, item).map(str::to_owned);
                    let checked = file.as_deref().map_or(Ok(()), self.capture_name);
                    if let Err(why) = checked {
                        self.source.error(item.span(), why);
                    }
                }
                "ring" => ring = self.period(key, item, "30s"),
                "bytes" => {
                    bytes = self.form(key, item, Size::positive, "64M").map(|Size(bytes)| bytes)
                }
                _ => self.unknown(key, keys::CAPTURE),
            }
        }
        for name in ["file", "ring"].into_iter().filter(|name| !table.contains_key(*name)) {
            self.source.error(span.clone(), format!("`{name}` is missing"));
        }
        Some(RingCapture { file: file?, ring: ring?, bytes: bytes? })
    }

    fn rule(&mut self, table: &DeTable<'_>, span: Range<usize>, number: usize) -> Draft {
        let rule = Rule { name: format!("rule {}", number + 1), ..Rule::default() };
        let mut draft = Draft { rule, span, ..Draft::default() };
        for (number, (key, item)) in in_order(table).into_iter().enumerate() {
            if number == 0 {
                draft.span = key.span();
            }
            draft.spans.push((key.get_ref().to_string(), key.span()));
            let known = self.condition(&mut draft.rule, key, item)
                || self.note(&mut draft.rule.actions, key, item)
                || self.action(&mut draft, key, item);
            if !known {
                self.unknown(key, keys::RULE);
            }
        }
        draft
    }

    fn condition(&mut self, rule: &mut Rule, key: Key<'_, '_>, item: Item<'_, '_>) -> bool {
        let conditions = &mut rule.conditions;
        match key.get_ref().as_ref() {
            "name" => {
                if let Some(name) = self.text(key, item) {
                    name.clone_into(&mut rule.name);
                }
            }
            "when" => rule.when = self.when(key, item),
            "timer" => {
                let timer = self.period(key, item, "10s");
                if timer.is_some_and(|timer| timer < SHORTEST_TIMER) {
                    self.source.error(item.span(), "the shortest interval of a timer is 10 ms");
                }
                conditions.timer = timer;
            }
            "after" => conditions.after = self.period(key, item, "10s"),
            "for" => conditions.during = self.period(key, item, "10s"),
            "every" => conditions.every = self.count(key, item),
            "limit" => conditions.limit = self.count(key, item),
            "chance" => conditions.chance = self.chance(key, item),
            "seed" => {
                let seed = self.int(key, item, i64::MIN..=i64::MAX);
                conditions.seed = seed.map(i64::cast_unsigned);
            }
            "once_per" => {
                let words =
                    [("session", Scope::Session), ("player", Scope::Player), ("run", Scope::Run)];
                conditions.once_per = self.word(key, item, &words);
            }
            _ => return false,
        }
        true
    }

    fn note(&mut self, actions: &mut Actions, key: Key<'_, '_>, item: Item<'_, '_>) -> bool {
        match key.get_ref().as_ref() {
            "log" => match item.get_ref() {
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
            "show" => actions.show = self.bool(key, item),
            "record" => actions.record = self.bool(key, item),
            "comment" => actions.comment = self.words(key, item),
            "close" => actions.close = self.words(key, item),
            "tag" => match item.get_ref() {
                DeValue::Array(items) => {
                    let tags: Vec<_> = items.iter().map(|item| self.text(key, item)).collect();
                    actions.tags = tags.into_iter().flatten().map(str::to_owned).collect();
                }
                _ => actions.tags.extend(self.text(key, item).map(str::to_owned)),
            },
            "write" => {
                let words = [("start", Ring::Start), ("stop", Ring::Stop), ("flush", Ring::Flush)];
                actions.write = self.word(key, item, &words);
            }
            _ => return false,
        }
        true
    }

    fn action(&mut self, draft: &mut Draft, key: Key<'_, '_>, item: Item<'_, '_>) -> bool {
        let actions = &mut draft.rule.actions;
        let size = |count: i64| usize::try_from(count).unwrap_or(usize::MAX);
        match key.get_ref().as_ref() {
            "drop" => actions.drop = self.bool(key, item).unwrap_or_default(),
            "set" => self.set(draft, key, item),
            "remove" => {
                for item in self.list(key, item).unwrap_or_default() {
                    let Some(text) = self.text(key, item) else { continue };
                    let Some(path) = self.path(text, item.span()) else { continue };
                    draft.rule.actions.remove.push(path);
                    draft.remove.push(item.span());
                }
            }
            "replace" => {
                let Some(table) = self.table(key, item) else { return true };
                actions.replace = self.body(table, key.span(), keys::REPLACE);
            }
            "truncate" => actions.truncate = self.int(key, item, 0..=1 << 30).map(size),
            "corrupt" => actions.corrupt = self.int(key, item, 1..=1 << 20).map(size),
            "send" => {
                let items = match item.get_ref() {
                    DeValue::Table(_) => std::slice::from_ref(item),
                    _ => self.list(key, item).unwrap_or_default(),
                };
                for item in items {
                    let Some(table) = self.table(key, item) else { continue };
                    let Some(send) = self.send(table, item.span()) else { continue };
                    draft.rule.actions.send.push(send);
                    draft.send.push(item.span());
                }
            }
            "delay" => actions.delay = self.form(key, item, str::parse, "200ms ± 50ms"),
            "throttle" => actions.throttle = self.form(key, item, str::parse, "64kB/s"),
            "reorder" => actions.reorder = self.bool(key, item).unwrap_or_default(),
            "copy" => {
                let count = self.int(key, item, 1..=1000);
                actions.copy = count.and_then(|count| count.try_into().ok()).unwrap_or_default();
            }
            _ => return false,
        }
        true
    }

    pub(super) fn when(&mut self, key: Key<'_, '_>, item: Item<'_, '_>) -> Option<Expr> {
        let text = self.text(key, item)?;
        let parsed = Expr::parse_in(text, self.vocabulary);
        let fault = |why| self.source.expr(Severity::Error, item.span(), 0, why);
        let (expr, mut warnings) = parsed.map_err(fault).ok()?;
        if warnings.is_empty() {
            warnings = expr.version_warnings(self.vocabulary);
        }
        for warning in warnings {
            self.source.expr(Severity::Warning, item.span(), 0, warning);
        }
        Some(expr)
    }

    fn period(&mut self, key: Key<'_, '_>, item: Item<'_, '_>, example: &str) -> Option<Duration> {
        self.form(key, item, str::parse, example).map(|Period(period)| period)
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
