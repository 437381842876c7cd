use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// A part of a page that stands on lines of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Block {
    /// A heading; the page's title has the level 1.
    Heading(usize, Vec<Span>),
    Paragraph(Vec<Span>),
    /// An item of a list, with the mark in front of it: `*`, or its number.
    Item(String, Vec<Span>),
    /// A row of a table: its first cell, and the others with the titles of their columns.
    Row(Vec<Span>, Vec<(String, Vec<Span>)>),
    /// Lines as they are.
    Code(String),
}

/// A piece of text in one style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) text: String,
    pub(super) style: Style,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Strong,
    Code,
}

/// Returns the blocks of a page in Markdown. Of a link, the text is left; of a comment, nothing.
pub(super) fn blocks(page: &str) -> Vec<Block> {
    let mut builder = Builder::default();
    Parser::new_ext(page, Options::ENABLE_TABLES).for_each(|event| builder.take(event));
    builder.blocks
}

#[derive(Default)]
struct Builder {
    blocks: Vec<Block>,
    spans: Vec<Span>,
    strong: bool,
    code: Option<String>,
    /// The lists that are open: the number of the next item, or `None` without numbers.
    lists: Vec<Option<u64>>,
    /// The mark of the item that has begun and has no text yet.
    mark: Option<String>,
    titles: Vec<String>,
    cells: Vec<Vec<Span>>,
}

impl Builder {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some(code) => code.push_str(&text),
                None => self.push(&text, if self.strong { Style::Strong } else { Style::Plain }),
            },
            Event::Code(text) => self.push(&text, Style::Code),
            Event::SoftBreak | Event::HardBreak => self.push(" ", Style::Plain),
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::CodeBlock(_) => self.code = Some(String::new()),
            Tag::Strong => self.strong = true,
            Tag::List(first) => {
                self.finish_paragraph();
                self.lists.push(first);
            }
            Tag::Item => {
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}.", *number - 1)
                    }
                    _ => "*".to_owned(),
                };
                self.mark = Some(mark);
            }
            Tag::Table(_) => self.titles.clear(),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(level) => {
                let spans = std::mem::take(&mut self.spans);
                self.blocks.push(Block::Heading(depth(level), spans));
            }
            TagEnd::Paragraph | TagEnd::Item => self.finish_paragraph(),
            TagEnd::CodeBlock => self.blocks.extend(self.code.take().map(Block::Code)),
            TagEnd::Strong => self.strong = false,
            TagEnd::List(_) => drop(self.lists.pop()),
            TagEnd::TableCell => self.cells.push(std::mem::take(&mut self.spans)),
            TagEnd::TableHead => {
                self.titles =
                    std::mem::take(&mut self.cells).iter().map(|cell| plain(cell)).collect();
            }
            TagEnd::TableRow => {
                let mut cells = std::mem::take(&mut self.cells).into_iter();
                let first = cells.next().unwrap_or_default();
                let titles = self.titles.iter().skip(1).cloned();
                let rest = titles.zip(cells).filter(|(_, cell)| !cell.is_empty()).collect();
                self.blocks.push(Block::Row(first, rest));
            }
            _ => {}
        }
    }

    fn push(&mut self, text: &str, style: Style) {
        match self.spans.last_mut() {
            Some(last) if last.style == style => last.text.push_str(text),
            _ => self.spans.push(Span { text: text.to_owned(), style }),
        }
    }

    fn finish_paragraph(&mut self) {
        let spans = std::mem::take(&mut self.spans);
        if spans.is_empty() {
            return;
        }
        self.blocks.push(match self.mark.take() {
            Some(mark) => Block::Item(mark, spans),
            None => Block::Paragraph(spans),
        });
    }
}

/// The text of spans without styles.
pub(super) fn plain(spans: &[Span]) -> String {
    spans.iter().map(|span| span.text.as_str()).collect()
}

fn depth(level: HeadingLevel) -> usize {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        _ => 3,
    }
}
