use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

/// Returns the result of a future, or `None` if it panics, which says so on stderr.
pub async fn caught<T>(running: impl Future<Output = T>) -> Option<T> {
    let mut running = pin!(running);
    std::future::poll_fn(|context| {
        // Nothing uses the future after a panic.
        match catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(context))) {
            Ok(polled) => polled.map(Some),
            Err(_) => Poll::Ready(None),
        }
    })
    .await
}
