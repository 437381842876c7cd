use std::fmt::Write as _;
use std::iter::repeat_n;

use super::scalar::write_scalar;
use mitmcraft_protocol::schema::Scalar;

/// The numbers of a list, written side by side on indented lines.
#[derive(Debug)]
pub(super) struct Numbers {
    depth: usize,
    /// `true` if the number of lines is not limited.
    whole: bool,
    /// Width of the open line; 0 before the first.
    width: usize,
    lines: usize,
    /// Numbers that were not written.
    left_out: usize,
}

impl Numbers {
    /// Creates lines indented by `depth` levels, at most [`MAX_LINES`] of them unless `whole`.
    pub(super) fn new(depth: usize, whole: bool) -> Self {
        Self { depth, whole, width: 0, lines: 0, left_out: 0 }
    }

    /// Returns `true` for scalars that are numbers.
    pub(super) fn takes(scalar: &Scalar<'_>) -> bool {
        use Scalar::{Float32, Float64, Int, Unsigned};
        matches!(scalar, Int(_) | Unsigned(_) | Float32(_) | Float64(_))
    }

    /// Appends a number.
    pub(super) fn write(&mut self, out: &mut String, number: &Scalar<'_>) {
        if self.left_out > 0 {
            self.left_out += 1;
            return;
        }
        let start = out.len();
        out.push(' ');
        write_scalar(out, number, None, None, 0, usize::MAX, true);
        let width = out.len() - start;
        if self.width > 0 && self.width + width <= MAX_WIDTH {
            self.width += width;
            return;
        }
        let number = out.split_off(start + 1);
        out.truncate(start);
        if self.lines == MAX_LINES && !self.whole {
            self.left_out = 1;
            return;
        }
        if self.lines > 0 {
            out.push('\n');
        }
        out.extend(repeat_n("    ", self.depth));
        out.push_str(&number);
        self.width = 4 * self.depth + number.len();
        self.lines += 1;
    }

    /// Ends the last line, and says how many numbers were left out.
    pub(super) fn finish(self, out: &mut String) {
        if self.left_out > 0 {
            let _ = write!(out, " .. {} more", self.left_out);
        }
        out.push('\n');
    }
}

/// Greatest width of a line.
const MAX_WIDTH: usize = 100;

/// Greatest number of lines, unless all numbers are shown.
const MAX_LINES: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn written(count: i64, whole: bool) -> String {
        let mut out = String::new();
        let mut numbers = Numbers::new(2, whole);
        (0..count).for_each(|int| numbers.write(&mut out, &Scalar::Int(int)));
        numbers.finish(&mut out);
        out
    }

    #[test]
    fn few_numbers_are_one_line() {
        assert_eq!(written(3, false), "        0 1 2\n");
    }

    #[test]
    fn many_numbers_are_a_few_lines_and_their_count() {
        let out = written(4096, false);
        assert_eq!(out.lines().count(), MAX_LINES);
        assert!(out.lines().all(|line| line.len() <= MAX_WIDTH + " .. 4096 more".len()), "{out}");
        let (shown, left_out) =
            out.trim_end().strip_suffix(" more").unwrap().split_once(" .. ").unwrap();
        let shown = shown.split_whitespace().count();
        assert_eq!(shown + left_out.parse::<usize>().unwrap(), 4096);
    }

    #[test]
    fn all_numbers_are_shown_if_asked_for() {
        let out = written(4096, true);
        assert_eq!(out.split_whitespace().count(), 4096);
        assert!(out.lines().all(|line| line.len() <= MAX_WIDTH), "{out}");
    }
}
