use std::collections::BTreeSet;

use tokio::sync::mpsc;

use super::pipe_handle::ToPipe;
use mitmcraft_engine::link::{Question, Ruling, Unruled};

/// A session's end of the channels to the program that decides on packets.
#[derive(Debug)]
pub(in crate::proxy) struct SessionPipe {
    pub(super) sender: mpsc::Sender<ToPipe>,
    pub(super) session: u64,
    /// There is one answer for each question, so this queue is no longer than what the session holds.
    pub(super) answers: mpsc::UnboundedReceiver<Answered>,
    /// The questions that are not answered.
    pub(super) asked: BTreeSet<u64>,
}

/// The number of a question in its session, and its answer.
pub(in crate::proxy) type Answered = (u64, Result<Ruling, Unruled>);

impl SessionPipe {
    /// Asks about a packet.
    pub(in crate::proxy) async fn ask(&mut self, question: Question) {
        self.asked.insert(question.number);
        // If nobody takes it, nobody will answer: see `next`.
        let _ = self.sender.send(ToPipe::Ask(self.session, question)).await;
    }

    /// Returns the next answer; waits forever if there is no question.
    pub(in crate::proxy) async fn next(&mut self) -> Answered {
        if let Some((number, ruling)) = self.answers.recv().await {
            self.asked.remove(&number);
            return (number, ruling);
        }
        // The task is gone, which only a fault of the program can bring about.
        match self.asked.pop_first() {
            Some(number) => (number, Err(Unruled::Down)),
            None => std::future::pending().await,
        }
    }

    /// Returns the next answer if it is there.
    pub(in crate::proxy) fn try_next(&mut self) -> Option<Answered> {
        let (number, ruling) = self.answers.try_recv().ok()?;
        self.asked.remove(&number);
        Some((number, ruling))
    }

    /// Says that the session is over.
    pub(in crate::proxy) async fn close(self) {
        let _ = self.sender.send(ToPipe::Close(self.session)).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use mitmcraft_protocol::codec::Frame;
    use mitmcraft_protocol::packet::{Content, Context, Packet, Timestamp};
    use mitmcraft_protocol::schema::{Catalog, Direction, State};

    use super::*;

    #[tokio::test]
    async fn a_question_that_nobody_can_answer_any_more_is_not_decided() {
        let protocol = Catalog::embedded().find(47).unwrap().protocol;
        let context = Context::new(1, Timestamp(0), ([127, 0, 0, 1], 1).into(), protocol);
        let content = Content::Frame(Frame::from_body(Bytes::from_static(b"\x01\x01a")));
        let (at, to) = (Timestamp(0), Direction::Serverbound);
        let packet = Packet::new(Arc::new(context), 1, at, to, State::Play, content);
        let (sender, mut task) = mpsc::channel(10);
        let (answer, answers) = mpsc::unbounded_channel();
        let mut pipe = SessionPipe { sender, session: 7, answers, asked: BTreeSet::new() };
        for number in [1, 2] {
            pipe.ask(Question { number, packet: packet.clone() }).await;
        }
        let first = task.recv().await;
        assert!(matches!(first, Some(ToPipe::Ask(7, Question { number: 1, .. }))), "{first:?}");
        answer.send((1, Err(Unruled::Ended))).unwrap();
        drop((task, answer));
        assert!(matches!(pipe.next().await, (1, Err(Unruled::Ended))));
        assert!(matches!(pipe.next().await, (2, Err(Unruled::Down))));
        pipe.ask(Question { number: 3, packet }).await;
        assert!(matches!(pipe.next().await, (3, Err(Unruled::Down))));
    }
}
