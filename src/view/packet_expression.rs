use std::fmt::Write as _;

use serde_json::Value as Json;

use mitmcraft_engine::lang::Expr;
use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::Catalog;

/// Returns an expression that a packet matches, by its direction, its name and its first fields; and packets
/// like it. `None` if its type is not known.
#[must_use]
pub fn packet_expression(packet: &Packet, catalog: &Catalog) -> Option<String> {
    let name = packet.kind()?.name();
    let mut text = format!("{} and {name}", packet.direction().name());
    if Expr::parse(&text, catalog).is_err() {
        text = format!("{} and pkt.name == {}", packet.direction().name(), quoted(name));
    }
    let mut fields = Vec::new();
    // What was decoded before an error is of use.
    let _ = packet.write_json(&mut fields);
    let fields = serde_json::from_slice::<Json>(&fields).unwrap_or_default();
    let mut terms = 0;
    for (name, value) in fields.as_object().into_iter().flatten() {
        let term = match value {
            Json::Bool(true) => name.clone(),
            Json::Bool(false) => format!("not {name}"),
            Json::Number(number) => format!("{name} == {number}"),
            Json::String(text) if text.len() <= MAX_TEXT => format!("{name} == {}", quoted(text)),
            _ => continue,
        };
        // Some values are not what the language has: a float with few digits, a name that is a word of it.
        let longer = format!("{text} and {term}");
        let matches = |expr: &Expr| expr.matches(packet);
        if Expr::parse(&longer, catalog).is_ok_and(|(expr, _)| matches(&expr)) {
            text = longer;
            terms += 1;
        }
        if terms == MAX_TERMS {
            break;
        }
    }
    Some(text)
}

/// Returns a rule for packets like this one, as a filter file has it; it only adds a tag to them. It is the
/// `number`-th of its name.
#[must_use]
pub fn packet_rule(packet: &Packet, catalog: &Catalog, number: usize) -> Option<String> {
    let expression = packet_expression(packet, catalog)?;
    let name = packet.kind()?.name();
    let mut name = format!("{name} from a packet");
    if number > 1 {
        let _ = write!(name, " {number}");
    }
    let mut rule = String::from("[[rule]]\n");
    let _ = writeln!(rule, "name = {}", Json::from(name));
    let _ = if expression.contains(['\'', '\n']) {
        writeln!(rule, "when = {}", Json::from(expression))
    } else {
        writeln!(rule, "when = '{expression}'")
    };
    rule.push_str("tag  = \"seen\"\n");
    Some(rule)
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Most bytes of a text that is compared.
const MAX_TEXT: usize = 80;

/// Most fields that are compared.
const MAX_TERMS: usize = 4;
