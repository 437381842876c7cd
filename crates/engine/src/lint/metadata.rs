//! The types that values in an entity's metadata must have.

use mitmcraft_protocol::meaning::{metadata_type, metadata_type_name};
use mitmcraft_protocol::schema::{Release, Scalar};

/// A key of an entity's metadata and the type of its value, as a packet has them.
#[derive(Debug, Default)]
pub(super) struct MetadataEntry {
    key: Option<MetadataKey>,
    kind: Option<String>,
}

/// A key by its name, and the type of the entity if it is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct MetadataKey {
    pub(super) name: &'static str,
    pub(super) entity: Option<&'static str>,
}

impl MetadataEntry {
    /// Takes the key; `None` if it has no name.
    pub(super) fn take_key(
        &mut self,
        release: Release,
        key: Option<MetadataKey>,
    ) -> Option<String> {
        self.key = key;
        // Before 1.9 the type comes first.
        let fault = self.fault(release);
        if self.kind.is_some() {
            *self = Self::default();
        }
        fault
    }

    /// Takes the type of the value.
    pub(super) fn take_type(&mut self, release: Release, kind: &Scalar<'_>) -> Option<String> {
        self.kind = match *kind {
            Scalar::Name(name, _) => Some(name.to_string()),
            Scalar::Int(number) => metadata_type_name(release, number).map(str::to_owned),
            _ => None,
        };
        if release < Release::V1_9 {
            return None;
        }
        let fault = self.fault(release);
        *self = Self::default();
        fault
    }

    fn fault(&self, release: Release) -> Option<String> {
        let (key, kind) = (self.key?, self.kind.as_deref()?);
        let wanted = metadata_type(release, key.name, key.entity)?;
        let name = key.name;
        (kind != wanted).then(|| format!("`{name}` is of type {kind}, the game reads {wanted}"))
    }
}
