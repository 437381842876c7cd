//! Compiles the descriptions of payloads: those of `data/channels.json`, and `channels` in files of
//! the user.

use std::sync::LazyLock;

use serde_json::{Map, Value as Json};

use super::compile::Compiler;
use super::{Direction, PacketType, SchemaError, State};

/// Returns the built-in descriptions of payloads, each with `types` of its own, the preferred first.
pub(super) fn built_in_channels() -> &'static [Json] {
    static CHANNELS: LazyLock<Vec<Json>> = LazyLock::new(|| {
        serde_json::from_str(include_str!("data/channels.json"))
            .expect("`data/channels.json` is valid, which a test reads to the end")
    });
    &CHANNELS
}

/// Compiles the `channels` of a description and appends their layouts.
pub(super) fn add_channels<'j>(
    compiler: &mut Compiler<'j>,
    description: &'j Json,
    channels: &mut Vec<PacketType>,
) -> Result<(), SchemaError> {
    static NONE: LazyLock<Map<String, Json>> = LazyLock::new(Map::new);
    let types = description.get("types").and_then(Json::as_object).unwrap_or(&NONE);
    for (name, channel) in description.get(CHANNELS).and_then(Json::as_object).into_iter().flatten()
    {
        compiler.enter(format!("{CHANNELS}.{name}"), types);
        let mut state = State::Play;
        let mut layouts = Vec::new();
        match channel {
            Json::Object(parts) => {
                for (key, part) in parts {
                    match (Direction::ALL.into_iter().find(|it| it.side() == key), key.as_str()) {
                        (Some(direction), _) => layouts.push((direction, part)),
                        (None, "login") if part == &Json::Bool(true) => state = State::Login,
                        (None, "handshaking") if part == &Json::Bool(true) => {
                            state = State::Handshaking;
                        }
                        _ => {
                            let cause = format!(
                                "unknown key `{key}`, not one of toClient, toServer, `login` (true), `handshaking` (true)"
                            );
                            return Err(compiler.fault(cause));
                        }
                    }
                }
            }
            both => layouts.extend(Direction::ALL.map(|direction| (direction, both))),
        }
        for (direction, layout) in layouts {
            let (name, ty) = (compiler.name(name), compiler.compile(layout)?);
            let (id, role, place) = (0, None, 0);
            channels.push(PacketType { id, name, state, direction, role, ty, place });
        }
    }
    Ok(())
}

/// The key of a description under which the payloads of plugin channels are described.
pub(super) const CHANNELS: &str = "channels";
