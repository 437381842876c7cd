//! Whole sessions in memory, byte by byte: a [`Pair`] is a client and a server with the session
//! between them, its wires cut into pieces of a given size.

mod accounts;
mod around;
mod asked;
mod behind;
mod broken;
mod control;
mod crowd;
mod desk;
mod diagnostics;
mod early_ends;
mod effects;
pub(crate) mod encryption;
mod ends;
mod held_ends;
mod later;
mod misread;
mod neighbors;
mod observe;
mod old;
mod old_encryption;
mod old_faults;
mod old_pings;
mod old_rules;
mod own_keys;
mod pair;
mod relay;
mod runs;
mod shared_secret;
mod swamped;
mod timeouts;

use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng as _;
use rsa::pkcs8::{DecodePublicKey as _, EncodePublicKey as _};
use rsa::{Pkcs1v15Encrypt, RsaPrivateKey, RsaPublicKey};

use super::*;
use crate::capture::{Entry, EventKind, Outcome, Record};
use crate::filter::{Effects, Filter, Pipeline, RuleSet, Verdict};
use crate::link::{
    Engine as _, Input, KeyMaterial, Notice, Output, PerSide, Side, Transfer, Upstream,
};
use effects::Shout;
use encryption::{encrypting, response};
use mitmcraft_protocol::codec::{KeyLogLine, Leg, Limits};
use mitmcraft_protocol::packet::{Origin, Packet, RawReason, Timestamp};
use mitmcraft_protocol::schema::{Catalog, Direction, State, Value};
use pair::Pair;

/// The sizes of the pieces that the wires carry.
const SIZES: [usize; 3] = [1, 7, usize::MAX];

fn body(state: State, direction: Direction, name: &str, value: &Value) -> Vec<u8> {
    let protocol = Catalog::embedded().find(47).unwrap().protocol;
    protocol.encode(protocol.named(state, direction, name).unwrap(), value).unwrap()
}

fn fields<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::map(fields)
}

fn handshake(host: &str, next: i32) -> Value {
    fields([
        ("protocolVersion", 47.into()),
        ("serverHost", host.into()),
        ("serverPort", 25566.into()),
        ("nextState", next.into()),
    ])
}

fn success() -> Value {
    fields([("uuid", "b50ad385-829d-3141-a216-7e7d7539ba7f".into()), ("username", "Steve".into())])
}

fn chat(text: &str) -> Value {
    fields([("message", text.into())])
}

pub(crate) fn key(seed: u8) -> RsaPrivateKey {
    static KEYS: LazyLock<[RsaPrivateKey; 2]> = LazyLock::new(|| {
        [1, 2]
            .map(|seed| RsaPrivateKey::new(&mut ChaCha20Rng::from_seed([seed; 32]), 1024).unwrap())
    });
    KEYS[usize::from(seed)].clone()
}
