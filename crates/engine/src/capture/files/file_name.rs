use super::claim::ClaimError;

/// Returns why Windows makes no file of that path.
pub(super) fn fault_on_windows(path: &str) -> Option<ClaimError> {
    if path.get(..PIPE.len()).is_some_and(|start| start.eq_ignore_ascii_case(PIPE)) {
        return Some(ClaimError::Pipe);
    }
    let (_, name) = path.rsplit_once(['/', '\\']).unwrap_or(("", path));
    let name = match name.as_bytes() {
        // A file in the current folder of a drive.
        [drive, b':', ..] if drive.is_ascii_alphabetic() && name.len() == path.len() => &name[2..],
        _ => name,
    };
    if is_device(name) || path.starts_with(r"\\.\") {
        return Some(ClaimError::Device);
    }
    name.contains(':').then_some(ClaimError::Colon)
}

/// Returns whether Windows takes a file name for a device: whatever its ending, and in any folder.
pub(crate) fn is_device(name: &str) -> bool {
    let stem = name.split(['.', ':']).next().unwrap_or_default().trim_end_matches(' ');
    let is = |device: &str| stem.eq_ignore_ascii_case(device);
    let port = |kind: &str| {
        let number = stem.get(kind.len()..).unwrap_or_default();
        stem.get(..kind.len()).is_some_and(|start| start.eq_ignore_ascii_case(kind))
            && matches!(number, "¹" | "²" | "³")
            || number.len() == 1 && is(&format!("{kind}{number}")) && number.parse::<u8>().is_ok()
    };
    DEVICES.into_iter().any(is) || PORTS.into_iter().any(port)
}

/// How the paths of named pipes begin.
const PIPE: &str = r"\\.\pipe\";

/// The names of devices without a number.
const DEVICES: [&str; 6] = ["AUX", "CON", "CONIN$", "CONOUT$", "NUL", "PRN"];

/// The names of devices to which a digit is added.
const PORTS: [&str; 2] = ["COM", "LPT"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_makes_no_file_of_a_device_a_pipe_or_a_name_with_a_colon() {
        use ClaimError::{Colon, Device, Pipe};
        for (path, fault) in [
            ("nul.jsonl", Some(Device)),
            (r"C:\captures\CON", Some(Device)),
            ("a/Com1 .pcapng.gz", Some(Device)),
            ("lpt².jsonl", Some(Device)),
            (r"\\.\NUL", Some(Device)),
            (r"\\.\PhysicalDrive0", Some(Device)),
            (r"\\.\pipe\wireshark.pcapng", Some(Pipe)),
            (r"\\.\PIPE\x.jsonl", Some(Pipe)),
            ("a.jsonl:b.jsonl", Some(Colon)),
            (r"C:\a:b.jsonl", Some(Colon)),
            (r"C:\aux\session.jsonl", None),
            ("c:session.jsonl", None),
            ("console.jsonl", None),
            ("com.jsonl", None),
            ("com10.jsonl", None),
            ("lptx.jsonl", None),
            ("ü b/ü.jsonl", None),
            (r"\\server\share\a.jsonl", None),
            (r"\\?\C:\a.jsonl", None),
            ("", None),
        ] {
            assert_eq!(fault_on_windows(path), fault, "{path}");
        }
    }
}
