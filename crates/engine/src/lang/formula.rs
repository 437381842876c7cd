use std::fmt;
use std::sync::{Arc, OnceLock};

use super::attribute::Subject;
use super::checker::Checker;
use super::error::ExprError;
use super::field::Field;
use super::parser::parse;
use super::plan::Reads;
use super::predicate::Operand;
use super::vocabulary::Vocabulary;
use mitmcraft_protocol::packet::PerProtocol;
use mitmcraft_protocol::schema::{Catalog, Kinds, Value};

/// A value computed from a packet: the text after `=` in a rule's `set`.
#[derive(Clone)]
pub struct Formula(Arc<Inner>);

struct Inner {
    text: Box<str>,
    operand: Operand,
    /// The kinds of its values, unless it is a field by itself.
    kinds: Kinds,
    fields: Box<[Field]>,
    /// The reads for packets of unknown type.
    reads: Reads,
    /// The reads for each type of packet, by its place in the protocol.
    by_kind: PerProtocol<Box<[OnceLock<Reads>]>>,
}

impl Formula {
    /// Parses and checks a value. A name by itself is a field.
    ///
    /// # Errors
    /// [`ExprError`], with the place; see [`Expr::parse`](super::Expr::parse).
    pub fn parse(text: &str, catalog: &Catalog) -> Result<Self, ExprError> {
        Self::parse_in(text, &Vocabulary::new(catalog))
    }

    /// Parses a value and checks it against a vocabulary, which several values can share.
    ///
    /// # Errors
    /// [`ExprError`], with its place.
    pub fn parse_in(text: &str, vocabulary: &Vocabulary<'_>) -> Result<Self, ExprError> {
        let node = parse(text)?;
        let mut checker = Checker::new(vocabulary);
        let (operand, kinds) = checker.value(&node)?;
        let fields = checker.fields.into();
        let reads = Reads::new(|see| operand.visit(see));
        let by_kind = PerProtocol::default();
        Ok(Self(Arc::new(Inner { text: text.into(), operand, kinds, fields, reads, by_kind })))
    }

    /// Returns the kinds that the value can have in any version of the vocabulary.
    #[must_use]
    pub fn kinds(&self, vocabulary: &Vocabulary<'_>) -> Kinds {
        match self.0.operand {
            Operand::Field(place) => vocabulary.kinds(&self.0.fields[place], |_| false),
            _ => self.0.kinds,
        }
    }

    /// Returns the value for a packet, or the first of several.
    ///
    /// `None` when a part that it needs is absent, or a number does not fit 64 bits.
    #[must_use]
    pub fn value<'a>(&self, subject: impl Into<Subject<'a>>) -> Option<Value> {
        let (subject, Inner { operand, fields, reads, by_kind, .. }) = (subject.into(), &*self.0);
        let kind = subject.kind();
        let protocol = &subject.packet.context().protocol;
        let reads = match kind {
            None => reads,
            Some(kind) => by_kind.get_or_init(protocol, || {
                protocol.packets().iter().map(|_| OnceLock::new()).collect()
            })[usize::from(protocol.place(kind))]
            .get_or_init(|| reads.clone().of(kind, fields)),
        };
        reads.evaluate(subject, kind, fields, |evaluation| {
            operand.one(evaluation).and_then(|datum| datum.to_value())
        })
    }
}

impl fmt::Debug for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Formula").field(&self.0.text).finish()
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text)
    }
}
