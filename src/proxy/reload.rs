use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use thiserror::Error;
use tokio::sync::{mpsc, watch};

use super::PipelineFactory;
use crate::filter::{Pipeline, RuleSet, SourceFault};
use crate::schema::Catalog;

/// The filter files of a run: read, and read again when they change.
#[derive(Debug, Clone)]
pub struct FilterFiles {
    paths: Vec<PathBuf>,
    catalog: Catalog,
}

/// The valid rules of all filter files.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// One set of rules per file.
    pub sets: Vec<RuleSet>,
    /// Warnings, in the order of the files.
    pub warnings: Vec<FileFault>,
}

/// Why filter files cannot be used.
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
    /// What is wrong with it.
    pub kind: FileFaultKind,
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
    /// These files, in this order.
    #[must_use]
    pub fn new(paths: Vec<PathBuf>, catalog: Catalog) -> Self {
        Self { paths, catalog }
    }

    /// Reads and checks all of them.
    ///
    /// # Errors
    /// [`LoadError`] with all faults of all files.
    pub fn load(&self) -> Result<Loaded, LoadError> {
        let (mut sets, mut faults, mut usable) = (Vec::new(), Vec::new(), true);
        for path in &self.paths {
            let fault = |kind| FileFault { path: path.clone(), kind };
            let text = match std::fs::read_to_string(path) {
                Ok(text) => text,
                Err(error) => {
                    faults.push(fault(FileFaultKind::Unreadable(Arc::new(error))));
                    usable = false;
                    continue;
                }
            };
            let checked = RuleSet::parse(&text, &self.catalog);
            faults.extend(checked.faults.into_iter().map(|it| fault(FileFaultKind::Text(it))));
            match checked.rules {
                Some(set) => sets.push(set),
                None => usable = false,
            }
        }
        if usable { Ok(Loaded { sets, warnings: faults }) } else { Err(LoadError { faults }) }
    }

    /// Watches the files: `told` hears of each change what came of it, and the rules that hold
    /// afterwards go to the sessions between two packets. A faulty file leaves the old ones.
    ///
    /// # Errors
    /// When the system cannot watch; the rules stay those of `loaded` then.
    pub fn watch(
        self,
        loaded: Loaded,
        told: impl Fn(Result<&Loaded, &LoadError>) + Send + 'static,
    ) -> Result<Watch, notify::Error> {
        let (sender, pipelines) = watch::channel(factory(&loaded.sets));
        let (sets_sender, sets) = watch::channel(loaded.sets);
        // One slot: a change that is not handled yet stands for those that follow.
        let (changed, mut changes) = mpsc::channel(1);
        let names: Vec<PathBuf> = self.paths.clone();
        let mut watcher =
            notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
                let Ok(event) = event else { return };
                let reads = matches!(event.kind, notify::EventKind::Access(_));
                if !reads && event.paths.iter().any(|path| is_ours(path, &names)) {
                    let _ = changed.try_send(());
                }
            })?;
        // Editors put a new file into the place of the old one, which only its folder shows.
        let mut folders: Vec<&Path> = self.paths.iter().map(|path| folder(path)).collect();
        folders.sort();
        folders.dedup();
        for folder in folders {
            watcher.watch(folder, RecursiveMode::NonRecursive)?;
        }
        tokio::spawn(async move {
            while changes.recv().await.is_some() {
                tokio::time::sleep(SETTLE).await;
                let _ = changes.try_recv();
                let mut loaded = match self.load() {
                    Ok(loaded) => loaded,
                    Err(error) => {
                        told(Err(&error));
                        continue;
                    }
                };
                for (set, old) in loaded.sets.iter_mut().zip(sets_sender.borrow().iter()) {
                    set.carry_over(old);
                }
                sender.send_replace(factory(&loaded.sets));
                told(Ok(&loaded));
                sets_sender.send_replace(loaded.sets);
            }
        });
        Ok(Watch { pipelines, sets, _watcher: watcher })
    }
}

/// Filter files that are watched as long as this lives.
#[derive(Debug)]
pub struct Watch {
    pipelines: watch::Receiver<PipelineFactory>,
    sets: watch::Receiver<Vec<RuleSet>>,
    _watcher: RecommendedWatcher,
}

impl Watch {
    /// What makes the filters of a session, as it changes.
    #[must_use]
    pub fn pipelines(&self) -> watch::Receiver<PipelineFactory> {
        self.pipelines.clone()
    }

    /// The rules that hold, as they change.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<Vec<RuleSet>> {
        self.sets.clone()
    }

    /// The rules that hold now, with their counts.
    #[must_use]
    pub fn sets(&self) -> Vec<RuleSet> {
        self.sets.borrow().clone()
    }
}

/// Makes the filters of a session out of rules.
#[must_use]
pub fn factory(sets: &[RuleSet]) -> PipelineFactory {
    let sets = sets.to_vec();
    PipelineFactory::new(Arc::new(move || {
        let mut pipeline = Pipeline::default();
        for set in &sets {
            pipeline.push(Box::new(set.filter()));
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

/// Whether an event's path names one of the files. The folder can be written in several ways.
fn is_ours(path: &Path, files: &[PathBuf]) -> bool {
    let name: Option<&OsStr> = path.file_name();
    files.iter().any(|file| file.file_name() == name)
}

/// A file is often written in several goes.
const SETTLE: Duration = Duration::from_millis(50);
