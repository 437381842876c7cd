use std::cell::Cell;
use std::sync::Arc;

use regex::bytes::Regex;

use super::ast::{Arithmetic, Comparison, Function};
use super::attribute::Attribute;
use super::collector::Evaluation;
use super::datum::{Datum, Number, Set};
use super::field::Field;
use super::packets::Packets;
use super::replacement::Replacement;
use mitmcraft_protocol::contents::Contents;
use mitmcraft_protocol::schema::{Direction, Protocol, State};

/// A compiled predicate. Operands are ordered cheapest first.
#[derive(Debug, Clone)]
pub(super) enum Predicate {
    Constant(bool),
    Not(Box<Self>),
    All(Box<[Self]>),
    Any(Box<[Self]>),
    Atom(Arc<Atom>),
}

/// A predicate that is not composed of others.
#[derive(Debug)]
pub(super) struct Atom {
    pub(super) check: Check,
    cost: Cost,
    /// `true` if an operand can have several values, of which one must satisfy the check.
    many: bool,
}

#[derive(Debug)]
pub(super) enum Check {
    Packet(Packets),
    State(State),
    Direction(Direction),
    Exists(Operand),
    /// A bool field used as a condition.
    True(Operand),
    Compare(Comparison, Operand, Operand),
    In(Operand, Set),
    Contains(Operand, Operand),
    Matches(Operand, Regex),
    /// A field whose value has this name. Which numbers have it depends on the packet: a plan turns the
    /// check into one for a set.
    Is(Operand, Arc<str>),
}

impl Predicate {
    pub(super) fn not(predicate: Self) -> Self {
        match predicate {
            Self::Constant(bool) => Self::Constant(!bool),
            predicate => Self::Not(Box::new(predicate)),
        }
    }

    /// Joins predicates by `and`.
    pub(super) fn all(predicates: impl IntoIterator<Item = Self>) -> Self {
        Self::join(predicates, false, Self::All)
    }

    /// Joins predicates by `or`.
    pub(super) fn any(predicates: impl IntoIterator<Item = Self>) -> Self {
        Self::join(predicates, true, Self::Any)
    }

    /// Joins predicates; one that is `decisive` decides for all.
    fn join(
        predicates: impl IntoIterator<Item = Self>,
        decisive: bool,
        wrap: fn(Box<[Self]>) -> Self,
    ) -> Self {
        let mut kept = Vec::new();
        for predicate in predicates {
            match predicate {
                Self::Constant(bool) if bool == decisive => return Self::Constant(decisive),
                Self::Constant(_) => {}
                predicate => kept.push(predicate),
            }
        }
        // Predicates have no side effects, so their order is free.
        kept.sort_by_key(Self::cost);
        match kept.len() {
            0 => Self::Constant(!decisive),
            1 => kept.remove(0),
            _ => wrap(kept.into()),
        }
    }

    pub(super) fn atom(check: Check, fields: &[Field]) -> Self {
        let own = if matches!(check, Check::Packet(_)) { Cost::Packet } else { Cost::Nothing };
        let (mut cost, mut many) = (own, false);
        for operand in check.operands() {
            cost = cost.max(operand.cost());
            many |= operand.is_many(fields);
        }
        let searches = matches!(check, Check::Contains(..) | Check::Matches(..));
        let cost = if searches { cost.with_work() } else { cost };
        Self::Atom(Arc::new(Atom { check, cost, many }))
    }

    pub(super) fn holds(&self, evaluation: &Evaluation<'_>) -> bool {
        match self {
            Self::Constant(bool) => *bool,
            Self::Not(predicate) => !predicate.holds(evaluation),
            Self::All(predicates) => predicates.iter().all(|predicate| predicate.holds(evaluation)),
            Self::Any(predicates) => predicates.iter().any(|predicate| predicate.holds(evaluation)),
            Self::Atom(atom) => atom.holds(evaluation),
        }
    }

    /// Evaluates only the parts without cost; `None` if they do not decide.
    pub(super) fn quick(&self, evaluation: &Evaluation<'_>) -> Option<bool> {
        self.known(&|atom| (atom.cost == Cost::Nothing).then(|| atom.holds(evaluation)))
    }

    /// Evaluates only what asks for the protocol number, which is absent before 1.7, and for the version's
    /// name and family if `protocol` is given; `None` if that does not decide.
    pub(super) fn by_version(
        &self,
        number: Option<i32>,
        protocol: Option<&Protocol>,
    ) -> Option<bool> {
        self.known(&|atom| {
            let absent = Cell::new(false);
            let decided = atom.check.decided(|operand| match operand {
                Operand::Constant(constant) => Some(constant.clone()),
                Operand::Attribute(Attribute::Protocol) => {
                    absent.set(number.is_none());
                    number.map(|number| Datum::Number(Number::Int(number.into())))
                }
                Operand::Attribute(Attribute::Version) => {
                    protocol.map(|protocol| Datum::string(protocol.name().to_owned()))
                }
                Operand::Attribute(Attribute::Family) => {
                    protocol.map(|protocol| Datum::text(protocol.family().name()))
                }
                _ => None,
            });
            if absent.get() { Some(false) } else { decided }
        })
    }

    /// Evaluates the predicate with the results that `atom` knows; `None` if these do not decide.
    pub(super) fn known(&self, atom: &impl Fn(&Atom) -> Option<bool>) -> Option<bool> {
        let (predicates, decisive) = match self {
            Self::Constant(bool) => return Some(*bool),
            Self::Not(predicate) => return predicate.known(atom).map(|holds| !holds),
            Self::Atom(own) => return atom(own),
            Self::All(predicates) => (predicates, false),
            Self::Any(predicates) => (predicates, true),
        };
        let mut all_known = true;
        for predicate in predicates {
            match predicate.known(atom) {
                Some(holds) if holds == decisive => return Some(decisive),
                Some(_) => {}
                None => all_known = false,
            }
        }
        all_known.then_some(!decisive)
    }

    /// Returns whether any part has no cost.
    pub(super) fn has_quick(&self) -> bool {
        match self {
            Self::Constant(_) => true,
            Self::Not(predicate) => predicate.has_quick(),
            Self::All(predicates) | Self::Any(predicates) => predicates.iter().any(Self::has_quick),
            Self::Atom(atom) => atom.cost == Cost::Nothing,
        }
    }

    pub(super) fn cost(&self) -> Cost {
        match self {
            Self::Constant(_) => Cost::Nothing,
            Self::Not(predicate) => predicate.cost(),
            Self::All(predicates) | Self::Any(predicates) => {
                predicates.iter().map(Self::cost).max().unwrap_or(Cost::Nothing)
            }
            Self::Atom(atom) => atom.cost,
        }
    }

    /// Calls `see` with each property of packets that is asked for.
    pub(super) fn visit(&self, see: &mut dyn FnMut(Property)) {
        match self {
            Self::Constant(_) => {}
            Self::Not(predicate) => predicate.visit(see),
            Self::All(predicates) | Self::Any(predicates) => {
                predicates.iter().for_each(|predicate| predicate.visit(see))
            }
            Self::Atom(atom) => match &atom.check {
                Check::Packet(_) => see(Property::Packet),
                check => check.operands().for_each(|operand| operand.visit(see)),
            },
        }
    }
}

impl Atom {
    fn holds(&self, evaluation: &Evaluation<'_>) -> bool {
        let subject = evaluation.subject;
        match &self.check {
            Check::Packet(packets) => subject.kind().is_some_and(|packet| packets.matches(packet)),
            Check::State(state) => subject.packet.state() == *state,
            Check::Direction(direction) => subject.packet.direction() == *direction,
            Check::Exists(operand) => operand.each(evaluation, &mut |_| true),
            Check::True(operand) => {
                self.some(operand, evaluation, |datum| matches!(datum, Datum::Bool(true)))
            }
            Check::In(operand, set) => self.some(operand, evaluation, |datum| set.has(datum)),
            Check::Matches(operand, regex) => self.some(operand, evaluation, |datum| {
                datum.searchable().is_some_and(|text| regex.is_match(&text))
            }),
            Check::Compare(comparison, left, right) => {
                self.some_pair(left, right, evaluation, |left, right| {
                    left.compares(*comparison, right)
                })
            }
            Check::Contains(left, right) => {
                self.some_pair(left, right, evaluation, |left, right| left.contains(right))
            }
            Check::Is(operand, name) => {
                let Operand::Field(place) = operand else { return false };
                let protocol = &subject.packet.context().protocol;
                let Some(packet) = subject.kind() else { return false };
                let field = &evaluation.fields[*place];
                let meaning = field.meaning(protocol, packet);
                let set = match meaning.and_then(|meaning| meaning.sent_registry()) {
                    Some(registry) => {
                        let number = subject.packet.context().registries.number(registry, name);
                        number.map(|number| Set::named(vec![number..=number], name))
                    }
                    None => field.named(protocol, packet, name),
                };
                set.is_some_and(|set| self.some(operand, evaluation, |datum| set.has(datum)))
            }
        }
    }

    #[inline]
    fn some<'a>(
        &'a self,
        operand: &'a Operand,
        evaluation: &Evaluation<'a>,
        is: impl Fn(&Datum<'a>) -> bool,
    ) -> bool {
        if self.many {
            operand.each(evaluation, &mut |datum| is(&datum))
        } else {
            operand.one(evaluation).is_some_and(|datum| is(&datum))
        }
    }

    #[inline]
    fn some_pair<'a>(
        &'a self,
        left: &'a Operand,
        right: &'a Operand,
        evaluation: &Evaluation<'a>,
        are: impl Fn(&Datum<'a>, &Datum<'a>) -> bool,
    ) -> bool {
        if let Operand::Constant(right) = right {
            return self.some(left, evaluation, |left| are(left, right));
        }
        if self.many {
            return left.each(evaluation, &mut |left| {
                right.each(evaluation, &mut |right| are(&left, &right))
            });
        }
        match (left.one(evaluation), right.one(evaluation)) {
            (Some(left), Some(right)) => are(&left, &right),
            _ => false,
        }
    }
}

impl Check {
    fn operands(&self) -> impl Iterator<Item = &Operand> {
        let (first, second) = match self {
            Self::Packet(_) | Self::State(_) | Self::Direction(_) => (None, None),
            Self::Exists(operand) | Self::True(operand) => (Some(operand), None),
            Self::In(operand, _) | Self::Matches(operand, _) | Self::Is(operand, _) => {
                (Some(operand), None)
            }
            Self::Compare(_, left, right) | Self::Contains(left, right) => {
                (Some(left), Some(right))
            }
        };
        first.into_iter().chain(second)
    }

    /// Evaluates a check whose operands are all constant.
    pub(super) fn constant(&self) -> Option<bool> {
        self.decided(|operand| match operand {
            Operand::Constant(constant) => Some(constant.clone()),
            _ => None,
        })
    }

    /// Evaluates a check whose operands all have a value that is known.
    fn decided(&self, constant: impl Fn(&Operand) -> Option<Datum<'static>>) -> Option<bool> {
        Some(match self {
            Self::Packet(_) | Self::State(_) | Self::Direction(_) | Self::Is(..) => return None,
            Self::Exists(operand) => constant(operand).map(|_| true)?,
            Self::True(operand) => matches!(constant(operand)?, Datum::Bool(true)),
            Self::In(operand, set) => set.has(&constant(operand)?),
            Self::Matches(operand, regex) => {
                let constant = constant(operand)?;
                constant.searchable().is_some_and(|text| regex.is_match(&text))
            }
            Self::Compare(comparison, left, right) => {
                constant(left)?.compares(*comparison, &constant(right)?)
            }
            Self::Contains(left, right) => constant(left)?.contains(&constant(right)?),
        })
    }
}

/// A compiled expression with a value.
#[derive(Debug, Clone)]
pub(super) enum Operand {
    Constant(Datum<'static>),
    Attribute(Attribute),
    /// The index among the expression's fields.
    Field(usize),
    Call(Function, Box<Self>),
    Replace(Box<Self>, Arc<Replacement>),
    /// A text, the place where a part of it begins, and often one where it ends.
    Slice(Box<[Self]>),
    Negate(Box<Self>),
    Compute(Arithmetic, Box<Self>, Box<Self>),
    Predicate(Box<Predicate>),
    /// A number in blocks, whatever unit its packet has it in.
    Blocks(Box<Self>),
    /// The distance between two points.
    Distance(Box<[Self]>),
    /// The name of the block that the packet has at three coordinates.
    Block(Box<[Self]>),
}

impl Operand {
    /// Returns the value, or the first of several.
    #[inline]
    pub(super) fn one<'a>(&'a self, evaluation: &Evaluation<'a>) -> Option<Datum<'a>> {
        match self {
            Self::Constant(constant) => Some(constant.borrowed()),
            Self::Attribute(attribute) => attribute.datum(evaluation.subject, evaluation.body),
            Self::Field(place) => {
                let slot = evaluation.slots.get(*place)?;
                slot.found.one(&evaluation.fields[*place], evaluation.body?)
            }
            Self::Call(function, argument) => argument.one(evaluation)?.call(*function),
            Self::Replace(text, replacement) => replacement.apply(text.one(evaluation)?),
            Self::Slice(parts) => {
                let (text, places) = parts.split_first()?;
                text.one(evaluation)?.slice(&Self::places(places, evaluation)?)
            }
            Self::Negate(operand) => negate(&operand.one(evaluation)?),
            Self::Compute(operator, left, right) => {
                left.one(evaluation)?.compute(*operator, right.one(evaluation)?)
            }
            Self::Predicate(predicate) => Some(Datum::Bool(predicate.holds(evaluation))),
            Self::Blocks(operand) => {
                let number = operand.one(evaluation)?;
                let Self::Field(place) = **operand else { return Some(number) };
                let protocol = &evaluation.subject.packet.context().protocol;
                let meaning =
                    evaluation.fields[place].meaning(protocol, evaluation.subject.kind()?);
                match meaning.and_then(|meaning| meaning.per_block()) {
                    Some(per) => {
                        number.compute(Arithmetic::Divide, Datum::Number(Number::Double(per)))
                    }
                    None => Some(number),
                }
            }
            Self::Block(coordinates) => {
                let mut at = [0; 3];
                for (axis, coordinate) in coordinates.iter().enumerate().take(3) {
                    // The cast saturates: no block is there.
                    at[axis] = coordinate.one(evaluation)?.number()?.float().floor() as i32;
                }
                let [x, y, z] = at;
                Contents::block_in(evaluation.subject.packet, x, y, z).map(Datum::string)
            }
            Self::Distance(coordinates) => {
                let number =
                    |at: usize| Some(coordinates.get(at)?.one(evaluation)?.number()?.float());
                let mut squares = 0.0;
                for axis in 0..3 {
                    squares += (number(axis)? - number(axis + 3)?).powi(2);
                }
                Some(Datum::Number(Number::Double(squares.sqrt())))
            }
        }
    }

    /// Calls `see` with each value until it returns true; returns whether it did.
    pub(super) fn each<'a>(
        &'a self,
        evaluation: &Evaluation<'a>,
        see: &mut dyn FnMut(Datum<'a>) -> bool,
    ) -> bool {
        match self {
            Self::Field(place) => {
                let Some(body) = evaluation.body else { return false };
                let slot = evaluation.slots.get(*place);
                slot.is_some_and(|slot| slot.found.each(&evaluation.fields[*place], body, see))
            }
            Self::Call(function, argument) => {
                argument.each(evaluation, &mut |datum| datum.call(*function).is_some_and(&mut *see))
            }
            Self::Replace(text, replacement) => {
                text.each(evaluation, &mut |datum| replacement.apply(datum).is_some_and(&mut *see))
            }
            Self::Slice(parts) => {
                let Some((text, places)) = parts.split_first() else { return false };
                let Some(places) = Self::places(places, evaluation) else { return false };
                text.each(evaluation, &mut |datum| datum.slice(&places).is_some_and(&mut *see))
            }
            Self::Negate(operand) => {
                operand.each(evaluation, &mut |datum| negate(&datum).is_some_and(&mut *see))
            }
            Self::Compute(operator, left, right) => left.each(evaluation, &mut |a| {
                right.each(evaluation, &mut |b| {
                    a.clone().compute(*operator, b).is_some_and(&mut *see)
                })
            }),
            Self::Attribute(Attribute::Diagnostic) => {
                evaluation.subject.diagnostics().iter().any(|it| see(Datum::text(it.name())))
            }
            _ => self.one(evaluation).is_some_and(see),
        }
    }

    /// Returns whole numbers, rounded down.
    fn places(operands: &[Self], evaluation: &Evaluation<'_>) -> Option<Vec<i64>> {
        // The cast saturates: such a place is beyond every text.
        let place =
            |operand: &Self| Some(operand.one(evaluation)?.number()?.float().floor() as i64);
        operands.iter().map(place).collect()
    }

    /// Returns the operands that it is computed from.
    fn parts(&self) -> Vec<&Self> {
        match self {
            Self::Constant(_) | Self::Attribute(_) | Self::Field(_) | Self::Predicate(_) => vec![],
            Self::Call(_, operand)
            | Self::Replace(operand, _)
            | Self::Negate(operand)
            | Self::Blocks(operand) => vec![operand],
            Self::Compute(_, left, right) => vec![left, right],
            Self::Distance(operands) | Self::Block(operands) | Self::Slice(operands) => {
                operands.iter().collect()
            }
        }
    }

    /// Returns whether it can have several values. A coordinate has one.
    pub(super) fn is_many(&self, fields: &[Field]) -> bool {
        match self {
            Self::Field(place) => fields[*place].is_many(),
            Self::Attribute(attribute) => *attribute == Attribute::Diagnostic,
            _ => self.parts().iter().any(|part| part.is_many(fields)),
        }
    }

    pub(super) fn cost(&self) -> Cost {
        let parts = || self.parts().into_iter().map(Self::cost).max().unwrap_or(Cost::Nothing);
        match self {
            Self::Attribute(attribute) => match attribute {
                Attribute::Name | Attribute::Id => Cost::Packet,
                Attribute::Body => Cost::Body,
                // Not known before the packet is read.
                Attribute::Comment
                | Attribute::Marked
                | Attribute::Error
                | Attribute::Diagnostic => Cost::Everything,
                _ => Cost::Nothing,
            },
            Self::Field(_) => Cost::Body,
            Self::Block(_) => Cost::Everything,
            Self::Predicate(predicate) => predicate.cost(),
            Self::Call(..) | Self::Replace(..) | Self::Slice(_) => parts().with_work(),
            _ => parts(),
        }
    }

    /// Calls `see` with each property of packets that is asked for.
    pub(super) fn visit(&self, see: &mut dyn FnMut(Property)) {
        match self {
            Self::Attribute(attribute) => see(Property::Attribute(*attribute)),
            Self::Field(place) => see(Property::Field(*place)),
            Self::Predicate(predicate) => predicate.visit(see),
            _ => self.parts().iter().for_each(|part| part.visit(see)),
        }
    }
}

/// A property of packets that an expression asks for.
pub(super) enum Property {
    Attribute(Attribute),
    /// The index among the expression's fields.
    Field(usize),
    /// The packet's name.
    Packet,
}

fn negate<'a>(datum: &Datum<'a>) -> Option<Datum<'a>> {
    datum.number()?.negate().map(Datum::Number)
}

/// The cost of evaluating something, cheapest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cost {
    /// Known for every packet.
    Nothing,
    /// Needs the packet's type: may inflate a few bytes.
    Packet,
    /// Decodes a part of the body.
    Body,
    /// Decodes a part of the body, and searches in it.
    Search,
    /// Decodes all of the body.
    Everything,
}

impl Cost {
    /// Returns the cost with work that depends on the value's length.
    pub(super) fn with_work(self) -> Self {
        if self == Self::Body { Self::Search } else { self }
    }
}
