//! Tests of the whole layer: every packet of every version, and odd forms one by one.

mod dissector;
mod generate;
mod odd;
mod properties;
