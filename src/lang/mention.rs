use std::collections::BTreeSet;

use super::Warning;
use super::field::Field;
use super::print::steps;
use super::tables::{Tables, has_packet, kinds};
use super::token::Span;
use crate::packet::Glob;
use crate::schema::{Catalog, Family, Kinds, Protocol};

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

    pub(super) fn is_packet(&self) -> bool {
        matches!(&self.what, Mentioned::Packets(_))
    }

    /// Whether it names packets, and that version has one of them.
    pub(super) fn is_packet_of(&self, version: i32, catalog: &Catalog) -> bool {
        match &self.what {
            Mentioned::Packets(packets) => catalog.has_packet(version, |it| packets.matches(it)),
            Mentioned::Field(_) => false,
        }
    }

    /// A warning when only some releases have anything of the name, which says which. Compiles no
    /// more versions than needed.
    pub(super) fn warning(&self, catalog: &Catalog) -> Option<Warning> {
        let message = match &self.what {
            Mentioned::Packets(packets) => {
                let has = |version| catalog.has_packet(version, |name| packets.matches(name));
                let releases = catalog.releases_where(has)?;
                let old = families(catalog, |protocol| has_packet(protocol, packets));
                format!("only {} a packet `{}`", subject(&releases, old), packets.as_str())
            }
            Mentioned::Field(field) => {
                let lacks = |protocol: &Protocol| {
                    kinds(protocol, field, Kinds::NONE, |kinds| !kinds.is_empty()).is_empty()
                };
                if !Tables::new(catalog).ends().iter().any(|protocol| lacks(protocol)) {
                    return None;
                }
                let has = |version| match catalog.find(version) {
                    Some(found) => !lacks(&found.protocol),
                    None => false,
                };
                let releases = catalog.releases_where(has)?;
                let old = families(catalog, |protocol| !lacks(protocol));
                format!("only {} a field `{}`", subject(&releases, old), steps(field))
            }
        };
        Some(Warning { message, span: self.span.clone(), hint: None })
    }

    /// Whether it is the packet that is called as a state is.
    pub(super) fn is_login(&self) -> bool {
        matches!(&self.what, Mentioned::Packets(packets) if packets.as_str() == "login")
    }
}

/// The families from before 1.7 in which something holds.
fn families(catalog: &Catalog, has: impl Fn(&Protocol) -> bool) -> BTreeSet<Family> {
    catalog.old().filter(|protocol| has(protocol)).map(|protocol| protocol.family()).collect()
}

/// Who has something, with its verb.
fn subject(releases: &str, old: BTreeSet<Family>) -> String {
    let old = old.into_iter().map(|family| match family {
        Family::Java => "later versions",
        Family::Alpha => "Alpha",
        Family::LegacyPing => "pings before 1.7",
        Family::Query => "Query",
    });
    let releases = (!releases.is_empty()).then(|| format!("versions {releases}"));
    let all: Vec<String> = releases.into_iter().chain(old.map(str::to_owned)).collect();
    match &all[..] {
        [] => "snapshots have".to_owned(),
        [one] if !one.contains(' ') => format!("{one} has"),
        [one] => format!("{one} have"),
        [most @ .., last] => format!("{} and {last} have", most.join(", ")),
    }
}
