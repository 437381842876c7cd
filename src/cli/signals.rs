//! The signals that end a run.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::output::Output;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Keeps the program alive at signals that mean nothing here (SIGUSR1, SIGUSR2, SIGALRM), and at SIGXFSZ: at the limit
/// of a file's size the write fails, as on a full disk.
#[cfg(unix)]
pub(super) fn withstand() {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else {
        return;
    };
    let _entered = runtime.enter();
    let too_long = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
    for kind in
        [SignalKind::user_defined1(), SignalKind::user_defined2(), SignalKind::alarm(), too_long]
    {
        // A handler stays when the stream of its signals is dropped.
        let _ = signal(kind);
    }
}

/// Does nothing: there are no such signals.
#[cfg(windows)]
pub(super) fn withstand() {}

/// Catches the signals to end from now on (Ctrl-C, and on Unix SIGTERM, SIGQUIT and SIGHUP), and returns a
/// future that waits for one.
#[cfg(unix)]
pub(super) fn end() -> impl Future<Output = Ending> {
    let ignored = ignored();
    let unless_ignored = [SignalKind::hangup(), SignalKind::quit()]
        .into_iter()
        .filter(move |kind| ignored >> (kind.as_raw_value() - 1) & 1 == 0);
    let terminated = any([SignalKind::terminate()]);
    let others = any([SignalKind::interrupt()].into_iter().chain(unless_ignored));
    async {
        tokio::select! {
            () = terminated => Ending::Terminated,
            () = others => Ending::Other,
        }
    }
}

/// What asks a run to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// SIGTERM, from a service manager.
    #[cfg_attr(not(unix), expect(dead_code, reason = "there is no such signal"))]
    Terminated,
    /// Anything else: a person.
    Other,
}

/// Starts listening for the signals that end a run at once, without completing it (SIGINT, SIGTERM and
/// SIGQUIT), and returns a future that resolves when one arrives. Signals that arrive before the call do not
/// count, so call it before printing that another signal ends the run. SIGHUP is not among them: a closing
/// terminal sends it twice, once through the shell.
#[cfg(unix)]
pub(super) fn end_at_once() -> impl Future<Output = ()> {
    any([SignalKind::interrupt(), SignalKind::terminate(), SignalKind::quit()])
}

#[cfg(unix)]
fn any(kinds: impl IntoIterator<Item = SignalKind>) -> impl Future<Output = ()> {
    let mut signals: Vec<Signal> = kinds.into_iter().filter_map(|kind| signal(kind).ok()).collect();
    std::future::poll_fn(move |context| {
        let came = signals.iter_mut().any(|signal| signal.poll_recv(context).is_ready());
        if came { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
}

/// Returns the mask of the signals that the caller wants ignored, as `nohup` does with SIGHUP.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}

/// Catches Ctrl-C, Ctrl-Break, and the end of the console, of the user's session and of the system from now
/// on, and returns a future that waits for one. After the last three, Windows ends the program in 5 s.
#[cfg(windows)]
pub(super) fn end() -> impl Future<Output = Ending> {
    let ending = any();
    async {
        ending.await;
        Ending::Other
    }
}

/// Starts listening for requests to end a run at once, without completing it, and returns a future that
/// resolves when one arrives.
#[cfg(windows)]
pub(super) fn end_at_once() -> impl Future<Output = ()> {
    any()
}

#[cfg(windows)]
fn any() -> impl Future<Output = ()> {
    use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close, ctrl_logoff, ctrl_shutdown};
    let (mut interrupt, mut stop) = (ctrl_c().ok(), ctrl_break().ok());
    let (mut close, mut logoff, mut shutdown) =
        (ctrl_close().ok(), ctrl_logoff().ok(), ctrl_shutdown().ok());
    std::future::poll_fn(move |context| {
        let came = interrupt.as_mut().is_some_and(|it| it.poll_recv(context).is_ready())
            | stop.as_mut().is_some_and(|it| it.poll_recv(context).is_ready())
            | close.as_mut().is_some_and(|it| it.poll_recv(context).is_ready())
            | logoff.as_mut().is_some_and(|it| it.poll_recv(context).is_ready())
            | shutdown.as_mut().is_some_and(|it| it.poll_recv(context).is_ready());
        if came { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
}

/// Runs what waits for signals on a thread of its own, which nothing else keeps busy. What `waiting` calls catches
/// signals from now on.
///
/// # Errors
/// If the thread cannot be started.
pub(super) fn watch<F>(waiting: impl FnOnce() -> F) -> io::Result<()>
where
    F: Future<Output = ()> + Send + 'static,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let waiting = {
        let _entered = runtime.enter();
        waiting()
    };
    std::thread::Builder::new().name("signals".into()).spawn(move || runtime.block_on(waiting))?;
    Ok(())
}

/// Whether a person wants a verb that reads to its end to complete what it has written, and stop.
#[derive(Debug, Clone)]
pub(super) struct Interrupted(Arc<AtomicBool>);

impl Interrupted {
    /// Watches for signals on a thread of its own: the first sets the value, the second ends the program.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub(super) fn watch(output: Output) -> io::Result<Self> {
        let interrupted = Self(Arc::default());
        let watched = interrupted.clone();
        watch(|| {
            let first = end();
            async move {
                first.await;
                let second = end_at_once();
                watched.0.store(true, Ordering::Relaxed);
                output.note("stopping: completing captures (Ctrl-C again ends at once)");
                second.await;
                std::process::exit(130);
            }
        })?;
        Ok(interrupted)
    }

    /// Returns whether a signal came.
    pub(super) fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
