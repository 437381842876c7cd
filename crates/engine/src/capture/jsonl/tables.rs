use std::collections::HashMap;
use std::sync::Arc;

use super::super::EntryError;
use super::keys::{Keys, Read, Required};
use crate::capture::head::ProtocolId;
use mitmcraft_protocol::schema::{Catalog, Description, DescriptionId, Family, Protocol};

/// The descriptions that packets of a capture are decoded with: those in the capture, and those of a
/// catalog.
pub(super) struct Tables {
    catalog: Catalog,
    contained: HashMap<DescriptionId, Arc<Protocol>>,
    /// Bytes of descriptions that may still be read.
    left: usize,
}

impl Tables {
    /// `memory` is what all descriptions in the capture may take.
    pub(super) fn new(catalog: &Catalog, memory: usize) -> Self {
        let (catalog, contained) = (catalog.clone(), HashMap::new());
        Self { catalog, contained, left: memory / PER_BYTE }
    }

    pub(super) fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Reads a line that contains a description.
    pub(super) fn read(&mut self, keys: &Keys<'_>) -> Read<()> {
        let version = keys.integer("protocol").required("protocol")?;
        let id: DescriptionId = keys.parsed("table").required("table")?;
        let name = keys.text("version").required("version")?;
        let packed = keys.bytes("description").required("description")?;
        let known = |it: &Arc<Protocol>| it.version() == version && it.name() == name;
        if self.contained.get(&id).is_some_and(known) {
            return Ok(());
        }
        let unfit = || EntryError::Table { version, cause: UNREADABLE.to_owned() };
        if name.len() > MAX_NAME || name.contains(char::is_control) {
            return Err(unfit());
        }
        let (json, length) = Description::unpack(&packed, self.left).ok_or_else(unfit)?;
        self.left -= length;
        let protocol = Protocol::from_json(version, &name, &json)
            .map_err(|error| EntryError::Table { version, cause: error.to_string() })?;
        if protocol.description().is_none_or(|it| it.id() != id) {
            return Err(unfit());
        }
        self.contained.insert(id, Arc::new(protocol));
        Ok(())
    }

    /// Finds the description of a packet, and whether it is exactly the one that is named.
    ///
    /// A description that was added to the catalog takes precedence over the capture's.
    pub(super) fn find(&self, wanted: ProtocolId) -> Read<(Arc<Protocol>, bool)> {
        let ProtocolId { family, version, table } = wanted;
        let added = self.catalog.added(version).filter(|_| family == Family::Java);
        if let Some(id) = table.filter(|_| added.is_none()) {
            let found = self.contained.get(&id).filter(|it| it.version() == version);
            let protocol = found.ok_or(EntryError::NoTable { version, id: id.0 })?;
            return Ok((Arc::clone(protocol), true));
        }
        let found = self.catalog.find_in(family, version).ok_or(EntryError::NoProtocol)?;
        Ok((found.protocol, found.exact))
    }

    /// Finds the description of that name, else the one for that version number.
    pub(super) fn named(
        &self,
        table: Option<DescriptionId>,
        name: Option<&str>,
        version: Option<i32>,
    ) -> Read<Option<Arc<Protocol>>> {
        if let Some(id) = table {
            let contained = self.contained.get(&id);
            let number = contained.map(|it| it.version()).or(version);
            if let Some(added) = number.and_then(|number| self.catalog.added(number)) {
                return Ok(Some(Arc::clone(added)));
            }
            let version = version.unwrap_or_default();
            let found = contained.ok_or(EntryError::NoTable { version, id: id.0 })?;
            return Ok(Some(Arc::clone(found)));
        }
        let by_number = version.and_then(|version| self.catalog.find(version));
        let has_name = |it: &Arc<Protocol>| Some(it.name()) == name;
        match by_number.map(|found| found.protocol) {
            Some(protocol) if has_name(&protocol) => Ok(Some(protocol)),
            by_number => Ok(name.and_then(|name| self.catalog.by_name(name)).or(by_number)),
        }
    }
}

/// Memory that a description takes at most per byte, as JSON and compiled.
const PER_BYTE: usize = 64;

/// Greatest length of a version's name in bytes.
const MAX_NAME: usize = 200;

const UNREADABLE: &str = "damaged, too large, or not a protocol description";
