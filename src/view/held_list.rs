use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::control::{BreakCondition, HeldId, HeldPacket, Push};

/// What is held in all sessions, as the controller tells it. Cheap to clone.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HeldList {
    /// The packets by their numbers in the run.
    packets: BTreeMap<u64, Arc<HeldPacket>>,
    numbers: HashMap<HeldId, u64>,
    /// The condition on what is held.
    pub condition: Option<BreakCondition>,
    /// The number of attached interfaces.
    pub interfaces: usize,
}

impl HeldList {
    /// Takes a push of the controller.
    pub fn take(&mut self, push: &Push) {
        match push {
            Push::Control { condition, interfaces, .. } => {
                self.condition.clone_from(condition);
                self.interfaces = *interfaces;
            }
            Push::Held(packet) => {
                self.numbers.insert(packet.id(), packet.number);
                self.packets.insert(packet.number, Arc::new(packet.clone()));
            }
            Push::Decided { session, held, decision } => {
                let id = HeldId { session: *session, held: *held };
                let number = self.numbers.get(&id);
                if let Some(packet) = number.and_then(|it| self.packets.get_mut(it)) {
                    Arc::make_mut(packet).decided = Some(*decision);
                }
            }
            Push::Released { session, held, .. } => {
                let number = self.numbers.remove(&HeldId { session: *session, held: *held });
                number.and_then(|it| self.packets.remove(&it));
            }
            Push::Sending(_) | Push::Message { .. } => {}
        }
    }

    /// Returns the held packets in the order in which they came.
    pub fn packets(&self) -> impl ExactSizeIterator<Item = &HeldPacket> {
        self.packets.values().map(|packet| &**packet)
    }
}
