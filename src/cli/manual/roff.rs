use clap_mangen::roff::{Inline, Roff, bold, italic, roman};

use super::Topic;
use super::block::{Block, Span, Style, blocks, plain};

/// Returns the file name and the text of a topic's man page.
pub(in crate::cli) fn man_page(topic: &Topic) -> (String, Vec<u8>) {
    let name = format!("mitmcraft-{}", topic.name);
    let source = concat!("mitmcraft ", env!("CARGO_PKG_VERSION"));
    let mut roff = Roff::new();
    roff.control("TH", [name.as_str(), topic.section, "", source, "mitmcraft"]);
    roff.control("SH", ["NAME"]);
    roff.text([roman(format!("{name} - {}", topic.about))]);
    roff.control("SH", ["DESCRIPTION"]);
    for block in blocks(topic.text) {
        match block {
            // The title stands above.
            Block::Heading(1, _) => {}
            Block::Heading(2, spans) => {
                roff.control("SH", [plain(&spans).to_uppercase().as_str()]);
            }
            Block::Heading(_, spans) => {
                roff.control("SS", [plain(&spans).as_str()]);
            }
            Block::Paragraph(spans) => {
                roff.control("PP", []).text(inlines(&spans));
            }
            Block::Item(mark, spans) => {
                roff.control("IP", [mark.as_str(), "4"]).text(inlines(&spans));
            }
            Block::Row(first, rest) => {
                roff.control("TP", []).text(inlines(&first));
                let several = rest.len() > 1;
                for (place, (title, spans)) in rest.iter().enumerate() {
                    if place > 0 {
                        roff.control("br", []);
                    }
                    let title =
                        (several && !title.is_empty()).then(|| italic(format!("{title}: ")));
                    roff.text(title.into_iter().chain(inlines(spans)).collect::<Vec<_>>());
                }
            }
            Block::Code(lines) => {
                roff.control("PP", []).control("nf", []).control("RS", ["4"]);
                for line in lines.lines() {
                    roff.text([roman(line)]);
                }
                roff.control("RE", []).control("fi", []);
            }
        }
    }
    let mut page = Vec::new();
    // Writing to a vector cannot fail.
    let _ = roff.to_writer(&mut page);
    (format!("{name}.{}", topic.section), page)
}

fn inlines(spans: &[Span]) -> Vec<Inline> {
    let inline = |span: &Span| match span.style {
        Style::Plain => roman(&span.text),
        Style::Strong => italic(&span.text),
        Style::Code => bold(&span.text),
    };
    spans.iter().map(inline).collect()
}
