use std::sync::Arc;

use regex::bytes::Regex;

use super::context::Context;
use super::cost::Cost;
use super::field::Field;
use super::known::{Known, KnownPacket};
use super::node::Comparison;
use super::operand::{Asked, Operand, Reduced};
use super::set::Set;
use super::val::Val;
use crate::packet::Glob;
use crate::schema::{Direction, State};

/// What holds or does not, compiled: cheap tests stand before those that take more.
#[derive(Debug, Clone)]
pub(super) enum Test {
    Constant(bool),
    Not(Box<Self>),
    All(Box<[Self]>),
    Any(Box<[Self]>),
    Leaf(Arc<Leaf>),
}

/// A test without tests in it.
#[derive(Debug)]
pub(super) struct Leaf {
    check: Check,
    cost: Cost,
    /// Whether an operand can have several values, of which one is enough.
    many: bool,
}

#[derive(Debug)]
pub(super) enum Check {
    Packet(Glob),
    State(State),
    Direction(Direction),
    Exists(Operand),
    /// A bool field by itself.
    True(Operand),
    Compare(Comparison, Operand, Operand),
    In(Operand, Set),
    Contains(Operand, Operand),
    Matches(Operand, Regex),
}

impl Test {
    pub(super) fn not(test: Self) -> Self {
        match test {
            Self::Constant(bool) => Self::Constant(!bool),
            test => Self::Not(Box::new(test)),
        }
    }

    /// Whether all hold.
    pub(super) fn all(tests: impl IntoIterator<Item = Self>) -> Self {
        Self::join(tests, false, Self::All)
    }

    /// Whether one holds.
    pub(super) fn any(tests: impl IntoIterator<Item = Self>) -> Self {
        Self::join(tests, true, Self::Any)
    }

    /// `decisive`: what a single test must be to decide for all.
    fn join(
        tests: impl IntoIterator<Item = Self>,
        decisive: bool,
        wrap: fn(Box<[Self]>) -> Self,
    ) -> Self {
        let mut kept = Vec::new();
        for test in tests {
            match test {
                Self::Constant(bool) if bool == decisive => return Self::Constant(decisive),
                Self::Constant(_) => {}
                test => kept.push(test),
            }
        }
        // None of them changes anything, so that any order gives the same.
        kept.sort_by_key(Self::cost);
        match kept.len() {
            0 => Self::Constant(!decisive),
            1 => kept.remove(0),
            _ => wrap(kept.into()),
        }
    }

    pub(super) fn leaf(check: Check, fields: &[Field]) -> Self {
        let (mut cost, mut many) = (check.own_cost(), false);
        for operand in check.operands() {
            cost = cost.max(operand.cost());
            many |= operand.is_many(fields);
        }
        let cost = if check.searches() { cost.with_work() } else { cost };
        Self::Leaf(Arc::new(Leaf { check, cost, many }))
    }

    pub(super) fn holds(&self, context: &Context<'_>) -> bool {
        match self {
            Self::Constant(bool) => *bool,
            Self::Not(test) => !test.holds(context),
            Self::All(tests) => tests.iter().all(|test| test.holds(context)),
            Self::Any(tests) => tests.iter().any(|test| test.holds(context)),
            Self::Leaf(leaf) => leaf.holds(context),
        }
    }

    /// Whether it holds, where that which costs nothing decides it.
    pub(super) fn quick(&self, context: &Context<'_>) -> Option<bool> {
        match self {
            Self::Constant(bool) => Some(*bool),
            Self::Not(test) => test.quick(context).map(|holds| !holds),
            Self::All(tests) => quick_join(tests, context, false),
            Self::Any(tests) => quick_join(tests, context, true),
            Self::Leaf(leaf) => {
                if leaf.cost == Cost::Nothing {
                    Some(leaf.holds(context))
                } else {
                    None
                }
            }
        }
    }

    /// Whether something in it costs nothing.
    pub(super) fn has_quick(&self) -> bool {
        match self {
            Self::Constant(_) => true,
            Self::Not(test) => test.has_quick(),
            Self::All(tests) | Self::Any(tests) => tests.iter().any(Self::has_quick),
            Self::Leaf(leaf) => leaf.cost == Cost::Nothing,
        }
    }

    pub(super) fn cost(&self) -> Cost {
        match self {
            Self::Constant(_) => Cost::Nothing,
            Self::Not(test) => test.cost(),
            Self::All(tests) | Self::Any(tests) => {
                tests.iter().map(Self::cost).max().unwrap_or(Cost::Nothing)
            }
            Self::Leaf(leaf) => leaf.cost,
        }
    }

    /// What is left of it for packets of which that is known.
    pub(super) fn reduce(&self, known: &Known<'_>) -> Self {
        match self {
            Self::Constant(bool) => Self::Constant(*bool),
            Self::Not(test) => Self::not(test.reduce(known)),
            Self::All(tests) => Self::all(tests.iter().map(|test| test.reduce(known))),
            Self::Any(tests) => Self::any(tests.iter().map(|test| test.reduce(known))),
            Self::Leaf(leaf) => leaf.reduce(known).unwrap_or_else(|| Self::Leaf(Arc::clone(leaf))),
        }
    }

    /// Shows everything that is asked of a packet.
    pub(super) fn visit(&self, see: &mut dyn FnMut(Asked)) {
        match self {
            Self::Constant(_) => {}
            Self::Not(test) => test.visit(see),
            Self::All(tests) | Self::Any(tests) => tests.iter().for_each(|test| test.visit(see)),
            Self::Leaf(leaf) => match &leaf.check {
                Check::Packet(_) => see(Asked::Packet),
                check => check.operands().for_each(|operand| operand.visit(see)),
            },
        }
    }
}

fn quick_join(tests: &[Test], context: &Context<'_>, decisive: bool) -> Option<bool> {
    let mut all_known = true;
    for test in tests {
        match test.quick(context) {
            Some(holds) if holds == decisive => return Some(decisive),
            Some(_) => {}
            None => all_known = false,
        }
    }
    all_known.then_some(!decisive)
}

impl Leaf {
    fn holds(&self, context: &Context<'_>) -> bool {
        let view = context.view;
        match &self.check {
            Check::Packet(glob) => view.kind().is_some_and(|packet| glob.matches(packet.name())),
            Check::State(state) => view.state() == *state,
            Check::Direction(direction) => view.direction() == *direction,
            Check::Exists(operand) => operand.each(context, &mut |_| true),
            Check::True(operand) => {
                self.some(operand, context, |val| matches!(val, Val::Bool(true)))
            }
            Check::In(operand, set) => self.some(operand, context, |val| set.has(val)),
            Check::Matches(operand, regex) => self.some(operand, context, |val| {
                val.searchable().is_some_and(|text| regex.is_match(&text))
            }),
            Check::Compare(comparison, left, right) => {
                self.some_pair(left, right, context, |left, right| {
                    left.compares(*comparison, right)
                })
            }
            Check::Contains(left, right) => {
                self.some_pair(left, right, context, |left, right| left.contains(right))
            }
        }
    }

    /// None when nothing changes.
    fn reduce(&self, known: &Known<'_>) -> Option<Test> {
        if let Some(bool) = self.check.decide(known) {
            return Some(Test::Constant(bool));
        }
        Some(match self.check.reduce(known) {
            Reduced::Same => return None,
            Reduced::Absent => Test::Constant(false),
            Reduced::To(check) => match check.constant() {
                Some(bool) => Test::Constant(bool),
                None => Test::leaf(check, known.fields),
            },
        })
    }

    #[inline]
    fn some<'a>(
        &'a self,
        operand: &'a Operand,
        context: &Context<'a>,
        is: impl Fn(&Val<'a>) -> bool,
    ) -> bool {
        match self.many {
            true => operand.each(context, &mut |val| is(&val)),
            false => operand.one(context).is_some_and(|val| is(&val)),
        }
    }

    #[inline]
    fn some_pair<'a>(
        &'a self,
        left: &'a Operand,
        right: &'a Operand,
        context: &Context<'a>,
        are: impl Fn(&Val<'a>, &Val<'a>) -> bool,
    ) -> bool {
        if let Operand::Constant(right) = right {
            return self.some(left, context, |left| are(left, right));
        }
        if self.many {
            return left
                .each(context, &mut |left| right.each(context, &mut |right| are(&left, &right)));
        }
        match (left.one(context), right.one(context)) {
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
            Self::In(operand, _) | Self::Matches(operand, _) => (Some(operand), None),
            Self::Compare(_, left, right) | Self::Contains(left, right) => {
                (Some(left), Some(right))
            }
        };
        first.into_iter().chain(second)
    }

    /// Without that of its operands.
    fn own_cost(&self) -> Cost {
        if matches!(self, Self::Packet(_)) { Cost::Packet } else { Cost::Nothing }
    }

    fn searches(&self) -> bool {
        matches!(self, Self::Contains(..) | Self::Matches(..))
    }

    /// Whether it holds, when it asks only for what is known.
    fn decide(&self, known: &Known<'_>) -> Option<bool> {
        match self {
            Self::State(state) => Some(*state == known.state),
            Self::Direction(direction) => Some(*direction == known.direction),
            Self::Packet(glob) => match known.packet {
                KnownPacket::Later => None,
                KnownPacket::Is(packet) => Some(glob.matches(packet.name())),
                KnownPacket::None => Some(false),
            },
            _ => None,
        }
    }

    fn reduce(&self, known: &Known<'_>) -> Reduced<Self> {
        match self {
            Self::Packet(_) | Self::State(_) | Self::Direction(_) => Reduced::Same,
            Self::Exists(operand) => operand.reduce(known).map(Self::Exists),
            Self::True(operand) => operand.reduce(known).map(Self::True),
            Self::In(operand, set) => {
                operand.reduce(known).map(|operand| Self::In(operand, set.clone()))
            }
            Self::Matches(operand, regex) => {
                operand.reduce(known).map(|operand| Self::Matches(operand, regex.clone()))
            }
            Self::Compare(comparison, left, right) => {
                Reduced::both(left, right, known, |left, right| {
                    Self::Compare(*comparison, left, right)
                })
            }
            Self::Contains(left, right) => Reduced::both(left, right, known, Self::Contains),
        }
    }

    /// Whether it holds, when nothing is asked of the packet any more.
    fn constant(&self) -> Option<bool> {
        let constant = |operand: &'_ Operand| match operand {
            Operand::Constant(constant) => Some(constant.clone()),
            _ => None,
        };
        Some(match self {
            Self::Packet(_) | Self::State(_) | Self::Direction(_) => return None,
            Self::Exists(operand) => constant(operand).map(|_| true)?,
            Self::True(operand) => matches!(constant(operand)?, Val::Bool(true)),
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
