use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::counts::RuleCount;
use super::index::{Index, Indexes};
use super::parser;
use super::rule::Rule;
use super::{Fault, Rules};
use crate::schema::{Catalog, Protocol};

/// The rules of a filter file, in order. Cheap to clone; all clones count together.
#[derive(Clone)]
pub struct RuleSet(Arc<Inner>);

struct Inner {
    rules: Box<[Rule]>,
    capture: Option<RingCapture>,
    indexes: Indexes,
}

/// What a filter file says of the capture that its rules write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RingCapture {
    /// Where it is written.
    pub file: String,
    /// How far back the ring reaches.
    pub ring: Duration,
    /// How many bytes of packets the ring holds at most.
    pub bytes: u64,
}

/// What has come of reading a filter file.
#[derive(Debug, Clone)]
pub struct Checked {
    /// The rules, when there is no error.
    pub rules: Option<RuleSet>,
    /// Errors and warnings, in the order of the file.
    pub faults: Vec<Fault>,
}

impl RuleSet {
    /// Reads a filter file and checks it against the packets of all versions; finds all faults.
    #[must_use]
    pub fn parse(text: &str, catalog: &Catalog) -> Checked {
        parser::parse(text, catalog)
    }

    pub(super) fn new(rules: Vec<Rule>, capture: Option<RingCapture>) -> Self {
        Self(Arc::new(Inner { rules: rules.into(), capture, indexes: Indexes::default() }))
    }

    /// Goes on counting where another has stopped, for the rules that have the same names. Does
    /// nothing once it has been cloned.
    pub fn carry_over(&mut self, from: &Self) {
        let Some(inner) = Arc::get_mut(&mut self.0) else { return };
        for rule in &mut inner.rules {
            if let Some(old) = from.0.rules.iter().find(|old| old.name == rule.name) {
                rule.shared = Arc::clone(&old.shared);
            }
        }
    }

    /// A filter for one session.
    #[must_use]
    pub fn filter(&self) -> Rules {
        Rules::new(self.clone())
    }

    /// What each rule has done so far, in all sessions.
    #[must_use]
    pub fn counts(&self) -> Vec<RuleCount> {
        self.0.rules.iter().map(|rule| rule.shared.count(&rule.name)).collect()
    }

    /// The capture that the rules write.
    #[must_use]
    pub fn capture(&self) -> Option<&RingCapture> {
        self.0.capture.as_ref()
    }

    pub(super) fn rules(&self) -> &[Rule] {
        &self.0.rules
    }

    pub(super) fn index(&self, protocol: &Arc<Protocol>) -> &Index {
        self.0.indexes.of(protocol, &self.0.rules)
    }
}

impl fmt::Debug for RuleSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.rules.iter().map(|rule| &rule.name)).finish()
    }
}
