//! Filter files and what their rules did, as verbs report them.

use mitmcraft::proxy::{FileFault, FileFaultKind, FilterFiles, LoadError, Loaded, NamedSink};
use mitmcraft_engine::capture::{CaptureTarget, CreateError, CreateOptions, RingSink};
use mitmcraft_engine::filter::{RingCapture, RuleCount, RuleSet};

use super::args::RedactionSeed;
use super::output::{Level, Output};
use super::plural::count;

/// Loads filter files and prints their warnings, or all their faults.
pub(super) fn load(files: &FilterFiles, output: &Output) -> anyhow::Result<Loaded> {
    let loaded = files.load();
    print_faults(loaded.as_ref(), output);
    Ok(loaded?)
}

/// Reports the result of reloading the filter files.
pub(super) fn reloaded(outcome: Result<&Loaded, &LoadError>, output: &Output) {
    print_faults(outcome, output);
    match outcome {
        Ok(loaded) => {
            let rules: usize = loaded.sets.iter().map(|set| set.counts().len()).sum();
            output.note(&format!(
                "reloaded the filter files: {} active",
                count(rules as u64, "rule")
            ));
        }
        Err(_) => output.warning("the changed filter files have faults: the old rules stay active"),
    }
}

/// The captures of rules that record what came before a match, checked but not created.
pub(super) struct PlannedRings(Vec<(RingCapture, CaptureTarget)>);

impl PlannedRings {
    /// Checks that the captures of all files can be created.
    pub(super) fn check(sets: &[RuleSet], options: &CreateOptions) -> Result<Self, CreateError> {
        let ring = |capture: &RingCapture| {
            let target = CaptureTarget::new(capture.file.as_ref(), options)?;
            target.check().map(|()| (capture.clone(), target))
        };
        sets.iter().filter_map(RuleSet::capture).map(ring).collect::<Result<_, _>>().map(Self)
    }

    /// Creates the captures.
    pub(super) fn create(self, redaction: &RedactionSeed) -> anyhow::Result<Vec<NamedSink>> {
        let mut sinks: Vec<NamedSink> = Vec::new();
        for (RingCapture { file, ring, bytes }, target) in self.0 {
            let sink = redaction.apply(target.create()?);
            sinks.push((file, Box::new(RingSink::new(sink, ring, bytes))));
        }
        Ok(sinks)
    }
}

/// Prints what each rule did.
pub(super) fn print_counts(sets: &[RuleSet], output: &Output) {
    for set in sets {
        for count in set.counts() {
            output.note(&describe(&count));
        }
        for count in set.removed_counts() {
            output.note(&format!("{} (removed by a reload)", describe(&count)));
        }
    }
}

/// Returns the line that says what a rule did.
pub(super) fn describe(count: &RuleCount) -> String {
    let RuleCount { name, matched, acted, failed } = count;
    format!("rule `{name}`: {matched} matched, {acted} acted, {failed} failed")
}

fn print_faults(loaded: Result<&Loaded, &LoadError>, output: &Output) {
    let faults = match loaded {
        Ok(loaded) => &loaded.warnings,
        Err(error) => &error.faults,
    };
    for FileFault { path, kind } in faults {
        match kind {
            // It has its own prefix, which may be `warning`.
            FileFaultKind::Text(fault) => {
                let text = fault.render(&path.display().to_string());
                output.message_lines(Level::Info, &text);
            }
            kind => output.error(&format!("{}: {kind}", path.display())),
        }
    }
}
