use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use sha1::{Digest as _, Sha1};

/// Derives replacements of words, UUIDs and addresses from a seed. Equal values have equal
/// replacements, which cannot be reversed without the seed.
#[derive(Clone)]
pub(super) struct Pseudonyms {
    seed: Vec<u8>,
}

impl Pseudonyms {
    pub(super) fn new(seed: &[u8]) -> Self {
        Self { seed: seed.to_vec() }
    }

    /// Replaces a word by one of the same length, with digits and capitals in the same places.
    pub(super) fn word(&self, word: &str) -> String {
        let lower = word.to_lowercase();
        let own = |other: &str| other.eq_ignore_ascii_case(word);
        // A short word may be replaced by itself.
        let mut attempts = (0..=u8::MAX).map(|attempt| self.attempt(word, &lower, attempt));
        attempts.find(|other| !own(other)).unwrap_or_else(|| "x".repeat(word.chars().count()))
    }

    /// Replaces a UUID by one of the same version.
    pub(super) fn uuid(&self, uuid: u128) -> u128 {
        let hash = self.hash("uuid", &uuid.to_be_bytes(), 0);
        let drawn = hash.iter().take(16).fold(0, |all, byte| all << 8 | u128::from(*byte));
        const KIND: u128 = 0x0000_0000_0000_f000_c000_0000_0000_0000;
        // The nil UUID stands for no entity.
        if uuid == 0 { 0 } else { drawn & !KIND | uuid & KIND }
    }

    /// Replaces an address by one of a private network.
    pub(super) fn ip(&self, ip: IpAddr) -> IpAddr {
        match ip {
            ip if ip.is_unspecified() => ip,
            IpAddr::V4(ip) => {
                let hash = self.hash("ip", &ip.octets(), 0);
                Ipv4Addr::new(10, hash[0], hash[1], hash[2].max(1)).into()
            }
            IpAddr::V6(ip) => {
                let hash = self.hash("ip", &ip.octets(), 0);
                let mut octets = [0xfd; 16];
                octets[1..].copy_from_slice(&hash[..15]);
                Ipv6Addr::from(octets).into()
            }
        }
    }

    /// Replaces an address, keeping the port.
    pub(super) fn address(&self, address: SocketAddr) -> SocketAddr {
        SocketAddr::new(self.ip(address.ip()), address.port())
    }

    fn attempt(&self, word: &str, lower: &str, attempt: u8) -> String {
        let mut out = String::with_capacity(word.len());
        let mut hash = self.hash("word", &[lower.as_bytes(), &[0, 0]].concat(), attempt);
        for (place, char) in word.chars().enumerate() {
            if place > 0 && place % 20 == 0 {
                // Of the hash alone: a long word is hashed once.
                hash = self.hash("word", &hash, attempt);
            }
            let drawn = usize::from(hash[place % 20]);
            let letters = if place % 2 == 0 { CONSONANTS } else { VOWELS };
            let letter = char::from(letters[drawn % letters.len()]);
            out.push(match char {
                char if char.is_ascii_digit() => char::from(b'0' + (drawn % 10) as u8),
                char if char.is_uppercase() => letter.to_ascii_uppercase(),
                _ => letter,
            });
        }
        out
    }

    fn hash(&self, kind: &str, bytes: &[u8], attempt: u8) -> [u8; 20] {
        let mut sha1 = Sha1::new();
        for part in [&self.seed, kind.as_bytes(), &[attempt], bytes] {
            sha1.update((part.len() as u64).to_be_bytes());
            sha1.update(part);
        }
        sha1.finalize().into()
    }
}

const CONSONANTS: &[u8] = b"bdfgjklmnprstvz";

const VOWELS: &[u8] = b"aeiou";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_words_have_equal_replacements_whatever_their_case() {
        let pseudonyms = Pseudonyms::new(b"seed");
        let word = pseudonyms.word("notch");
        assert_eq!(pseudonyms.word("NOTCH"), word.to_uppercase());
        assert_eq!((word.len(), pseudonyms.word("notch")), (5, word.clone()));
        assert_ne!(Pseudonyms::new(b"other").word("notch"), word);
        for short in ["a", "I", "7", "42", "\u{e4}", "\u{4f60}\u{597d}"] {
            let other = pseudonyms.word(short);
            assert_ne!(other, short);
            assert_eq!(other.chars().count(), short.chars().count());
            assert!(other.is_ascii());
        }
        assert!(pseudonyms.word("abc123").chars().skip(3).all(|char| char.is_ascii_digit()));
    }

    #[test]
    fn uuids_keep_their_version_and_addresses_their_kind_and_port() {
        let pseudonyms = Pseudonyms::new(b"seed");
        let uuid = 0xb50a_d385_829d_3141_a216_7e7d_7539_ba7f;
        let other = pseudonyms.uuid(uuid);
        assert!(other != uuid && other >> 76 & 0xf == 3 && other >> 62 & 3 == 2);
        let other = pseudonyms.address("203.0.113.9:25565".parse().unwrap());
        assert!(other.to_string().starts_with("10.") && other.port() == 25565, "{other}");
        assert!(
            pseudonyms.address("[2001:db8::1]:1".parse().unwrap()).to_string().starts_with("[fd")
        );
        assert_eq!(pseudonyms.ip("0.0.0.0".parse().unwrap()).to_string(), "0.0.0.0");
    }
}
