use std::fmt::Write as _;
use std::mem::take;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// A line of a page. Code within text is between two [`Line::QUOTE`].
#[derive(Debug)]
pub(super) enum Line {
    /// A heading; the page's title has the level 1.
    Heading(usize, String),
    Text(String),
    Code(String),
}

impl Line {
    pub(super) const QUOTE: char = '\u{1}';
}

/// Returns a page in Markdown as text of lines of at most `width` columns, code excepted.
pub(in crate::cli) fn print_page(page: &str, width: usize, color: bool) -> String {
    let mut text = String::new();
    for line in lines(page, width) {
        let _ = match (line, color) {
            (Line::Heading(_, words), true) => writeln!(text, "\x1b[1m{words}\x1b[0m"),
            (Line::Text(words), true) => {
                let mut styles = ["\x1b[36m", "\x1b[0m"].into_iter().cycle();
                let style = |part: &str| match part.strip_suffix(Line::QUOTE) {
                    Some(part) => [part, styles.next().unwrap_or_default()].concat(),
                    None => part.to_owned(),
                };
                let words = words.split_inclusive(Line::QUOTE).map(style);
                writeln!(text, "{}", words.collect::<String>())
            }
            (Line::Text(words), false) => writeln!(text, "{}", words.replace(Line::QUOTE, "`")),
            (Line::Heading(_, words) | Line::Code(words), _) => writeln!(text, "{words}"),
        };
    }
    text
}

/// Returns the lines of a page in Markdown. Of a link and of emphasis, the text is left; of a comment,
/// nothing.
pub(super) fn lines(page: &str, width: usize) -> Vec<Line> {
    let mut layout = Layout { width, ..Layout::default() };
    Parser::new_ext(page, Options::ENABLE_TABLES).for_each(|event| layout.take(event));
    layout.lines
}

#[derive(Default)]
struct Layout {
    width: usize,
    lines: Vec<Line>,
    /// Text that is not yet in `lines`; spaces within code are no-break spaces.
    text: String,
    in_code: bool,
    /// The lists that are open: the number of the next item, or `None` without numbers.
    lists: Vec<Option<u64>>,
    /// The mark of the item that has begun and has no text yet.
    mark: Option<String>,
    /// The titles of the columns, and the cells of the row so far.
    titles: Vec<String>,
    cells: Vec<String>,
    before: Block,
}

/// The kind of a block. A blank line separates blocks of different kinds.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Block {
    #[default]
    Other,
    Item,
    Row,
}

impl Layout {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Text(text) if self.in_code => {
                let line = |line: &str| Line::Code(format!("      {line}").trim_end().to_owned());
                self.lines.extend(text.lines().map(line));
            }
            Event::Text(text) => self.text.push_str(&text),
            Event::Code(code) => {
                let code = code.replace(' ', "\u{a0}");
                let _ = write!(self.text, "{}{code}{}", Line::QUOTE, Line::QUOTE);
            }
            Event::SoftBreak | Event::HardBreak => self.text.push(' '),
            Event::Start(Tag::CodeBlock(_)) => {
                self.begin(Block::Other);
                self.in_code = true;
            }
            Event::End(TagEnd::CodeBlock) => self.in_code = false,
            Event::Start(Tag::List(first)) => {
                self.paragraph();
                self.lists.push(first);
            }
            Event::End(TagEnd::List(_)) => drop(self.lists.pop()),
            Event::Start(Tag::Item) => {
                let number = self.lists.last_mut().and_then(Option::as_mut);
                self.mark = Some(number.map_or_else(
                    || "*".to_owned(),
                    |number| {
                        *number += 1;
                        format!("{}.", *number - 1)
                    },
                ));
            }
            Event::End(TagEnd::Paragraph | TagEnd::Item) => self.paragraph(),
            Event::End(TagEnd::Heading(level)) => self.heading(level as usize),
            Event::End(TagEnd::TableCell) => self.cells.push(take(&mut self.text)),
            Event::End(TagEnd::TableHead) => self.titles = take(&mut self.cells),
            Event::End(TagEnd::TableRow) => self.row(),
            _ => {}
        }
    }

    fn heading(&mut self, level: usize) {
        self.begin(Block::Other);
        let words = take(&mut self.text).replace(Line::QUOTE, "").replace('\u{a0}', " ");
        let words = match level {
            1 => words.to_uppercase(),
            2 => words,
            _ => format!("  {words}"),
        };
        self.lines.push(Line::Heading(level, words));
    }

    fn paragraph(&mut self) {
        if self.text.is_empty() {
            return;
        }
        let text = take(&mut self.text);
        let mark = self.mark.take();
        self.begin(if mark.is_some() { Block::Item } else { Block::Other });
        let first = mark.map_or_else(|| "  ".to_owned(), |mark| format!("  {mark} "));
        self.flow(&text, &first, first.len());
    }

    /// Writes the first cell of a row, and below it the others with the titles of their columns.
    fn row(&mut self) {
        self.begin(Block::Row);
        let mut cells = take(&mut self.cells).into_iter();
        self.flow(&cells.next().unwrap_or_default(), "  ", 4);
        let titles = take(&mut self.titles);
        let rest = titles.iter().skip(1).zip(cells).filter(|(_, cell)| !cell.is_empty());
        let rest: Vec<_> = rest.collect();
        for (title, cell) in &rest {
            let titled = rest.len() > 1 && !title.is_empty();
            let title = if titled { format!("      {title}: ") } else { "      ".to_owned() };
            self.flow(cell, &title, 6);
        }
        self.titles = titles;
    }

    fn begin(&mut self, block: Block) {
        if !self.lines.is_empty() && (block == Block::Other || block != self.before) {
            self.lines.push(Line::Code(String::new()));
        }
        self.before = block;
    }

    /// Writes text in lines, the first behind `first`, the others behind `indent` spaces.
    fn flow(&mut self, text: &str, first: &str, indent: usize) {
        let mut line = first.to_owned();
        let mut empty = true;
        for word in text.split(' ').filter(|word| !word.is_empty()) {
            if !empty && line.chars().count() + 1 + word.chars().count() > self.width {
                let full = std::mem::replace(&mut line, " ".repeat(indent));
                self.lines.push(Line::Text(full));
            } else if !empty {
                line.push(' ');
            }
            line.push_str(&word.replace('\u{a0}', " "));
            empty = false;
        }
        self.lines.push(Line::Text(line.trim_end().to_owned()));
    }
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
            assert!(text.lines().count() > 30, "{}", topic.name);
            for line in
                text.lines().filter(|line| !line.starts_with("      ") && !line.contains('`'))
            {
                assert!(line.chars().count() <= 80, "{}: {line}", topic.name);
            }
            assert!(!text.contains("]("), "{}: a link is left", topic.name);
        }
    }
}
