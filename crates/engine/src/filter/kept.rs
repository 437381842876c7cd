use std::sync::Arc;

/// The variables of a filter in a session, which survive a reload of its file.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// The file.
    pub file: Arc<str>,
    /// The variables: names and values.
    pub vars: Vec<(Var, Var)>,
}

/// A value that survives a reload.
#[derive(Debug, Clone, PartialEq)]
pub enum Var {
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A string of bytes.
    Text(Vec<u8>),
    /// Keys and values.
    Table(Vec<(Self, Self)>),
}
