use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use thiserror::Error;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinHandle};

use crate::proxy::{PipelineFactory, read_source};
use mitmcraft_engine::capture::check_capture_name;
use mitmcraft_engine::filter::{Checked, Pipeline, RuleSet, SourceFault};
use mitmcraft_engine::script::Script;
use mitmcraft_protocol::schema::Catalog;

/// The filter files of a run, reloaded when they change.
#[derive(Debug, Clone)]
pub struct FilterFiles {
    paths: Vec<PathBuf>,
    catalog: Catalog,
    /// For a file that is not there yet: `true` once it was.
    created: Option<Arc<AtomicBool>>,
}

/// The valid rules of all filter files.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// One set of rules per file.
    pub sets: Vec<RuleSet>,
    /// Warnings, in the order of the files.
    pub warnings: Vec<FileFault>,
    /// The versions of the files, as they were before they were read.
    versions: Vec<Option<Version>>,
}

/// The time of the last change and the length of a regular file: another one once the file has changed.
type Version = (SystemTime, u64);

/// The reason why filter files cannot be used.
#[derive(Debug, Error)]
#[error("the filter files cannot be used")]
pub struct LoadError {
    /// Errors and warnings, in the order of the files; at least one error.
    pub faults: Vec<FileFault>,
}

/// A fault and the filter file that has it.
#[derive(Debug, Clone, Error)]
#[error("{}: {kind}", path.display())]
pub struct FileFault {
    /// The file, as the user named it.
    pub path: PathBuf,
    /// A fault in the text of the filter file, or why the file cannot be read.
    pub kind: FileFaultKind,
}

impl FileFault {
    /// Returns whether another fault is the same, perhaps in another line.
    fn is_like(&self, other: &Self) -> bool {
        let text = |fault: &Self| match &fault.kind {
            FileFaultKind::Text(it) => Some((it.severity, it.message.clone(), it.text.clone())),
            FileFaultKind::Unreadable(_) => None,
        };
        self.path == other.path && text(self) == text(other)
    }
}

/// What is wrong with a filter file.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum FileFaultKind {
    /// The file cannot be read.
    #[error("cannot read: {0}")]
    Unreadable(Arc<io::Error>),
    /// The text has a fault.
    #[error(transparent)]
    Text(SourceFault),
}

impl FilterFiles {
    /// Creates a list of files, in the order of their rules.
    #[must_use]
    pub fn new(paths: Vec<PathBuf>, catalog: Catalog) -> Self {
        Self { paths, catalog, created: None }
    }

    /// Creates a list of one file that has no rules until somebody creates it.
    #[must_use]
    pub fn awaited(path: PathBuf, catalog: Catalog) -> Self {
        Self { paths: vec![path], catalog, created: Some(Arc::default()) }
    }

    /// Returns `true` while the file is not there that somebody is going to create.
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        self.created.as_ref().is_some_and(|created| !created.load(Ordering::Relaxed))
    }

    /// Returns the files.
    #[must_use]
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Checks a text as the rules of a file, or as a script if its name ends in `.lua`.
    #[must_use]
    pub fn check(&self, path: &Path, text: &str) -> Checked {
        check_filters(path, text, &self.catalog)
    }

    /// Reads and checks all files.
    ///
    /// # Errors
    /// All faults of all files.
    pub fn load(&self) -> Result<Loaded, LoadError> {
        let (mut sets, mut faults, mut usable) = (Vec::new(), Vec::new(), true);
        let versions = self.versions();
        for path in &self.paths {
            let fault = |kind| FileFault { path: path.clone(), kind };
            let text = match read_source(path) {
                Ok(text) => {
                    if let Some(created) = &self.created {
                        created.store(true, Ordering::Relaxed);
                    }
                    text
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound && self.is_awaited() => {
                    String::new()
                }
                Err(error) => {
                    faults.push(fault(FileFaultKind::Unreadable(Arc::new(error))));
                    usable = false;
                    continue;
                }
            };
            let checked = self.check(path, &text);
            faults.extend(checked.faults.into_iter().map(|it| fault(FileFaultKind::Text(it))));
            match checked.rules {
                Some(set) => sets.push(set),
                None => usable = false,
            }
        }
        match usable {
            true => Ok(Loaded { sets, warnings: faults, versions }),
            false => Err(LoadError { faults }),
        }
    }

    /// Returns the versions of the files; `None` for pipes, which cannot be read again.
    fn versions(&self) -> Vec<Option<Version>> {
        let version = |path: &PathBuf| {
            let metadata = path.metadata().ok().filter(|it| it.is_file())?;
            Some((metadata.modified().ok()?, metadata.len()))
        };
        self.paths.iter().map(version).collect()
    }

    /// Reloads the files when they change after they were loaded, and calls `reloaded` with the result,
    /// without the warnings that the files had before. Sessions use the new rules from the next packet on.
    /// If a file has an error, the old rules stay active.
    ///
    /// # Errors
    /// If the operating system cannot watch the files.
    pub fn watch(
        self,
        loaded: Loaded,
        reloaded: impl Fn(Result<&Loaded, &LoadError>) + Send + 'static,
    ) -> Result<Watch, notify::Error> {
        let (sender, pipelines) = watch::channel(factory(&loaded.sets));
        let (sets_sender, sets) = watch::channel(loaded.sets);
        // One slot is enough: reloading handles all changes up to then.
        let (changed, mut changes) = mpsc::channel(1);
        let (names, missed) = (self.paths.clone(), changed.clone());
        let mut watcher =
            notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
                let Ok(event) = event else { return };
                let reads = matches!(event.kind, notify::EventKind::Access(_));
                if !reads && event.paths.iter().any(|path| is_ours(path, &names)) {
                    let _ = changed.try_send(());
                }
            })?;
        // Editors replace the file, which only a watch of its folder notices.
        let mut folders: Vec<&Path> = self.paths.iter().map(|path| folder(path)).collect();
        folders.sort();
        folders.dedup();
        for folder in folders {
            watcher.watch(folder, RecursiveMode::NonRecursive)?;
        }
        // Nobody watched while the run was prepared.
        if self.versions() != loaded.versions {
            let _ = missed.try_send(());
        }
        drop(missed);
        let mut told = loaded.warnings;
        let reloading = tokio::spawn(async move {
            while changes.recv().await.is_some() {
                tokio::time::sleep(SETTLE).await;
                let _ = changes.try_recv();
                let files = self.clone();
                let mut loaded = match tokio::task::spawn_blocking(move || files.load()).await? {
                    Ok(loaded) => loaded,
                    Err(error) => {
                        reloaded(Err(&error));
                        continue;
                    }
                };
                for (set, old) in loaded.sets.iter_mut().zip(sets_sender.borrow().iter()) {
                    set.carry_over(old);
                }
                loaded.warnings = not_told(loaded.warnings, &mut told);
                sender.send_replace(factory(&loaded.sets));
                sets_sender.send_replace(loaded.sets.clone());
                reloaded(Ok(&loaded));
            }
            Ok(())
        });
        Ok(Watch { pipelines, sets, reloading, _watcher: watcher })
    }
}

/// Filter files that are watched until this is dropped.
#[derive(Debug)]
pub struct Watch {
    pipelines: watch::Receiver<PipelineFactory>,
    sets: watch::Receiver<Vec<RuleSet>>,
    reloading: JoinHandle<Result<(), JoinError>>,
    _watcher: RecommendedWatcher,
}

impl Watch {
    /// Returns a receiver of the current filters of sessions.
    #[must_use]
    pub fn pipelines(&self) -> watch::Receiver<PipelineFactory> {
        self.pipelines.clone()
    }

    /// Returns a receiver of the active rules.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<Vec<RuleSet>> {
        self.sets.clone()
    }

    /// Waits until reloading has failed for good, by a fault of the program: later changes of the files
    /// would have no effect.
    pub async fn failed(&mut self) -> JoinError {
        match (&mut self.reloading).await {
            Err(error) | Ok(Err(error)) => error,
            // It ends only with the watcher.
            Ok(Ok(())) => std::future::pending().await,
        }
    }

    /// Returns the active rules, with their counts.
    #[must_use]
    pub fn sets(&self) -> Vec<RuleSet> {
        self.sets.borrow().clone()
    }
}

/// Returns the warnings that are not among those told, which they replace.
fn not_told(warnings: Vec<FileFault>, told: &mut Vec<FileFault>) -> Vec<FileFault> {
    let new = |it: &&FileFault| !told.iter().any(|known| known.is_like(it));
    let untold = warnings.iter().filter(new).cloned().collect();
    *told = warnings;
    untold
}

/// Checks a text as the rules of a file, or as a script if its name ends in `.lua`.
#[must_use]
pub fn check_filters(path: &Path, text: &str, catalog: &Catalog) -> Checked {
    if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("lua")) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        return Script::parse_set(&name, text, catalog);
    }
    RuleSet::parse_with(text, catalog, &check_capture_name)
}

/// Returns a factory of filters that apply these rules.
#[must_use]
pub fn factory(sets: &[RuleSet]) -> PipelineFactory {
    let sets = sets.to_vec();
    PipelineFactory::new(Arc::new(move || {
        let mut pipeline = Pipeline::default();
        for set in &sets {
            pipeline.push(set.session_filter());
        }
        pipeline
    }))
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Returns whether an event's path names one of the files. Compares names only, since a folder has
/// several spellings, and in lower case, since Windows and macOS find a file by any.
fn is_ours(path: &Path, files: &[PathBuf]) -> bool {
    let name = |path: &Path| path.file_name().map(|it| it.to_string_lossy().to_lowercase());
    let changed = name(path);
    files.iter().any(|file| name(file) == changed)
}

/// Pause after a change: a file is often written in several steps.
const SETTLE: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_given_once_and_again_only_after_it_was_gone() {
        let old = "[[rule]]\nwhen = 'chat_message'\ndrop = true\n";
        let other = "[[rule]]\ndrop = true\nwhen = 'system_chat'\n";
        let mut told = Vec::new();
        for (text, warnings) in [
            (old.to_owned(), 1),
            (format!("# moved\n{old}"), 0),
            (format!("{old}{other}"), 1),
            (other.to_owned(), 0),
            (format!("{other}{old}"), 1),
        ] {
            let faults = RuleSet::parse(&text, Catalog::embedded()).faults.into_iter();
            let path = PathBuf::from("rules.toml");
            let fault = |it| FileFault { path: path.clone(), kind: FileFaultKind::Text(it) };
            assert_eq!(not_told(faults.map(fault).collect(), &mut told).len(), warnings, "{text}");
        }
    }

    #[test]
    fn a_change_is_noticed_however_the_user_has_spelled_the_file() {
        let files = [PathBuf::from("configs/Rüles.toml")];
        for (path, ours) in [("/srv/configs/rüLES.toml", true), ("configs/rules.toml", false)] {
            assert_eq!(is_ours(path.as_ref(), &files), ours, "{path}");
        }
    }

    /// Returns an empty filter file, in a folder that is deleted when the first value is dropped, and what was
    /// loaded from it.
    fn empty_file() -> (tempfile::TempDir, PathBuf, FilterFiles, Loaded) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rules.toml");
        std::fs::write(&path, "").unwrap();
        let files = FilterFiles::new(vec![path.clone()], Catalog::embedded().clone());
        let loaded = files.load().unwrap();
        (folder, path, files, loaded)
    }

    #[tokio::test]
    async fn a_fault_of_the_program_while_reloading_is_reported() {
        let (_folder, path, files, loaded) = empty_file();
        let mut watch = files.watch(loaded, |_| panic!("a fault of the program")).unwrap();
        std::fs::write(&path, "# changed").unwrap();
        assert!(watch.failed().await.is_panic());
    }

    /// Servers are looked up and accounts logged in before the files are watched, which can take seconds.
    #[tokio::test]
    async fn a_change_between_loading_and_watching_is_reloaded() {
        let (_folder, path, files, loaded) = empty_file();
        std::fs::write(&path, RULE).unwrap();
        let watch = files.watch(loaded, |_| ()).unwrap();
        let mut sets = watch.subscribe();
        let changed = sets.wait_for(|sets| !sets[0].counts().is_empty());
        tokio::time::timeout(Duration::from_secs(60), changed).await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_file_that_is_not_there_yet_has_no_rules_until_it_is_created() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rules.toml");
        let files = FilterFiles::awaited(path.clone(), Catalog::embedded().clone());
        let loaded = files.load().unwrap();
        assert!(loaded.sets[0].counts().is_empty() && files.is_awaited());
        let watch = files.clone().watch(loaded, |_| ()).unwrap();
        std::fs::write(&path, RULE).unwrap();
        let mut sets = watch.subscribe();
        let changed = sets.wait_for(|sets| !sets[0].counts().is_empty());
        tokio::time::timeout(Duration::from_secs(60), changed).await.unwrap().unwrap();
        // As any other file then: its rules stay active when it is deleted.
        assert!(!files.is_awaited());
        std::fs::remove_file(&path).unwrap();
        assert!(files.load().is_err());
    }

    /// Pages and metrics showed the old rules after the message.
    #[tokio::test]
    async fn new_rules_are_there_when_they_are_reported() {
        let (_folder, path, files, loaded) = empty_file();
        let sets: Arc<std::sync::OnceLock<watch::Receiver<Vec<RuleSet>>>> = Arc::default();
        let (reported, mut reports) = mpsc::unbounded_channel();
        let active = Arc::clone(&sets);
        let reloaded = move |outcome: Result<&Loaded, &LoadError>| {
            let loaded = outcome.unwrap().sets[0].counts().len();
            let active = active.get().unwrap().borrow()[0].counts().len();
            reported.send((loaded, active)).unwrap();
        };
        let watch = files.watch(loaded, reloaded).unwrap();
        sets.set(watch.subscribe()).unwrap();
        std::fs::write(&path, RULE).unwrap();
        loop {
            let (loaded, active) = reports.recv().await.unwrap();
            assert_eq!(active, loaded);
            if loaded == 1 {
                return;
            }
        }
    }

    const RULE: &str = "[[rule]]\nname = 'new'\ndrop = true\n";

    /// Reloading once read and checked the files on a worker of the runtime, which served no session
    /// meanwhile. This runtime has one thread, and the file is a pipe whose writer waits for it.
    #[cfg(unix)]
    #[tokio::test]
    async fn the_runtime_goes_on_while_a_file_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let (path, pipe) = (folder.path().join("rules.toml"), folder.path().join("pipe"));
        std::fs::write(&path, "").unwrap();
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let files = FilterFiles::new(vec![path.clone()], Catalog::embedded().clone());
        let loaded = files.load().unwrap();
        let watch = files.watch(loaded, |_| ()).unwrap();
        let (opened, reading) = tokio::sync::oneshot::channel();
        let (runs, running) = std::sync::mpsc::channel();
        let writer = std::thread::spawn(move || {
            std::fs::rename(&pipe, &path).unwrap();
            // It opens once somebody reads it.
            let mut pipe = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
            opened.send(()).unwrap();
            let goes_on = running.recv_timeout(Duration::from_secs(20)).is_ok();
            io::Write::write_all(&mut pipe, RULE.as_bytes()).unwrap();
            goes_on
        });
        reading.await.unwrap();
        // The writer is gone if it had to wait for too long.
        let _ = runs.send(());
        let mut sets = watch.subscribe();
        sets.wait_for(|sets| !sets[0].counts().is_empty()).await.unwrap();
        assert!(writer.join().unwrap(), "the runtime was blocked while the file was read");
    }
}
