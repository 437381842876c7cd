//! Fields and shapes of packets: what has a field, and whether a value fits it.

use super::EditError;
use super::component::{Components, Form};
use super::template::Template;
use crate::lang::closest;
use mitmcraft_protocol::schema::{Kind, Name, PacketType, Protocol, Shape, Value};

/// Checks that a packet can be encoded, as far as the template is literal.
pub(super) fn encodes(
    protocol: &Protocol,
    packet: &PacketType,
    template: &Template,
) -> Result<(), EditError> {
    if let Some(value) = template.literal() {
        return super::edit::make(protocol, packet, value).map(|_| ());
    }
    let components = Components::of(protocol, packet);
    let template = &components.resolved(&[], template);
    fits(&Shape::of(protocol, packet), template, components, &mut Vec::new())
}

/// Checks that a value fits the field with that shape at `path`, as far as the template is literal.
pub(super) fn fits(
    shape: &Shape<'_>,
    template: &Template,
    components: Components<'_>,
    path: &mut Vec<Name>,
) -> Result<(), EditError> {
    let kinds = shape.kinds();
    match (components.form(shape, path), template) {
        (Form::Nbt, Template::Value(Value::Text(_))) => {
            let expected = "NBT such as `{ name = \"x\" }`".to_owned();
            return Err(EditError::Kind { expected, found: "text" });
        }
        (Form::Json, Template::Map(_) | Template::List(_)) => return Ok(()),
        _ if kinds.has(Kind::Nbt) => return Ok(()),
        _ => {}
    }
    match template {
        Template::Formula(_) => Ok(()),
        Template::Value(Value::Absent) => Ok(()),
        Template::Value(value) => match shape.refuses(value) {
            Some(why) => Err(EditError::Refused(why)),
            None => Ok(()),
        },
        Template::List(items) => match shape.element() {
            Some(element) => {
                items.iter().try_for_each(|item| fits(&element, item, components, path))
            }
            None => Err(EditError::kind(kinds, "a list")),
        },
        Template::Map(_) if !kinds.has(Kind::Map) => Err(EditError::kind(kinds, "a table")),
        Template::Map(fields) => {
            fields.iter().try_for_each(|(name, field)| match shape.field(name) {
                Some(shape) => {
                    path.push(name.clone());
                    let fit = fits(&shape, field, components, path);
                    path.pop();
                    fit.map_err(|why| why.at(name))
                }
                None => {
                    let names = shape.fields();
                    let near = closest(name, names.iter().map(|(name, _)| &**name));
                    let near = near.map(str::to_owned);
                    Err(EditError::UnknownField { name: name.clone(), near })
                }
            })
        }
    }
}
