use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use crate::proxy::Clock;
use mitmcraft_engine::capture::{CompactedPart, Lake, OpenLake, Sink};
use mitmcraft_protocol::schema::Catalog;

/// Something about the parts of a lake that the person who runs the proxy should know.
#[derive(Debug)]
#[non_exhaustive]
pub enum LakeNotice<'a> {
    /// Parts that an earlier run has left have been compacted.
    Recovered {
        /// How many.
        parts: usize,
    },
    /// A part cannot be compacted. It is tried again after the next one and at the end, and by the next
    /// run.
    Fails {
        /// The raw part.
        part: &'a Path,
        /// The error of the operating system.
        cause: &'a io::Error,
    },
    /// Not all of a raw part can be read.
    Damaged {
        /// The name under which it is kept.
        kept: &'a Path,
        /// Why the raw part cannot be read to its end, as a message for the user.
        fault: &'a str,
    },
}

/// The thread that makes Parquet files of the parts of a [`Lake`].
#[derive(Debug)]
pub struct Compactor {
    /// Is closed when the thread ends.
    done: Receiver<()>,
}

impl Compactor {
    /// Creates the lake's first part and starts the thread. `report` is called on it.
    ///
    /// # Errors
    /// [`io::Error`] if the folders or the part cannot be created, or the thread cannot be started.
    pub fn start(
        lake: Lake,
        catalog: Catalog,
        report: impl Fn(&LakeNotice<'_>) + Send + 'static,
    ) -> io::Result<(Box<dyn Sink>, Self)> {
        let OpenLake { sink, closed, left } = lake.create({
            let clock = Clock::new();
            move || clock.now()
        })?;
        let compaction = Compaction { lake, catalog, report, waiting: left };
        let thread = std::thread::Builder::new().name("lake".into());
        let (ending, done) = mpsc::channel::<()>();
        thread.spawn(move || {
            let _ending = ending;
            compaction.run(&closed);
        })?;
        Ok((sink, Self { done }))
    }

    /// Waits until the last part is compacted, once the sink was finished and dropped. Returns `false` if that
    /// takes longer than `patience`: the next run compacts what is left.
    pub fn finish(self, patience: Duration) -> bool {
        !matches!(self.done.recv_timeout(patience), Err(RecvTimeoutError::Timeout))
    }
}

struct Compaction<R> {
    lake: Lake,
    catalog: Catalog,
    report: R,
    /// The parts to compact, the oldest first.
    waiting: Vec<PathBuf>,
}

impl<R: Fn(&LakeNotice<'_>)> Compaction<R> {
    fn run(mut self, closed: &Receiver<PathBuf>) {
        let left = self.waiting.len();
        self.compact();
        let parts = left - self.waiting.len();
        if parts > 0 {
            (self.report)(&LakeNotice::Recovered { parts });
        }
        while let Ok(part) = closed.recv() {
            self.waiting.push(part);
            self.compact();
        }
        if !self.waiting.is_empty() {
            self.compact();
        }
    }

    /// Compacts the parts that wait. Those for which that fails wait on; an error is reported for the first.
    fn compact(&mut self) {
        let mut failed = Vec::new();
        for part in std::mem::take(&mut self.waiting) {
            match self.lake.compact(&part, &self.catalog) {
                Ok(CompactedPart { damaged: Some((kept, fault)), .. }) => {
                    (self.report)(&LakeNotice::Damaged { kept: &kept, fault: &fault });
                }
                Ok(_) => {}
                Err(cause) => {
                    if failed.is_empty() {
                        (self.report)(&LakeNotice::Fails { part: &part, cause: &cause });
                    }
                    failed.push(part);
                }
            }
        }
        self.waiting = failed;
    }
}
