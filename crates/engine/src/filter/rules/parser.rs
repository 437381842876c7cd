use std::collections::HashSet;
use std::ops::Range;
use std::time::Duration;

use toml::de::DeTable;

use super::Severity;
use super::draft::Draft;
use super::expect::Expect;
use super::keys::{self, RuleKey};
use super::reader::{Item, Key, Reader, in_order};
use super::ring_capture::RingCapture;
use crate::lang::Expr;
use crate::lang::amount::{Period, Size};

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
                            self.source.error(draft.span_of(RuleKey::Name), message);
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
                    if let Some(why) = file.as_deref().and_then(self.capture_name) {
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

    pub(super) fn period(
        &mut self,
        key: Key<'_, '_>,
        item: Item<'_, '_>,
        example: &str,
    ) -> Option<Duration> {
        self.form(key, item, str::parse, example).map(|Period(period)| period)
    }
}
