use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::control::{self, Sending};
use crate::view::HeldList;
use crate::view::protocol::{Answer, Failure, Message, Push};

/// What the program has for an [`App`](super::App) that is drawing, or waits for an editor. A handle: clones are the
/// same inbox.
///
/// It cannot overflow, however long nobody reads it: of what is held it has the list, not its changes; of texts the
/// last one; and of answers as many as the app has asked for.
#[derive(Debug, Clone, Default)]
pub struct Inbox(Arc<Mutex<News>>);

/// What an [`Inbox`] has got since it was read last.
#[derive(Debug, Default)]
pub(super) struct News {
    /// The packets that are held now.
    pub(super) held: HeldList,
    /// The answers to requests, by their numbers.
    pub(super) answers: VecDeque<(Option<u64>, Result<Answer, Failure>)>,
    /// The last text for the person.
    pub(super) status: Option<String>,
}

impl Inbox {
    /// Adds a message of the controller.
    pub fn put(&self, message: Message) {
        match message {
            Message::Answer { id, answer } => {
                self.news(|it| it.answers.push_back((id, Ok(answer))))
            }
            Message::Error { id, error } => self.news(|it| it.answers.push_back((id, Err(error)))),
            Message::Push(Push::Control(push)) => {
                let status = status(&push);
                self.news(|news| {
                    news.held.take(&push);
                    news.status = status.or_else(|| news.status.take());
                });
            }
            Message::Hello { .. } | Message::Push(_) => {}
        }
    }

    /// Adds a text for the person.
    pub fn say(&self, text: String) {
        self.news(|news| news.status = Some(text));
    }

    /// Forgets what is held: the controller is going to tell it again.
    pub fn forget_held(&self) {
        self.news(|news| news.held = HeldList::default());
    }

    /// Returns what has come since the last call, and what is held.
    pub(super) fn read(&self) -> News {
        self.news(|news| {
            let held = news.held.clone();
            std::mem::replace(news, News { held, ..News::default() })
        })
    }

    fn news<T>(&self, change: impl FnOnce(&mut News) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns what a person should know about a push.
fn status(push: &control::Push) -> Option<String> {
    match push {
        control::Push::Released { session, held, how } => {
            Some(format!("#{session} packet {held}: {}", how.words()))
        }
        control::Push::Sending(Sending { session, dir, packet, times, left, over, .. }) => {
            let packet = packet.as_deref().unwrap_or("a packet");
            let sent = times - left;
            let rest = if *over { "no more are sent" } else { "X stops" };
            Some(format!(
                "#{session}: {} {packet} sent {sent} of {times} times; {rest}",
                dir.name()
            ))
        }
        control::Push::Message { session, text } => Some(format!("#{session}: {text}")),
        _ => None,
    }
}
