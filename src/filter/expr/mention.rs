use super::Warning;
use super::field::Field;
use super::glob::Glob;
use super::print::steps;
use super::tables::{has_packet, kinds};
use super::token::Span;
use crate::schema::{Kinds, Protocol};

/// A name in an expression that a version may not have.
#[derive(Debug)]
pub(super) struct Mention {
    pub(super) span: Span,
    pub(super) what: Mentioned,
}

#[derive(Debug)]
pub(super) enum Mentioned {
    Packets(Glob),
    Field(Field),
}

impl Mention {
    /// A warning when that version has nothing of the name.
    pub(super) fn warning_for(&self, protocol: &Protocol) -> Option<Warning> {
        let (version, name) = (protocol.version(), protocol.name());
        let message = match &self.what {
            Mentioned::Packets(packets) => {
                if has_packet(protocol, packets) {
                    return None;
                }
                format!("protocol {version} ({name}) has no packet `{}`", packets.as_str())
            }
            Mentioned::Field(field) => {
                if !kinds(protocol, field, Kinds::NONE, |kinds| !kinds.is_empty()).is_empty() {
                    return None;
                }
                format!("no packet of protocol {version} ({name}) has a field `{}`", steps(field))
            }
        };
        Some(Warning { message, span: self.span.clone(), hint: None })
    }

    /// Whether it is the packet that is called as a state is.
    pub(super) fn is_login(&self) -> bool {
        matches!(&self.what, Mentioned::Packets(packets) if packets.as_str() == "login")
    }
}
