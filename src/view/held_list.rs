use std::collections::BTreeMap;
use std::sync::Arc;

use crate::control::{BreakCondition, HeldId, HeldPacket, Push};

/// What is held in all sessions, as the controller tells it. Cheap to clone.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HeldList {
    packets: BTreeMap<HeldId, Arc<HeldPacket>>,
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
                self.packets.insert(packet.id(), Arc::new(packet.clone()));
            }
            Push::Decided { session, held, decision } => {
                let id = HeldId { session: *session, held: *held };
                if let Some(packet) = self.packets.get_mut(&id) {
                    Arc::make_mut(packet).decided = Some(*decision);
                }
            }
            Push::Released { session, held, .. } => {
                self.packets.remove(&HeldId { session: *session, held: *held });
            }
            Push::Sending(_) | Push::Message { .. } => {}
        }
    }

    /// Returns the held packets by session and number.
    pub fn packets(&self) -> impl ExactSizeIterator<Item = &HeldPacket> {
        self.packets.values().map(|packet| &**packet)
    }
}
