//! Filter files and what their rules did, as verbs report them.

use std::path::PathBuf;

use mitmcraft::proxy::{
    Clock, FileFault, FileFaultKind, FilterFiles, LoadError, Loaded, NamedSink,
};
use mitmcraft_engine::capture::{CaptureTarget, CreateError, CreateOptions, RingSink, file_time};
use mitmcraft_engine::filter::{RingCapture, RuleCount, RuleSet};
use mitmcraft_protocol::schema::Catalog;

use super::accounts::state_folder;
use super::args::RedactionSeed;
use super::output::{Level, Output};
use super::plural::count;

/// Loads filter files and prints their warnings, or all their faults.
pub(super) fn load(files: &FilterFiles, output: &Output) -> anyhow::Result<Loaded> {
    let loaded = files.load();
    print_faults(loaded.as_ref(), output);
    Ok(loaded?)
}

/// Returns the file that the first rule of a page creates, if the run has no filter file: in the folder in which the
/// program was started, or in that of the user's state if that cannot be written; no file if neither can.
pub(super) fn first_rules(catalog: &Catalog) -> FilterFiles {
    match rules_folder(std::env::current_dir().ok(), || state_folder().ok()) {
        Some(folder) => {
            let name = format!("rules-{}.toml", file_time(Clock::new().now()));
            FilterFiles::awaited(folder.join(name), catalog.clone())
        }
        None => FilterFiles::new(Vec::new(), catalog.clone()),
    }
}

/// Returns the first folder that can be written. The second is created if it is needed.
fn rules_folder(
    start: Option<PathBuf>,
    state: impl FnOnce() -> Option<PathBuf>,
) -> Option<PathBuf> {
    let writable = |folder: &PathBuf| tempfile::tempfile_in(folder).is_ok();
    let created = |folder: &PathBuf| std::fs::create_dir_all(folder).is_ok();
    start.filter(writable).or_else(|| state().filter(created).filter(writable))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_of_a_page_goes_where_the_program_was_started_or_to_the_state_folder() {
        let folder = tempfile::tempdir().unwrap();
        let (start, state) = (folder.path().join("start"), folder.path().join("a/state"));
        let found = || rules_folder(Some(start.clone()), || Some(state.clone()));
        // A folder that is not there can be written as little as one that is protected.
        assert_eq!(found(), Some(state.clone()));
        std::fs::create_dir(&start).unwrap();
        assert_eq!(found(), Some(start.clone()));
        assert_eq!(start.read_dir().unwrap().count(), 0, "nothing is left there");
        std::fs::remove_dir(&start).unwrap();
        std::fs::remove_dir(&state).unwrap();
        std::fs::write(&state, "").unwrap();
        assert_eq!(found(), None);
    }
}
