//! The inputs that coverage has found and the repository keeps: a file per target, base64 by line.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::targets::Target;

/// Returns the inputs that mutation starts from: the handmade ones, then those that are kept.
pub(crate) fn inputs(target: &Target) -> Vec<Vec<u8>> {
    let mut inputs = (target.seeds)();
    if let Ok(text) = std::fs::read_to_string(path(target)) {
        inputs.extend(text.lines().map(|line| BASE64.decode(line).unwrap()));
    }
    inputs
}

/// Keeps the shortest inputs of a folder that are not handmade, as many as have room.
pub(crate) fn keep(target: &Target, folder: &Path) {
    let handmade: HashSet<_> = (target.seeds)().into_iter().collect();
    let files = std::fs::read_dir(folder).unwrap().map(|it| std::fs::read(it.unwrap().path()));
    let mut found: Vec<_> = files.map(Result::unwrap).filter(|it| !handmade.contains(it)).collect();
    found.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    let mut text = String::new();
    for input in &found {
        let line = BASE64.encode(input);
        if text.len() + line.len() >= ROOM {
            break;
        }
        text += &line;
        text.push('\n');
    }
    std::fs::create_dir_all(path(target).parent().unwrap()).unwrap();
    std::fs::write(path(target), &text).unwrap();
    println!("fuzz: {:<12} keeps {} of {}", target.name, text.lines().count(), found.len());
}

fn path(target: &Target) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus");
    folder.join(format!("{}.txt", target.name))
}

/// The most bytes of a file of inputs.
const ROOM: usize = 32 << 10;
