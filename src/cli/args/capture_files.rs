use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use glob::{MatchOptions, glob_with};

/// Returns the captures that paths stand for: a folder stands for all captures in it and below, a pattern
/// for the files that match it, both in the order of their names. Other paths stand for themselves.
///
/// # Errors
/// If a folder cannot be read or has no captures, or a pattern is invalid or matches nothing.
pub(crate) fn capture_files(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        let pattern = path.to_str().filter(|text| text.contains(['*', '?', '[']));
        match pattern {
            _ if path.is_dir() => {
                let known = files.len();
                add_folder(path, &mut files)?;
                if files.len() == known {
                    bail!("no captures in the folder `{}`", path.display());
                }
            }
            Some(pattern) if !path.exists() => {
                let known = files.len();
                let options =
                    MatchOptions { require_literal_leading_dot: true, ..MatchOptions::new() };
                let found = glob_with(pattern, options);
                let found = found.with_context(|| format!("invalid pattern `{pattern}`"))?;
                for file in found {
                    files.push(file.with_context(|| format!("cannot search `{pattern}`"))?);
                }
                if files.len() == known {
                    bail!("no file matches `{pattern}`");
                }
            }
            _ => files.push(path.clone()),
        }
    }
    Ok(files)
}

/// Adds the captures in a folder and below. Those that are hidden are left out: others are being written
/// under such names.
fn add_folder(folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let context = || format!("cannot read the folder `{}`", folder.display());
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).with_context(context)? {
        let entry = entry.with_context(context)?;
        if !entry.file_name().as_encoded_bytes().starts_with(b".") {
            paths.push(entry.path());
        }
    }
    paths.sort();
    for path in paths {
        if path.is_dir() {
            add_folder(&path, files)?;
        } else if is_capture(&path) {
            files.push(path);
        }
    }
    Ok(())
}

/// Returns whether a name is that of a capture, compressed or not.
fn is_capture(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(name);
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// The endings of captures.
const ENDINGS: [&str; 3] = [".jsonl", ".pcapng", ".parquet"];
