use clap_mangen::roff::{Roff, bold, roman};

use super::Topic;
use super::page::{Line, lines};

/// Returns the file name and the text of a topic's man page: its lines as they are on a terminal, since
/// tables and nested lists have no form of their own in `man`.
pub(in crate::cli) fn man_page(topic: &Topic) -> (String, Vec<u8>) {
    let name = format!("mitmcraft-{}", topic.name);
    let source = concat!("mitmcraft ", env!("CARGO_PKG_VERSION"));
    let mut roff = Roff::new();
    roff.control("TH", [name.as_str(), topic.section, "", source, "mitmcraft"]);
    roff.control("SH", ["NAME"]);
    roff.text([roman(format!("{name} - {}", topic.about))]);
    roff.control("SH", ["DESCRIPTION"]).control("nf", []);
    for line in lines(topic.text, WIDTH) {
        match line {
            // The title stands above.
            Line::Heading(1, _) => {}
            Line::Heading(level, words) => {
                let (macro_, words) =
                    if level == 2 { ("SH", words.to_uppercase()) } else { ("SS", words) };
                roff.control("fi", []).control(macro_, [words.trim()]).control("nf", []);
            }
            Line::Text(words) => {
                let parts = words.split(Line::QUOTE).enumerate();
                let styled = parts.map(|(at, it)| if at % 2 == 0 { roman(it) } else { bold(it) });
                roff.text(styled.collect::<Vec<_>>());
            }
            Line::Code(words) => {
                roff.text([roman(words)]);
            }
        }
    }
    roff.control("fi", []);
    let mut page = Vec::new();
    // Writing to a vector cannot fail.
    let _ = roff.to_writer(&mut page);
    (format!("{name}.{}", topic.section), page)
}

/// Columns of a page, without the 7 by which `man` indents it.
const WIDTH: usize = 72;
