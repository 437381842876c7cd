use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

/// Creates a folder that only its owner can read.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Opens or creates a file that only its owner can read.
pub(super) fn private(path: &Path, empty: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(empty);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Replaces a file by one that only its owner can read, through the file `beside` in the same folder: it is
/// complete at every moment, also after a power cut.
pub(super) fn replace(path: &Path, beside: &Path, contents: &[u8]) -> io::Result<()> {
    let write = || {
        let mut file = private(beside, true)?;
        file.write_all(contents)?;
        file.sync_all()?;
        fs::rename(beside, path)
    };
    write().inspect_err(|_| {
        let _ = fs::remove_file(beside);
    })?;
    #[cfg(unix)]
    File::open(folder_of(path))?.sync_all()?;
    Ok(())
}

/// Locks a private file by another one beside it, and makes their folder. Waits for other runs.
pub(super) fn lock(path: &Path) -> io::Result<File> {
    make_folder(folder_of(path))?;
    let lock = private(&path.with_extension("lock"), false)?;
    lock.lock()?;
    Ok(lock)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or_else(|| Path::new("."))
}
