use super::blocks::{
    COMMENT, CONTINUES, COPIED_BYTES, END_OF_OPTIONS, ENHANCED_PACKET_BLOCK, LINE, MAX_TEXT,
    OWN_BLOCK, PEN, write_block, write_option, write_own,
};
use super::metadata::Metadata;
use super::sink::{MAX_OPTION, cut};
use crate::capture::jsonl::edit_line;
use mitmcraft_protocol::wire::Reader;

/// Returns the block that ends a packet, with another comment in place of `old`; `None` if it does not have the
/// form in which it is written here.
pub(in crate::capture) fn edit_block(
    block: &[u8],
    old: Option<&str>,
    comment: Option<&str>,
) -> Option<Vec<u8>> {
    let mut reader = Reader::new(block);
    let (kind, length) = (number(&mut reader)?, number(&mut reader)?);
    if usize::try_from(length) != Ok(block.len()) {
        return None;
    }
    let body = reader.take(block.len().checked_sub(12)?).ok()?;
    match kind {
        ENHANCED_PACKET_BLOCK => edit_packet(body, old, comment),
        OWN_BLOCK => {
            let text = body.strip_prefix(&PEN.to_le_bytes())?.strip_prefix(LINE)?;
            let text = edit_line(text.trim_ascii_end(), comment)?;
            let mut out = Vec::new();
            write_own(&mut out, LINE, &text);
            (text.len() <= MAX_TEXT).then_some(out)
        }
        _ => None,
    }
}

fn edit_packet(body: &[u8], old: Option<&str>, comment: Option<&str>) -> Option<Vec<u8>> {
    let mut reader = Reader::new(body);
    reader.take(12).ok()?;
    let captured = usize::try_from(number(&mut reader)?).ok()?;
    let head = body.get(..20 + captured.next_multiple_of(4))?;
    let options = read_options(&body[head.len()..])?;
    let (mut shown, mut metadata, mut others) = (String::new(), Metadata::default(), Vec::new());
    for (code, value) in options {
        match value.strip_prefix(&PEN.to_le_bytes()) {
            // The head of the packet is in another block, or in a later one.
            Some([] | CONTINUES) if code == COPIED_BYTES => return None,
            Some(bytes) if code == COPIED_BYTES => metadata = Metadata::read(bytes)?,
            _ if code == COMMENT => shown = str::from_utf8(value).ok()?.to_owned(),
            _ => others.push((code, value)),
        }
    }
    if metadata.comment.as_deref() != old {
        return None;
    }
    if let Some(old) = old {
        // Of a long comment, the end is not shown.
        shown = shown.strip_suffix(cut(old))?.trim_end_matches('\n').to_owned();
    }
    metadata.comment = comment.map(str::to_owned);
    if let Some(comment) = comment {
        let between = if shown.is_empty() { "" } else { "\n" };
        shown = format!("{shown}{between}{comment}");
    }
    let mut bytes = Vec::new();
    metadata.write(&mut bytes);
    if bytes.len() > MAX_OPTION {
        return None;
    }
    let mut out = Vec::new();
    write_block(&mut out, ENHANCED_PACKET_BLOCK, |out| {
        out.extend_from_slice(head);
        let start = out.len();
        if !shown.is_empty() {
            write_option(out, COMMENT, &[cut(&shown).as_bytes()]);
        }
        if metadata != Metadata::default() {
            write_option(out, COPIED_BYTES, &[&PEN.to_le_bytes(), &bytes]);
        }
        for (code, value) in others {
            write_option(out, code, &[value]);
        }
        if out.len() > start {
            write_option(out, END_OF_OPTIONS, &[]);
        }
    });
    Some(out)
}

/// Returns the options of a block with their codes.
fn read_options(mut bytes: &[u8]) -> Option<Vec<(u16, &[u8])>> {
    let mut options = Vec::new();
    while let [c0, c1, l0, l1, rest @ ..] = bytes {
        let (code, length) = (u16::from_le_bytes([*c0, *c1]), u16::from_le_bytes([*l0, *l1]));
        if code == END_OF_OPTIONS {
            return Some(options);
        }
        let length = usize::from(length);
        options.push((code, rest.get(..length)?));
        bytes = rest.get(length.next_multiple_of(4)..)?;
    }
    bytes.is_empty().then_some(options)
}

fn number(reader: &mut Reader<'_>) -> Option<u32> {
    Some(u32::from_le_bytes(reader.array().ok()?))
}
