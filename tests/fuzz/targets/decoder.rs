//! The decoder: no byte is lost, and how a stream is cut makes no difference.

use mitmcraft_protocol::codec::{Bare, Decoder, Encoder, Limits, Unit};
use mitmcraft_protocol::schema::{Direction, Protocol, State};

use super::Features;
use super::bytes::Bytes;
use super::schema::is_login_with_byte;

pub fn run(input: &[u8]) -> Features {
    let mut features = Features::default();
    let mut input = Bytes(input);
    let options = input.u8();
    let threshold = (options & 1 != 0).then(|| usize::from(input.u8()));
    let cipher = options & 2 != 0;
    let limits = if options & 4 != 0 { Limits::new(40, 60) } else { Limits::default() };
    let protocol = (options & 8 != 0).then(|| super::schema::unframed(usize::from(input.u8())));
    let direction = Direction::ALL[usize::from(options >> 4 & 1)];
    let bare = protocol.clone().map(|protocol| Bare::new(protocol, State::Play, direction));
    let decoder = || {
        let mut decoder = Decoder::new(limits);
        decoder.set_compression(threshold);
        if let Some(bare) = &bare {
            decoder.set_bare(bare.clone());
        }
        if cipher {
            decoder.set_cipher(SECRET);
        }
        decoder
    };
    let size = usize::from(input.u8()) + 1;
    let plain = input.rest();
    let mut wire = Encoder::new();
    if cipher {
        wire.set_cipher(SECRET);
    }
    wire.put(plain);

    let whole = units(decoder(), &mut wire.pending().chunks(usize::MAX));
    let cut = units(decoder(), &mut wire.pending().chunks(size));
    assert_eq!(merged(&whole).concat(), plain, "all bytes in all units");
    assert_eq!(merged(&cut).concat(), plain, "all bytes in all units, cut into pieces of {size}");
    if !protocol.is_some_and(|protocol| ends_twice(&protocol, direction, &whole)) {
        assert_eq!(merged(&whole), merged(&cut), "cut into pieces of {size}");
    }
    let lossless = whole.iter().filter_map(|unit| match unit {
        Part::Unit(Unit::Frame(frame)) => Some(frame),
        _ => None,
    });
    for frame in lossless {
        let mut encoder = Encoder::new();
        encoder.set_compression(threshold);
        if frame.is_bare() {
            encoder.set_bare();
        }
        encoder.forward(frame);
        assert_eq!(encoder.pending(), &frame.wire()[..], "forwarded as received");
        let mut buffer = [0; 7];
        let head = frame.head(&mut buffer);
        match frame.body() {
            Ok(body) => {
                assert_eq!(body.len(), frame.size());
                assert_eq!(head.unwrap(), &body[..body.len().min(7)]);
                encoder.advance(encoder.pending().len());
                let sent = encoder.send(&body);
                assert_eq!(encoder.pending(), &sent.wire()[..]);
                assert_eq!(sent.body().unwrap(), body);
            }
            Err(error) => features.say(error),
        }
        features.see((frame.is_bare(), frame.is_deflated(), frame.size().ilog2_or_0()));
    }
    for part in &whole {
        match part {
            Part::Unit(Unit::Opaque { reason, .. }) => {
                features.say(reason.as_ref().map(ToString::to_string).unwrap_or_default());
            }
            part => features.see(std::mem::discriminant(part)),
        }
    }
    features
}

/// A part of what a decoder returned.
#[derive(Debug)]
enum Part {
    Unit(Unit),
    Rest(bytes::Bytes),
}

fn units(mut decoder: Decoder, pieces: &mut dyn Iterator<Item = &[u8]>) -> Vec<Part> {
    let mut units = Vec::new();
    for piece in pieces {
        decoder.receive(piece);
        while let Some(unit) = decoder.poll() {
            assert!(!unit.wire().is_empty(), "a unit without bytes: {unit:?}");
            units.push(Part::Unit(unit));
        }
    }
    units.push(Part::Rest(decoder.take_rest()));
    assert_eq!(decoder.buffered(), 0);
    units
}

/// Whether there is a login between peers with Forge that is one of the game, too, if a piece ends in the dimension:
/// waiting for what may never come would be worse.
fn ends_twice(protocol: &Protocol, direction: Direction, whole: &[Part]) -> bool {
    whole.iter().any(|part| {
        let bytes = match part {
            Part::Unit(unit) => unit.wire(),
            Part::Rest(rest) => rest,
        };
        let Ok((packet, start)) = protocol.identify(State::Play, direction, bytes) else {
            return false;
        };
        let end = protocol.measure(packet, bytes, start);
        is_login_with_byte(protocol, packet) && end.is_ok_and(|end| end < bytes.len())
    })
}

/// The bytes of each frame, and of each run of bytes without frames.
fn merged(parts: &[Part]) -> Vec<Vec<u8>> {
    let mut merged: Vec<Vec<u8>> = Vec::new();
    let mut open = false;
    for part in parts {
        let (bytes, continues) = match part {
            Part::Unit(Unit::Frame(frame)) => (frame.wire(), false),
            Part::Unit(unit) => (unit.wire(), true),
            Part::Rest(rest) => (rest, open),
        };
        match merged.last_mut().filter(|_| open && continues) {
            Some(last) => last.extend_from_slice(bytes),
            None => merged.push(bytes.to_vec()),
        }
        open = continues;
        // The next frame begins after the last piece of an oversize one.
        if matches!(part, Part::Unit(Unit::Piece { left: 0, .. })) {
            open = false;
        }
    }
    merged
}

/// The logarithm of a size, so that features differ by magnitude only.
trait Magnitude {
    fn ilog2_or_0(self) -> u32;
}

impl Magnitude for usize {
    fn ilog2_or_0(self) -> u32 {
        self.checked_ilog2().unwrap_or(0)
    }
}

const SECRET: &[u8; 16] = b"a secret of both";

pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = vec![
        vec![0, 0, 3, 1, 2, 3, 0, 2, 9, 9],
        vec![2, 6, 3, 1, 2, 3, 0, 2, 9, 9],
        vec![4, 200, 0xff, 1, 2, 3],
        vec![0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        b"\x08\x06\x03\x02\x00\x05Steve\x01\x00\x00\x00\x06\x00\x00\x00\x00\x00\x00".to_vec(),
        b"\x18\x06\x03\x00\x00\x0b\x00\x0b\x00\x05hello".to_vec(),
    ];
    let bodies = super::seeds::bodies(400);
    for threshold in [None, Some(16)] {
        let mut encoder = Encoder::new();
        encoder.set_compression(threshold);
        for (_, _, body) in bodies.iter().take(40) {
            encoder.send(body);
        }
        let options: &[u8] = if threshold.is_some() { &[1, 16] } else { &[0] };
        for piece in encoder.pending().chunks(1500) {
            seeds.push([options, &[40], piece].concat());
        }
    }
    seeds
}
