use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use mitmcraft_engine::capture::is_packed;

/// A file that is still being written: reading waits at its end for more, and never ends.
///
/// Reading fails when more can never come: the file was truncated, replaced or deleted.
#[derive(Debug)]
pub(super) struct FollowedFile {
    path: PathBuf,
    file: File,
    /// Number of bytes that were read.
    position: u64,
}

impl FollowedFile {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("only a file can be followed"));
        }
        Ok(Self { path: path.to_owned(), file, position: 0 })
    }

    /// Checks at the end of the file whether more can come.
    fn check(&self) -> io::Result<()> {
        let ours = self.file.metadata()?;
        let why = match fs::metadata(&self.path) {
            _ if ours.len() < self.position => "was truncated while it was followed",
            Ok(now) if is_same(&ours, &now) => return Ok(()),
            Ok(_) => "was replaced by another file while it was followed",
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                "was deleted or renamed while it was followed"
            }
            Err(error) => return Err(error),
        };
        Err(io::Error::other(why))
    }
}

impl Read for FollowedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.file.read(buffer)?;
            if count == 0 && !buffer.is_empty() {
                self.check()?;
                sleep(PAUSE);
                continue;
            }
            if self.position == 0 && is_packed(&buffer[..count]) {
                let why = "compressed captures cannot be followed: decompress it first";
                return Err(io::Error::other(why));
            }
            self.position += count as u64;
            return Ok(count);
        }
    }
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    true
}

/// Time between two looks at the end of the file.
const PAUSE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn reads_what_was_appended_and_says_why_nothing_more_can_come() {
        let folder = std::env::temp_dir().join(format!("followed-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.jsonl");
        for (end, said) in
            [("truncate", "truncated"), ("replace", "replaced"), ("delete", "deleted")]
        {
            fs::write(&path, "one").unwrap();
            let mut followed = FollowedFile::open(&path).unwrap();
            let mut buffer = [0; 8];
            assert_eq!(followed.read(&mut buffer).unwrap(), 3);
            File::options().append(true).open(&path).unwrap().write_all(b"two!").unwrap();
            assert_eq!(followed.read(&mut buffer).unwrap(), 4);
            match end {
                "truncate" => fs::write(&path, "x").unwrap(),
                "replace" => {
                    fs::write(folder.join("b"), "another").unwrap();
                    fs::rename(folder.join("b"), &path).unwrap();
                }
                _ => fs::remove_file(&path).unwrap(),
            }
            let error = followed.read(&mut buffer).unwrap_err();
            assert!(error.to_string().contains(said), "{error}");
        }
        fs::write(&path, [0x1f, 0x8b, 8, 0]).unwrap();
        let error = FollowedFile::open(&path).unwrap().read(&mut [0; 8]).unwrap_err();
        assert!(error.to_string().contains("compressed"), "{error}");
        assert!(FollowedFile::open(&folder).is_err());
        fs::remove_dir_all(&folder).unwrap();
    }
}
