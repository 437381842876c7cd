use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use crate::proxy::{Metrics, Notices, OnFull, RunNotice};

/// Which sink the log thread is calling, and whether it gets on. The thread writes, others read.
#[derive(Debug)]
pub(super) struct LogProgress {
    /// The names of the sinks, by place.
    names: Vec<String>,
    /// Number of calls that have returned.
    steps: AtomicU64,
    /// The place of the sink being called; the number of sinks if none is.
    current: AtomicUsize,
}

impl LogProgress {
    pub(super) fn new(names: Vec<String>) -> Self {
        let current = AtomicUsize::new(names.len());
        Self { names, steps: AtomicU64::new(0), current }
    }

    /// Notes that the sink at `place` is being called during `run`.
    pub(super) fn during<T>(&self, place: usize, run: impl FnOnce() -> T) -> T {
        self.current.store(place, Relaxed);
        let result = run();
        self.current.store(self.names.len(), Relaxed);
        // Only the log thread writes.
        self.steps.store(self.steps.load(Relaxed) + 1, Relaxed);
        result
    }

    /// Returns the number of calls that have returned.
    pub(super) fn steps(&self) -> u64 {
        self.steps.load(Relaxed)
    }

    /// Returns the name of the sink being called.
    pub(super) fn current(&self) -> Option<&str> {
        self.names.get(self.current.load(Relaxed)).map(String::as_str)
    }

    /// Reports a sink that takes nothing for a few seconds, and that it goes on, until the log thread
    /// has ended.
    pub(super) fn watch(
        self: &Arc<Self>,
        on_full: OnFull,
        notices: Notices,
        metrics: Arc<Metrics>,
    ) -> impl Future<Output = ()> + use<> {
        let progress = Arc::downgrade(self);
        async move {
            let (mut steps, mut still) = (0, 0);
            loop {
                tokio::time::sleep(INTERVAL).await;
                let Some(progress) = progress.upgrade() else { return };
                let before = std::mem::replace(&mut steps, progress.steps());
                let stalled = progress.current().filter(|_| before == steps);
                match stalled {
                    Some(sink) => {
                        still += 1;
                        if still == STALLED {
                            metrics.set_stalled(true);
                            notices.show(&RunNotice::SinkStalls { sink, on_full });
                        }
                    }
                    None => {
                        if still >= STALLED {
                            metrics.set_stalled(false);
                            notices.show(&RunNotice::SinkContinues);
                        }
                        still = 0;
                    }
                }
            }
        }
    }
}

/// Time between two looks at the progress.
const INTERVAL: Duration = Duration::from_secs(1);

/// Number of looks without progress after which a sink is reported.
const STALLED: u32 = 3;

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_sink_that_takes_nothing_is_reported_within_5_s_and_so_is_its_end() {
        let shown: Arc<Mutex<Vec<String>>> = Arc::default();
        let into = Arc::clone(&shown);
        let notices = Notices::new(Arc::new(move |notice: &RunNotice<'_>| {
            into.lock().unwrap().push(format!("{notice:?}"));
        }));
        let metrics: Arc<Metrics> = Arc::default();
        let progress = Arc::new(LogProgress::new(vec!["a".into(), "b".into()]));
        let watching = tokio::spawn(progress.watch(OnFull::Wait, notices, Arc::clone(&metrics)));
        let wait = async |seconds: u64| {
            tokio::time::sleep(Duration::from_millis(1000 * seconds + 10)).await
        };

        // Nothing to do is no stall, and slow is none either.
        wait(10).await;
        for _ in 0..5 {
            progress.current.store(1, Relaxed);
            wait(2).await;
            progress.during(1, || ());
        }
        assert!(shown.lock().unwrap().is_empty() && !metrics.is_stalled());

        progress.current.store(1, Relaxed);
        wait(5).await;
        assert_eq!(*shown.lock().unwrap(), ["SinkStalls { sink: \"b\", on_full: Wait }"]);
        assert!(metrics.is_stalled());
        wait(60).await;
        assert_eq!(shown.lock().unwrap().len(), 1, "once");
        progress.during(1, || ());
        wait(1).await;
        assert_eq!(shown.lock().unwrap()[1..], ["SinkContinues"]);
        assert!(!metrics.is_stalled());

        drop(progress);
        watching.await.unwrap();
    }
}
