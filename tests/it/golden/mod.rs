//! The bytes of `tests/golden`, decoded and encoded.

mod packets;
mod ping;
mod query;
