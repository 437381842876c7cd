use std::fmt;
use std::sync::Arc;

use toml::de::DeTable;

use super::check::check;
use super::counts::{RuleCount, Shared};
use super::expect::Expect;
use super::index::Index;
use super::parser::Parsed;
use super::reader::Reader;
use super::ring_capture::RingCapture;
use super::rule::Rule;
use super::source::Source;
use super::source_fault::SourceFault;
use crate::filter::{Filter, Program};
use crate::lang::{Expr, Vocabulary};
use mitmcraft_protocol::packet::PerProtocol;
use mitmcraft_protocol::schema::{Catalog, Protocol};

/// The rules and the expectations of a filter file, in order, or its code. Cheap to clone; clones share their counts.
#[derive(Clone)]
pub struct RuleSet(Arc<Inner>);

struct Inner {
    rules: Box<[Rule]>,
    expectations: Box<[Expect]>,
    capture: Option<RingCapture>,
    indexes: PerProtocol<Index>,
    /// Rules of earlier versions of the file that it no longer has, with what they did.
    removed: Vec<(String, Arc<Shared>)>,
    asks_diagnostics: bool,
    /// The script, if the file is one instead of rules.
    program: Option<Box<dyn Program>>,
}

/// The result of parsing a filter file.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Checked {
    /// The rules; `None` if there are errors.
    pub rules: Option<RuleSet>,
    /// Errors and warnings, in the order of the file.
    pub faults: Vec<SourceFault>,
}

impl RuleSet {
    /// Parses a filter file and checks it against the packets of all versions. Reports all faults.
    #[must_use]
    pub fn parse(text: &str, catalog: &Catalog) -> Checked {
        Self::parse_with(text, catalog, &|_| None)
    }

    /// Parses a filter file as [`parse`](Self::parse) does. `capture_name` returns what is wrong
    /// with the name of the file in `[capture]`.
    #[must_use]
    pub fn parse_with(
        text: &str,
        catalog: &Catalog,
        capture_name: &dyn Fn(&str) -> Option<String>,
    ) -> Checked {
        let mut source = Source::new(text);
        if text.trim_start().starts_with('{') {
            let what = "this is JSON (a capture?), not TOML";
            let hint = "a file of rules is expected here".to_owned();
            source.error_with(0..0, what.to_owned(), Some(hint));
            return Checked { rules: None, faults: source.finish() };
        }
        let vocabulary = Vocabulary::new(catalog);
        let (document, errors) = DeTable::parse_recoverable(text);
        let broken = errors.iter().filter_map(|error| Some(error.span()?.start)).min();
        let mut reader = Reader { source: &mut source, vocabulary: &vocabulary, capture_name };
        let Parsed { drafts, expectations, capture } = reader.file(document.get_ref());
        check(&drafts, capture.is_some(), &vocabulary, &mut source);
        // After a TOML error, keys may be read as part of the wrong table.
        if let Some(broken) = broken {
            source.truncate(broken);
        }
        for error in errors {
            let span = error.span().unwrap_or(0..0);
            // A path that begins like a key and goes on with `/`, `[` or `*`.
            let unquoted = error.message().starts_with("invalid unquoted key");
            let hint = unquoted.then(|| "put a path in quotes: `\"payload.x/y\" = ..`".to_owned());
            source.error_with(span, error.message().to_owned(), hint);
        }
        let rules = (source.errors() == 0).then(|| {
            let rules = drafts.into_iter().map(|draft| draft.rule).collect();
            Self::new(rules, expectations, capture)
        });
        Checked { rules, faults: source.finish() }
    }

    fn new(rules: Vec<Rule>, expectations: Vec<Expect>, capture: Option<RingCapture>) -> Self {
        let asks = |rule: &Rule| rule.when.as_ref().is_some_and(Expr::asks_diagnostics);
        Self(Arc::new(Inner {
            asks_diagnostics: rules.iter().any(asks),
            rules: rules.into(),
            expectations: expectations.into(),
            capture,
            indexes: PerProtocol::default(),
            removed: Vec::new(),
            program: None,
        }))
    }

    /// Wraps a file that is code, which has no rules.
    #[must_use]
    pub fn of_program(program: Box<dyn Program>) -> Self {
        let mut set = Self::new(Vec::new(), Vec::new(), None);
        if let Some(inner) = Arc::get_mut(&mut set.0) {
            inner.program = Some(program);
        }
        set
    }

    /// Returns the filter of one session: that of the rules or of the program.
    #[must_use]
    pub fn session_filter(&self) -> Box<dyn Filter> {
        match &self.0.program {
            Some(program) => program.filter(),
            None => Box::new(self.filter()),
        }
    }

    /// Returns whether the file has rules, or is code.
    #[must_use]
    pub fn acts(&self) -> bool {
        !self.0.rules.is_empty() || self.0.program.is_some()
    }

    /// Takes over the counts of `from`, the rules of an earlier version of the file: those of rules
    /// with the same names go on, and those of other rules are kept. Does nothing once the set has
    /// been cloned.
    pub fn carry_over(&mut self, from: &Self) {
        let Some(inner) = Arc::get_mut(&mut self.0) else { return };
        let rules = from.0.rules.iter().map(|rule| (&rule.name, &rule.shared));
        let removed = from.0.removed.iter().map(|(name, shared)| (name, shared));
        let mut old: Vec<(String, Arc<Shared>)> =
            rules.chain(removed).map(|(name, it)| (name.clone(), Arc::clone(it))).collect();
        for rule in &mut inner.rules {
            if let Some(place) = old.iter().position(|(name, _)| *name == rule.name) {
                rule.shared = old.remove(place).1;
            }
        }
        inner.removed = old;
        if let (Some(program), Some(from)) = (&mut inner.program, &from.0.program) {
            program.carry_over(&**from);
        }
    }

    /// Returns the counts of each rule in all sessions so far.
    #[must_use]
    pub fn counts(&self) -> Vec<RuleCount> {
        let rules = self.0.rules.iter().map(|rule| rule.shared.count(&rule.name));
        rules.chain(self.0.program.iter().flat_map(|program| program.counts())).collect()
    }

    /// Returns the counts of the rules that the file had before it was reloaded, and has no more.
    #[must_use]
    pub fn removed_counts(&self) -> Vec<RuleCount> {
        self.0.removed.iter().map(|(name, shared)| shared.count(name)).collect()
    }

    /// Returns the expectations of the file, in order.
    #[must_use]
    pub fn expectations(&self) -> &[Expect] {
        &self.0.expectations
    }

    /// Returns the capture that the rules write.
    #[must_use]
    pub fn capture(&self) -> Option<&RingCapture> {
        self.0.capture.as_ref()
    }

    /// Returns whether any rule asks for `pkt.diagnostic`.
    pub(super) fn asks_diagnostics(&self) -> bool {
        self.0.asks_diagnostics
    }

    pub(super) fn rules(&self) -> &[Rule] {
        &self.0.rules
    }

    pub(super) fn index(&self, protocol: &Arc<Protocol>) -> &Index {
        self.0.indexes.get_or_init(protocol, || {
            let rules = (0..).zip(&self.0.rules);
            let of_packets = rules.filter(|(_, rule)| rule.conditions.timer.is_none());
            Index::new(protocol, of_packets.map(|(number, rule)| (number, rule.when.as_ref())))
        })
    }
}

impl fmt::Debug for RuleSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.rules.iter().map(|rule| &rule.name)).finish()
    }
}
