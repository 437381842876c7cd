//! Tests of the whole layer: every packet of every version, and unusual encodings one by one.

mod odd;
mod properties;
mod unknown;
mod witnesses;
