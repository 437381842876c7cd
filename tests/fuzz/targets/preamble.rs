//! PROXY headers: nothing after a header is consumed, and what is written reads back.

use mitmcraft_engine::link::{Preamble, PreambleRead, PreambleVersion};

use super::Features;

pub fn run(input: &[u8]) -> Features {
    let mut features = Features::default();
    let whole = match Preamble::read(input) {
        Ok(PreambleRead::Whole(preamble)) => preamble,
        Ok(PreambleRead::Missing(count)) => {
            assert!(count > 0);
            features.see(("missing", count.min(20)));
            return features;
        }
        Err(error) => {
            features.see(std::mem::discriminant(&error));
            assert!(error.to_string().chars().all(|it| !it.is_control()), "{error:?}");
            return features;
        }
    };
    features.see((whole.addresses.map(|it| it.source.is_ipv4()), input[0]));
    assert!((1..=input.len()).contains(&whole.length));
    for end in 0..whole.length {
        match Preamble::read(&input[..end]) {
            Ok(PreambleRead::Missing(count)) => {
                assert!((1..=whole.length - end).contains(&count), "{count} missing at {end}");
            }
            read => panic!("{read:?} of {end} bytes, {whole:?}"),
        }
    }
    let cut = Preamble::read(&input[..whole.length]);
    assert_eq!(cut, Ok(PreambleRead::Whole(whole.clone())));
    for version in [PreambleVersion::V1, PreambleVersion::V2] {
        let Some(addresses) = whole.addresses else { break };
        let header = version.write(addresses);
        let Ok(PreambleRead::Whole(read)) = Preamble::read(&header) else { panic!("{header:?}") };
        assert_eq!(read.length, header.len());
        assert_eq!(read.addresses, Some(addresses));
    }
    features
}

pub fn seeds() -> Vec<Vec<u8>> {
    let binary = |rest: &[u8]| [b"\r\n\r\n\0\r\nQUIT\n", rest].concat();
    vec![
        b"PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\r\n\x10\0".to_vec(),
        b"PROXY TCP6 2001:db8::1 2001:db8::2 4124 25565\r\nx".to_vec(),
        b"PROXY UNKNOWN ffff:ffff::1 ::2 65535 65535\r\n".to_vec(),
        b"PROXY UNKNOWN\r\n".to_vec(),
        binary(b"\x21\x11\0\x0c\xc0\xa8\0\x01\xc0\xa8\0\x0b\xdc\x04\x01\xbbrest"),
        binary(&[b"\x21\x21\0\x24", &[7; 40][..]].concat()),
        binary(b"\x20\0\0\0"),
        binary(b"\x21\0\0\x03\x04\0\0"),
        binary(&[b"\x21\x31\0\xd8", &[0x2f; 216][..]].concat()),
    ]
}

pub const WORDS: &[&str] = &[
    "PROXY ",
    "TCP4 ",
    "TCP6 ",
    "UNKNOWN",
    "\r\n",
    "255.255.255.255",
    "::ffff:1.2.3.4",
    " 65535",
    "\r\n\r\n\0\r\nQUIT\n",
    "\u{21}\u{11}",
    "%1",
    "0.0.0.0",
    "::",
    " ",
    "+1",
];
