use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use super::claim::named;

/// The list of the files that a capture with several files has written, in the folder that is the same for
/// all of them. What is not in it is never deleted.
///
/// Each line has the capture's name as the user gave it, and a file as a path in that folder, as a JSON
/// array of two texts. Runs that write to the same folder share the list, and lock it while they change it.
#[derive(Debug)]
pub(super) struct Manifest {
    folder: PathBuf,
    /// The capture's name in the folder, with its placeholders.
    name: String,
}

impl Manifest {
    /// Returns the list of a capture with that name.
    pub(super) fn of(capture: &Path) -> Self {
        let mut folder = capture.parent();
        while let Some(inner) = folder.filter(|it| it.to_string_lossy().contains('{')) {
            folder = inner.parent();
        }
        let folder = folder.unwrap_or_else(|| Path::new("")).to_owned();
        let name = capture.strip_prefix(&folder).unwrap_or(capture).to_string_lossy().into_owned();
        Self { folder, name }
    }

    /// Returns the list of the files of sessions that never log in.
    pub(super) fn of_visits(capture: &Path) -> Self {
        let Self { folder, name } = Self::of(capture);
        // No capture has a name that ends like this.
        Self { folder, name: name + " (no login)" }
    }

    /// Adds a file. Returns those that are there already, the oldest first.
    pub(super) fn add(&self, file: &Path) -> io::Result<Vec<PathBuf>> {
        self.add_line(file).map_err(|error| named(&self.path(), error))
    }

    fn add_line(&self, file: &Path) -> io::Result<Vec<PathBuf>> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true);
        let mut list = options.open(self.path())?;
        list.lock()?;
        let mut text = String::new();
        list.read_to_string(&mut text)?;
        let there = |line: &&str| {
            Self::parse(line).is_some_and(|(_, path)| self.folder.join(path).exists())
        };
        let mut lines: Vec<&str> = text.lines().filter(there).collect();
        let ours = lines.iter().filter_map(|line| Self::parse(line));
        let ours = ours.filter(|(name, _)| *name == self.name);
        let before = ours.map(|(_, path)| self.folder.join(path)).collect();
        let path = file.strip_prefix(&self.folder).unwrap_or(file).to_string_lossy();
        let line = serde_json::json!([self.name, path]).to_string();
        lines.push(&line);
        rewrite(&mut list, &lines)?;
        Ok(before)
    }

    /// Reads a line: the capture and the file.
    fn parse(line: &str) -> Option<(String, String)> {
        serde_json::from_str(line).ok()
    }

    fn path(&self) -> PathBuf {
        self.folder.join(NAME)
    }
}

/// Replaces the content of the list. If that is cut off, the files that it lacks are not deleted.
fn rewrite(list: &mut File, lines: &[&str]) -> io::Result<()> {
    list.seek(SeekFrom::Start(0))?;
    list.set_len(0)?;
    list.write_all((lines.join("\n") + "\n").as_bytes())
}

/// The name of the list.
const NAME: &str = ".mitmcraft-files";
