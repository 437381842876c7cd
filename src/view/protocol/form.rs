use serde::{Deserialize, Serialize};

use super::TextPiece;
use mitmcraft_protocol::schema::{Direction, State};

/// The form in which a person edits the fields of a packet.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Form {
    /// The fields as JSON, as captures have them.
    pub text: String,
    /// Id and fields in hex; `None` if the packet cannot be sent.
    pub body: Option<String>,
    /// Why the packet cannot be sent.
    pub problem: Option<FormProblem>,
    /// A warning that the peer may reject a packet of this kind if it was changed.
    pub warning: Option<&'static str>,
    /// The values, each after the containers that it is in.
    pub lines: Vec<FormLine>,
    /// `true` if there are more values, which can only be edited as JSON.
    pub more: bool,
}

/// Why the packet of a form cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct FormProblem {
    /// The JSON pointer of the value that is wrong; empty for the packet as a whole.
    pub pointer: String,
    /// The reason.
    pub message: String,
}

/// A value of a form, with what it can hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct FormLine {
    /// The name of the field, or the index of the element.
    pub name: String,
    /// Its path: `items[3].itemCount`.
    pub path: String,
    /// Its JSON pointer: `/items/3/itemCount`.
    pub pointer: String,
    /// The number of containers and lists around it.
    pub depth: usize,
    /// Its kind of JSON.
    #[cfg_attr(
        test,
        ts(type = "\"object\" | \"list\" | \"number\" | \"text\" | \"bool\" | \"null\"")
    )]
    pub kind: &'static str,
    /// The number of elements of a list.
    pub count: Option<usize>,
    /// `true` if it can be left out, as `null`.
    pub optional: bool,
    /// How the bytes are written that the field has: `base64`; `None` for other fields.
    pub encoding: Option<&'static str>,
    /// Its value as JSON; `None` for a list. For an object that is a choice, the name of what is chosen; `None` for
    /// others.
    pub raw: Option<String>,
    /// The least number that it can be.
    pub low: Option<String>,
    /// The greatest number that it can be.
    pub high: Option<String>,
    /// The texts that it can be, or the names that an object has one of.
    pub options: Option<Vec<String>>,
    /// The bits that have names, with these.
    pub flags: Option<Vec<(i64, &'static str)>>,
    /// The numbers that have names, with these.
    pub names: Option<Vec<(i64, &'static str)>>,
    /// The text that a player reads.
    pub text: Option<Vec<TextPiece>>,
}

/// Another value for a field, which a rule sets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct FieldSetting {
    /// The index of the field among the `fields` of the packet's details.
    pub field: usize,
    /// The value as a person writes it; an expression after `=`.
    pub text: String,
}

/// A change of a form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum FormChange {
    /// Gives a value another content.
    Set {
        /// The JSON pointer of the value.
        pointer: String,
        /// The content as JSON. Anything else becomes a text.
        raw: String,
    },
    /// Chooses one of the fields of which an object has one.
    Choose {
        /// The JSON pointer of the object.
        pointer: String,
        /// The name of the field.
        name: String,
    },
    /// Gives the value at a JSON pointer, which is `null`, the simplest content.
    Fill(String),
    /// Adds an element at the end of the list at a JSON pointer.
    Add(String),
    /// Removes the element at a JSON pointer.
    Remove(String),
}

/// Where the packet of a form belongs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct FormPlace {
    /// Its session.
    pub session: u64,
    /// Its direction.
    pub dir: Direction,
    /// Its state.
    pub state: State,
    /// Its name.
    pub packet: String,
    /// Its number in the session.
    pub resent: u64,
}
