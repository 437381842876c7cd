use std::fs;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use mitmcraft_engine::capture::{Sink as _, check_file};
use mitmcraft_engine::world::{MapWriter, WorldMap};

use super::whole_file::Unfinished;
use super::world::{Scope, warn};
use crate::cli::input::{Input, Reading};
use crate::cli::notice::{claim_error, write_error};
use crate::cli::output::Output;
use crate::cli::plural::count;
use crate::cli::stdio::is_stdio;

/// A conversion to maps, as pictures.
pub(super) struct MapConversion {
    pub(super) scope: Scope,
    pub(super) overwrite: bool,
    /// The most memory that the maps take, in bytes.
    pub(super) memory: usize,
}

impl MapConversion {
    /// Draws maps of files: the picture `to`, and beside it those of other dimensions; or one for each dimension in the
    /// folder `to`.
    pub(super) fn run(
        self,
        files: &[PathBuf],
        to: &Path,
        is_folder: bool,
        reading: &Reading,
        output: &Output,
    ) -> anyhow::Result<()> {
        if is_stdio(to) {
            bail!("a map is a file: choose a name that ends in `.png`");
        }
        if !is_folder {
            self.check(to)?;
        }
        let context = || format!("cannot write the map `{}`", to.display());
        let mut input = Input::open(files, reading)?.read_first()?;
        let folder = if is_folder { Some(to) } else { to.parent() };
        let folder = folder.filter(|it| !it.as_os_str().is_empty());
        let folder = folder.unwrap_or_else(|| Path::new("."));
        let spool = match folder.is_dir() {
            true => tempfile::tempfile_in(folder),
            false => tempfile::tempfile(),
        };
        let mut writer = MapWriter::new(spool.with_context(context)?, self.memory);
        for entry in input.by_ref().filter(|entry| self.scope.has(entry)) {
            writer.write(&entry).map_err(write_error).with_context(context)?;
        }
        let report = writer.finish().with_context(context)?;
        let pictures: Vec<(PathBuf, &WorldMap)> = report
            .maps
            .iter()
            .enumerate()
            .map(|(place, map)| {
                let name = map.name();
                let path = match place {
                    _ if is_folder => folder.join(format!("{}.png", file_part(name))),
                    0 => to.to_owned(),
                    _ => beside(to, name),
                };
                (path, map)
            })
            .collect();
        for (path, _) in &pictures {
            self.check(path)?;
        }
        fs::create_dir_all(folder).with_context(context)?;
        // None of them appears before all are complete.
        let mut complete = Vec::new();
        for (path, map) in &pictures {
            let (file, unfinished) = Unfinished::create(path, self.overwrite)?;
            draw(map, BufWriter::new(file)).with_context(context)?;
            complete.push(unfinished);
        }
        for (unfinished, (path, map)) in complete.into_iter().zip(&pictures) {
            unfinished.publish().with_context(context)?;
            let (x, z) = map.origin();
            let (width, height) = map.size();
            let chunks = count(map.chunks() as u64, "chunk");
            let (name, path) = (map.name(), path.display());
            output.note(&format!(
                "{chunks} in {name} drawn to `{path}`: {width} × {height} pixels from x {x}, z {z}"
            ));
            if map.far() > 0 {
                let far = count(map.far(), "chunk");
                output.warning(&format!(
                    "{far} left out: more than 8,192 blocks from the middle of the map"
                ));
            }
        }
        if report.lost_chunks > 0 {
            let lost = count(report.lost_chunks, "chunk");
            output
                .warning(&format!("{lost} left out: no memory is left (`--max-memory` raises it)"));
        }
        if report.lost_steps > 0 {
            let lost = count(report.lost_steps, "step");
            output.warning(&format!("{lost} of players left out: too many for a map"));
        }
        warn(&report.left_out, output);
        input.end()
    }

    /// Checks that a file can become a picture.
    fn check(&self, path: &Path) -> anyhow::Result<()> {
        match path.exists() {
            true => check_file(path, self.overwrite).map_err(|error| claim_error(error, path)),
            false => Ok(()),
        }
    }
}

fn draw(map: &WorldMap, mut out: impl io::Write) -> io::Result<()> {
    map.write_png(&mut out)?;
    out.flush()
}

/// Returns whether a name stands for a picture.
pub(super) fn is_picture(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("png"))
}

/// Returns the name of a dimension as part of a file's name: without the game's namespace.
fn file_part(name: &str) -> String {
    name.strip_prefix("minecraft:").unwrap_or(name).replace(':', ".")
}

/// Returns the name of the picture of another dimension: `map.the_nether.png` beside `map.png`.
fn beside(path: &Path, dimension: &str) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let ending = path.extension().map_or_else(|| "png".into(), |it| it.to_string_lossy());
    path.with_file_name(format!("{stem}.{}.{ending}", file_part(dimension)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_dimensions_have_pictures_beside_the_first() {
        for (path, dimension, expected) in [
            ("a/map.png", "minecraft:the_nether", "a/map.the_nether.png"),
            ("map.PNG", "ns:a_b", "map.ns.a_b.PNG"),
            ("map", "DIM7", "map.DIM7.png"),
        ] {
            assert_eq!(beside(path.as_ref(), dimension), Path::new(expected));
        }
        assert!(is_picture("a.Png".as_ref()) && !is_picture("png".as_ref()));
    }
}
