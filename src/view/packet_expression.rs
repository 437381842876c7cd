use serde_json::Value as Json;

use super::has_name;
use super::picked_field::comparison;
use mitmcraft_engine::analysis::Ignore;
use mitmcraft_engine::lang::{Condition, Expr, Path, Subject, Vocabulary};
use mitmcraft_engine::text::{toml_key, toml_string};
use mitmcraft_protocol::meaning::Answer;
use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::{Catalog, Direction, PacketType, Protocol, Role, Value};

/// A condition that a packet and those like it meet.
#[derive(Debug, Clone)]
pub struct PacketExpression {
    /// The condition.
    pub condition: Condition,
    /// The first number or text that it compares with a field, and the field's name.
    pub first: Option<(String, Json)>,
}

/// Returns a condition that a packet and those like it meet, by its direction, its name and its first fields, without
/// those that are another one in every packet. `None` if its type is not known.
#[must_use]
pub fn packet_expression(packet: &Packet, catalog: &Catalog) -> Option<PacketExpression> {
    let vocabulary = Vocabulary::new(catalog);
    let subject = Subject::from(packet);
    let matches = |condition: &Condition| {
        Expr::new(condition, &vocabulary).is_ok_and(|(expr, _)| expr.matches(subject))
    };
    let name = packet.kind()?.name();
    let direction = Path::words([packet.direction().name()]).holds();
    let plain = Path::named(name).map(|name| direction.clone().and(name.holds()));
    let plain = plain.filter(matches);
    let mut condition = plain.unwrap_or_else(|| direction.and(has_name(name)));
    let mut fields = Vec::new();
    // What was decoded before an error is of use.
    let _ = packet.write_json(&mut fields);
    let fields = serde_json::from_slice::<Json>(&fields).unwrap_or_default();
    let unique = Ignore::unique();
    let (mut first, mut terms) = (None, 0);
    for (name, value) in fields.as_object().into_iter().flatten() {
        if unique.field(packet, name) {
            continue;
        }
        let comparison = Path::named(name).and_then(|path| {
            let value = Value::from_json(value);
            comparison(path, &value, MAX_TEXT)
        });
        // Some values are not what the language has, such as bytes, which are text in JSON.
        let longer = comparison.map(|it| condition.clone().and(it)).filter(matches);
        if let Some(longer) = longer {
            condition = longer;
            terms += 1;
            if first.is_none() && (value.is_number() || value.is_string()) {
                first = Some((name.clone(), value.clone()));
            }
        }
        if terms == MAX_TERMS {
            break;
        }
    }
    Some(PacketExpression { condition, first })
}

/// Returns a rule as filter files have it, which sets a field, or else adds a tag, in packets that meet a condition. It
/// is the `number`-th rule about packets of that name.
#[must_use]
pub fn packet_rule(
    name: &str,
    condition: &Condition,
    number: usize,
    set: Option<&(String, Json)>,
) -> String {
    let (name, condition) = (rule_name(name, number), toml_string(&condition.to_string()));
    let set = set.and_then(|(path, value)| Some((toml_key(path), toml_value(value)?)));
    let action = match set {
        Some((path, value)) => format!("set  = {{ {path} = {value} }}"),
        None => "tag  = \"seen\"".to_owned(),
    };
    format!("[[rule]]\nname = {name}\nwhen = {condition}\n{action}\n")
}

/// Returns the number of the next [`packet_rule`] about packets of that name in a filter file.
#[must_use]
pub fn next_rule(name: &str, file: &str) -> usize {
    (1..).find(|number| !file.contains(&rule_name(name, *number))).unwrap_or(1)
}

fn rule_name(name: &str, number: usize) -> String {
    let number = if number > 1 { format!(" {number}") } else { String::new() };
    toml_string(&format!("{name} from a packet{number}"))
}

/// Returns a type of packets that can be sent back for a packet: its answer in the game, otherwise the packet of the
/// same name in the other direction, otherwise a chat message.
#[must_use]
pub fn answer_type<'p>(protocol: &'p Protocol, kind: &PacketType) -> Option<&'p PacketType> {
    let (state, direction) = (kind.state(), kind.direction().reverse());
    let known = Answer::to(protocol.release(), kind).map(|it| &*it.by);
    let named = |name: &str| protocol.named(state, direction, name);
    known.and_then(named).or_else(|| named(kind.name())).or_else(|| {
        // The last of them has no sender.
        let mut packets = protocol.packets().iter().rev();
        packets.find(|it| {
            it.state() == state && it.direction() == direction && it.role() == Some(Role::Chat)
        })
    })
}

/// Returns what a [`packet_rule`] can do instead, as comments of a filter file: with the first field that its condition
/// compares, and with a packet and its fields that answer, if there are any.
#[must_use]
pub fn rule_choices(like: &PacketExpression, answer: Option<(&PacketType, Json)>) -> String {
    let set = like.first.as_ref().and_then(|(name, value)| {
        Some(format!("# set   = {{ {} = {} }}\n", toml_key(name), toml_value(value)?))
    });
    let send = answer.and_then(|(kind, fields)| {
        let to = if kind.direction() == Direction::Clientbound { "client" } else { "server" };
        let (name, fields) = (toml_string(kind.name()), toml_value(&fields)?);
        Some(format!("# send  = [{{ to = \"{to}\", packet = {name}, fields = {fields} }}]\n"))
    });
    let (set, send) = (set.unwrap_or_default(), send.unwrap_or_default());
    format!("# Instead, or as well, a rule can:\n# drop  = true\n{set}{send}# delay = \"1s\"\n")
}

/// Returns a value as TOML on one line; `None` if TOML does not have it.
fn toml_value(value: &Json) -> Option<String> {
    Some(match value {
        Json::Null => return None,
        Json::String(text) => toml_string(text),
        Json::Array(items) => {
            let items: Option<Vec<String>> = items.iter().map(toml_value).collect();
            format!("[{}]", items?.join(", "))
        }
        Json::Object(fields) => {
            let field = |(name, value): (&String, &Json)| {
                Some(format!("{} = {}", toml_key(name), toml_value(value)?))
            };
            let fields: Option<Vec<String>> = fields.iter().map(field).collect();
            format!("{{ {} }}", fields?.join(", "))
        }
        Json::Bool(_) | Json::Number(_) => value.to_string(),
    })
}

/// Most bytes of a text that is compared.
const MAX_TEXT: usize = 80;

/// Most fields that are compared.
const MAX_TERMS: usize = 4;
