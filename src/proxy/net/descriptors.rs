//! The file descriptors of the process, of which each session needs two.

use std::io;

/// Raises the soft limit of the number of open files to the hard one, as far as the system allows.
#[cfg(unix)]
pub fn raise_descriptor_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // With the soft limit the program works too, for fewer sessions.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Does nothing: there is no such limit.
#[cfg(not(unix))]
pub fn raise_descriptor_limit() {}

/// Returns how many clients have the descriptors that they need, two sockets and `files` each, when
/// enough are left for everything else; `None` if the system sets no limit.
#[cfg(unix)]
pub(super) fn clients_within_limit(files: usize) -> Option<usize> {
    use rustix::process::{Resource, getrlimit};
    let limit = usize::try_from(getrlimit(Resource::Nofile).current?).ok()?;
    Some((limit - OTHERS.min(limit / 3 * 2)) / (2 + files))
}

#[cfg(not(unix))]
pub(super) fn clients_within_limit(_: usize) -> Option<usize> {
    None
}

/// Descriptors for everything that is not a session: captures of the run, the page, the metrics,
/// clients that are refused.
#[cfg(unix)]
const OTHERS: usize = 128;

/// Returns whether the process or the system can open no more files.
#[cfg(unix)]
pub(super) fn out_of_descriptors(error: &io::Error) -> bool {
    use rustix::io::Errno;
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}

#[cfg(not(unix))]
pub(super) fn out_of_descriptors(_: &io::Error) -> bool {
    false
}
