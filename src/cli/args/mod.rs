//! Options that several verbs share, each declared once and flattened into the verb's arguments.

mod capture_options;
mod condition;
mod expect_options;
mod interactive;
mod lines;
mod listen_address;
mod match_context;
mod memory;
mod only;
mod output_files;
mod overwrite;
mod preamble_side;
mod protocols;
mod redaction;
mod suggested;
mod timeout;
mod verbosity;
mod web;

pub(super) use capture_options::CaptureOptions;
pub(super) use condition::{Condition, compile};
pub(super) use expect_options::{Annotations, ExpectOptions};
pub(super) use interactive::Interactive;
pub(super) use lines::{Lines, Width};
pub(super) use listen_address::listen_address;
pub(super) use match_context::MatchContext;
pub(super) use memory::Memory;
pub(super) use only::Only;
pub(super) use output_files::{OutputFiles, PcapViews, PlannedCaptures, StdoutFormat};
pub(super) use overwrite::Overwrite;
pub(super) use preamble_side::PreambleSide;
pub(super) use protocols::Protocols;
pub(super) use redaction::{Redaction, RedactionSeed};
pub(crate) use suggested::Suggested;
pub(super) use timeout::Timeout;
pub(super) use verbosity::{Quiet, Verbose, verbosity};
pub(super) use web::Web;
