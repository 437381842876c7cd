//! Statistics, comparison and redaction of captures.

mod diff;
mod mcpr;
mod redact;
mod stats;
mod versions;
