use tokio::sync::mpsc;

use super::pipe_handle::ToPipe;
use mitmcraft_engine::link::{Question, Ruling, Unruled};
use mitmcraft_engine::pipe::question_line;

/// A session's end of the channels to the program that decides on packets.
#[derive(Debug)]
pub(in crate::proxy) struct SessionPipe {
    pub(super) sender: mpsc::Sender<ToPipe>,
    pub(super) session: u64,
    /// There is one answer for each question, so this queue is no longer than what the session holds.
    pub(super) answers: mpsc::UnboundedReceiver<Answered>,
}

/// The number of a question in its session, and its answer.
pub(in crate::proxy) type Answered = (u64, Result<Ruling, Unruled>);

impl SessionPipe {
    /// Asks about a packet. Returns `false` if nobody will ever answer.
    pub(in crate::proxy) async fn ask(&self, question: Question) -> bool {
        let Question { number, packet } = question;
        let (session, line) = (self.session, question_line(packet));
        self.sender.send(ToPipe::Ask { session, number, line }).await.is_ok()
    }

    /// Returns the next answer; waits forever once there are no more.
    pub(in crate::proxy) async fn next(&mut self) -> Answered {
        match self.answers.recv().await {
            Some(answered) => answered,
            None => std::future::pending().await,
        }
    }

    /// Says that the session is over.
    pub(in crate::proxy) async fn close(self) {
        let _ = self.sender.send(ToPipe::Close(self.session)).await;
    }
}
