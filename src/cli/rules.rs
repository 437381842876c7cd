//! Filter files and what their rules did, as verbs report them.

use mitmcraft::proxy::{FileFault, FileFaultKind, FilterFiles, LoadError, Loaded};
use mitmcraft_engine::filter::{RuleCount, RuleSet};

use super::output::Output;
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
            FileFaultKind::Text(fault) => output.note(&fault.render(&path.display().to_string())),
            kind => output.error(&format!("{}: {kind}", path.display())),
        }
    }
}
