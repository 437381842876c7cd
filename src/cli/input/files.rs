use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, bail};
use glob::{MatchOptions, glob_with};
use mitmcraft_engine::explain::Incident;

/// A capture that a path stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CaptureFile {
    pub(crate) path: PathBuf,
    /// Its name below the folder that the user named, or that the pattern begins with.
    pub(crate) name: PathBuf,
}

/// Returns the captures that paths stand for: a folder stands for all captures in it and below, a pattern
/// for the files that match it, both in the order of their names, in which numbers count as such. Other
/// paths stand for themselves.
///
/// # Errors
/// If a folder cannot be read or has no captures, or a pattern is invalid or matches nothing.
pub(crate) fn find_captures(paths: &[PathBuf]) -> anyhow::Result<Vec<CaptureFile>> {
    find(paths, "captures", is_capture)
}

/// Returns the paths of [`find_captures`].
pub(crate) fn capture_files(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    Ok(find_captures(paths)?.into_iter().map(|it| it.path).collect())
}

/// Returns the recordings of other programs that paths stand for, see [`find_captures`].
pub(crate) fn recording_files(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    Ok(find(paths, "recordings", is_recording)?.into_iter().map(|it| it.path).collect())
}

fn find(
    paths: &[PathBuf],
    what: &str,
    is_wanted: fn(&Path) -> bool,
) -> anyhow::Result<Vec<CaptureFile>> {
    let mut files = Vec::new();
    for path in paths {
        let pattern = path.to_str().filter(|text| text.contains(['*', '?', '[']));
        let (base, mut found) = match pattern {
            _ if path.is_dir() => {
                let mut found = Vec::new();
                add_folder(path, is_wanted, &mut found)?;
                if found.is_empty() {
                    bail!("no {what} in the folder `{}`", path.display());
                }
                (path.clone(), found)
            }
            Some(pattern) if !path.exists() => {
                let options =
                    MatchOptions { require_literal_leading_dot: true, ..MatchOptions::new() };
                let found = glob_with(pattern, options);
                let found = found.with_context(|| format!("invalid pattern `{pattern}`"))?;
                let found: Vec<PathBuf> = found
                    .collect::<Result<_, _>>()
                    .with_context(|| format!("cannot search `{pattern}`"))?;
                if found.is_empty() {
                    bail!("no file matches `{pattern}`");
                }
                (literal_folder(path), found)
            }
            _ => (path.parent().unwrap_or(path).to_owned(), vec![path.clone()]),
        };
        found.sort_by_cached_key(|path| path.components().map(natural).collect::<Vec<_>>());
        files.extend(found.into_iter().map(|path| {
            let name = path.strip_prefix(&base).unwrap_or(&path).to_owned();
            CaptureFile { path, name }
        }));
    }
    Ok(files)
}

/// Adds the files in a folder and below. Those that are hidden are left out: others are being written
/// under such names.
fn add_folder(
    folder: &Path,
    is_wanted: fn(&Path) -> bool,
    files: &mut Vec<PathBuf>,
) -> anyhow::Result<()> {
    let context = || format!("cannot read the folder `{}`", folder.display());
    for entry in fs::read_dir(folder).with_context(context)? {
        let entry = entry.with_context(context)?;
        let path = entry.path();
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        if path.is_dir() {
            add_folder(&path, is_wanted, files)?;
        } else if is_wanted(&path) {
            files.push(path);
        }
    }
    Ok(())
}

/// Returns the folder above the first part of a pattern that is not literal.
fn literal_folder(pattern: &Path) -> PathBuf {
    let is_literal =
        |part: &Component<'_>| !part.as_os_str().to_string_lossy().contains(['*', '?', '[']);
    pattern.components().take_while(is_literal).collect()
}

/// Splits a name into texts and the numbers after them, so that `part2` comes before `part10`.
fn natural(part: Component<'_>) -> Vec<(String, u64)> {
    let (mut runs, mut in_number) = (vec![(String::new(), 0u64)], false);
    for char in part.as_os_str().to_string_lossy().chars() {
        let digit = char.to_digit(10).map(u64::from);
        if digit.is_none() && in_number {
            runs.push((String::new(), 0));
        }
        in_number = digit.is_some();
        if let Some((text, number)) = runs.last_mut() {
            match digit {
                Some(digit) => *number = number.saturating_mul(10).saturating_add(digit),
                None => text.push(char),
            }
        }
    }
    runs
}

/// Returns whether a name is that of a capture, compressed or not, of an incident file, or of a recording of
/// ReplayMod.
fn is_capture(path: &Path) -> bool {
    let name = without_compression(path);
    Incident::is_name(name)
        || [".jsonl", ".pcapng", ".parquet", ".mcpr"].iter().any(|ending| name.ends_with(ending))
}

/// Returns whether a name is that of a recording, compressed or not. tcpdump numbers files after `.pcap`.
fn is_recording(path: &Path) -> bool {
    let name = without_compression(path).trim_end_matches(|char: char| char.is_ascii_digit());
    [".pcap", ".pcapng", ".cap"].iter().any(|ending| name.ends_with(ending))
}

fn without_compression(path: &Path) -> &str {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(found: &[CaptureFile]) -> Vec<&str> {
        found.iter().map(|it| it.name.to_str().unwrap()).collect()
    }

    #[test]
    fn folders_and_patterns_stand_for_their_files_in_the_order_of_their_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("host=a/.raw")).unwrap();
        let parts = [
            "p10.jsonl",
            "p2.jsonl.zst",
            "incident-1.zip",
            "old.mcpr",
            "host=a/x.parquet",
            "host=a/.raw/p.jsonl",
        ];
        let others = [".p.jsonl", "notes.txt", "a.zip", "e.pcap", "e.pcap10", "e.pcap2.gz"];
        parts.iter().chain(&others).for_each(|name| fs::write(at(name), "").unwrap());
        let found = find_captures(&[folder.path().to_owned()]).unwrap();
        assert_eq!(
            names(&found),
            ["host=a/x.parquet", "incident-1.zip", "old.mcpr", "p2.jsonl.zst", "p10.jsonl"]
        );
        let found = find_captures(&[at("*.jsonl*"), at("host=a/x.parquet")]).unwrap();
        assert_eq!(names(&found), ["p2.jsonl.zst", "p10.jsonl", "x.parquet"]);
        let found = find_captures(&[at("host=*/*.parquet")]).unwrap();
        assert_eq!(names(&found), ["host=a/x.parquet"]);
        let found = recording_files(&[folder.path().to_owned()]).unwrap();
        assert_eq!(found, ["e.pcap", "e.pcap2.gz", "e.pcap10"].map(at));
        assert!(find_captures(&[at("*.tar")]).unwrap_err().to_string().contains("no file matches"));
        assert!(find_captures(&[at("host=a/.raw/..")]).is_ok());
        fs::create_dir(at("empty")).unwrap();
        let error = find_captures(&[at("empty")]).unwrap_err().to_string();
        assert!(error.contains("no captures in the folder"), "{error}");
    }
}
