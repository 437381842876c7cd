use super::field::Field;
use super::number::Number;
use super::operand::{Operand, Reduced};
use super::subject::Subject;
use super::val::Val;
use crate::schema::{Direction, PacketType, Protocol, State};

/// What is known of packets before one is there.
pub(super) struct Known<'a> {
    pub(super) protocol: &'a Protocol,
    pub(super) state: State,
    pub(super) direction: Direction,
    pub(super) packet: KnownPacket<'a>,
    /// Those of the expression.
    pub(super) fields: &'a [Field],
}

#[derive(Clone, Copy)]
pub(super) enum KnownPacket<'a> {
    /// It will be known later.
    Later,
    Is(&'a PacketType),
    /// The protocol has none of its id.
    None,
}

impl Known<'_> {
    pub(super) fn subject(&self, subject: Subject) -> Reduced {
        let text = |text: &str| Reduced::To(Operand::Constant(Val::string(text.into())));
        let int = |int: i32| Reduced::To(Operand::Constant(Val::Number(Number::Int(int.into()))));
        match (subject, self.packet) {
            (Subject::State, _) => text(self.state.name()),
            (Subject::Direction, _) => text(self.direction.name()),
            (Subject::Version, _) => text(self.protocol.name()),
            (Subject::Name, KnownPacket::Is(packet)) => text(packet.name()),
            (Subject::Id, KnownPacket::Is(packet)) => int(packet.id()),
            (Subject::Name, KnownPacket::None) => Reduced::Absent,
            _ => Reduced::Same,
        }
    }

    pub(super) fn field(&self, place: usize) -> Reduced {
        match self.packet {
            KnownPacket::Later => Reduced::Same,
            KnownPacket::Is(packet)
                if !self.fields[place].kinds(self.protocol, packet).is_empty() =>
            {
                Reduced::Same
            }
            KnownPacket::Is(_) | KnownPacket::None => Reduced::Absent,
        }
    }
}
