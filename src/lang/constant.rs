use std::borrow::Cow;

use super::node::Literal;
use super::number::Number;
use super::val::Val;
use crate::schema::{Kind, Kinds};

impl From<&Literal> for Val<'static> {
    fn from(literal: &Literal) -> Self {
        match literal {
            Literal::Bool(bool) => Self::Bool(*bool),
            Literal::Int(int) => Self::Number(Number::Int(*int)),
            Literal::Unsigned(int) => Self::Number(Number::Unsigned(*int)),
            Literal::Float(float) => Self::Number(Number::Decimal(*float)),
            Literal::Text(text) => Self::string(text.clone()),
            Literal::Bytes(bytes) => Self::Bytes(Cow::Owned(bytes.clone())),
        }
    }
}

impl Literal {
    pub(super) fn kinds(&self) -> Kinds {
        Kinds::from(match self {
            Self::Bool(_) => Kind::Bool,
            Self::Int(_) | Self::Unsigned(_) => Kind::Int,
            Self::Float(_) => Kind::Float,
            Self::Text(_) => Kind::Text,
            Self::Bytes(_) => Kind::Bytes,
        })
    }
}
