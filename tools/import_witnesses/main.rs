//! Writes `crates/protocol/src/schema/tests/witnesses/data/776-hyperion.txt`, the layouts of 26.2 that a program
//! derived from the codecs in the game's jar, from a checkout of hyperion-mc/hyperion:
//! `cargo run --example import_witnesses -- CHECKOUT`.
//!
//! `docs/protocol-tables.md` describes the file.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde_json::Value as Json;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let Some(checkout) = env::args_os().nth(1).map(PathBuf::from) else {
        return Err("usage: import_witnesses CHECKOUT (of hyperion-mc/hyperion)".into());
    };
    let commit = git(&checkout, &["rev-parse", "HEAD"])?;
    let json: Json = serde_json::from_str(&git(&checkout, &["show", &format!("HEAD:{SOURCE}")])?)?;
    let types = json["types"].as_object().ok_or("no `types`")?;
    let mut layouts = Layouts { types, around: Vec::new(), named: BTreeMap::new() };
    let mut lines = Vec::new();
    for packet in json["packets"].as_array().ok_or("no `packets`")? {
        let word = |key: &str| packet[key].as_str().ok_or_else(|| format!("no `{key}`"));
        // A layout that is not complete depends on values, which the program does not follow.
        let Some(layout) = layouts.of(&packet["wire"]) else { continue };
        let state = match word("state")? {
            "handshake" => "handshaking",
            state => state,
        };
        let id = packet["protocolId"].as_u64().ok_or("no `protocolId`")?;
        let name = word("resource")?.trim_start_matches("minecraft:");
        lines.push(format!("{state} {} 0x{id:02x} {name} hyperion = {layout}", word("direction")?));
    }
    lines.sort();
    let version = json["version"]["protocolVersion"].as_u64().ok_or("no `protocolVersion`")?;
    let mut out = format!(
        "# Imported by tools/import_witnesses.\n\
                           source hyperion hyperion-mc/hyperion@{}:{SOURCE}\n\n",
        commit.trim()
    );
    for (name, layout) in &layouts.named {
        writeln!(out, "type {name} = {layout}")?;
    }
    writeln!(out, "\n{}", lines.join("\n"))?;
    let data = "crates/protocol/src/schema/tests/witnesses/data";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(data);
    fs::write(path.join(format!("{version}-hyperion.txt")), out)?;
    Ok(())
}

fn git(checkout: &Path, arguments: &[&str]) -> Outcome<String> {
    let output = Command::new("git").arg("-C").arg(checkout).args(arguments).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Translates layouts into the form of the witnesses.
struct Layouts<'j> {
    types: &'j serde_json::Map<String, Json>,
    /// The named types around the current one.
    around: Vec<&'j str>,
    /// Named types that contain themselves.
    named: BTreeMap<String, String>,
}

impl<'j> Layouts<'j> {
    /// Returns the layout; `None` if it is not complete.
    fn of(&mut self, wire: &'j Json) -> Option<String> {
        let part = |layouts: &mut Self, key: &str| layouts.of(&wire[key]);
        Some(match wire["kind"].as_str()? {
            "named" => self.reference(wire["ref"].as_str()?)?,
            "struct" => {
                let fields = wire["fields"].as_array()?.iter().map(|field| self.of(&field["wire"]));
                let fields: Vec<String> = fields.collect::<Option<_>>()?;
                fields.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join(" ")
            }
            "unit" => String::new(),
            leaf @ ("bool" | "f32" | "f64" | "varint" | "varlong" | "uuid" | "nbt") => leaf.into(),
            // The codecs write these, so that nothing says whether they are signed.
            "i8" => "x8".into(),
            "i16" => "x16".into(),
            "i32" => "i32".into(),
            "i64" => "i64".into(),
            "enum" | "registry_id" => "varint".into(),
            "string" | "identifier" => "string".into(),
            "optional_nbt" => "nbt".into(),
            "block_pos" => "position".into(),
            "chunk_pos" => "i32 i32".into(),
            "long_array" => "[varint: i64]".into(),
            "varint_array" => "[varint: varint]".into(),
            "byte_array" => "[varint: x8]".into(),
            "fixed_bitset" => format!("[{}: x8]", wire["bits"].as_u64()?.div_ceil(8)),
            "block_hit_result" => "position varint f32 f32 f32 bool bool".into(),
            "custom" if wire["codec"] == "lp_vec3" => "lpvec3".into(),
            "option" => format!("?({})", part(self, "of")?),
            "list" => format!("[varint: {}]", part(self, "of")?),
            "map" => format!("[varint: {} {}]", part(self, "key")?, part(self, "value")?),
            "either" => {
                let (left, right) = (part(self, "left")?, part(self, "right")?);
                format!("either=bool {{either 1: {left} | else: {right}}}")
            }
            "holder" => format!("holder({})", part(self, "of")?),
            "holder_set" => "set(string | varint)".into(),
            "length_prefixed" => format!("varint {}", part(self, "of")?),
            _ => return None,
        })
    }

    fn reference(&mut self, name: &'j str) -> Option<String> {
        let short: String = name.rsplit('.').next()?.replace(['#', '$'], "-");
        let (key, wire) = self.types.get_key_value(name)?;
        if self.around.contains(&key.as_str()) {
            // No layout can begin with itself: the program has confused two codecs of the same name.
            if self.around.last() == Some(&key.as_str()) {
                return None;
            }
            self.named.entry(short.clone()).or_default();
            return Some(format!("@{short}"));
        }
        self.around.push(key);
        let layout = self.of(wire);
        self.around.pop();
        let layout = layout?;
        Some(match self.named.get_mut(&short) {
            Some(named) => {
                *named = layout;
                format!("@{short}")
            }
            None => layout,
        })
    }
}

/// The file of the repository.
const SOURCE: &str = "crates/hyperion-minecraft-proto/protocol.json";
