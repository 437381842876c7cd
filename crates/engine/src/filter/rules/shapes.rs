//! Fields and shapes of packets: what has a field, and whether a value fits it.

use super::component::{Components, Form};
use super::template::Template;
use super::things::Things;
use crate::lang::{closest, payload_steps};
use mitmcraft_protocol::packet::PathStep;
use mitmcraft_protocol::schema::{Kind, Name, PacketType, Protocol, Shape, Value};

/// Checks that a packet can be encoded, as far as the template is literal.
pub(super) fn encodes(
    protocol: &Protocol,
    packet: &PacketType,
    template: &Template,
) -> Result<(), String> {
    if let Some(value) = template.literal() {
        return super::edit::make(protocol, packet, value).map(|_| ());
    }
    let template = &Things { protocol, packet }.resolved(&[], template);
    fits(&Shape::of(protocol, packet), template, Components::of(protocol, packet), &mut Vec::new())
}

/// Returns what has a field at `steps`: the packet, or payloads of plugin channels that it may carry; with
/// the steps in it and the shape there.
pub(super) fn holders<'p: 's, 's>(
    protocol: &'p Protocol,
    packet: &'p PacketType,
    steps: &'s [PathStep],
) -> impl Iterator<Item = (&'p PacketType, &'s [PathStep], Shape<'p>)> {
    let payloads = payload_steps(steps).into_iter().flat_map(move |steps| {
        let layouts = protocol.payload_layouts(packet);
        layouts.map(move |layout| (layout, steps))
    });
    std::iter::once((packet, steps)).chain(payloads).filter_map(move |(packet, steps)| {
        Some((packet, steps, shape_at(Shape::of(protocol, packet), steps)?))
    })
}

/// Returns the shape at a path; for everything within NBT, that of the NBT.
fn shape_at<'p>(shape: Shape<'p>, steps: &[PathStep]) -> Option<Shape<'p>> {
    let Some((step, rest)) = steps.split_first() else { return Some(shape) };
    let below = match step {
        PathStep::Name(name) => shape.field(name),
        PathStep::Index(_) | PathStep::Each | PathStep::Append => shape.element(),
    };
    match below {
        Some(below) => shape_at(below, rest),
        None => shape.kinds().has(Kind::Nbt).then_some(shape),
    }
}

/// Checks that a value fits the field with that shape at `path`, as far as the template is literal.
pub(super) fn fits(
    shape: &Shape<'_>,
    template: &Template,
    components: Components<'_>,
    path: &mut Vec<Name>,
) -> Result<(), String> {
    let kinds = shape.kinds();
    match (components.form(shape, path), template) {
        (Form::Nbt, Template::Value(Value::Text(_))) => {
            return Err("expected NBT such as `{ name = \"x\" }`, found text".to_owned());
        }
        (Form::Json, Template::Map(_) | Template::List(_)) => return Ok(()),
        _ if kinds.has(Kind::Nbt) => return Ok(()),
        _ => {}
    }
    match template {
        Template::Formula(_) => Ok(()),
        Template::Value(Value::Absent) => Ok(()),
        Template::Value(value) => match shape.refuses(value) {
            Some(why) => Err(why),
            None => Ok(()),
        },
        Template::List(items) => match shape.element() {
            Some(element) => {
                items.iter().try_for_each(|item| fits(&element, item, components, path))
            }
            None => Err(format!("expected {kinds}, found a list")),
        },
        Template::Map(_) if !kinds.has(Kind::Map) => {
            Err(format!("expected {kinds}, found a table"))
        }
        Template::Map(fields) => {
            fields.iter().try_for_each(|(name, field)| match shape.field(name) {
                Some(shape) => {
                    path.push(name.clone());
                    let fit = fits(&shape, field, components, path);
                    path.pop();
                    fit.map_err(|why| format!("`{name}`: {why}"))
                }
                None => {
                    let names = shape.fields();
                    let near = closest(name, names.iter().map(|(name, _)| &**name));
                    let near = near.map(|meant| format!("; did you mean `{meant}`?"));
                    Err(format!("no field `{name}`{}", near.unwrap_or_default()))
                }
            })
        }
    }
}
