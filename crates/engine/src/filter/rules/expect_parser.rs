use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::bound::{Bound, BoundError, RateBound};
use super::expect::{AtEnd, Expect, Per, Wanted};
use super::keys;
use super::reader::{Item, Key, Reader, in_order};
use crate::lang::amount::Period;
use crate::lang::{Expr, Formula};

impl Reader<'_, '_> {
    /// Parses an expectation, the `number`th of the file from 0. Also returns the place of its name.
    pub(super) fn expect(
        &mut self,
        table: &DeTable<'_>,
        span: Range<usize>,
        number: usize,
    ) -> (Expect, Range<usize>) {
        let entries = in_order(table);
        let span = entries.first().map_or(span, |(key, _)| key.span());
        let mut name_span = span.clone();
        let mut name = format!("expectation {}", number + 1);
        let (mut after, mut within, mut per, mut same) = (None, None, Per::Session, Vec::new());
        let (mut when, mut order, mut never) = (None, None, false);
        let (mut count, mut bytes, mut rate) = (None, None, None);
        let (mut until, mut at_end) = (None, AtEnd::Skip);
        for (key, item) in entries {
            match key.get_ref().as_ref() {
                "name" => {
                    name_span = key.span();
                    if let Some(text) = self.text(key, item) {
                        text.clone_into(&mut name);
                    }
                }
                "after" => after = self.when(key, item),
                "within" => {
                    within = self.form(key, item, Period::positive, "5s").map(|it| it.0);
                }
                "until" => until = self.when(key, item),
                "at_end" => {
                    let words =
                        [("skip", AtEnd::Skip), ("pass", AtEnd::Pass), ("fail", AtEnd::Fail)];
                    at_end = self.word(key, item, &words).unwrap_or_default();
                }
                "when" => when = self.when(key, item),
                "order" => order = self.order(key, item),
                "never" => never = self.bool(key, item).unwrap_or_default(),
                "count" => count = self.bound(key, item, Bound::count, ">= 1"),
                "bytes" => bytes = self.bound(key, item, Bound::bytes, "<= 64k"),
                "rate" => rate = self.bound(key, item, RateBound::parse, "<= 20/s"),
                "same" => same = self.same(key, item),
                "per" => {
                    let words = [("session", Per::Session), ("run", Per::Run)];
                    per = self.word(key, item, &words).unwrap_or_default();
                }
                _ => self.unknown(key, keys::EXPECT),
            }
        }
        self.expect_exclusions(table, never, &span);
        let wanted = match (when, order) {
            (Some(when), None) => {
                let bounded = bytes.is_some() || rate.is_some();
                let count = match never {
                    true => Some(Bound::none()),
                    false => count.or_else(|| (!bounded).then(Bound::some)),
                };
                Some(Wanted::Packets { when, count, bytes, rate })
            }
            (None, Some(order)) => Some(Wanted::Order(order)),
            _ => None,
        };
        // There is an error, so that nobody judges it.
        let wanted = wanted.unwrap_or_else(|| Wanted::Order(Vec::new()));
        let line = self.source.line(span.start);
        (Expect { name, line, after, within, until, at_end, same, per, wanted }, name_span)
    }

    /// Reports keys that are missing or exclude each other.
    fn expect_exclusions(&mut self, table: &DeTable<'_>, never: bool, span: &Range<usize>) {
        let key = |name: &str| {
            let found = table.iter().find(|(key, _)| key.get_ref() == name);
            found.map(|(key, _)| key.span())
        };
        if key("when").is_none() && key("order").is_none() {
            let hint = "which packets are expected: `when = 'position and clientbound'`".to_owned();
            self.source.error_with(span.clone(), "`when` is missing", hint);
        }
        if key("order").is_some() {
            for other in ["when", "never", "count", "bytes", "rate"] {
                if let Some(span) = key(other) {
                    let message = format!("`order` and `{other}` exclude each other");
                    self.source.error(span, message);
                }
            }
            return;
        }
        for other in ["count", "bytes", "rate"].into_iter().filter(|_| never) {
            if let Some(span) = key(other) {
                self.source.error(span, format!("`never` and `{other}` exclude each other"));
            }
        }
    }

    fn order(&mut self, key: Key<'_, '_>, item: Item<'_, '_>) -> Option<Vec<Expr>> {
        let items = self.list(key, item)?;
        if items.len() < 2 {
            let hint = "for example `order = ['login and clientbound', 'position']`".to_owned();
            self.source.error_with(item.span(), "`order` needs at least two conditions", hint);
        }
        let steps: Vec<_> = items.iter().map(|item| self.when(key, item)).collect();
        steps.into_iter().collect()
    }

    fn same(&mut self, key: Key<'_, '_>, item: Item<'_, '_>) -> Vec<Formula> {
        let Some(items) = self.list(key, item) else { return Vec::new() };
        if items.is_empty() {
            let hint = "for example `same = [\"keepAliveId\"]`".to_owned();
            self.source.error_with(item.span(), "`same` needs at least one value", hint);
        }
        let formula = |item| {
            let text = self.text(key, item)?;
            self.formula(text, item, 0)
        };
        items.iter().filter_map(formula).collect()
    }

    /// Reads a bound: a text, or an integer.
    fn bound<T>(
        &mut self,
        key: Key<'_, '_>,
        item: Item<'_, '_>,
        read: impl FnOnce(&str) -> Result<T, BoundError>,
        example: &str,
    ) -> Option<T> {
        let DeValue::Integer(_) = item.get_ref() else {
            return self.form(key, item, read, example);
        };
        let number = self.int(key, item, 0..=i64::MAX)?;
        self.valid(read(&number.to_string()), item, example)
    }
}
