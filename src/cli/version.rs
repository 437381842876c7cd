use std::sync::Arc;

use anyhow::Context as _;
use mitmcraft::schema::{Catalog, Protocol};

/// Finds the protocol with a number or a game version: `47`, `1.8.9`; `latest` is the newest
/// release.
pub(crate) fn find(version: &str) -> anyhow::Result<Arc<Protocol>> {
    let catalog = Catalog::embedded();
    let number = match version {
        "latest" => catalog.newest_release().ok_or(()),
        version => version.parse().map_err(|_| ()),
    };
    let known = match number {
        Ok(number) => catalog.find(number).filter(|found| found.exact).map(|found| found.protocol),
        Err(_) => catalog.by_name(version),
    };
    known.with_context(|| {
        format!("unknown version `{version}`: `mitmcraft protocols` lists the known versions")
    })
}
