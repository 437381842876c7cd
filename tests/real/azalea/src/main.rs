//! Reads packets with azalea-protocol and writes them again, for `tests/peers/azalea.rs`.
//!
//! Each line of standard input is a packet of 26.1: its state, its direction, its id, and any number of bytes in
//! hex that begin with its fields. The answer is a line: `NAME LENGTH HEX` with azalea's name of the packet, the
//! number of bytes that its fields took and the bytes that azalea writes for them, or `error WHY`.

use std::fmt::Write as _;
use std::io::{self, BufRead as _, BufWriter, Cursor, Write as _};
use std::panic::{self, AssertUnwindSafe};

use azalea_protocol::packets::ProtocolPacket;
use azalea_protocol::packets::config::{ClientboundConfigPacket, ServerboundConfigPacket};
use azalea_protocol::packets::game::{ClientboundGamePacket, ServerboundGamePacket};
use azalea_protocol::packets::handshake::ServerboundHandshakePacket;
use azalea_protocol::packets::login::{ClientboundLoginPacket, ServerboundLoginPacket};
use azalea_protocol::packets::status::{ClientboundStatusPacket, ServerboundStatusPacket};

fn main() -> io::Result<()> {
    // A panic is an answer.
    panic::set_hook(Box::new(|_| {}));
    let mut out = BufWriter::new(io::stdout());
    for line in io::stdin().lock().lines() {
        writeln!(out, "{}", answer(&line?))?;
    }
    out.flush()
}

fn answer(line: &str) -> String {
    let mut words = line.split(' ');
    let mut word = || words.next().expect("a state, a direction, an id and hex");
    let (state, direction) = (word(), word());
    let id = word().parse().expect("an id");
    let bytes = bytes(word());
    let again = match (state, direction) {
        ("handshaking", "serverbound") => again::<ServerboundHandshakePacket>,
        ("status", "clientbound") => again::<ClientboundStatusPacket>,
        ("status", "serverbound") => again::<ServerboundStatusPacket>,
        ("login", "clientbound") => again::<ClientboundLoginPacket>,
        ("login", "serverbound") => again::<ServerboundLoginPacket>,
        ("configuration", "clientbound") => again::<ClientboundConfigPacket>,
        ("configuration", "serverbound") => again::<ServerboundConfigPacket>,
        ("play", "clientbound") => again::<ClientboundGamePacket>,
        ("play", "serverbound") => again::<ServerboundGamePacket>,
        _ => panic!("no packets of {state} {direction}"),
    };
    let again = AssertUnwindSafe(|| again(id, &bytes));
    let result = panic::catch_unwind(again).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        Err(format!("panic: {}", text.or(panic.downcast_ref().copied()).unwrap_or_default()))
    });
    result.unwrap_or_else(|why| format!("error {}", why.replace('\n', " ")))
}

/// Reads a packet's fields and writes them.
fn again<P: ProtocolPacket>(id: u32, bytes: &[u8]) -> Result<String, String> {
    let mut cursor = Cursor::new(bytes);
    let packet = P::read(id, &mut cursor).map_err(|error| error.to_string())?;
    let mut written = Vec::new();
    packet.write(&mut written).map_err(|error| error.to_string())?;
    let mut line = format!("{} {} ", packet.name(), cursor.position());
    written.iter().for_each(|byte| write!(line, "{byte:02x}").expect("a string takes all"));
    Ok(line)
}

fn bytes(hex: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex");
    (0..hex.len()).step_by(2).map(byte).collect()
}
