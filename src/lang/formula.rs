use std::fmt;
use std::sync::Arc;

use super::checker::Checker;
use super::evaluate::with_slots;
use super::field::Field;
use super::mention::Mention;
use super::operand::{Asked, Operand};
use super::parser::parse;
use super::plan::Plan;
use super::subject::Subject;
use super::{ExprError, View, Warning};
use crate::schema::{Catalog, Protocol, Value};

/// A value that is computed from a packet: what stands behind `=` in a rule's `set`.
#[derive(Clone)]
pub struct Formula(Arc<Inner>);

struct Inner {
    text: Box<str>,
    operand: Operand,
    fields: Box<[Field]>,
    mentions: Box<[Mention]>,
    /// Of the whole body.
    body: bool,
}

impl Formula {
    /// Reads and checks a value. A name that stands alone is a field.
    ///
    /// # Errors
    /// [`ExprError`], with the place; see [`Expr::parse`](super::Expr::parse).
    pub fn parse(text: &str, catalog: &Catalog) -> Result<Self, ExprError> {
        let node = parse(text)?;
        let mut checker = Checker::new(catalog);
        let operand = checker.value(&node)?;
        let (fields, mentions) = checker.finish();
        let mut body = false;
        operand.visit(&mut |asked| {
            body |= matches!(asked, Asked::Field(_) | Asked::Subject(Subject::Body));
        });
        Ok(Self(Arc::new(Inner { text: text.into(), operand, fields, mentions, body })))
    }

    /// The value for a packet, the first when there are several; none when something that it needs
    /// is absent or a number does not fit.
    #[must_use]
    pub fn value(&self, view: &dyn View) -> Option<Value> {
        let packet = view.kind();
        let fields = self.0.fields.iter().enumerate();
        let live = fields.filter(|(_, field)| packet.is_some_and(|packet| field.is_of(packet)));
        let live = live.map(|(place, _)| place).collect();
        let plan = Plan { test: super::test::Test::Constant(true), live, body: self.0.body };
        with_slots(view, packet, &plan, &self.0.fields, |context| {
            self.0.operand.one(context).and_then(|val| val.to_value())
        })
    }

    /// The names in it that `protocol` does not have.
    #[must_use]
    pub fn warnings_for(&self, protocol: &Protocol) -> Vec<Warning> {
        self.0.mentions.iter().filter_map(|mention| mention.warning_for(protocol)).collect()
    }

    /// As it was written, without the `=`.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0.text
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
