//! Captures run again, sans-IO.
//!
//! [`FilterReplay`] runs a filter file over a capture, offline.

mod filters;
mod framed;
#[cfg(test)]
mod tests;

pub use filters::{FilterReplay, Judged};
