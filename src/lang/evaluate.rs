use super::View;
use super::collector::collect;
use super::context::Context;
use super::field::Field;
use super::plan::Plan;
use super::slot::Slot;
use crate::schema::PacketType;

/// Reads what `plan` needs of the packet, and evaluates with it.
pub(super) fn with_slots<R>(
    view: &dyn View,
    packet: Option<&PacketType>,
    plan: &Plan,
    fields: &[Field],
    evaluate: impl FnOnce(&Context<'_>) -> R,
) -> R {
    let body = if plan.body { view.body() } else { None };
    if fields.len() <= FEW {
        let mut slots: [Slot; FEW] = Default::default();
        return with(view, packet, plan, fields, body.as_deref(), &mut slots, evaluate);
    }
    let mut slots: Vec<Slot> = fields.iter().map(|_| Slot::default()).collect();
    with(view, packet, plan, fields, body.as_deref(), &mut slots, evaluate)
}

fn with<R>(
    view: &dyn View,
    packet: Option<&PacketType>,
    plan: &Plan,
    fields: &[Field],
    body: Option<&[u8]>,
    slots: &mut [Slot],
    evaluate: impl FnOnce(&Context<'_>) -> R,
) -> R {
    if !plan.live.is_empty()
        && let (Some(packet), Some(body)) = (packet, body)
    {
        collect(view.protocol(), packet, (body, view.fields_at()), fields, &plan.live, slots);
    }
    evaluate(&Context { view, fields, slots, body })
}

/// Fields for which there is room on the stack.
const FEW: usize = 4;
