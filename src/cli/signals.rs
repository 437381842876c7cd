//! The signals that end a run.

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Waits for a signal to end: Ctrl-C, and on Unix SIGTERM, SIGQUIT and SIGHUP.
#[cfg(unix)]
pub(super) async fn end() {
    let ignored = ignored();
    let unless_ignored = [SignalKind::hangup(), SignalKind::quit()]
        .into_iter()
        .filter(|kind| ignored >> (kind.as_raw_value() - 1) & 1 == 0);
    any([SignalKind::interrupt(), SignalKind::terminate()].into_iter().chain(unless_ignored)).await;
}

/// Waits for a signal to end although a run is being completed. A terminal that closes sends SIGHUP
/// twice, once through the shell.
#[cfg(unix)]
pub(super) async fn end_at_once() {
    any([SignalKind::interrupt(), SignalKind::terminate(), SignalKind::quit()]).await;
}

#[cfg(unix)]
async fn any(kinds: impl IntoIterator<Item = SignalKind>) {
    let mut signals: Vec<Signal> = kinds.into_iter().filter_map(|kind| signal(kind).ok()).collect();
    std::future::poll_fn(|context| {
        let came = signals.iter_mut().any(|signal| signal.poll_recv(context).is_ready());
        if came { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}

/// Returns the mask of the signals that the caller wants ignored, as `nohup` does with SIGHUP.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}

#[cfg(not(unix))]
pub(super) async fn end() {
    // Without a handler, Ctrl-C ends the program.
    let _ = tokio::signal::ctrl_c().await;
}

#[cfg(not(unix))]
pub(super) async fn end_at_once() {
    end().await;
}
