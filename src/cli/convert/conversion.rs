use std::collections::HashMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use mitmcraft_engine::capture::{
    Compression, CreateOptions, Entry, FileType, Sink, WhereSink, check_file,
};
use mitmcraft_engine::lang::Expr;

use super::output_format::{OutputFormat, is_known};
use super::packet_table::PacketTable;
use super::whole_file::{Unfinished, WholeFile};
use crate::cli::args::{Only, PlannedCaptures, RedactionSeed};
use crate::cli::exit::last_error;
use crate::cli::input::{CaptureFile, InOrder, Input, Reading};
use crate::cli::notice::{claim_error, write_error};
use crate::cli::output::Output;
use crate::cli::stdio::is_stdio;

/// The options of a conversion.
pub(super) struct Conversion {
    pub(super) options: CreateOptions,
    /// The format on stdout.
    pub(super) on_stdout: FileType,
    pub(super) condition: Option<Expr>,
    pub(super) only: Option<Only>,
    pub(super) session: Option<u64>,
    pub(super) table: Option<PacketTable>,
    pub(super) redaction: RedactionSeed,
}

/// The outcome of converting a capture.
struct Converted {
    /// `true` if it has the wanted session.
    found: bool,
    /// The error of the capture, which was converted up to the damage.
    damage: anyhow::Result<()>,
}

impl Conversion {
    /// Makes one capture of files.
    pub(super) fn into_file(
        self,
        files: &[PathBuf],
        to: &Path,
        reading: Reading,
        output: &Output,
    ) -> anyhow::Result<()> {
        if let Some(from) = files.iter().find(|from| same_file(from, to)) {
            bail!("`{}` is the capture that is read: choose another name", from.display());
        }
        let Converted { found, damage } = self.convert(files, to, &reading)?;
        drop(reading);
        warn(self.session.filter(|_| !found), output);
        damage
    }

    /// Makes a capture of each file, with its name below `folder`, on all processors.
    pub(super) fn into_folder(
        self,
        files: Vec<CaptureFile>,
        folder: &Path,
        format: Option<&OutputFormat>,
        reading: Reading,
        output: &Output,
    ) -> anyhow::Result<()> {
        let mut targets: HashMap<PathBuf, PathBuf> = HashMap::new();
        let mut pairs = Vec::new();
        for CaptureFile { path, name } in files {
            if is_stdio(&path) {
                bail!("stdin has no name that a file in `{}` could have", folder.display());
            }
            if format.is_none() && !is_known(&name) {
                bail!("the ending of `{}` stands for no format: use `--format`", path.display());
            }
            let to = folder.join(format.map_or_else(|| name.clone(), |format| format.name(&name)));
            if same_file(&path, &to) {
                bail!("`{}` is a capture that is read: choose another folder", path.display());
            }
            if let Some(other) = targets.insert(to.clone(), path.clone()) {
                let (other, path) = (other.display(), path.display());
                bail!("`{other}` and `{path}` would both become `{}`", to.display());
            }
            File::open(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
            // Its folder is created later.
            if to.exists() {
                check_file(&to, self.options.overwrite).map_err(|error| claim_error(error, &to))?;
            }
            pairs.push((path, to));
        }
        let (count, session) = (pairs.len(), self.session);
        let converted = InOrder::new(count, move |place, outlet| {
            let (from, to) = &pairs[place];
            let parent = to.parent().unwrap_or(to);
            let created = fs::create_dir_all(parent)
                .with_context(|| format!("cannot create the folder `{}`", parent.display()));
            let one = std::slice::from_ref(from);
            let converted = created.and_then(|()| self.convert(one, to, &reading));
            let named = |error: anyhow::Error| match error.to_string().contains('`') {
                true => error,
                false => error.context(format!("`{}`", from.display())),
            };
            outlet.put(converted.map_err(named), 0);
        })?;
        let (mut found, mut written, mut errors) = (false, 0, Vec::new());
        for converted in converted {
            match converted {
                Ok(converted) => {
                    written += 1;
                    found |= converted.found;
                    errors.extend(converted.damage.err());
                }
                Err(error) => errors.push(error),
            }
        }
        warn(session.filter(|_| !found && errors.is_empty()), output);
        output.note(&format!("{written} of {count} captures written to `{}`", folder.display()));
        last_error(errors, output).map_or(Ok(()), Err)
    }

    /// Writes what is selected of files, which are one capture, to a file.
    fn convert(
        &self,
        files: &[PathBuf],
        to: &Path,
        reading: &Reading,
    ) -> anyhow::Result<Converted> {
        let mut input = Input::open(files, reading)?;
        if self.table.is_some() {
            // Rows have the id that their session has in every file.
            input = input.apart();
        }
        let mut input = input.read_first()?;
        let cannot = || format!("cannot write `{}`", to.display());
        let (sink, unfinished) = match WholeFile::of(to) {
            Some(whole) => {
                let overwrite = self.options.overwrite;
                check_file(to, overwrite).map_err(|error| claim_error(error, to))?;
                let (file, unfinished) = Unfinished::create(to, overwrite)?;
                let sink = whole.create(file, &self.options, self.session, self.table.as_ref());
                (sink.with_context(cannot)?, Some(unfinished))
            }
            None => {
                let to = [to.to_owned()];
                let planned = PlannedCaptures::new(&to, self.on_stdout, self.options, None)?;
                let Some((_, sink)) = planned.create()?.pop() else { bail!("nothing to write") };
                (sink, None)
            }
        };
        let mut sink = WhereSink::new(self.redaction.apply(sink), self.condition.clone())
            .with_kinds(Only::packets(self.only), Only::events(self.only));
        // Between two programs a capture is live, and its reader must not wait for a full buffer.
        let live = matches!(files, [from] if is_stdio(from))
            && is_stdio(to)
            && self.on_stdout.compression == Compression::None;
        let mut found = false;
        let selected = |entry: &Entry| {
            let selected = self.session.is_none_or(|session| session == entry.context().session);
            found |= selected;
            selected
        };
        let written = input.by_ref().filter(selected).try_for_each(|entry| {
            sink.write(&entry)?;
            if live { sink.batch_done() } else { Ok(()) }
        });
        let written = written.and_then(|()| sink.finish());
        let damage = input.end();
        let written = written.and_then(|()| unfinished.map_or(Ok(()), Unfinished::publish));
        written.map_err(write_error).with_context(cannot)?;
        Ok(Converted { found, damage })
    }
}

/// Warns that session `missing` is not in the captures, if it is set.
fn warn(missing: Option<u64>, output: &Output) {
    if let Some(session) = missing {
        output.warning(&format!("there is no session {session}: nothing was written"));
    }
}

/// Returns whether both paths lead to the same file.
fn same_file(one: &Path, other: &Path) -> bool {
    #[cfg(unix)]
    let identity = |path: &Path| {
        use std::os::unix::fs::MetadataExt as _;
        fs::metadata(path).ok().map(|it| (it.dev(), it.ino()))
    };
    #[cfg(not(unix))]
    let identity = |path: &Path| fs::canonicalize(path).ok();
    !is_stdio(one)
        && !is_stdio(other)
        && identity(one).is_some_and(|it| Some(it) == identity(other))
}
