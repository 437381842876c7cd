//! azalea-protocol, whose packets are Rust types: `tests/real/azalea` reads and writes packets of 26.1 with it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::process::Command;

use mitmcraft_protocol::schema::{
    Catalog, JsonVisitor, PacketType, Protocol, State, Value, random_body,
};
use mitmcraft_protocol::wire::write_varint;
use proptest::prelude::Rng as _;
use proptest::test_runner::{RngAlgorithm, TestRng};
use regex::Regex;

use crate::support::scratch_file;

/// Bodies of our generator show where a packet ends for azalea, and random bytes make values of azalea's that
/// our tables have no part in. All that azalea writes must decode, and encode to the same bytes.
#[test]
#[ignore = "needs the program of `tests/real/azalea` in AZALEA_PROGRAM, which takes a nightly compiler: `tests/run --long` builds it"]
fn packets_with_random_values_from_azalea_decode_and_encode_to_the_same_bytes() {
    let protocol = Catalog::embedded().by_name("26.1").unwrap();
    let asked: Vec<Asked<'_>> = questions(&protocol);
    let (mut faults, mut names) = (Vec::new(), BTreeSet::new());
    let regex = |text: &str| Regex::new(text).unwrap();
    let known: Vec<_> = KNOWN.iter().map(|it| (it, regex(it.packet), regex(it.part))).collect();
    let mut seen = BTreeSet::new();
    let mut agreed: BTreeMap<String, usize> = BTreeMap::new();
    for (asked, answer) in asked.iter().zip(answers(&asked)) {
        let packet = asked.packet;
        let place = format!("{} {} {}", packet.state(), packet.direction(), packet.name());
        let agreed = agreed.entry(place.clone()).or_default();
        let Ok(read) = answer else { continue };
        let name = protocol.official_name(packet).unwrap_or(packet.name());
        if packet.state() == State::Play && name != read.name {
            names.insert(format!("{place}: {name} is {}", read.name));
        }
        match difference(&protocol, asked, &read) {
            Ok(()) => *agreed += 1,
            Err(difference) => {
                let text =
                    text(&protocol, packet, &asked.bytes) + &text(&protocol, packet, &read.written);
                let is =
                    |it: &&(&Known, Regex, Regex)| it.1.is_match(&place) && it.2.is_match(&text);
                match known.iter().find(is) {
                    Some((it, ..)) => drop(seen.insert(it.why)),
                    None => {
                        let text: String = text.chars().take(500).collect();
                        faults.push(format!("{place}: {difference}\n    {text}"));
                    }
                }
            }
        }
    }
    let of = |what: &str, all: Vec<String>| {
        let (count, first) = (all.len(), all.iter().take(40).cloned().collect::<Vec<_>>());
        (count > 0).then(|| format!("{count} {what}\n{}", first.join("\n")))
    };
    let few = agreed.iter().filter(|(place, count)| **count < 40 && !REFUSED.contains(&&***place));
    let gone = KNOWN.iter().filter(|it| !seen.contains(it.why));
    let all = [
        of("differences", faults),
        of("other names", names.into_iter().collect()),
        of("packets hardly compared", few.map(|it| format!("{it:?}")).collect()),
        of("known differences that are no more", gone.map(|it| it.why.to_owned()).collect()),
    ];
    let all: Vec<String> = all.into_iter().flatten().collect();
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// A difference for which azalea is to blame.
struct Known {
    /// Matches the packet's state, direction and name.
    packet: &'static str,
    /// Matches a part of the packet as JSON, if the difference is in that part.
    part: &'static str,
    /// The type in azalea, and why ours is believed.
    why: &'static str,
}

/// Files are those of azalea-rs/azalea@a253702e, from which azalea-protocol 0.16.0+mc26.1 was published. `hyperion`
/// is hyperion-mc/hyperion@85abe336, whose layouts are the game's of 26.2, `mscts` ericbstie/mscts@96b74538, which
/// are the game's of 26.3, `Botcraft` adepierre/Botcraft@2eb9a817.
const KNOWN: &[Known] = &[
    known(
        "serverbound (attack|spectate_entity)",
        "",
        "s_attack.rs, s_spectate_entity.rs: the entity is four bytes. A VarInt: hyperion and Botcraft (`attack`), \
         Botcraft (`spectate_entity`).",
    ),
    known(
        "serverbound pick_item_from_block",
        "",
        "s_pick_item_from_block.rs: a slot, as before 1.21.4. A position and a bool: hyperion.",
    ),
    known(
        "serverbound vehicle_move",
        "",
        "s_move_vehicle.rs: without a bool at its end. hyperion has it.",
    ),
    known(
        "serverbound (craft_recipe_request|displayed_recipe)",
        "",
        "s_place_recipe.rs, s_recipe_book_seen_recipe.rs: a recipe's name, as before 1.21.2. A VarInt: hyperion.",
    ),
    known(
        "custom_click_action",
        "",
        "s_custom_click_action.rs: NBT without the length before it. hyperion has it.",
    ),
    known(
        "serverbound set_creative_slot",
        r#""components":\[\{"#,
        "s_set_creative_mode_slot.rs: components without their lengths. ViaVersion reads them since 1.21.5.",
    ),
    known(
        "difficulty",
        "",
        "c_change_difficulty.rs, s_change_difficulty.rs: a byte. A VarInt: hyperion.",
    ),
    known(
        "clientbound animation|serverbound block_dig",
        "",
        "c_animate.rs (its comment says that the game has a byte), s_player_action.rs: an enum is a VarInt, the same \
         for its values. A byte: hyperion, Botcraft.",
    ),
    known(
        "clientbound (login|respawn)",
        r#""gamemode":-?\d"#,
        "game_type.rs: reads the mode as a VarInt, and writes a byte. A byte: hyperion.",
    ),
    known(
        "clientbound set_cooldown",
        "",
        "c_cooldown.rs: an item, as before 1.21.2. The name of a group: hyperion, Botcraft.",
    ),
    known(
        "clientbound stop_sound",
        r#""flags":"#,
        "Our tables have the flags that the game sends, 0 to 3. c_stop_sound.rs looks at two of the bits.",
    ),
    known(
        "clientbound game_rule_values",
        "",
        "c_game_rule_values.rs: the number of a rule. Its name: hyperion.",
    ),
    known(
        "clientbound player_info",
        r#""(listPriority|showHat)":"#,
        "c_player_info_update.rs: reads the place in the list and the hat, but does not write them.",
    ),
    known(
        "clientbound scoreboard_objective",
        "",
        "c_set_objective.rs: the format of numbers without a bool before it. It is optional: hyperion, MCProtocolLib.",
    ),
    known(
        "clientbound scoreboard_score",
        r#""number_format":1,"#,
        "numbers.rs: a style is NBT without the type of its root. With it: hyperion, MCProtocolLib.",
    ),
    known(
        "clientbound debug_(block|chunk|entity)_value",
        r#""type":("DedicatedServerTickTime"|-?\d)"#,
        "debug_subscription.rs: the time of a tick has a bool. It has no value: MCProtocolLib@7d9a0176 \
         (`MinecraftTypes.readDebugSubscriptionUpdate`).",
    ),
    known(
        "clientbound debug_",
        r#""type":"GoalSelectors""#,
        "debug_subscription.rs: one goal. A list: MCProtocolLib@7d9a0176, Botcraft.",
    ),
    known(
        "clientbound debug_entity_value",
        "",
        "c_debug_entity_value.rs: the entity is four bytes. A VarInt: Botcraft, MCProtocolLib@7d9a0176.",
    ),
    known(
        "test_instance_block_",
        "",
        "c_test_instance_block_status.rs: a size of doubles; s_test_instance_block_action.rs: a test's number. VarInts, \
         and its name: hyperion.",
    ),
    known(
        "serverbound advancement_tab",
        r#""action":[^0]"#,
        "An enum has its first value for numbers that it does not know.",
    ),
    known("clientbound", r#""(type|positionType)":-?\d"#, "As above."),
    known(
        "clientbound",
        r#""type":"(item|item_stack|use_remainder|charged_projectiles|bundle_contents|container)""#,
        "slot.rs: an item that cannot be empty is read as one that can, with the count first, and no item if that is \
         zero. The item first, and always all of it: ViaVersion (`Types26_1.itemTemplate`), mscts.",
    ),
    known(
        "clientbound advancements",
        r#""icon":"#,
        "c_update_advancements.rs: as above, the icon.",
    ),
    known(
        "clientbound",
        r#""type":"intangible_projectile""#,
        "components/mod.rs: no data. NBT: ViaVersion (`StructuredDataKey.INTANGIBLE_PROJECTILE`), mscts.",
    ),
    known(
        "clientbound",
        r#""type":"(trim|banner_patterns)"|"pattern":\{"data""#,
        "components/mod.rs, recipe.rs: numbers. A number or the thing itself: Botcraft, mscts.",
    ),
    known(
        "clientbound",
        r#""type":"(can_break|can_place_on)""#,
        "components/mod.rs: a predicate without components. They came with 1.21.5: ViaVersion, mscts.",
    ),
    known(
        "clientbound",
        r#""type":"lock""#,
        "components/mod.rs: a text. NBT: ViaVersion (`LOCK1_21_2`), mscts.",
    ),
    known(
        "clientbound",
        r#""(sound|shearingSound)":\{"data""#,
        "components/mod.rs: a sound is a number. A number or its name and range: Botcraft, mscts.",
    ),
    known(
        "clientbound",
        r#""type":"damage_type""#,
        "components/mod.rs: a number or the thing itself. A number: ViaVersion (`DAMAGE_TYPE26_1`), mscts.",
    ),
    known(
        "clientbound entity_metadata",
        r#""type":"painting_variant""#,
        "data.rs: a number. A number or the variant itself: Botcraft, mscts.",
    ),
    known(
        "clientbound",
        r#""type":"(block_crumble|dragon_breath|dust_pillar|effect|flash|instant_effect|tinted_leaves|trail)""#,
        "particle.rs: no data. ViaVersion and Botcraft have that of our tables.",
    ),
];

const fn known(packet: &'static str, part: &'static str, why: &'static str) -> Known {
    Known { packet, part, why }
}

/// Packets of which azalea reads few values: texts in JSON, or packets that are all in [`KNOWN`].
const REFUSED: &[&str] = &[
    "configuration serverbound custom_click_action",
    "login clientbound disconnect",
    "play clientbound debug_entity_value",
    "play serverbound attack",
    "play serverbound craft_recipe_request",
    "play serverbound custom_click_action",
    "play serverbound displayed_recipe",
    "play serverbound pick_item_from_block",
    "play serverbound spectate_entity",
    "play serverbound vehicle_move",
    "status clientbound server_info",
];

/// Bytes that begin with a packet's fields.
struct Asked<'p> {
    packet: &'p PacketType,
    bytes: Vec<u8>,
    /// `true` if our generator made the fields.
    ours: bool,
}

fn questions(protocol: &Protocol) -> Vec<Asked<'_>> {
    let mut all = Vec::new();
    for packet in protocol.packets() {
        // The values of a packet do not depend on other packets.
        let mut seed = [packet.state() as u8; 32];
        seed[..2].copy_from_slice(&[packet.direction() as u8, packet.id() as u8]);
        let mut random = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
        let mut bytes = |length| {
            let mut bytes = vec![0; length];
            random.fill_bytes(&mut bytes);
            bytes
        };
        let count = if **packet.name() == *"set_cursor_item" { 3000 } else { 200 };
        for size in (0..200).cycle().take(count) {
            // What follows is for a reader that goes on behind our end.
            let mut body =
                usual(protocol, packet, &random_body(protocol, packet, &bytes(2 * size)));
            body.extend(bytes(64).iter().map(|byte| byte & 0x17));
            all.push(Asked { packet, bytes: body, ours: true });
            // Mostly small, so that many are numbers in a registry and short lengths.
            let small = bytes(200).into_iter().zip(bytes(200)).map(|(byte, size)| match size {
                0..120 => byte & 3,
                120..230 => byte & 0x3f,
                _ => byte,
            });
            all.push(Asked { packet, bytes: small.collect(), ours: false });
        }
    }
    all
}

/// What azalea has read.
struct Read {
    name: String,
    /// The number of bytes that the fields took.
    length: usize,
    written: Vec<u8>,
}

/// Asks azalea to read the packets and to write them; `Err` has the reason why it does not.
fn answers(asked: &[Asked<'_>]) -> Vec<Result<Read, String>> {
    let program = std::env::var("AZALEA_PROGRAM").expect(
        "AZALEA_PROGRAM does not name the program of tests/real/azalea; `cargo +nightly build` makes it: docs/testing.md",
    );
    let path = scratch_file("azalea");
    let mut file = BufWriter::new(File::create(&path).unwrap());
    for Asked { packet, bytes, .. } in asked {
        let (state, direction, id) = (packet.state(), packet.direction(), packet.id());
        writeln!(file, "{state} {direction} {id} {}", hex(bytes)).unwrap();
    }
    file.flush().unwrap();
    let output = Command::new(program).stdin(File::open(&path).unwrap()).output().unwrap();
    fs::remove_file(path).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer = |line: &str| {
        if let Some(why) = line.strip_prefix("error ") {
            return Err(why.to_owned());
        }
        let [name, length, written] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let byte = |at| u8::from_str_radix(&written[at..at + 2], 16).unwrap();
        let written = (0..written.len()).step_by(2).map(byte).collect();
        Ok(Read { name: name.into(), length: length.parse().unwrap(), written })
    };
    let answers: Vec<_> =
        std::str::from_utf8(&output.stdout).unwrap().lines().map(answer).collect();
    assert_eq!(answers.len(), asked.len());
    answers
}

/// Compares what azalea has read and written with our tables.
fn difference(protocol: &Protocol, asked: &Asked<'_>, read: &Read) -> Result<(), String> {
    let packet = asked.packet;
    let (body, start) = whole(packet, &asked.bytes);
    if let Ok(end) = protocol.measure(packet, &body, start)
        && asked.ours
        && end - start != read.length
    {
        let ours = hex(&body[start..end]);
        return Err(format!("{} bytes for azalea, for us {}: {ours}", read.length, end - start));
    }
    let (body, start) = whole(packet, &read.written);
    let value = protocol.decode(packet, &body, start);
    let value = value.map_err(|error| format!("{error} in {}", hex(&read.written)))?;
    let again = protocol.encode(packet, &plain(value)).unwrap();
    if again == body { Ok(()) } else { Err(format!("{} from {}", hex(&again), hex(&body))) }
}

/// Returns the packet as JSON, as far as it decodes.
fn text(protocol: &Protocol, packet: &PacketType, bytes: &[u8]) -> String {
    let (body, start) = whole(packet, bytes);
    let mut out = Vec::new();
    let _ = protocol.walk(packet, &body, start, &mut JsonVisitor::new(&mut out));
    String::from_utf8_lossy(&out).into_owned()
}

/// Encodes a body's fields as usual: its bools are 0 or 1, and its VarInts short.
fn usual(protocol: &Protocol, packet: &PacketType, body: &[u8]) -> Vec<u8> {
    let start = whole(packet, &[]).1;
    let value = protocol.decode(packet, body, start).unwrap();
    protocol.encode(packet, &plain(value)).unwrap().split_off(start)
}

/// Returns a value without the bytes from which it was decoded, but for vectors in an unusual scale, which azalea
/// keeps, and the flags of nothing.
fn plain(value: Value) -> Value {
    match value {
        Value::Exact(exact) => match exact.value {
            Value::Map(_) if exact.wire.len() >= 6 => Value::Exact(exact),
            Value::Absent => Value::Exact(exact),
            value => plain(value),
        },
        Value::List(items) => Value::List(items.into_iter().map(plain).collect()),
        Value::Map(fields) => {
            Value::Map(fields.into_iter().map(|(name, value)| (name, plain(value))).collect())
        }
        value => value,
    }
}

/// Returns a packet's id and fields, and where the fields begin.
fn whole(packet: &PacketType, fields: &[u8]) -> (Vec<u8>, usize) {
    let mut body = Vec::new();
    write_varint(&mut body, packet.id());
    let start = body.len();
    body.extend(fields);
    (body, start)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
