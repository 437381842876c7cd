use mlua::Error as LuaError;
use thiserror::Error;

use crate::filter::EditError;
use crate::lang::amount::AmountError;
use mitmcraft_protocol::packet::Undecoded;

/// The reason why a function of the host fails, as the person reads it who wrote the script.
#[derive(Debug, Error)]
pub(super) enum HostError {
    #[error(transparent)]
    Edit(Box<EditError>),
    #[error("the packet does not decode: {0}")]
    Undecoded(#[from] Undecoded),
    #[error(transparent)]
    Period(#[from] AmountError),
    #[error(transparent)]
    Lua(#[from] LuaError),
    #[error("the packet was kept beyond its callback; copy what you need of it")]
    Kept,
    #[error("comments and tags of one packet are longer than {0} bytes")]
    TooManyNotes(usize),
    #[error("no packet has a property `pkt.{0}`")]
    NoProperty(String),
    #[error("the table has too many values")]
    TooManyValues,
    #[error("the table is too deep, or contains itself")]
    TooDeep,
    #[error("the keys of a table are names, or numbers from 1")]
    Key,
    #[error("a field cannot hold this value")]
    Foreign,
    #[error("a field cannot hold a {0}")]
    NoValue(&'static str),
}

impl From<EditError> for HostError {
    fn from(cause: EditError) -> Self {
        Self::Edit(Box::new(cause))
    }
}
