//! Partial evaluation: predicates reduced by the protocol, state, direction and type of a packet. Each type is planned once per protocol; packets are then evaluated by the plan.

use std::sync::{Arc, OnceLock};

use super::ast::Arithmetic;
use super::attribute::{Attribute, Subject};
use super::collector::{Evaluation, Slot, collect};
use super::datum::{Datum, Number};
use super::field::Field;
use super::field_index::Owners;
use super::predicate::{Atom, Check, Cost, Operand, Predicate, Property};
use mitmcraft_protocol::contents::Contents;
use mitmcraft_protocol::packet::PerProtocol;
use mitmcraft_protocol::schema::{Direction, PacketType, PerDirection, Protocol, State};

/// The plans of a predicate for all types of packets of all protocols, made on first use.
#[derive(Default)]
pub(super) struct Plans(PerProtocol<ByState>);

/// Indexed by state. Most conditions are asked about few states, and a file can have thousands.
type ByState = [PerDirection<OnceLock<Box<Table>>>; State::ALL.len()];

/// The plans for packets of one state and direction.
pub(super) struct Table {
    /// The predicate, reduced by protocol, state and direction.
    pub(super) predicate: Predicate,
    /// The extent to which the predicate can be decided at no cost.
    pub(super) quick: Quick,
    /// The plans by packet id, for ids below [`DENSE`].
    packets: Box<[OnceLock<Box<Plan>>]>,
    /// The plan for packets with an unassigned id.
    unknown: OnceLock<Box<Plan>>,
}

/// The extent to which a predicate has no [`Cost`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quick {
    All,
    /// Some parts, so that [`Predicate::quick`] may decide it.
    Some,
    None,
}

/// The predicate reduced for one type of packet, with the reads that it needs.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) predicate: Predicate,
    pub(super) reads: Reads,
}

/// The parts of a packet that must be read before an evaluation.
#[derive(Debug, Clone, Default)]
pub(super) struct Reads {
    /// The indexes of the fields.
    live: Box<[usize]>,
    /// `true` if the body is needed, for fields or as a whole.
    pub(super) body: bool,
}

impl Plans {
    /// Returns the plans for packets of that state and direction.
    #[inline]
    pub(super) fn table(
        &self,
        protocol: &Arc<Protocol>,
        state: State,
        direction: Direction,
        predicate: &Predicate,
        fields: &[Field],
    ) -> &Table {
        let tables = self.0.get_or_init(protocol, ByState::default);
        tables[state as usize][direction]
            .get_or_init(|| Box::new(Table::new(protocol, state, direction, predicate, fields)))
    }
}

impl Table {
    fn new(
        protocol: &Protocol,
        state: State,
        direction: Direction,
        predicate: &Predicate,
        fields: &[Field],
    ) -> Self {
        let kind = KindFact::Unknown;
        let facts = Facts { protocol, state, direction, kind, fields, owners: None };
        let predicate = predicate.reduce(&facts);
        let ids = protocol.packets().iter().filter_map(|packet| {
            let here = packet.state() == state && packet.direction() == direction;
            usize::try_from(packet.id()).ok().filter(|id| here && *id < DENSE)
        });
        let room = ids.max().map_or(0, |id| id + 1);
        Self {
            quick: match predicate.cost() {
                Cost::Nothing => Quick::All,
                _ if predicate.has_quick() => Quick::Some,
                _ => Quick::None,
            },
            predicate,
            packets: (0..room).map(|_| OnceLock::new()).collect(),
            unknown: OnceLock::new(),
        }
    }

    /// Calls `see` with the plan for a type of packet.
    #[inline]
    pub(super) fn with<R>(&self, facts: &Facts<'_>, see: impl FnOnce(&Plan) -> R) -> R {
        let cell = match facts.kind {
            KindFact::Is(packet) => match usize::try_from(packet.id()) {
                Ok(id) => self.packets.get(id),
                Err(_) => None,
            },
            KindFact::Invalid | KindFact::Unknown => Some(&self.unknown),
        };
        match cell {
            Some(cell) => see(cell.get_or_init(|| Box::new(self.plan(facts)))),
            None => see(&self.plan(facts)),
        }
    }

    fn plan(&self, facts: &Facts<'_>) -> Plan {
        let predicate = self.predicate.reduce(facts);
        let reads = Reads::new(|see| predicate.visit(see));
        Plan { predicate, reads }
    }
}

impl Reads {
    /// Collects the reads that `visit` reports.
    pub(super) fn new(visit: impl FnOnce(&mut dyn FnMut(Property))) -> Self {
        let (mut live, mut body) = (Vec::new(), false);
        visit(&mut |asked| match asked {
            Property::Field(place) => live.push(place),
            Property::Attribute(Attribute::Body) => body = true,
            Property::Attribute(_) | Property::Packet => {}
        });
        live.sort_unstable();
        live.dedup();
        Self { body: body || !live.is_empty(), live: live.into() }
    }

    /// Keeps only the fields that packets of a type can have.
    pub(super) fn of(mut self, kind: &PacketType, fields: &[Field]) -> Self {
        self.live = self.live.into_iter().filter(|place| fields[*place].is_of(kind)).collect();
        self
    }

    /// Reads the packet, and evaluates with it.
    pub(super) fn evaluate<R>(
        &self,
        subject: Subject<'_>,
        kind: Option<&PacketType>,
        fields: &[Field],
        evaluate: impl FnOnce(&Evaluation<'_>) -> R,
    ) -> R {
        let body = if self.body { subject.body() } else { None };
        let body = body.as_deref();
        if fields.len() <= FEW {
            let mut slots: [Slot; FEW] = Default::default();
            return self.fill(subject, kind, fields, body, &mut slots, evaluate);
        }
        let mut slots: Vec<Slot> = fields.iter().map(|_| Slot::default()).collect();
        self.fill(subject, kind, fields, body, &mut slots, evaluate)
    }

    fn fill<R>(
        &self,
        subject: Subject<'_>,
        kind: Option<&PacketType>,
        fields: &[Field],
        body: Option<&[u8]>,
        slots: &mut [Slot],
        evaluate: impl FnOnce(&Evaluation<'_>) -> R,
    ) -> R {
        if !self.live.is_empty()
            && let (Some(kind), Some(body)) = (kind, body)
        {
            let (protocol, start) =
                (&subject.packet.context().protocol, subject.packet.fields_at());
            collect(protocol, kind, (body, start), fields, &self.live, slots);
        }
        evaluate(&Evaluation { subject, fields, slots, body })
    }
}

/// Ids below this are planned in a table; the game has fewer.
const DENSE: usize = 1024;

/// The facts known about a packet before it is read.
pub(super) struct Facts<'a> {
    pub(super) protocol: &'a Protocol,
    pub(super) state: State,
    pub(super) direction: Direction,
    pub(super) kind: KindFact<'a>,
    /// The fields of the expression.
    pub(super) fields: &'a [Field],
    /// The packets that have each field, if they have been looked up.
    pub(super) owners: Option<&'a [Owners]>,
}

#[derive(Clone, Copy)]
pub(super) enum KindFact<'a> {
    /// Not known yet.
    Unknown,
    Is(&'a PacketType),
    /// The id is unassigned.
    Invalid,
}

impl Facts<'_> {
    pub(super) fn attribute(&self, attribute: Attribute) -> Reduced {
        let text = |text: &str| Reduced::To(Operand::Constant(Datum::string(text.into())));
        let int = |int: i32| Reduced::To(Operand::Constant(Datum::Number(Number::Int(int.into()))));
        match (attribute, self.kind) {
            (Attribute::State, _) => text(self.state.name()),
            (Attribute::Direction, _) => text(self.direction.name()),
            (Attribute::Version, _) => text(self.protocol.name()),
            (Attribute::Name, KindFact::Is(packet)) => text(packet.name()),
            (Attribute::Id, KindFact::Is(packet)) => int(packet.id()),
            (Attribute::Name, KindFact::Invalid) => Reduced::Absent,
            _ => Reduced::Same,
        }
    }

    pub(super) fn field(&self, place: usize) -> Reduced {
        match self.kind {
            KindFact::Unknown => Reduced::Same,
            KindFact::Is(packet) if self.has(place, packet) => Reduced::Same,
            KindFact::Is(_) | KindFact::Invalid => Reduced::Absent,
        }
    }

    fn has(&self, place: usize, packet: &PacketType) -> bool {
        match self.owners {
            Some(owners) => owners[place].has(self.protocol.place(packet)),
            None => !self.fields[place].kinds(self.protocol, packet).is_empty(),
        }
    }
}

/// The result of reducing an operand, or something that contains operands, by [`Facts`].
pub(super) enum Reduced<T = Operand> {
    Same,
    /// It has no value for such packets.
    Absent,
    To(T),
}

impl Operand {
    pub(super) fn reduce(&self, facts: &Facts<'_>) -> Reduced {
        match self {
            Self::Constant(_) => Reduced::Same,
            Self::Attribute(attribute) => facts.attribute(*attribute),
            Self::Field(place) => facts.field(*place),
            Self::Call(function, argument) => {
                argument.reduce(facts).map(|argument| Self::Call(*function, Box::new(argument)))
            }
            Self::Replace(text, replacement) => text
                .reduce(facts)
                .map(|text| Self::Replace(Box::new(text), Arc::clone(replacement))),
            Self::Negate(operand) => {
                operand.reduce(facts).map(|operand| Self::Negate(Box::new(operand)))
            }
            Self::Compute(operator, left, right) => {
                Reduced::both(left, right, facts, |left, right| {
                    Self::Compute(*operator, Box::new(left), Box::new(right))
                })
            }
            Self::Blocks(operand) => match (&**operand, operand.reduce(facts), facts.kind) {
                (_, Reduced::Absent, _) => Reduced::Absent,
                (Self::Field(place), _, KindFact::Is(packet)) => {
                    let per = facts.fields[*place]
                        .meaning(facts.protocol, packet)
                        .and_then(|meaning| meaning.per_block());
                    Reduced::To(match per {
                        Some(per) => {
                            let per = Self::Constant(Datum::Number(Number::Double(per)));
                            Self::Compute(Arithmetic::Divide, operand.clone(), Box::new(per))
                        }
                        None => Self::clone(operand),
                    })
                }
                (_, Reduced::To(operand), _) => Reduced::To(operand),
                _ => Reduced::Same,
            },
            Self::Block(_) if matches!(facts.kind, KindFact::Is(packet) if !Contents::has_blocks(packet)) => {
                Reduced::Absent
            }
            Self::Distance(operands) | Self::Block(operands) | Self::Slice(operands) => {
                let reduced: Vec<Reduced> =
                    operands.iter().map(|operand| operand.reduce(facts)).collect();
                if reduced.iter().any(|it| matches!(it, Reduced::Absent)) {
                    return Reduced::Absent;
                }
                let pairs = operands.iter().zip(reduced);
                let operands = pairs.map(|(operand, reduced)| match reduced {
                    Reduced::To(reduced) => reduced,
                    Reduced::Same | Reduced::Absent => operand.clone(),
                });
                let operands = operands.collect();
                Reduced::To(match self {
                    Self::Block(_) => Self::Block(operands),
                    Self::Slice(_) => Self::Slice(operands),
                    _ => Self::Distance(operands),
                })
            }
            Self::Predicate(predicate) => Reduced::To(match predicate.reduce(facts) {
                Predicate::Constant(bool) => Self::Constant(Datum::Bool(bool)),
                predicate => Self::Predicate(Box::new(predicate)),
            }),
        }
    }
}

impl Predicate {
    /// Returns the result if the facts decide it: the constant to which
    /// [`reduce`](Self::reduce) would reduce the predicate.
    pub(super) fn decide(&self, facts: &Facts<'_>) -> Option<bool> {
        self.known(&|atom| match atom.reduce(facts) {
            Some(Self::Constant(bool)) => Some(bool),
            _ => None,
        })
    }

    /// Returns the predicate reduced by facts.
    pub(super) fn reduce(&self, facts: &Facts<'_>) -> Self {
        match self {
            Self::Constant(bool) => Self::Constant(*bool),
            Self::Not(predicate) => Self::not(predicate.reduce(facts)),
            Self::All(predicates) => {
                Self::all(predicates.iter().map(|predicate| predicate.reduce(facts)))
            }
            Self::Any(predicates) => {
                Self::any(predicates.iter().map(|predicate| predicate.reduce(facts)))
            }
            Self::Atom(atom) => atom.reduce(facts).unwrap_or_else(|| Self::Atom(Arc::clone(atom))),
        }
    }
}

impl Atom {
    /// Returns the reduced predicate; `None` if the facts change nothing.
    fn reduce(&self, facts: &Facts<'_>) -> Option<Predicate> {
        if let Some(bool) = self.check.decide(facts) {
            return Some(Predicate::Constant(bool));
        }
        Some(match self.check.reduce(facts) {
            Reduced::Same => return None,
            Reduced::Absent => Predicate::Constant(false),
            Reduced::To(check) => match check.constant() {
                Some(bool) => Predicate::Constant(bool),
                None => Predicate::atom(check, facts.fields),
            },
        })
    }
}

impl Check {
    /// Decides the check if it asks only for facts.
    fn decide(&self, facts: &Facts<'_>) -> Option<bool> {
        match self {
            Self::State(state) => Some(*state == facts.state),
            Self::Direction(direction) => Some(*direction == facts.direction),
            Self::Packet(packets) => match facts.kind {
                KindFact::Unknown => None,
                KindFact::Is(packet) => Some(packets.matches(packet)),
                KindFact::Invalid => Some(false),
            },
            _ => None,
        }
    }

    fn reduce(&self, facts: &Facts<'_>) -> Reduced<Self> {
        match self {
            Self::Packet(_) | Self::State(_) | Self::Direction(_) => Reduced::Same,
            Self::Exists(operand) => operand.reduce(facts).map(Self::Exists),
            Self::True(operand) => operand.reduce(facts).map(Self::True),
            Self::In(operand, set) => {
                operand.reduce(facts).map(|operand| Self::In(operand, set.clone()))
            }
            Self::Matches(operand, regex) => {
                operand.reduce(facts).map(|operand| Self::Matches(operand, regex.clone()))
            }
            Self::Compare(comparison, left, right) => {
                Reduced::both(left, right, facts, |left, right| {
                    Self::Compare(*comparison, left, right)
                })
            }
            Self::Contains(left, right) => Reduced::both(left, right, facts, Self::Contains),
            Self::Is(operand, name) => match (operand, operand.reduce(facts), facts.kind) {
                (_, Reduced::Absent, _) => Reduced::Absent,
                (Operand::Field(place), _, KindFact::Is(packet)) => {
                    // Each server has its own names.
                    let field = &facts.fields[*place];
                    let meaning = field.meaning(facts.protocol, packet);
                    if meaning.and_then(|meaning| meaning.sent_registry()).is_some() {
                        return Reduced::Same;
                    }
                    match field.named(facts.protocol, packet, name) {
                        Some(set) => Reduced::To(Self::In(operand.clone(), set)),
                        None => Reduced::Absent,
                    }
                }
                _ => Reduced::Same,
            },
        }
    }
}

impl Reduced {
    pub(super) fn map<T>(self, wrap: impl FnOnce(Operand) -> T) -> Reduced<T> {
        match self {
            Self::Same => Reduced::Same,
            Self::Absent => Reduced::Absent,
            Self::To(operand) => Reduced::To(wrap(operand)),
        }
    }

    /// Reduces two operands; absent if either is.
    pub(super) fn both<T>(
        left: &Operand,
        right: &Operand,
        facts: &Facts<'_>,
        join: impl FnOnce(Operand, Operand) -> T,
    ) -> Reduced<T> {
        match (left.reduce(facts), right.reduce(facts)) {
            (Self::Absent, _) | (_, Self::Absent) => Reduced::Absent,
            (Self::Same, Self::Same) => Reduced::Same,
            (Self::To(left), Self::To(right)) => Reduced::To(join(left, right)),
            (Self::To(left), Self::Same) => Reduced::To(join(left, right.clone())),
            (Self::Same, Self::To(right)) => Reduced::To(join(left.clone(), right)),
        }
    }
}

/// The number of slots on the stack; expressions with more fields allocate.
const FEW: usize = 4;
