use std::fmt;

use bytes::Bytes;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};
use rsa::pkcs8::{DecodePublicKey as _, EncodePublicKey as _};
use rsa::{Pkcs1v15Encrypt, RsaPrivateKey, RsaPublicKey};

use crate::auth::server_hash;
use mitmcraft_protocol::codec::KeyLogLine;
use mitmcraft_protocol::schema::Value;

/// The random input of a key exchange.
#[derive(Clone)]
pub struct KeyMaterial {
    /// The proxy's key towards the client: 1024 bits, like those of the game's servers.
    pub key: RsaPrivateKey,
    /// The proxy's shared secret towards the server, unless that gets the client's.
    pub secret: [u8; 16],
    /// The proxy's verify token towards the client.
    pub token: [u8; 4],
    /// The seed of the padding of what is encrypted for the server.
    pub seed: [u8; 32],
}

impl fmt::Debug for KeyMaterial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyMaterial")
    }
}

/// A server's Encryption Request, with the means to answer it.
#[derive(Debug)]
pub struct Request {
    /// The decoded packet.
    value: Value,
    server_id: String,
    key: RsaPublicKey,
    /// The encoded key as the server sent it, which goes into the server hash.
    der: Bytes,
    token: Bytes,
}

/// The answer to a server's Encryption Request. `Debug` does not print the secret.
pub struct Answer {
    /// The shared secret, encrypted with the server's key.
    secret: Value,
    /// The server's verify token, encrypted with its key.
    token: Value,
    /// The key log line that decrypts the leg.
    pub key: KeyLogLine,
    /// The server hash for the session service.
    pub hash: String,
}

impl Request {
    /// Reads a decoded request; returns `None` if it holds no usable key.
    pub fn of(value: Value) -> Option<Self> {
        let der = value.get("publicKey")?.as_bytes()?.clone();
        let key = RsaPublicKey::from_public_key_der(&der).ok()?;
        let token = value.get("verifyToken")?.as_bytes()?.clone();
        let server_id = value.get("serverId")?.as_text()?.to_owned();
        Some(Self { value, server_id, key, der, token })
    }

    /// Returns whether the server will ask a session service who the player is. Since 1.20.5 it
    /// says so; from 1.7 on, servers encrypted for no other reason; before, all did, and those that did not ask
    /// had the id `-`.
    pub fn authenticates(&self) -> bool {
        let said = self.value.get("shouldAuthenticate").map(Value::plain);
        said != Some(&Value::Bool(false)) && self.server_id != ASKS_NOBODY
    }

    /// Builds the request that the client gets instead: the server's id and the proxy's key. The
    /// token is the proxy's too, so that each leg has its own in a key log; but a client that
    /// `signs` signs the token, and the server checks that it is the server's own.
    pub fn shown(
        &self,
        material: &KeyMaterial,
        variant: RequestVariant,
    ) -> Option<(Value, Exchange)> {
        let Value::Map(mut fields) = self.value.plain().clone() else { return None };
        let token = if variant.signs {
            self.token.clone()
        } else {
            Bytes::copy_from_slice(&material.token)
        };
        let by_id = variant.spared && variant.by_id;
        let id = if by_id { ASKS_NOBODY } else { &self.server_id };
        let exchange = Exchange::new(material, id.to_owned(), token)?;
        for (name, value) in &mut fields {
            match &**name {
                "publicKey" => *value = Value::Bytes(exchange.der.clone()),
                "verifyToken" => *value = Value::Bytes(exchange.token.clone()),
                "shouldAuthenticate" if variant.spared => *value = Value::Bool(false),
                "serverId" if by_id => *value = ASKS_NOBODY.into(),
                _ => {}
            }
        }
        Some((Value::Map(fields), exchange))
    }

    /// Encrypts a secret and the server's token for the server, with the secret and the padding that `seed`
    /// decides. `None` if the server's key is too short.
    pub fn answer_seeded(&self, seed: [u8; 32]) -> Option<Answer> {
        let mut random = ChaCha20Rng::from_seed(seed);
        let (mut secret, mut padding) = ([0; 16], [0; 32]);
        random.fill_bytes(&mut secret);
        random.fill_bytes(&mut padding);
        self.answer(&secret, padding)
    }

    /// Encrypts `secret` and the server's token for the server; `seed` decides the padding. `None`
    /// if the server's key is too short.
    pub fn answer(&self, secret: &[u8; 16], seed: [u8; 32]) -> Option<Answer> {
        let mut random = ChaCha20Rng::from_seed(seed);
        let mut seal = |plain: &[u8]| {
            let sealed = self.key.encrypt(&mut random, Pkcs1v15Encrypt, plain).ok()?;
            Some(Value::Bytes(sealed.into()))
        };
        Some(Answer {
            secret: seal(secret)?,
            token: seal(&self.token)?,
            key: KeyLogLine::new(&self.token, *secret),
            hash: server_hash(&self.server_id, secret, &self.der),
        })
    }
}

/// Special cases of a request that is shown to a client.
#[derive(Debug, Clone, Copy)]
pub struct RequestVariant {
    /// `true` if the client signs the token.
    pub signs: bool,
    /// `true` if the client need not contact a session service.
    pub spared: bool,
    /// `true` if the server's id tells the client whether it has to, as from 1.3 to 1.6.
    pub by_id: bool,
}

/// The server id of a server in offline mode from 1.3 to 1.6.
pub(crate) const ASKS_NOBODY: &str = "-";

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Answer")
    }
}

impl Answer {
    /// Builds the response that replaces the client's.
    pub fn instead(&self, response: &Value) -> Value {
        let response = response.plain().clone();
        with(with(response, "sharedSecret", &self.secret), "verifyToken", &self.token)
    }

    /// Builds a response without a client's to start from: all forms that versions have, the usual
    /// one first.
    pub fn alone(&self) -> [Value; 2] {
        let (secret, token) = (self.secret.clone(), self.token.clone());
        let proof = Value::map([("verifyToken", token.clone())]);
        // From 1.19 to 1.19.2.
        let either = [
            ("sharedSecret", secret.clone()),
            ("hasVerifyToken", Value::Bool(true)),
            ("crypto", proof),
        ];
        [Value::map([("sharedSecret", secret), ("verifyToken", token)]), Value::map(either)]
    }
}

/// A key exchange with the client, between the proxy's request and the client's response.
pub struct Exchange {
    key: RsaPrivateKey,
    der: Bytes,
    server_id: String,
    token: Bytes,
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Exchange")
    }
}

/// The result of a client's Encryption Response.
pub struct Opened {
    /// The key log line that decrypts the leg.
    pub key: KeyLogLine,
    /// The server hash that the client has sent to a session service, if it did.
    pub hash: String,
}

impl Exchange {
    fn new(material: &KeyMaterial, server_id: String, token: Bytes) -> Option<Self> {
        let der = material.key.to_public_key().to_public_key_der().ok()?;
        let der = Bytes::copy_from_slice(der.as_bytes());
        Some(Self { key: material.key.clone(), der, server_id, token })
    }

    /// Makes the proxy's own Encryption Request: all forms of it, the newest first, and the
    /// exchange that opens the response. Since 1.20.5 it says whether the client has to
    /// authenticate; with `by_id`, from 1.3 to 1.6, the client asks nobody.
    pub fn own(
        material: &KeyMaterial,
        authenticates: bool,
        by_id: bool,
    ) -> Option<([Value; 2], Self)> {
        let id = if by_id { ASKS_NOBODY } else { "" };
        let token = Bytes::copy_from_slice(&material.token);
        let exchange = Self::new(material, id.to_owned(), token)?;
        let fields = [
            ("serverId", Value::from(id)),
            ("publicKey", Value::Bytes(exchange.der.clone())),
            ("verifyToken", Value::Bytes(exchange.token.clone())),
        ];
        let authenticates = [("shouldAuthenticate", Value::Bool(authenticates))];
        let newest = fields.clone().into_iter().chain(authenticates);
        Some(([Value::map(newest), Value::map(fields)], exchange))
    }

    /// Returns whether a response has a signature instead of the token.
    pub fn is_signed(response: &Value) -> bool {
        response.get("crypto").is_some_and(|proof| proof.get("messageSignature").is_some())
    }

    /// Opens the client's Encryption Response. Returns `None` for every way in which it can be
    /// wrong, after the same work: revealing which one it was would be an oracle
    /// (RUSTSEC-2023-0071).
    ///
    /// From 1.19 to 1.19.2 a client with a key of its own signs the verify token and does not
    /// encrypt it. The token is the server's, so the signature is valid for the server as it is.
    pub fn open(&self, response: &Value) -> Option<Opened> {
        let secret = open_secret(&self.key, &self.token, response)?;
        Some(Opened {
            key: KeyLogLine::new(&self.token, secret),
            hash: server_hash(&self.server_id, &secret, &self.der),
        })
    }
}

/// Decrypts the shared secret of a client's Encryption Response. Returns `None` for every way in
/// which it can be wrong, after the same work: revealing which one it was would be an oracle
/// (RUSTSEC-2023-0071). A signed token (1.19 to 1.19.2) is not checked: the server verifies the
/// signature.
fn open_secret(key: &RsaPrivateKey, token: &[u8], response: &Value) -> Option<[u8; 16]> {
    let open = |sealed: Option<&Value>| {
        let sealed = sealed.and_then(Value::as_bytes);
        key.decrypt(Pkcs1v15Encrypt, sealed.map_or(&[][..], |sealed| sealed))
    };
    let secret = open(response.get("sharedSecret"));
    let secret = secret.ok().and_then(|secret| <[u8; 16]>::try_from(secret).ok());
    let proof = response.get("crypto").unwrap_or(response);
    let token = Exchange::is_signed(response)
        || open(proof.get("verifyToken")).is_ok_and(|opened| opened == token);
    secret.filter(|_| token)
}

/// The value with another one in the fields of that name, where there are any.
fn with(value: Value, name: &str, new: &Value) -> Value {
    let Value::Map(fields) = value else { return value };
    let fields = fields.into_iter().map(|(key, value)| {
        let value = if *key == *name { new.clone() } else { with(value, name, new) };
        (key, value)
    });
    Value::Map(fields.collect())
}
