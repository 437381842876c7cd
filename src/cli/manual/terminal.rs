use std::fmt::Write as _;

use super::block::{Block, Span, Style, blocks};

/// Returns a page in Markdown as text of lines of at most `width` columns, code excepted.
pub(in crate::cli) fn print_page(page: &str, width: usize, color: bool) -> String {
    let mut text = String::new();
    let mut before = None;
    for block in blocks(page) {
        let tight = matches!(
            (&before, &block),
            (None, _)
                | (Some(Block::Item(..)), Block::Item(..))
                | (Some(Block::Row(..)), Block::Row(..))
        );
        if !tight {
            text.push('\n');
        }
        write_block(&mut text, &block, width, color);
        before = Some(block);
    }
    text
}

fn write_block(text: &mut String, block: &Block, width: usize, color: bool) {
    match block {
        Block::Heading(level, spans) => {
            let indent = if *level > 2 { "  " } else { "" };
            let words = super::block::plain(spans);
            let words = if *level == 1 { words.to_uppercase() } else { words };
            let (on, off) = if color { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
            let _ = writeln!(text, "{indent}{on}{words}{off}");
        }
        Block::Paragraph(spans) => wrap(text, spans, "  ", "  ", width, color),
        Block::Item(mark, spans) => {
            let (first, rest) = (format!("  {mark} "), " ".repeat(mark.len() + 3));
            wrap(text, spans, &first, &rest, width, color);
        }
        Block::Row(first, rest) => {
            wrap(text, first, "  ", "    ", width, color);
            let several = rest.len() > 1;
            for (title, spans) in rest {
                let title = if several && !title.is_empty() {
                    format!("      {title}: ")
                } else {
                    "      ".into()
                };
                wrap(text, spans, &title, "      ", width, color);
            }
        }
        Block::Code(lines) => lines.lines().for_each(|line| {
            let line = format!("      {line}");
            let _ = writeln!(text, "{}", line.trim_end());
        }),
    }
}

/// Appends spans in lines of at most `width` columns, the first behind `first`, the others behind
/// `rest`. Code is never broken, and stands in backticks, or in colour.
fn wrap(text: &mut String, spans: &[Span], first: &str, rest: &str, width: usize, color: bool) {
    let mut line = first.to_owned();
    let mut columns = first.chars().count();
    let mut empty = true;
    for (word, glued) in words(spans, color) {
        let shown = columns_of(&word);
        let space = usize::from(!empty && !glued);
        if !empty && !glued && columns + space + shown > width {
            let _ = writeln!(text, "{}", line.trim_end());
            line = rest.to_owned();
            columns = rest.chars().count();
        } else if space == 1 {
            line.push(' ');
            columns += 1;
        }
        line.push_str(&word);
        columns += shown;
        empty = false;
    }
    let _ = writeln!(text, "{}", line.trim_end());
}

/// Returns the words of spans with their styles, and whether each follows the one before without a
/// space.
fn words(spans: &[Span], color: bool) -> Vec<(String, bool)> {
    let mut words = Vec::new();
    let mut glued = false;
    for span in spans {
        let styled = |word: &str| match (span.style, color) {
            (Style::Plain, _) | (Style::Strong, false) => word.to_owned(),
            (Style::Strong, true) => format!("\x1b[1m{word}\x1b[0m"),
            (Style::Code, true) => format!("\x1b[36m{word}\x1b[0m"),
            (Style::Code, false) => format!("`{word}`"),
        };
        if span.style == Style::Code {
            words.push((styled(&span.text), glued));
            glued = true;
            continue;
        }
        glued &= !span.text.starts_with(' ');
        for word in span.text.split_whitespace() {
            words.push((styled(word), glued));
            glued = false;
        }
        glued = !span.text.ends_with(' ') && !span.text.trim().is_empty()
            || glued && span.text.is_empty();
    }
    words
}

/// Columns of a word without its escape sequences.
fn columns_of(word: &str) -> usize {
    let mut columns = 0;
    let mut escape = false;
    for char in word.chars() {
        match char {
            '\x1b' => escape = true,
            'm' if escape => escape = false,
            _ if !escape => columns += 1,
            _ => {}
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_printed_in_lines_with_its_code_as_it_is() {
        let page = "# Title\n\nSome *text* with `some code` and **a [link](x.md)**, longer than a line is.\n\n\
            ## Part\n\n```sh\nmitmcraft  x\n```\n\n* one\n* two `three`, four\n\n1. first\n\n\
            | key | present | meaning |\n| --- | --- | --- |\n| `v` | always | the version |\n| `x` | | none |\n";
        let text = print_page(page, 40, false);
        assert_eq!(
            text,
            "TITLE\n\n  Some text with `some code` and a link,\n  longer than a line is.\n\nPart\n\n      \
             mitmcraft  x\n\n  * one\n  * two `three`, four\n  1. first\n\n  `v`\n      present: always\n      \
             meaning: the version\n  `x`\n      none\n"
        );
        let colored = print_page(page, 40, true);
        assert!(colored.starts_with("\u{1b}[1mTITLE\u{1b}[0m\n"), "{colored}");
        assert!(colored.contains("\u{1b}[36msome code\u{1b}[0m"), "{colored}");
    }

    #[test]
    fn no_line_of_a_topic_is_wider_than_asked_but_code() {
        for topic in super::super::TOPICS {
            let text = print_page(topic.text, 80, false);
            assert!(text.lines().count() > 100, "{}", topic.name);
            for line in
                text.lines().filter(|line| !line.starts_with("      ") && !line.contains('`'))
            {
                assert!(line.chars().count() <= 80, "{}: {line}", topic.name);
            }
            assert!(!text.contains("]("), "{}: a link is left", topic.name);
        }
    }
}
