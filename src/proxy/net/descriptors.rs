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
