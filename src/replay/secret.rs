//! The key exchange as one of its two ends, without a session server.

use bytes::Bytes;
use rand_chacha::ChaCha20Rng;
use rsa::pkcs8::{DecodePublicKey as _, EncodePublicKey as _};
use rsa::{Pkcs1v15Encrypt, RsaPrivateKey, RsaPublicKey};

use crate::schema::Value;

/// The fields of an Encryption Request of ours: the usual ones, then those that versions since
/// 1.20.5 have.
pub(super) fn requests(key: &RsaPrivateKey, token: &[u8]) -> Option<[Value; 2]> {
    let public = key.to_public_key().to_public_key_der().ok()?;
    let fields = [
        ("serverId", Value::from("")),
        ("publicKey", Value::Bytes(Bytes::copy_from_slice(public.as_bytes()))),
        ("verifyToken", Value::Bytes(Bytes::copy_from_slice(token))),
    ];
    let newer = fields.clone().into_iter().chain([("shouldAuthenticate", Value::Bool(false))]);
    Some([Value::map(fields), Value::map(newer)])
}

/// The fields of our Encryption Response to a server's request: the usual ones, then those of 1.19
/// to 1.19.2.
pub(super) fn responses(
    request: &Value,
    secret: &[u8; 16],
    random: &mut ChaCha20Rng,
) -> Option<[Value; 2]> {
    let key = RsaPublicKey::from_public_key_der(request.get("publicKey")?.as_bytes()?).ok()?;
    let token = request.get("verifyToken")?.as_bytes()?;
    let mut seal = |plain: &[u8]| {
        let sealed = key.encrypt(random, Pkcs1v15Encrypt, plain).ok()?;
        Some(Value::Bytes(sealed.into()))
    };
    let (secret, token) = (seal(secret)?, seal(token)?);
    let proof = Value::map([("verifyToken", token.clone())]);
    Some([
        Value::map([("sharedSecret", secret.clone()), ("verifyToken", token)]),
        Value::map([
            ("sharedSecret", secret),
            ("hasVerifyToken", Value::Bool(true)),
            ("crypto", proof),
        ]),
    ])
}
