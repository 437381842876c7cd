use super::context::Context;
use super::cost::Cost;
use super::field::Field;
use super::known::Known;
use super::node::{Arithmetic, Function};
use super::subject::Subject;
use super::test::Test;
use super::val::Val;

/// What gives a value, compiled.
#[derive(Debug, Clone)]
pub(super) enum Operand {
    Constant(Val<'static>),
    Subject(Subject),
    /// Place in the fields of the expression.
    Field(usize),
    Call(Function, Box<Self>),
    Negate(Box<Self>),
    Compute(Arithmetic, Box<Self>, Box<Self>),
    Test(Box<Test>),
}

/// What is left of an operand, or of something with operands, when something is known of the
/// packet.
pub(super) enum Reduced<T = Operand> {
    Same,
    /// It has no value.
    Absent,
    To(T),
}

impl Operand {
    /// The value, or the first of several.
    #[inline]
    pub(super) fn one<'a>(&'a self, context: &Context<'a>) -> Option<Val<'a>> {
        match self {
            Self::Constant(constant) => Some(constant.borrowed()),
            Self::Subject(subject) => subject.val(context),
            Self::Field(place) => {
                let slot = context.slots.get(*place)?;
                slot.found.one(&context.fields[*place], context.body?)
            }
            Self::Call(function, argument) => argument.one(context)?.call(*function),
            Self::Negate(operand) => negate(&operand.one(context)?),
            Self::Compute(operator, left, right) => {
                left.one(context)?.compute(*operator, right.one(context)?)
            }
            Self::Test(test) => Some(Val::Bool(test.holds(context))),
        }
    }

    /// Shows each value to `see` until it is satisfied, and gives whether it was.
    pub(super) fn each<'a>(
        &'a self,
        context: &Context<'a>,
        see: &mut dyn FnMut(Val<'a>) -> bool,
    ) -> bool {
        match self {
            Self::Field(place) => {
                let Some(body) = context.body else { return false };
                let slot = context.slots.get(*place);
                slot.is_some_and(|slot| slot.found.each(&context.fields[*place], body, see))
            }
            Self::Call(function, argument) => {
                argument.each(context, &mut |val| val.call(*function).is_some_and(&mut *see))
            }
            Self::Negate(operand) => {
                operand.each(context, &mut |val| negate(&val).is_some_and(&mut *see))
            }
            Self::Compute(operator, left, right) => left.each(context, &mut |a| {
                right.each(context, &mut |b| a.clone().compute(*operator, b).is_some_and(&mut *see))
            }),
            _ => self.one(context).is_some_and(see),
        }
    }

    /// Whether it can have several values.
    pub(super) fn is_many(&self, fields: &[Field]) -> bool {
        match self {
            Self::Field(place) => fields[*place].is_many(),
            Self::Call(_, operand) | Self::Negate(operand) => operand.is_many(fields),
            Self::Compute(_, left, right) => left.is_many(fields) || right.is_many(fields),
            Self::Constant(_) | Self::Subject(_) | Self::Test(_) => false,
        }
    }

    pub(super) fn cost(&self) -> Cost {
        match self {
            Self::Constant(_) => Cost::Nothing,
            Self::Subject(subject) => match subject {
                Subject::Name | Subject::Id => Cost::Packet,
                Subject::Body => Cost::Body,
                Subject::Error => Cost::Everything,
                _ => Cost::Nothing,
            },
            Self::Field(_) => Cost::Body,
            Self::Call(_, operand) => operand.cost().with_work(),
            Self::Negate(operand) => operand.cost(),
            Self::Compute(_, left, right) => left.cost().max(right.cost()),
            Self::Test(test) => test.cost(),
        }
    }

    pub(super) fn reduce(&self, known: &Known<'_>) -> Reduced {
        match self {
            Self::Constant(_) => Reduced::Same,
            Self::Subject(subject) => known.subject(*subject),
            Self::Field(place) => known.field(*place),
            Self::Call(function, argument) => {
                argument.reduce(known).map(|argument| Self::Call(*function, Box::new(argument)))
            }
            Self::Negate(operand) => {
                operand.reduce(known).map(|operand| Self::Negate(Box::new(operand)))
            }
            Self::Compute(operator, left, right) => {
                Reduced::both(left, right, known, |left, right| {
                    Self::Compute(*operator, Box::new(left), Box::new(right))
                })
            }
            Self::Test(test) => Reduced::To(match test.reduce(known) {
                Test::Constant(bool) => Self::Constant(Val::Bool(bool)),
                test => Self::Test(Box::new(test)),
            }),
        }
    }

    /// Shows everything that is asked of a packet.
    pub(super) fn visit(&self, see: &mut dyn FnMut(Asked)) {
        match self {
            Self::Constant(_) => {}
            Self::Subject(subject) => see(Asked::Subject(*subject)),
            Self::Field(place) => see(Asked::Field(*place)),
            Self::Call(_, operand) | Self::Negate(operand) => operand.visit(see),
            Self::Compute(_, left, right) => {
                left.visit(see);
                right.visit(see);
            }
            Self::Test(test) => test.visit(see),
        }
    }
}

/// Something that is asked of a packet.
pub(super) enum Asked {
    Subject(Subject),
    /// Place in the fields of the expression.
    Field(usize),
    /// Its name.
    Packet,
}

impl Reduced {
    pub(super) fn map<T>(self, wrap: impl FnOnce(Operand) -> T) -> Reduced<T> {
        match self {
            Self::Same => Reduced::Same,
            Self::Absent => Reduced::Absent,
            Self::To(operand) => Reduced::To(wrap(operand)),
        }
    }

    /// What is left of two operands together; absent when one is.
    pub(super) fn both<T>(
        left: &Operand,
        right: &Operand,
        known: &Known<'_>,
        join: impl FnOnce(Operand, Operand) -> T,
    ) -> Reduced<T> {
        match (left.reduce(known), right.reduce(known)) {
            (Self::Absent, _) | (_, Self::Absent) => Reduced::Absent,
            (Self::Same, Self::Same) => Reduced::Same,
            (Self::To(left), Self::To(right)) => Reduced::To(join(left, right)),
            (Self::To(left), Self::Same) => Reduced::To(join(left, right.clone())),
            (Self::Same, Self::To(right)) => Reduced::To(join(left.clone(), right)),
        }
    }
}

fn negate<'a>(val: &Val<'a>) -> Option<Val<'a>> {
    val.number()?.negate().map(Val::Number)
}
