use sha1::{Digest as _, Sha1};

use mitmcraft_protocol::wire::to_hex;

/// Returns the hash by which a session service recognizes a login: SHA-1 over the server id, the shared
/// secret and the server's public key (DER), as a signed number in hex, like Java's
/// `BigInteger.toString(16)`.
///
/// Source: wiki.vg, "Protocol Encryption", section "Authentication".
#[must_use]
pub fn server_hash(server_id: &str, secret: &[u8], public_key: &[u8]) -> String {
    let digest = Sha1::new().chain_update(server_id).chain_update(secret).chain_update(public_key);
    signed_hex(digest.finalize().into())
}

fn signed_hex(mut number: [u8; 20]) -> String {
    let negative = number[0] & 0x80 != 0;
    if negative {
        let mut carry = true;
        for byte in number.iter_mut().rev() {
            (*byte, carry) = (!*byte).overflowing_add(u8::from(carry));
        }
    }
    let hex = to_hex(&number, "");
    let digits = hex.trim_start_matches('0');
    let digits = if digits.is_empty() { "0" } else { digits };
    format!("{}{digits}", if negative { "-" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_names_have_their_known_hashes() {
        for (name, hash) in [
            ("Notch", "4ed1f46bbe04bc756bcb17c0c7ce3e4632f06a48"),
            ("jeb_", "-7c9d5b0044c130109a5d7b5fb5c317c02b4e28c1"),
            ("simon", "88e16a1019277b15d58faf0541e11910eb756f6"),
        ] {
            assert_eq!(server_hash(name, b"", b""), hash);
        }
    }

    #[test]
    fn the_parts_follow_each_other() {
        assert_eq!(server_hash("No", b"tc", b"h"), server_hash("Notch", b"", b""));
    }

    #[test]
    fn the_ends_of_the_range_are_numbers_too() {
        assert_eq!(signed_hex([0; 20]), "0");
        assert_eq!(signed_hex([0xff; 20]), "-1");
        let mut least = [0; 20];
        least[0] = 0x80;
        assert_eq!(signed_hex(least), format!("-80{}", "0".repeat(38)));
    }
}
