use serde::{Deserialize, Serialize};

use super::{Answer, Failure, Push};
use crate::control;
use crate::view::{Binding, Thing};

/// The first message of an interface.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Login {
    /// The token in the fragment of the printed URL.
    pub token: String,
}

/// The first message to an interface whose token was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Hello {
    /// The version of mitmcraft.
    pub version: &'static str,
    /// The version of this protocol: [`Hello::PROTOCOL`].
    pub protocol: u32,
    /// A text that is another one in each run: rows, sessions and marks are those of a run.
    pub run: String,
    /// `true` while a proxy runs; `false` if captures are shown.
    pub live: bool,
    /// The address at which the game reaches a running proxy.
    pub listening: Option<String>,
    /// `true` if sessions can be controlled.
    pub control: bool,
    /// `true` if there are filter files.
    pub rules: bool,
    /// The most bytes of a capture that `open` takes; `null` if none can be opened.
    pub opens: Option<u64>,
    /// The actions of the page with their keys, in the order in which people read them; programs have none.
    pub actions: Vec<ActionInfo>,
}

impl Hello {
    /// The version of the protocol. It changes when something is left out or means something else; requests, keys
    /// and pushes that are added do not change it.
    pub const PROTOCOL: u32 = 1;
}

/// An action that a person can perform with a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ActionInfo {
    /// Its name.
    pub name: &'static str,
    /// Its keys, as browsers name them: `j`, `ArrowDown`.
    pub keys: &'static [&'static str],
    /// The keys as people read them: `j ↓`.
    pub names: String,
    /// A description for people.
    pub help: &'static str,
    /// Other words by which people look for it.
    pub words: &'static str,
    /// The heading above it.
    pub group: &'static str,
    /// The things that it does something to: it is in their context menus.
    pub on: &'static [Thing],
}

impl From<&Binding> for ActionInfo {
    fn from(binding: &Binding) -> Self {
        Self {
            name: binding.name,
            keys: binding.keys,
            names: binding.key_names(),
            help: binding.help,
            words: binding.words,
            group: binding.group.title(),
            on: binding.on,
        }
    }
}

/// A message to an interface.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum Message {
    /// The token was accepted.
    Hello {
        /// The program.
        hello: Hello,
    },
    /// A request was carried out.
    Answer {
        /// The number of the request.
        id: Option<u64>,
        /// The answer.
        #[serde(flatten)]
        answer: Answer,
    },
    /// A request was not carried out.
    Error {
        /// The number of the request, if it could be read.
        id: Option<u64>,
        /// The reason.
        error: Failure,
    },
    /// Something that was not asked for.
    Push(Push),
}

impl Message {
    /// Creates the message with the answer to a request.
    #[must_use]
    pub fn answer(id: Option<u64>, answer: Result<Answer, Failure>) -> Self {
        match answer {
            Ok(answer) => Self::Answer { id, answer },
            Err(error) => Self::Error { id, error },
        }
    }

    /// Returns the message as JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Nothing in a message can fail: all keys are texts.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl From<control::Message> for Message {
    fn from(message: control::Message) -> Self {
        match message {
            control::Message::Answer { id, answer } => {
                Self::answer(id, answer.map(Answer::from).map_err(Failure::from))
            }
            control::Message::Push(push) => Self::Push(Push::Control(push)),
        }
    }
}
