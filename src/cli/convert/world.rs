use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context as _, bail};
use mitmcraft_engine::capture::{Entry, Sink as _};
use mitmcraft_engine::lang::Expr;
use mitmcraft_engine::replay::Point;
use mitmcraft_engine::world::{LeftOut, WorldFiles, WorldWriter, is_about_blocks};
use mitmcraft_protocol::packet::Timestamp;
use tempfile::TempDir;
use thiserror::Error;

use crate::cli::input::{Input, Reading};
use crate::cli::notice::write_error;
use crate::cli::output::Output;
use crate::cli::plural::count;

/// `--at`: the moment of the world that is written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Moment {
    /// A moment of each session.
    Session(Point),
    /// A time of day.
    Time(Timestamp),
}

impl Moment {
    /// Returns whether an entry belongs to what has happened by then.
    fn has(self, entry: &Entry) -> bool {
        match self {
            Self::Time(last) => entry.at() <= last,
            Self::Session(Point::Time(last)) => entry.at().since(entry.context().opened) <= last,
            Self::Session(Point::Packet(last)) => {
                entry.record().is_none_or(|record| record.packet.seq() <= last)
            }
            Self::Session(_) => true,
        }
    }
}

impl FromStr for Moment {
    type Err = MomentError;

    fn from_str(text: &str) -> Result<Self, MomentError> {
        if let Some(time) = Timestamp::parse(text) {
            return Ok(Self::Time(time));
        }
        text.parse().map(Self::Session).map_err(|_| MomentError)
    }
}

/// A text is not a moment of `--at`.
#[derive(Debug, Error)]
#[error(
    "expected seconds since the session began (`12.5`), a packet (`@120`), or a time \
     (`2026-11-21T02:20:01Z`)"
)]
pub(super) struct MomentError;

/// The part of captures of which a world or a map is made.
pub(super) struct Scope {
    pub(super) at: Option<Moment>,
    pub(super) session: Option<u64>,
    pub(super) condition: Option<Expr>,
}

impl Scope {
    pub(super) fn has(&self, entry: &Entry) -> bool {
        let session = entry.context().session;
        self.session.is_none_or(|wanted| wanted == session)
            && self.at.is_none_or(|at| at.has(entry))
            && match (entry, &self.condition) {
                // The others say in which dimension the blocks are.
                (Entry::Packet(record), Some(condition)) => {
                    !is_about_blocks(&record.packet) || condition.matches(record)
                }
                _ => true,
            }
    }
}

/// A conversion to a world of the game.
pub(super) struct WorldConversion {
    pub(super) scope: Scope,
    pub(super) overwrite: bool,
}

impl WorldConversion {
    /// Makes a world of files, in the folder `to`.
    pub(super) fn run(
        self,
        files: &[PathBuf],
        to: &Path,
        reading: &Reading,
        output: &Output,
    ) -> anyhow::Result<()> {
        let context = || format!("cannot write the world `{}`", to.display());
        let old = self.check(to, files)?;
        let mut input = Input::open(files, reading)?.read_first()?;
        let parent = to.parent().filter(|it| !it.as_os_str().is_empty());
        let parent = parent.unwrap_or_else(|| Path::new("."));
        fs::create_dir_all(parent).with_context(context)?;
        let spool = tempfile::tempfile_in(parent).with_context(context)?;
        let mut writer = WorldWriter::new(spool);
        for entry in input.by_ref().filter(|entry| self.scope.has(entry)) {
            writer.write(&entry).map_err(write_error).with_context(context)?;
        }
        // The folder is deleted again if anything fails.
        let unfinished = tempfile::Builder::new().prefix(".mitmcraft-world-").tempdir_in(parent);
        let unfinished = unfinished.with_context(context)?;
        let mut folder = Folder { root: unfinished.path().join("world") };
        let name = to.file_name().map_or_else(|| "world".into(), |it| it.to_string_lossy());
        let report = writer.finish(&name, &mut folder).with_context(context)?;
        match old {
            Old::None => fs::rename(&folder.root, to).with_context(context)?,
            Old::Empty => {
                fs::remove_dir(to).with_context(context)?;
                fs::rename(&folder.root, to).with_context(context)?;
            }
            Old::World => replace(to, &folder.root, unfinished).with_context(context)?,
        }
        let named: Vec<String> = report
            .dimensions
            .iter()
            .map(|(name, chunks)| format!("{} in {name}", count(*chunks, "chunk")))
            .collect();
        output.note(&format!("{} written to `{}`", named.join(", "), to.display()));
        warn(&report.left_out, output);
        input.end()
    }

    /// Checks that a folder can become the world of these captures, and returns what is there.
    fn check(&self, to: &Path, files: &[PathBuf]) -> anyhow::Result<Old> {
        let shown = to.display();
        if !to.exists() {
            return Ok(Old::None);
        }
        let mut found = fs::read_dir(to).with_context(|| format!("cannot write `{shown}`"))?;
        if found.next().is_none() {
            return Ok(Old::Empty);
        }
        if !to.join("level.dat").is_file() {
            bail!(
                "cannot write `{shown}`: the folder is not empty, and is no world; choose another"
            );
        }
        if !self.overwrite {
            bail!("cannot write `{shown}`: it is a world already; `--overwrite` replaces it");
        }
        let real = fs::canonicalize(to).with_context(|| format!("cannot write `{shown}`"))?;
        // What has no path, such as stdin, is in no folder.
        let is_inside =
            |file: &&PathBuf| fs::canonicalize(file).is_ok_and(|it| it.starts_with(&real));
        if let Some(file) = files.iter().find(is_inside) {
            let file = file.display();
            bail!(
                "cannot replace `{shown}`: the capture `{file}` is in it; move it elsewhere first"
            );
        }
        Ok(Old::World)
    }
}

/// Puts a complete world in the place of an old one, which comes back if that fails.
fn replace(to: &Path, new: &Path, unfinished: TempDir) -> anyhow::Result<()> {
    let old = unfinished.path().join("old");
    fs::rename(to, &old)?;
    let Err(error) = fs::rename(new, to) else { return Ok(()) };
    if fs::rename(&old, to).is_err() {
        // It is not deleted with the folder around it.
        let kept = unfinished.keep().join("old");
        return Err(error).with_context(|| format!("the old world is now `{}`", kept.display()));
    }
    Err(error.into())
}

/// What is in the place of the world before it is written.
enum Old {
    None,
    Empty,
    World,
}

/// The folder of a world that is being written.
struct Folder {
    root: PathBuf,
}

impl WorldFiles for Folder {
    fn write(&mut self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.root.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, bytes)
    }
}

/// Warns about everything in the captures that the world or the map lacks.
pub(super) fn warn(left_out: &LeftOut, output: &Output) {
    let LeftOut { invalid, partial, too_old, other_version, too_many, too_large, .. } = *left_out;
    for (number, what, why) in [
        (invalid, "packet", "left out: cannot be decoded"),
        (
            partial,
            "part of a chunk|parts of chunks",
            "left out: the rest of the chunk was not sent",
        ),
        (too_old, "packet", "left out: chunks before 1.2 cannot be written"),
        (other_version, "block change", "left out: recorded in another version than the chunk"),
        (too_many, "packet", "left out: too many regions, versions or bytes for a world"),
        (too_large, "chunk", "left out: too large for the format of the version"),
        (left_out.unknown_blocks, "block", "replaced by air: not a block of the version"),
        (left_out.unknown_biomes, "biome", "replaced by plains: the name is unknown"),
        (
            left_out.placeless,
            "packet",
            "placed in the overworld: the beginning of the session is missing",
        ),
    ] {
        if number > 0 {
            let counted = match what.split_once('|') {
                Some((one, many)) => format!("{number} {}", if number == 1 { one } else { many }),
                None => count(number, what),
            };
            output.warning(&format!("{counted} {why}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_world_comes_back_if_the_new_one_cannot_take_its_place() {
        let parent = tempfile::tempdir().unwrap();
        let to = parent.path().join("world");
        fs::create_dir(&to).unwrap();
        fs::write(to.join("level.dat"), "precious").unwrap();
        let unfinished = TempDir::new_in(&parent).unwrap();
        let missing = unfinished.path().join("world");
        assert!(replace(&to, &missing, unfinished).is_err());
        assert_eq!(fs::read(to.join("level.dat")).unwrap(), b"precious");
        assert_eq!(fs::read_dir(&parent).unwrap().count(), 1);
    }
}
