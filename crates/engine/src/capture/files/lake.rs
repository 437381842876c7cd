use std::fs;
use std::io::{self, BufRead as _, BufReader, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use super::super::{CreateOptions, Entry, FileType, ParquetSink, ReadError, Sink};
use super::claim::{claim_file, is_claimed};
use super::open::open_capture;
use super::retention::Retention;
use super::rotating_sink::RotatingSink;
use super::rotation::Rotation;
use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::Catalog;

/// A folder of Parquet files that many proxies may share: `date=2026-11-21/host=eu1/part-….parquet`.
///
/// What is recorded goes to a JSONL capture in a hidden folder, a raw part, which is closed after
/// a minute or 64 MiB, and at midnight (UTC). [`compact`](Self::compact) makes a Parquet file of
/// it, moves that into place when it is complete, and only then deletes the raw part. A program that is
/// killed at any moment leaves raw parts, which the next one finds.
#[derive(Debug, Clone)]
pub struct Lake {
    folder: PathBuf,
    host: String,
    options: CreateOptions,
    retention: Retention,
}

/// What [`Lake::create`] returns.
pub struct OpenLake {
    /// The sink of the entries.
    pub sink: Box<dyn Sink>,
    /// Receives raw parts that are closed, the last one when the sink is finished.
    pub closed: Receiver<PathBuf>,
    /// The raw parts of programs that have ended without compacting them.
    pub left: Vec<PathBuf>,
}

/// A raw part that has been compacted.
#[derive(Debug)]
#[non_exhaustive]
pub struct CompactedPart {
    /// The Parquet file; `None` if the raw part had no entries.
    pub file: Option<PathBuf>,
    /// The raw part, which is kept under this name because not all of it can be read, and why.
    pub damaged: Option<(PathBuf, String)>,
}

impl Lake {
    /// Describes the lake in `folder`, to which this machine writes as `host`. Files are written with
    /// `options`, of which [`CreateOptions::keep`] limits the Parquet files of the host.
    #[must_use]
    pub fn new(folder: &Path, host: &str, options: &CreateOptions) -> Self {
        let keep = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '.' | '_');
        let host: String = host.chars().map(|it| if keep(it) { it } else { '_' }).collect();
        // The name in the manifest, which is in the lake's folder.
        let retention = Retention::new(options.keep, &folder.join("{date}").join(&host));
        let options = CreateOptions { rotate: None, keep: None, ..*options };
        Self { folder: folder.to_owned(), host, options, retention }
    }

    /// Checks that the folder is one or can be created, and creates nothing.
    ///
    /// # Errors
    /// [`io::Error`] if there is a file of that name.
    pub fn check(&self) -> io::Result<()> {
        match fs::metadata(&self.folder) {
            Ok(found) if !found.is_dir() => Err(ErrorKind::NotADirectory.into()),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Creates the folders and the first raw part. `now` tells the time.
    ///
    /// # Errors
    /// [`io::Error`] if they cannot be created.
    pub fn create(&self, now: impl Fn() -> Timestamp + Send + 'static) -> io::Result<OpenLake> {
        let raw = self.raw();
        fs::create_dir_all(&raw)?;
        let left = self.left()?;
        let (sender, closed) = mpsc::channel();
        let rotation = Rotation::Size(PART_SIZE);
        let (path, retention) = (raw.join(RAW_NAME), Retention::new(None, &raw));
        let sink =
            RotatingSink::create(&path, FileType::JSONL, &self.options, rotation, retention)?;
        let sink = LakeSink { parts: sink.into_lake(PART_TIME, sender), now: Box::new(now) };
        Ok(OpenLake { sink: Box::new(sink), closed, left })
    }

    /// Makes a Parquet file of a raw part. A last line that was cut off is left out.
    ///
    /// # Errors
    /// [`io::Error`] if the part cannot be read or the file cannot be written; the raw part is as it was
    /// then.
    pub fn compact(&self, raw: &Path, catalog: &Catalog) -> io::Result<CompactedPart> {
        let unfinished = raw.with_extension("parquet.part");
        let written = self.write(raw, &unfinished, catalog);
        // After an error, it is written anew when the part is compacted the next time.
        let (last, fault) = written.inspect_err(|_| drop(fs::remove_file(&unfinished)))?;
        let file = last.map(|last| self.publish(raw, &unfinished, last)).transpose()?;
        if file.is_none() {
            // There is none if the part is not a capture.
            let _ = fs::remove_file(&unfinished);
        }
        let damaged = match fault {
            None => {
                fs::remove_file(raw)?;
                None
            }
            Some(fault) => {
                let name = raw.file_name().unwrap_or_default().to_string_lossy();
                let names = (1..).map(|again: u32| match again {
                    1 => format!("damaged-{name}"),
                    again => format!("damaged-{again}-{name}"),
                });
                let mut paths = names.map(|name| raw.with_file_name(name));
                let kept = paths.find(|path| !path.exists()).ok_or(ErrorKind::AlreadyExists)?;
                fs::rename(raw, &kept)?;
                Some((kept, fault))
            }
        };
        Ok(CompactedPart { file, damaged })
    }

    /// Writes the entries of a part. Returns the time of the last one, and what cannot be read.
    fn write(
        &self,
        raw: &Path,
        unfinished: &Path,
        catalog: &Catalog,
    ) -> io::Result<(Option<Timestamp>, Option<String>)> {
        let entries = match open_capture(raw, catalog) {
            Ok(entries) => entries,
            Err(ReadError::Io(error)) => return Err(error),
            Err(ReadError::UnknownFormat) if fs::metadata(raw)?.len() == 0 => {
                Box::new(std::iter::empty())
            }
            Err(error) => return Ok((None, Some(error.to_string()))),
        };
        let file = claim_file(unfinished, true)?;
        let sink = ParquetSink::new(Box::new(file.try_clone()?))?;
        let sink = if self.options.bodies { sink } else { sink.without_bodies() };
        let mut sink = if self.options.meanings { sink.with_meanings() } else { sink };
        let (mut last, mut fault) = (None, None);
        for entry in entries {
            match entry {
                Ok(entry) => {
                    last = last.max(Some(entry.at()));
                    sink.write(&entry)?;
                }
                // The program was killed while it wrote this line.
                Err(ReadError::CutOff(_)) => {}
                Err(ReadError::Io(error)) => return Err(error),
                Err(error) => fault = Some(error.to_string()),
            }
        }
        sink.finish()?;
        file.sync_all()?;
        Ok((last, fault))
    }

    /// Moves a complete file to its place, and deletes the oldest beyond the limit.
    fn publish(&self, raw: &Path, unfinished: &Path, last: Timestamp) -> io::Result<PathBuf> {
        let text = last.to_string();
        let (date, time) = (&text[..10], text[11..23].replace(':', ""));
        let folder = self.folder.join(format!("date={date}")).join(format!("host={}", self.host));
        fs::create_dir_all(&folder)?;
        let number = raw.file_stem().unwrap_or_default().to_string_lossy();
        let number = number.trim_start_matches("part-");
        // Numbers begin again when no raw part is left.
        let names = (1..).map(|again: u32| match again {
            1 => format!("part-{time}-{number}.parquet"),
            again => format!("part-{time}-{number}-{again}.parquet"),
        });
        let mut paths = names.map(|name| folder.join(name));
        let path = loop {
            let path = paths.next().ok_or(ErrorKind::AlreadyExists)?;
            if !path.exists() {
                break path;
            }
            if equal(unfinished, &path)? {
                // A run was killed before it deleted the raw part of this file.
                fs::remove_file(unfinished)?;
                return Ok(path);
            }
        };
        self.retention.opened(&path, last)?;
        fs::rename(unfinished, &path)?;
        #[cfg(unix)]
        fs::File::open(&folder)?.sync_all()?;
        self.retention.done(path.clone(), last)?;
        Ok(path)
    }

    /// Finds the raw parts that nobody writes any more, the oldest first, and removes files that were being
    /// made of them.
    fn left(&self) -> io::Result<Vec<PathBuf>> {
        let mut left = Vec::new();
        for entry in fs::read_dir(self.raw())? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let free = || is_claimed(&path) == Some(false);
            if name.starts_with("part-") && name.ends_with(".jsonl") && free() {
                left.push(path);
            } else if name.ends_with(".parquet.part") && free() {
                fs::remove_file(&path)?;
            }
        }
        left.sort();
        Ok(left)
    }

    /// The folder of the host's raw parts.
    fn raw(&self) -> PathBuf {
        self.folder.join(RAW).join(&self.host)
    }
}

/// Returns whether two files have the same bytes.
fn equal(one: &Path, other: &Path) -> io::Result<bool> {
    let [one, other] = [one, other].map(fs::File::open);
    let (one, other) = (one?, other?);
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut one, mut other) = (BufReader::new(one), BufReader::new(other));
    loop {
        let (here, there) = (one.fill_buf()?, other.fill_buf()?);
        let count = here.len().min(there.len());
        if count == 0 || here[..count] != there[..count] {
            return Ok(count == 0);
        }
        one.consume(count);
        other.consume(count);
    }
}

impl std::fmt::Debug for OpenLake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenLake").field("left", &self.left).finish_non_exhaustive()
    }
}

/// Writes raw parts, and closes one that is old even if no entry follows.
struct LakeSink {
    parts: RotatingSink,
    now: Box<dyn Fn() -> Timestamp + Send>,
}

impl Sink for LakeSink {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        self.parts.write(entry)
    }

    fn inner(&mut self) -> Option<&mut dyn Sink> {
        Some(&mut self.parts)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.parts.close_due((self.now)())?;
        self.parts.flush()
    }
}

/// Age at which a raw part is closed.
const PART_TIME: Duration = Duration::from_secs(60);

/// Size in bytes at which a raw part is closed.
const PART_SIZE: u64 = 64 << 20;

/// The folder of raw parts, which programs that read a lake leave out.
const RAW: &str = ".raw";

/// The name of raw parts, to which their number is added.
const RAW_NAME: &str = "part.jsonl";

#[cfg(test)]
mod tests {
    use super::super::super::{Event, EventKind};
    use super::super::keep::Keep;
    use super::*;
    use crate::capture::JsonlSink;

    fn entries() -> Vec<Entry> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/session-1.8.jsonl");
        open_capture(path.as_ref(), Catalog::embedded()).unwrap().map(Result::unwrap).collect()
    }

    /// Returns entries as lines.
    fn lines(entries: impl IntoIterator<Item = Entry>) -> Vec<String> {
        let mut text = Vec::new();
        let mut sink = JsonlSink::new(&mut text);
        entries.into_iter().for_each(|entry| sink.write(&entry).unwrap());
        sink.finish().unwrap();
        drop(sink);
        String::from_utf8(text).unwrap().lines().map(str::to_owned).collect()
    }

    fn read(path: &Path) -> Vec<Entry> {
        open_capture(path, Catalog::embedded()).unwrap().map(Result::unwrap).collect()
    }

    fn lake(folder: &Path) -> Lake {
        Lake::new(folder, "eu1", &CreateOptions::default())
    }

    /// Writes entries as a run does that ends. Returns the closed parts.
    fn record(lake: &Lake, entries: &[Entry]) -> Vec<PathBuf> {
        let OpenLake { mut sink, closed, .. } = lake.create(|| Timestamp(0)).unwrap();
        entries.iter().for_each(|entry| sink.write(entry).unwrap());
        sink.finish().unwrap();
        drop(sink);
        closed.into_iter().collect()
    }

    fn compact(lake: &Lake, raw: &Path) -> CompactedPart {
        lake.compact(raw, Catalog::embedded()).unwrap()
    }

    /// Writes a raw part as a run leaves it that was killed `cut` bytes before its end.
    fn killed(lake: &Lake, entries: &[Entry], cut: usize) -> PathBuf {
        let [raw] = &record(lake, entries)[..] else { panic!("one part") };
        let text = fs::read(raw).unwrap();
        fs::write(raw, &text[..text.len() - cut]).unwrap();
        raw.clone()
    }

    #[test]
    fn a_part_becomes_a_file_of_its_date_and_host() {
        let folder = tempfile::tempdir().unwrap();
        let lake = Lake::new(folder.path(), "eu/1 ü", &CreateOptions::default());
        let entries = entries();
        let [raw] = &record(&lake, &entries)[..] else { panic!("one part") };
        let CompactedPart { file: Some(file), damaged: None } = compact(&lake, raw) else {
            panic!("a file")
        };
        let place = file.strip_prefix(folder.path()).unwrap().to_str().unwrap();
        assert!(place.starts_with("date=2026-11-21/host=eu_1__/part-0220"), "{place}");
        assert_eq!(lines(read(&file)), lines(entries));
        assert!(!raw.exists());
        // A run without entries leaves nothing.
        let [raw] = &record(&lake, &[])[..] else { panic!("one part") };
        assert!(compact(&lake, raw).file.is_none());
        assert_eq!(fs::read_dir(raw.parent().unwrap()).unwrap().count(), 0);
    }

    #[test]
    fn what_a_killed_run_has_left_is_found_and_compacted_to_its_last_whole_line() {
        let folder = tempfile::tempdir().unwrap();
        let (lake, entries) = (lake(folder.path()), entries());
        for cut in [0, 1, 20] {
            let raw = killed(&lake, &entries, cut);
            // It was killed while it made a file of the part.
            fs::write(raw.with_extension("parquet.part"), "PAR1").unwrap();
            let OpenLake { sink, left, .. } = lake.create(|| Timestamp(0)).unwrap();
            assert_eq!(left, std::slice::from_ref(&raw));
            assert!(!raw.with_extension("parquet.part").exists());
            let file = compact(&lake, &raw).file.unwrap();
            let whole = entries.len() - usize::from(cut > 1);
            assert_eq!(lines(read(&file)), lines(entries[..whole].to_vec()), "{cut}");
            drop(sink);
            fs::remove_dir_all(raw.parent().unwrap()).unwrap();
        }
        // The part of a run that goes on is not touched.
        let open = lake.create(|| Timestamp(0)).unwrap();
        assert!(lake.create(|| Timestamp(0)).unwrap().left.is_empty());
        drop(open);
    }

    /// As after a SIGKILL between moving the file into place and deleting the raw part.
    #[test]
    fn a_part_that_is_in_place_already_is_not_added_again() {
        let folder = tempfile::tempdir().unwrap();
        let (lake, entries) = (lake(folder.path()), entries());
        let raw = killed(&lake, &entries, 0);
        let text = fs::read(&raw).unwrap();
        let file = compact(&lake, &raw).file.unwrap();
        fs::write(&raw, text).unwrap();
        assert_eq!(compact(&lake, &raw).file.unwrap(), file);
        assert!(!raw.exists());
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);
        // Another part of that number and time is added.
        let other = killed(&lake, &[&entries[..3], &entries[4..]].concat(), 0);
        assert_eq!(other, raw);
        let beside = compact(&lake, &raw).file.unwrap();
        assert_ne!(beside, file);
        assert_eq!(lines(read(&beside)).len(), lines(entries).len() - 1);
    }

    #[test]
    fn a_part_that_cannot_be_published_is_kept_and_one_that_is_damaged_too() {
        let folder = tempfile::tempdir().unwrap();
        let (lake, entries) = (lake(folder.path()), entries());
        let raw = killed(&lake, &entries, 0);
        let text = fs::read(&raw).unwrap();
        let blocked = folder.path().join("date=2026-11-21");
        fs::write(&blocked, "").unwrap();
        lake.compact(&raw, Catalog::embedded()).unwrap_err();
        assert_eq!(fs::read(&raw).unwrap(), text);
        fs::remove_file(&blocked).unwrap();

        let mut damaged = text.clone();
        let middle = text.len() / 2;
        damaged[middle..middle + 4].fill(b'\n');
        fs::write(&raw, &damaged).unwrap();
        let CompactedPart { file: Some(file), damaged: Some((kept, why)) } = compact(&lake, &raw)
        else {
            panic!("damaged")
        };
        assert!(why.contains("line "), "{why}");
        assert_eq!(fs::read(kept).unwrap(), damaged);
        assert!(read(&file).len() >= entries.len() - 2);
        assert!(!raw.exists());

        // Another one of that number, of which nothing can be read.
        fs::write(&raw, [0; 100]).unwrap();
        let CompactedPart { file: None, damaged: Some((other, _)) } = compact(&lake, &raw) else {
            panic!("no capture")
        };
        assert_eq!(fs::read(other).unwrap(), [0; 100]);
        let kept = raw.with_file_name("damaged-part-00001.jsonl");
        assert_eq!(fs::read(kept).unwrap(), damaged);
    }

    #[test]
    fn a_part_ends_after_a_minute_and_at_midnight_and_begins_with_the_open_sessions() {
        let folder = tempfile::tempdir().unwrap();
        let lake = lake(folder.path());
        let entries = entries();
        let Some(Entry::Event(open)) = entries.first() else { panic!("an event") };
        let at = |text: &str| {
            let at = Timestamp::parse(text).unwrap();
            let kind = match entries.iter().find_map(|entry| match entry {
                Entry::Event(Event { kind: kind @ EventKind::State(_), .. }) => Some(kind),
                _ => None,
            }) {
                Some(kind) => kind.clone(),
                None => panic!("a state"),
            };
            Entry::Event(Event { at, kind, context: open.context.clone() })
        };
        let times = ["2026-11-21T23:58:30Z", "2026-11-21T23:59:29Z", "2026-11-21T23:59:31Z"];
        let later = ["2026-11-22T00:00:01Z"];
        let mut all = vec![Entry::Event(open.clone())];
        all.extend(times.iter().chain(&later).map(|text| at(text)));
        let parts = record(&lake, &all);
        let files: Vec<PathBuf> =
            parts.iter().map(|raw| compact(&lake, raw).file.unwrap()).collect();
        // The first entry is of the morning of that day.
        assert_eq!(files.len(), 4);
        let dates = files.iter().map(|file| file.to_str().unwrap().contains("date=2026-11-22"));
        assert_eq!(dates.collect::<Vec<_>>(), [false, false, false, true]);
        for file in &files {
            assert!(matches!(
                read(file).first(),
                Some(Entry::Event(Event { kind: EventKind::Open, .. }))
            ));
        }
    }

    #[test]
    fn a_part_that_is_old_is_closed_though_no_entry_follows() {
        let folder = tempfile::tempdir().unwrap();
        let lake = lake(folder.path());
        let entries = entries();
        let first = entries[0].at();
        for (seconds, parts) in [(59, 0), (61, 1)] {
            let now = first.plus(Duration::from_secs(seconds));
            let OpenLake { mut sink, closed, .. } = lake.create(move || now).unwrap();
            sink.flush().unwrap();
            assert_eq!(closed.try_iter().count(), 0, "an empty part is not closed");
            sink.write(&entries[0]).unwrap();
            sink.flush().unwrap();
            assert_eq!(closed.try_iter().count(), parts);
            sink.write(&entries[1]).unwrap();
            sink.finish().unwrap();
            assert_eq!(closed.try_iter().count(), 1);
        }
    }

    #[test]
    fn the_oldest_files_of_the_host_are_deleted_beyond_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let options = CreateOptions { keep: Some(Keep::Files(2)), ..CreateOptions::default() };
        let other = lake(folder.path());
        // The parts differ in a packet.
        let files = |lake: &Lake, run: usize| {
            let mut entries = entries();
            entries.remove(20 + run);
            let [raw] = &record(lake, &entries)[..] else { panic!("one part") };
            compact(lake, raw).file.unwrap()
        };
        let kept = files(&other, 0);
        // Each is a run of its own.
        let mine: Vec<PathBuf> =
            (0..4).map(|run| files(&Lake::new(folder.path(), "eu2", &options), run)).collect();
        // All of them are of the same moment, so that a name that is free again is used again.
        assert!(mine[2].exists() && mine[3].exists());
        assert_eq!(fs::read_dir(mine[3].parent().unwrap()).unwrap().count(), 2);
        assert!(kept.exists(), "it is another host's");
    }
}
