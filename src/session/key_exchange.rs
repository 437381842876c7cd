use std::fmt;

use bytes::Bytes;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng as _;
use rsa::pkcs8::{DecodePublicKey as _, EncodePublicKey as _};
use rsa::{Pkcs1v15Encrypt, RsaPrivateKey, RsaPublicKey};

use crate::codec::KeyLogLine;
use crate::schema::Value;

/// What a key exchange needs of chance.
#[derive(Clone)]
pub struct KeyMaterial {
    /// Our key towards the client, 1024 bits as the game's servers have it.
    pub key: RsaPrivateKey,
    /// Our shared secret towards the server.
    pub secret: [u8; 16],
    /// Our verify token towards the client.
    pub token: [u8; 4],
    /// Seed of the padding of what we encrypt for the server.
    pub seed: [u8; 32],
}

impl fmt::Debug for KeyMaterial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyMaterial")
    }
}

/// A server's Encryption Request, before there is a key of our own.
#[derive(Debug)]
pub(super) struct Request {
    /// As decoded.
    pub(super) value: Value,
    server_key: RsaPublicKey,
    token: Bytes,
}

impl Request {
    /// None when there is no key in it that we could encrypt for.
    pub(super) fn of(value: Value) -> Option<Self> {
        let key = value.get("publicKey")?.as_bytes()?;
        let server_key = RsaPublicKey::from_public_key_der(key).ok()?;
        let token = value.get("verifyToken")?.as_bytes()?.clone();
        Some(Self { value, server_key, token })
    }

    /// The request to show to the client: the server's own id, and our key. The token is ours too,
    /// so that each leg has its own in a key log; but a client that `signs` signs the token, and
    /// the server checks that it was its own.
    pub(super) fn ours(self, material: KeyMaterial, signs: bool) -> Option<(Value, KeyExchange)> {
        let Value::Map(mut fields) = self.value.plain().clone() else { return None };
        let key = material.key.to_public_key().to_public_key_der().ok()?;
        let shown = match signs {
            true => self.token.clone(),
            false => Bytes::copy_from_slice(&material.token),
        };
        for (name, value) in &mut fields {
            match &**name {
                "publicKey" => *value = Value::Bytes(Bytes::copy_from_slice(key.as_bytes())),
                "verifyToken" => *value = Value::Bytes(shown.clone()),
                _ => {}
            }
        }
        let exchange =
            KeyExchange { material, server_key: self.server_key, token: self.token, shown };
        Some((Value::Map(fields), exchange))
    }
}

/// A key exchange between the request to the client and its answer.
pub(super) struct KeyExchange {
    material: KeyMaterial,
    server_key: RsaPublicKey,
    /// The server's.
    token: Bytes,
    /// What the client was shown in its place.
    shown: Bytes,
}

impl fmt::Debug for KeyExchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyExchange")
    }
}

/// What decrypts each leg after a finished exchange.
pub(super) struct Secrets {
    pub(super) client: KeyLogLine,
    pub(super) server: KeyLogLine,
}

impl KeyExchange {
    /// Opens the client's Encryption Response. None for every way in which it can be wrong, after
    /// the same work: which one it was must not be told (`errata.md`, RUSTSEC-2023-0071).
    ///
    /// From 1.19 to 1.19.2 a client with a key of its own signs the verify token and does not
    /// encrypt it. The token is the server's, so the signature is good for the server as it is.
    pub(super) fn client_secret(&self, response: &Value) -> Option<[u8; 16]> {
        let open = |sealed: Option<&Value>| {
            let sealed = sealed.and_then(Value::as_bytes);
            let sealed = sealed.map_or(&[][..], |sealed| sealed);
            self.material.key.decrypt(Pkcs1v15Encrypt, sealed)
        };
        let secret = open(response.get("sharedSecret"));
        let secret = secret.ok().and_then(|secret| <[u8; 16]>::try_from(secret).ok());
        let proof = response.get("crypto").unwrap_or(response);
        let token = match proof.get("messageSignature") {
            Some(_) => true,
            None => open(proof.get("verifyToken")).is_ok_and(|token| token == *self.shown),
        };
        secret.filter(|_| token)
    }

    /// The response for the server: our own secret, and its token, under its key.
    pub(super) fn ours(&self, client: [u8; 16], response: &Value) -> Option<(Value, Secrets)> {
        let mut random = ChaCha20Rng::from_seed(self.material.seed);
        let mut seal = |plain: &[u8]| {
            let sealed = self.server_key.encrypt(&mut random, Pkcs1v15Encrypt, plain).ok()?;
            Some(Value::Bytes(sealed.into()))
        };
        let (secret, token) = (seal(&self.material.secret)?, seal(&self.token)?);
        let response = response.plain().clone();
        let response = with(with(response, "sharedSecret", &secret), "verifyToken", &token);
        let secrets = Secrets {
            client: KeyLogLine::new(&self.shown, client),
            server: KeyLogLine::new(&self.token, self.material.secret),
        };
        Some((response, secrets))
    }
}

/// The value with another one in the fields of that name, where there are any.
fn with(value: Value, name: &str, new: &Value) -> Value {
    let Value::Map(fields) = value else { return value };
    let fields = fields.into_iter().map(|(key, value)| match *key == *name {
        true => (key, new.clone()),
        false => (key, with(value, name, new)),
    });
    Value::Map(fields.collect())
}
