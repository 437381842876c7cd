use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use super::{Protocol, SchemaError};

/// The protocols that are known, by version.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    protocols: BTreeMap<i32, Arc<Protocol>>,
}

/// The description for a version.
#[derive(Debug, Clone)]
pub struct Match {
    /// The description of that version, or of the nearest one.
    pub protocol: Arc<Protocol>,
    /// Whether it is that version's own; if not, every decode is a guess.
    pub exact: bool,
}

impl Catalog {
    /// The protocols that come with the program.
    ///
    /// # Panics
    /// Never: a test compiles them all.
    #[must_use]
    pub fn embedded() -> &'static Self {
        static EMBEDDED: LazyLock<Catalog> =
            LazyLock::new(|| Catalog::load().expect("the embedded descriptions compile"));
        &EMBEDDED
    }

    /// Adds a protocol, in the place of what was known for its version.
    pub fn insert(&mut self, protocol: Protocol) {
        self.protocols.insert(protocol.version(), Arc::new(protocol));
    }

    /// The description for that version, else the nearest older one, else the oldest.
    #[must_use]
    pub fn find(&self, version: i32) -> Option<Match> {
        let older = self.protocols.range(..=version).next_back();
        let (known, protocol) = older.or_else(|| self.protocols.iter().next())?;
        Some(Match { protocol: Arc::clone(protocol), exact: *known == version })
    }

    /// Every protocol, oldest first.
    pub fn protocols(&self) -> impl Iterator<Item = &Arc<Protocol>> {
        self.protocols.values()
    }

    fn load() -> Result<Self, SchemaError> {
        let mut catalog = Self::default();
        let description = serde_json::from_str(JAVA_47)
            .map_err(|error| SchemaError { at: "java-47".into(), cause: error.to_string() })?;
        catalog.insert(Protocol::from_json(47, "1.8", &description)?);
        Ok(catalog)
    }
}

const JAVA_47: &str = include_str!("data/java-47.json");
