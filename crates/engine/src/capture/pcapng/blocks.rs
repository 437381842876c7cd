//! The blocks of a pcapng file, byte by byte: `pcap_file` cannot write custom options.

use super::super::pcap::SNAP_LENGTH;
use crate::capture::jsonl::FORMAT_VERSION;
use mitmcraft_protocol::packet::Timestamp;

/// Appends a section header with the version of the capture format.
pub(super) fn write_section(out: &mut Vec<u8>) {
    write_block(out, SECTION_HEADER, |out| {
        out.extend_from_slice(&BYTE_ORDER.to_le_bytes());
        for number in PCAPNG_VERSION {
            out.extend_from_slice(&number.to_le_bytes());
        }
        // The length of the section is unknown.
        out.extend_from_slice(&(-1i64).to_le_bytes());
        let program = concat!("mitmcraft ", env!("CARGO_PKG_VERSION"));
        write_option(out, USER_APPLICATION, &[program.as_bytes()]);
        let text = format!("{SECTION}{FORMAT_VERSION}");
        write_option(out, COPIED_TEXT, &[&PEN.to_le_bytes(), text.as_bytes()]);
        write_option(out, END_OF_OPTIONS, &[]);
    });
}

/// Appends the description of an interface with times in nanoseconds.
pub(super) fn write_interface(out: &mut Vec<u8>, link_type: u16, name: &str, description: &str) {
    write_block(out, INTERFACE_DESCRIPTION, |out| {
        out.extend_from_slice(&link_type.to_le_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&SNAP_LENGTH.to_le_bytes());
        write_option(out, INTERFACE_NAME, &[name.as_bytes()]);
        write_option(out, INTERFACE_TEXT, &[description.as_bytes()]);
        write_option(out, TIME_RESOLUTION, &[&[NANOSECONDS]]);
        write_option(out, END_OF_OPTIONS, &[]);
    });
}

/// Appends a text to as many local blocks as it takes.
pub(super) fn write_own(out: &mut Vec<u8>, kind: &[u8; KIND], text: &[u8]) {
    let mut chunks = text.chunks(MAX_TEXT).peekable();
    while let Some(chunk) = chunks.next() {
        let kind = if chunks.peek().is_some() { PART } else { kind };
        write_block(out, OWN_BLOCK, |out| {
            out.extend_from_slice(&PEN.to_le_bytes());
            out.extend_from_slice(kind);
            out.extend_from_slice(chunk);
            // JSON ignores spaces, and a head what follows it, so they pad the last word.
            let used = 4 + KIND + chunk.len();
            out.resize(out.len() + used.next_multiple_of(4) - used, b' ');
        });
    }
}

/// Appends a packet of an interface, which consists of two parts; `options` appends its options.
pub(super) fn write_packet(
    out: &mut Vec<u8>,
    interface: u32,
    at: Timestamp,
    parts: [&[u8]; 2],
    options: impl FnOnce(&mut Vec<u8>),
) {
    write_block(out, ENHANCED_PACKET_BLOCK, |out| {
        let size = parts[0].len() + parts[1].len();
        let length = u32::try_from(size).expect("a packet is cut to what Wireshark takes");
        let (high, low) = ((at.0 >> 32) as u32, at.0 as u32);
        for number in [interface, high, low, length, length] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        parts.iter().for_each(|part| out.extend_from_slice(part));
        pad(out, size);
        options(out);
    });
}

/// Appends a block; `body` appends whole words.
pub(super) fn write_block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = u32::try_from(out.len() + 4 - start).expect("a block is short");
    let length = length.to_le_bytes();
    out[start + 4..start + 8].copy_from_slice(&length);
    out.extend_from_slice(&length);
}

/// Appends an option whose value is the concatenation of `parts`.
pub(super) fn write_option(out: &mut Vec<u8>, code: u16, parts: &[&[u8]]) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let short = u16::try_from(length).expect("options are cut before they are written");
    out.extend_from_slice(&code.to_le_bytes());
    out.extend_from_slice(&short.to_le_bytes());
    for part in parts {
        out.extend_from_slice(part);
    }
    pad(out, length);
}

/// Pads a value of `length` bytes to whole words.
fn pad(out: &mut Vec<u8>, length: usize) {
    out.resize(out.len() + length.next_multiple_of(4) - length, 0);
}

/// Type of the blocks for entries outside the streams. It is one of the types for local use, which
/// Wireshark skips; it lists every Custom Block (0xBAD) as a packet.
pub(super) const OWN_BLOCK: u32 = 0x8000_0bad;

/// The Private Enterprise Number for examples (RFC 5612): mitmcraft has none of its own.
pub(super) const PEN: u32 = 32_473;

/// The text of the section header's custom option, followed by the version of the format.
pub(super) const SECTION: &str = "mitmcraft capture ";

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
pub(super) const ENHANCED_PACKET_BLOCK: u32 = 6;

/// Tells readers the order of bytes.
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const PCAPNG_VERSION: [u16; 2] = [1, 0];

pub(super) const END_OF_OPTIONS: u16 = 0;
pub(super) const COMMENT: u16 = 1;
const INTERFACE_NAME: u16 = 2;
const INTERFACE_TEXT: u16 = 3;
const USER_APPLICATION: u16 = 4;
const TIME_RESOLUTION: u16 = 9;
/// A custom option whose text programs keep when they copy the block.
const COPIED_TEXT: u16 = 2988;
/// A custom option whose bytes programs keep when they copy the block.
pub(super) const COPIED_BYTES: u16 = 2989;

/// Kind of a local block: a complete line. It follows the number.
pub(super) const LINE: &[u8; KIND] = b"mitmcraft: line ";
/// Kind of a local block: the head of the next packet, too long for an option.
pub(super) const HEAD: &[u8; KIND] = b"mitmcraft: head ";
/// Kind of a local block: a part of a line or a head, which the next block continues.
pub(super) const PART: &[u8; KIND] = b"mitmcraft: part ";

/// Length of a local block's kind in bytes.
pub(super) const KIND: usize = 16;

/// Greatest length of a local block's text in bytes. Wireshark refuses blocks of more than 16 MiB.
/// Whole words, so that a part needs no padding.
pub(super) const MAX_TEXT: usize = 1 << 20;

/// Number of bytes of a local block before its text: type, length, number, kind.
pub(super) const OWN_HEAD: usize = 8 + 4 + KIND;

/// Number of bytes of a packet's block before the packet: type, length, five numbers.
pub(super) const PACKET_HEAD: usize = 8 + 20;

/// The option of a frame that the packet's next segment continues.
pub(super) const CONTINUES: &[u8] = &[0];

/// The time resolution of nanoseconds, as a negative power of ten.
pub(super) const NANOSECONDS: u8 = 9;
