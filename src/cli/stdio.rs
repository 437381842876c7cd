//! The file name `-`, which stands for stdin or stdout.

use std::path::Path;

/// Returns whether `path` stands for stdin or stdout.
pub(super) fn is_stdio(path: &Path) -> bool {
    path.as_os_str() == "-"
}
