use std::sync::{Arc, LazyLock};

use anyhow::Context as _;
use mitmcraft_protocol::schema::{Catalog, Family, Name, Protocol};

/// Finds the protocol in `catalog` with a number or a game version: `47`, `1.8.9`; `latest` is the newest
/// release. Those before 1.7 have [names](old_name).
pub(crate) fn find(catalog: &Catalog, version: &str) -> anyhow::Result<Arc<Protocol>> {
    let number = match version {
        "latest" => catalog.newest_release().ok_or(()),
        version => version.parse().map_err(|_| ()),
    };
    let known = match number {
        Ok(number) => catalog.find(number).filter(|found| found.exact).map(|found| found.protocol),
        Err(_) => catalog.by_name(version).or_else(|| {
            let is = |it: &Arc<Protocol>| {
                let named = |name: &Name| **name == *version;
                old_name(it) == version
                    || *it.name() == *version
                    || catalog.legacy_names(it).iter().any(named)
            };
            catalog.old().find(is)
        }),
    };
    known.with_context(|| {
        format!("unknown version `{version}`: `mitmcraft protocols` lists the known versions")
    })
}

/// Returns the names of the built-in versions, for the completion of shells.
pub(crate) fn names() -> &'static [String] {
    static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
        let catalog = Catalog::embedded();
        let old = catalog.old().map(|protocol| old_name(&protocol));
        let java = catalog.versions().flat_map(|(_, names)| names.iter().map(|it| it.to_string()));
        std::iter::once("latest".to_owned()).chain(java).chain(old).collect()
    });
    &NAMES
}

/// Returns the name of a protocol on the command line: its number, or `beta-1.7.3`, `alpha-1` to
/// `alpha-6`, `legacy-ping` and `query`, whose numbers others have too.
pub(crate) fn old_name(protocol: &Protocol) -> String {
    match protocol.family() {
        Family::Java => protocol.version().to_string(),
        Family::Alpha => format!("alpha-{}", protocol.version()),
        Family::Legacy => protocol.name().to_owned(),
        family => family.to_string(),
    }
}
