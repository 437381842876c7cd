//! Captures that verbs read: which files paths stand for, and their entries.

mod capture;
mod files;
mod followed_file;
mod in_order;
mod progress;
mod read_ahead;
mod reading;

pub(crate) use capture::Input;
pub(crate) use files::{CaptureFile, capture_files, find_captures, recording_files};
pub(crate) use in_order::{InOrder, Outlet};
pub(crate) use progress::Progress;
pub(crate) use read_ahead::{entry_size, read_ahead};
pub(crate) use reading::Reading;
