//! The types that `protocols --emit` prints, read by ajv and by the TypeScript compiler.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use crate::support::{Program, convert, read_lines, root, scratch_file, text};

#[test]
fn every_line_of_the_sample_captures_has_the_types_of_its_version() {
    let folder = scratch_file("types");
    fs::create_dir_all(&folder).unwrap();
    let mut files = Vec::new();
    let (mut checked, mut versions) = (0, Vec::new());
    for (version, lines) in lines_by_version(&folder) {
        let in_folder = |name: &str| folder.join(format!("{version}{name}"));
        let (schema, module) = (in_folder(".schema.json"), in_folder(".lines.ts"));
        let emit =
            |language| Program::mitmcraft(&["protocols", &version, "--emit", language]).succeed();
        fs::write(&schema, emit("json-schema")).unwrap();
        fs::write(in_folder(".types.ts"), emit("typescript")).unwrap();
        let types = format!("./{version}.types");
        let arguments = [text(&schema), text(&lines), text(&module), &types];
        let found: Json =
            serde_json::from_str(&Program::node("types.js", &arguments).succeed()).unwrap();
        assert_eq!(found["wrong"], Json::Array(Vec::new()), "{version}");
        let decoded = |line: &&Json| line["packet"].is_string() && line["error"].is_null();
        let packets = read_lines(&lines).iter().filter(decoded).count();
        assert_eq!(found["valid"], packets, "{version}");
        checked += packets;
        versions.push(version);
        files.push(module);
    }
    assert!(checked > 1000, "{checked} packets");
    let expected = [
        "1.6.4",
        "340",
        "47",
        "765",
        "769",
        "777",
        "alpha-5",
        "beta-1.7.3",
        "legacy-ping",
        "query",
    ];
    assert_eq!(versions, expected);
    assert_eq!(errors(&files), "");
    // The types can refuse something.
    let faulty = folder.join("faulty.ts");
    let line =
        r#"{ state: "play", dir: "clientbound", packet: "update_health", fields: { health: 1 } }"#;
    let head = "import type { Packet } from \"./47.types\";";
    fs::write(&faulty, format!("{head}\nexport const packet: Packet = {line};\n")).unwrap();
    let said = errors(&[faulty]);
    assert!(said.contains("faulty.ts(2,") && said.contains("error TS2322"), "{said}");
}

/// Writes the packets of all sample captures into a file per version.
fn lines_by_version(folder: &Path) -> BTreeMap<String, PathBuf> {
    let mut all: BTreeMap<String, String> = BTreeMap::new();
    let mut captures: Vec<PathBuf> =
        fs::read_dir(root().join("captures")).unwrap().map(|it| it.unwrap().path()).collect();
    captures.sort();
    for capture in captures {
        let lines = match capture.extension().and_then(|it| it.to_str()) {
            Some("jsonl") => read_lines(&capture),
            Some("pcapng") => {
                let converted = folder.join("converted.jsonl");
                convert(&[text(&capture), text(&converted), "--overwrite"]);
                read_lines(&converted)
            }
            _ => continue,
        };
        let name = capture.file_name().unwrap().to_str().unwrap();
        for line in lines {
            let version = match &line["protocol"] {
                _ if name.starts_with("ping-") => "legacy-ping".to_owned(),
                _ if name.starts_with("query") => "query".to_owned(),
                _ if name.starts_with("session-alpha") => "alpha-5".to_owned(),
                _ if name.starts_with("session-beta") => "beta-1.7.3".to_owned(),
                _ if name.starts_with("session-1.6.4") => "1.6.4".to_owned(),
                Json::Number(version) => version.to_string(),
                _ => continue,
            };
            let lines = all.entry(version).or_default();
            lines.push_str(&format!("{line}\n"));
        }
    }
    let write = |(version, lines): (String, String)| {
        let file = folder.join(format!("{version}.jsonl"));
        fs::write(&file, lines).unwrap();
        (version, file)
    };
    all.into_iter().map(write).collect()
}

/// Returns what the TypeScript compiler says about some modules.
fn errors(files: &[PathBuf]) -> String {
    let mut command = std::process::Command::new("node");
    command.arg(root().join("tests/real/node_modules/typescript/bin/tsc"));
    command.args(["--noEmit", "--strict", "--target", "es2022", "--module", "es2022"]);
    command.args(["--moduleResolution", "bundler"]).args(files);
    Program::start("tsc", command).finish().1
}
