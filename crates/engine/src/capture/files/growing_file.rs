use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A file that is written from its beginning to its end.
///
/// On ext4, blocks are reserved ahead of the bytes: without that, it finds each block of a growing file by
/// itself, which takes as long as copying the bytes. The file's size is that of its bytes all the same.
/// Blocks that were not needed are given back on drop; if the program is killed, the file keeps them: at
/// most [`MOST_AHEAD`] bytes, and no more than it has otherwise.
#[derive(Debug)]
pub(super) struct GrowingFile {
    file: File,
    written: Arc<AtomicU64>,
    /// `true` if blocks are to be reserved.
    reserves: bool,
    /// The offset up to which they are reserved.
    reserved: u64,
}

impl GrowingFile {
    /// Takes an empty file, or one that has no size.
    pub(super) fn new(file: File) -> Self {
        let reserves = is_on_ext4(&file);
        Self { file, written: Arc::default(), reserves, reserved: 0 }
    }

    /// Returns the number of bytes written, which is updated from now on.
    pub(super) fn written(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.written)
    }

    /// Reserves blocks for `more` bytes and what may follow.
    fn reserve(&mut self, more: usize) {
        let written = self.written.load(Ordering::Relaxed);
        let end = written + more as u64;
        if !self.reserves || written < SMALL || end <= self.reserved {
            return;
        }
        let to = end + written.min(MOST_AHEAD);
        self.reserves = reserve(&self.file, written, to - written).is_ok();
        self.reserved = to;
        if !self.reserves {
            self.give_back();
        }
    }

    fn give_back(&self) {
        if self.reserved > 0 {
            // Setting the size that it has frees the blocks behind it. If that fails, nothing is lost.
            let _ = self.file.metadata().and_then(|it| self.file.set_len(it.len()));
        }
    }
}

impl Write for GrowingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.reserve(bytes.len());
        let count = self.file.write(bytes)?;
        self.written.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for GrowingFile {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// Reserves the blocks of `length` bytes from `offset` on, without changing the file's size.
#[cfg(target_os = "linux")]
fn reserve(file: &File, offset: u64, length: u64) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    Ok(fallocate(file, FallocateFlags::KEEP_SIZE, offset, length)?)
}

/// Returns `true` on the one file system that gains by it: XFS reserves ahead by itself, and Btrfs does not
/// compress reserved blocks.
#[cfg(target_os = "linux")]
fn is_on_ext4(file: &File) -> bool {
    /// `EXT4_SUPER_MAGIC`, statfs(2).
    const EXT4: u64 = 0xef53;
    rustix::fs::fstatfs(file).is_ok_and(|found| found.f_type as u64 == EXT4)
}

#[cfg(not(target_os = "linux"))]
fn reserve(_: &File, _: u64, _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(target_os = "linux"))]
fn is_on_ext4(_: &File) -> bool {
    false
}

/// Size below which nothing is reserved: there may be a file for each of thousands of sessions.
const SMALL: u64 = 1 << 20;

/// Bytes reserved ahead at most; less while the file is smaller.
const MOST_AHEAD: u64 = 8 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes `count` times 100 KB to a new file.
    fn written(path: &std::path::Path, count: usize) -> GrowingFile {
        let mut file = GrowingFile::new(File::create(path).unwrap());
        (0..count).for_each(|_| file.write_all(&[7; 100_000]).unwrap());
        file
    }

    #[test]
    fn a_file_has_the_size_of_its_bytes_at_any_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("growing");
        for count in [0, 1, 10, 11, 50] {
            let file = written(&path, count);
            let size = || std::fs::metadata(&path).unwrap().len();
            assert_eq!(size(), count as u64 * 100_000);
            assert_eq!(file.written().load(Ordering::Relaxed), size());
            drop(file);
            assert_eq!(std::fs::read(&path).unwrap(), vec![7; count * 100_000]);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn blocks_that_were_not_needed_are_given_back() {
        use std::os::unix::fs::MetadataExt as _;
        // Beside the test program: the system's folder for temporary files is often in memory.
        let program = std::env::current_exe().unwrap();
        let folder = tempfile::tempdir_in(program.parent().unwrap()).unwrap();
        let path = folder.path().join("growing");
        let blocks = || std::fs::metadata(&path).unwrap().blocks() * 512;
        let small = written(&path, 10);
        assert_eq!(small.reserved, 0);
        let file = written(&path, 50);
        file.file.sync_all().unwrap();
        assert_eq!(file.reserves, is_on_ext4(&file.file));
        assert_eq!(file.reserves, blocks() > 6_000_000, "{}", blocks());
        drop(file);
        assert!(blocks() < 5_100_000, "{}", blocks());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_in_which_nothing_can_be_reserved_is_written_all_the_same() {
        let (mut reader, writer) = io::pipe().unwrap();
        let reading = std::thread::spawn(move || io::copy(&mut reader, &mut io::sink()).unwrap());
        let mut file = GrowingFile::new(File::from(std::os::fd::OwnedFd::from(writer)));
        file.reserves = true;
        (0..20).for_each(|_| file.write_all(&[7; 100_000]).unwrap());
        assert!(!file.reserves);
        drop(file);
        assert_eq!(reading.join().unwrap(), 2_000_000);
    }
}
