/// Splits a part of a comment, or the reason of a session's end, into the proxy's own words and what
/// they quote, which follows a colon. Returns `None` if the words are not the proxy's.
pub(crate) fn own_words(part: &str) -> Option<(&str, Option<&str>)> {
    if is_listed(part) {
        return Some((part, None));
    }
    let (front, quoted) = part.split_once(": ")?;
    is_listed(front).then_some((front, Some(quoted)))
}

/// Returns whether a remark has only words of the proxy before what it quotes.
pub(crate) fn is_own(remark: &str) -> bool {
    let mut parts = remark.split("; ").map(own_words);
    parts.find(|words| !matches!(words, Some((_, None)))).is_none_or(|words| words.is_some())
}

fn is_listed(part: &str) -> bool {
    OWN.iter().any(|own| match own.split_once("{}") {
        Some((before, after)) => {
            let word = part.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
            word.is_some_and(|word| {
                word.bytes().all(|it| it.is_ascii_alphanumeric() || b"_-.".contains(&it))
            })
        }
        None => *own == part,
    })
}

/// The words of the proxy in comments on packets and in reasons, in parts as "; " separates them and without
/// what they quote behind a colon. `{}` stands for a number or the name of a packet.
const OWN: &[&str] = &[
    // The handshake and the login.
    "host and port are the upstream's",
    "the player is the account's",
    "`nextState` is not 1 (status), 2 (login) or 3 (transfer)",
    "its first bytes were forwarded before it was whole",
    "the connection ended within this packet",
    "no authentication",
    "the server asks for a password",
    "authentication at minecraft.net: this is the server's hash",
    "key and token are the proxy's",
    "the server asks for an account",
    "secret and token are the proxy's",
    "secret and token are encrypted with the server's key",
    "for the proxy, which has asked",
    "answered by the proxy: the client's leg is its own",
    "the server's Encryption Request holds no key that can be used",
    "the client's Encryption Response does not fit the request",
    "players can be verified from 1.3 on",
    "the packet with which the client logs in says no name",
    "the server has not waited for the answer to its Encryption Request",
    "the server asks the player, who is not verified yet: it may want the player's key",
    "waits until the player is verified",
    "the player has not been verified",
    // Why a packet is taken as what it is.
    "taken as a PROXY header, because it is a whole one",
    "what follows is read as the game's",
    "taken as a malformed handshake, because it is the first frame and has the id 0",
    "taken as a login, because it decodes as one and the handshake names no state",
    "taken as a status, because it decodes as one and the handshake names no state",
    "taken as a second login, because Forge has reset the client and it fits no packet of the game",
    "taken as the Disconnect of another state, because this state has no such packet and it decodes whole",
    "read as the other version around the client's from here on, because its packets fit that one better",
    // Rules, and what they may not do.
    "dropped by a rule",
    "`{}` was not changed, because the connection depends on it",
    "rules change chat, so the player's chat session is kept from the server, which does not insist on it: what the player says goes out unsigned",
    "a signed message was to be changed or dropped: its signature, or that of the next, would be wrong, and the session would end",
    "a message that is counted was to be dropped or repeated: the session would end over the next one",
    "the change makes its signature invalid: the client marks it as not secure",
    "it changes the state, the compression or the encryption of the connection, which only the peers can",
    "not sent: the server accepts only signed messages from this player",
    "not sent: the game counts player_chat, and ends the session over one too many",
    "send system_chat or profileless_chat",
    "not sent: a single bundle delimiter would leave the bundle open",
    "dropped: rules delay too much in this direction already",
    // What people and programs hold and send.
    "sent by hand",
    "packet {} again, sent by hand",
    "held for {} s, then forwarded",
    "held for {} s, then dropped",
    "held for {} s, then edited",
    "held for {} s, then forwarded: it stops the keep-alives, and its peers wait no longer than 30 s",
    "held for {} s, then forwarded: no memory is left for the packets after it",
    "held for {} s, then forwarded: the state changed",
    "held for {} s, then forwarded: the session ended",
    "held for {} s, then dropped: the session ended",
    "waited behind a held packet when the session ended",
    "not decided by `pipe`",
    "not decided by `pipe`: the session ended",
    "not decided by `pipe`: the program has failed and is not running again yet",
    "answers the proxy, which has answered the server",
    "cannot overtake what is held: the proxy answers it",
    // The end of a session.
    "sent after the packet that ended the session",
    "the session ended while a peer did not read what packets before had caused",
    "the session ended before there was a key",
    "the session ended before the server's policy was known",
    "the session ended before the player was verified",
    "the session ended before the account had joined",
    // Captures.
    "recorded compressed: it exceeds what may inflate in a second",
    "{}: its body was left out to save memory",
    "not in the recording",
    "from a recording of ReplayMod: only what the client received from Login Success on, without its form on the wire",
    "from a recording of ReplayMod: only what the client received in the game, without the login and its form on the wire",
    "the recorder may have added packets about the player itself",
    "redacted: its bytes are zeros",
    // Reasons of the end.
    "both sides closed",
    "closed by the client",
    "closed by the server",
    "closed by a rule",
    "closed at a packet not decided by `pipe`",
    "disconnected by the server",
    "lost the client",
    "lost the server",
    "ended by hand",
    "stopped by the user",
    "the demo is over",
    "the run drains",
    "the run has ended",
    "the visit has ended",
    "the recording ends",
    "the port was reused",
    "made room for another connection",
    "made room for another client",
    "silent for too long",
    "the server did not close the connection",
    "the client did not close the connection",
    "the recording has ended",
    "the recording has ended, as it did then",
    "the client did not log in",
    "the client did not log in within {} s",
    "answered a status request",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_words_end_at_a_quotation_or_at_words_of_others() {
        let held = "held for 0.3 s, then forwarded: the state changed";
        assert_eq!(own_words(held), Some((held, None)));
        assert_eq!(own_words("lost the client: by: x"), Some(("lost the client", Some("by: x"))));
        assert_eq!(own_words("rule `Notch`"), None);
        assert_eq!(own_words("packet Notch and Jeb again, sent by hand"), None);

        assert!(is_own("sent by hand; no authentication; not decided by `pipe`: a; b"));
        assert!(!is_own("sent by hand; rule `Notch`"));
    }

    #[test]
    fn each_entry_is_one_part_in_its_own_words() {
        for own in OWN {
            assert!(!own.contains("; "), "{own} would never be found");
            assert!(is_own(&own.replace("{}", "1.5")), "{own}");
        }
    }
}
