use std::time::Duration;

use mitmcraft_protocol::packet::Timestamp;

/// What a program writes to stderr: each line is passed on, up to a rate, and the last one is kept.
#[derive(Debug, Default)]
pub(super) struct LastLine {
    last: Vec<u8>,
    /// The beginning of the line that is not complete.
    rest: Vec<u8>,
    /// The second in which lines are counted, and how many were passed on in it.
    second: Timestamp,
    passed: usize,
}

impl LastLine {
    /// Calls `each` for the lines that are passed on.
    pub(super) fn push(&mut self, now: Timestamp, bytes: &[u8], mut each: impl FnMut(String)) {
        let mut pieces = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(piece) = pieces.next() {
            let room = LONGEST.saturating_sub(self.rest.len());
            self.rest.extend_from_slice(&piece[..piece.len().min(room)]);
            if pieces.peek().is_none() {
                break;
            }
            let line = std::mem::take(&mut self.rest);
            if line.trim_ascii().is_empty() {
                continue;
            }
            self.last = line;
            if self.second.plus(Duration::from_secs(1)) <= now {
                (self.second, self.passed) = (now, 0);
            }
            self.passed += 1;
            if self.passed <= RATE {
                each(text(&self.last));
            }
        }
    }

    /// Removes the last line, which may not be complete; `None` if there was none.
    pub(super) fn take(&mut self) -> Option<String> {
        let (rest, last) = (std::mem::take(&mut self.rest), std::mem::take(&mut self.last));
        let line = if rest.trim_ascii().is_empty() { last } else { rest };
        (!line.is_empty()).then(|| text(&line))
    }
}

fn text(line: &[u8]) -> String {
    String::from_utf8_lossy(line).trim_end().to_owned()
}

/// Bytes of a line that are kept.
const LONGEST: usize = 500;

/// Lines per second that are passed on.
const RATE: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_kept_and_lines_are_passed_on_up_to_a_rate() {
        let mut stderr = LastLine::default();
        let mut said = Vec::new();
        let at = Timestamp(5_000_000_000);
        stderr.push(at, b"Trace", |it| said.push(it));
        stderr.push(at, b"back:\r\n\n  line 1\nValueError: no", |it| said.push(it));
        assert_eq!(said, ["Traceback:", "  line 1"]);
        assert_eq!(stderr.take().as_deref(), Some("ValueError: no"));
        assert_eq!(stderr.take(), None);
        stderr.push(at, "x\n".repeat(100).as_bytes(), |it| said.push(it));
        assert_eq!(said.len(), 20);
        stderr.push(at.plus(Duration::from_secs(1)), b"later\n", |it| said.push(it));
        assert_eq!(said.last().unwrap(), "later");
        stderr.push(at, &vec![b'y'; 10 << 20], |_| panic!());
        assert_eq!(stderr.rest.len(), LONGEST);
        assert_eq!(stderr.take().map(|it| it.len()), Some(LONGEST));
    }
}
