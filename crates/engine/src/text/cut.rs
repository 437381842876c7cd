use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// Cuts the text from `start` on to `width` columns of a terminal, the last of which is `…`. Colours are
/// kept and reset, and no character is cut in two.
pub fn cut(out: &mut String, start: usize, width: usize) {
    let text = &out[start..];
    if text.is_ascii() && text.len() <= width {
        return;
    }
    let mut column = 0;
    // Where the text ends if it is too wide, and whether a colour is active there.
    let mut end = (0, false);
    let mut colored = false;
    let mut at = 0;
    while at < text.len() {
        if let Some(length) = sequence(&text[at..]) {
            // `ESC [ 0 m` ends a colour.
            colored = &text[at..at + length] != RESET;
            at += length;
            if column < width {
                end = (at, colored);
            }
            continue;
        }
        let rest = &text[at..];
        let plain = &rest[..rest.find(ESCAPE).filter(|at| *at > 0).unwrap_or(rest.len())];
        for character in plain.graphemes(true) {
            column += character.width();
            at += character.len();
            if column > width {
                out.truncate(start + end.0);
                out.push('…');
                if end.1 {
                    out.push_str(RESET);
                }
                return;
            }
            if column < width {
                end = (at, colored);
            }
        }
    }
}

/// Cuts the text from `start` on to `width` columns, before its last part, which begins at `tail`. If that
/// takes more than half of the columns, it is cut as well.
pub(super) fn cut_before(out: &mut String, start: usize, tail: usize, width: usize) {
    let last = out.split_off(tail);
    let mut taken = last.clone();
    cut(&mut taken, 0, width.div_ceil(2));
    cut(out, start, width.saturating_sub(columns(&taken)));
    out.push_str(&last);
    cut(out, start, width);
}

/// Returns the columns that a text takes.
fn columns(text: &str) -> usize {
    let mut pieces = text.split(ESCAPE);
    let first = pieces.next().unwrap_or_default().width();
    first + pieces.map(|piece| piece.split_once('m').map_or(0, |(_, it)| it.width())).sum::<usize>()
}

/// Returns the length of the colour sequence that `text` begins with.
fn sequence(text: &str) -> Option<usize> {
    text.strip_prefix("\x1b[")?.find('m').map(|end| end + 3)
}

const ESCAPE: char = '\x1b';

const RESET: &str = "\x1b[0m";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut_to(text: &str, width: usize) -> String {
        let mut out = text.to_owned();
        cut(&mut out, 0, width);
        out
    }

    #[test]
    fn columns_are_counted_and_not_characters() {
        for (text, width, expected) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("日本語", 6, "日本語"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
            ("e\u{301}e\u{301}e\u{301}", 3, "e\u{301}e\u{301}e\u{301}"),
            ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"),
            ("\u{1f1e9}\u{1f1ea}ab", 3, "\u{1f1e9}\u{1f1ea}…"),
            ("\u{1f1e9}\u{1f1ea}ab", 2, "…"),
            ("ab", 0, "…"),
        ] {
            assert_eq!(cut_to(text, width), expected, "{text} {width}");
        }
    }

    #[test]
    fn colours_take_no_columns_and_are_reset() {
        let text = "\x1b[31mred\x1b[0m and \x1b[1mbold\x1b[0m";
        assert_eq!(cut_to(text, 12), text);
        assert_eq!(cut_to(text, 11), "\x1b[31mred\x1b[0m and \x1b[1mbo…\x1b[0m");
        assert_eq!(cut_to(text, 5), "\x1b[31mred\x1b[0m …");
        assert_eq!(cut_to(text, 2), "\x1b[31mr…\x1b[0m");
    }

    #[test]
    fn what_stands_before_the_start_is_kept() {
        let mut out = "before abcdef".to_owned();
        cut(&mut out, 7, 4);
        assert_eq!(out, "before abc…");
    }

    #[test]
    fn the_end_of_a_line_outlives_its_middle() {
        for (text, width, expected) in [
            ("fields |// rule", 15, "fields // rule"),
            ("fields |// rule", 13, "field…// rule"),
            ("fields |\x1b[2m// rule\x1b[0m", 13, "field…\x1b[2m// rule\x1b[0m"),
            ("fields |// a long remark", 12, "field…// a …"),
            ("fields that are long|", 8, "fields …"),
        ] {
            let tail = text.find('|').unwrap();
            let mut out = text.replace('|', "");
            cut_before(&mut out, 0, tail, width);
            assert_eq!(out, expected, "{text} {width}");
        }
    }

    proptest! {
        #[test]
        fn a_cut_line_fits_and_begins_as_the_whole(
            pieces in proptest::collection::vec("\\PC{0,4}|\x1b\\[3[0-7]m|\x1b\\[0m", 0..12),
            width in 1..20usize,
        ) {
            let text = pieces.concat();
            let shown = cut_to(&text, width);
            let plain = |text: &str| {
                let mut text = text.to_owned();
                while let Some(start) = text.find(ESCAPE) {
                    let end = start + text[start..].find('m').unwrap();
                    text.replace_range(start..=end, "");
                }
                text
            };
            // Characters of different colours may have become one.
            prop_assert!(plain(&shown).width() <= width + 1, "{shown:?}");
            prop_assert!(shown == text || plain(&text).starts_with(plain(&shown).trim_end_matches('…')));
            prop_assert_eq!(shown.matches(ESCAPE).count(), shown.matches("\x1b[").count());
        }
    }
}
