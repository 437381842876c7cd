use std::sync::{Arc, LazyLock};

use anyhow::Context as _;
use mitmcraft_engine::lang::closest;
use mitmcraft_protocol::schema::{Catalog, Family, Name, Protocol};

/// Finds the protocol in `catalog` with a number or a game version: `47`, `1.8.9`, `b1.7.3`; `latest` is the newest
/// release. Those before 1.7 have [names](old_name).
pub(crate) fn find(catalog: &Catalog, version: &str) -> anyhow::Result<Arc<Protocol>> {
    let found = spellings(version).iter().find_map(|spelling| exact(catalog, spelling));
    found.with_context(|| {
        let known = spellings(version).iter().find_map(|it| Catalog::without_table(it));
        if let Some(number) = known {
            return format!(
                "`{version}` (protocol {number}) has no tables: `mitmcraft protocols import` makes them of the \
                 reports of its data generator, `--protocol` loads them"
            );
        }
        match closest(version, names().iter().map(String::as_str)) {
            Some(near) => format!(
                "unknown version `{version}`: did you mean `{near}`? `mitmcraft protocols` lists the known ones"
            ),
            None => {
                format!(
                    "unknown version `{version}`: `mitmcraft protocols` lists the known versions"
                )
            }
        }
    })
}

fn exact(catalog: &Catalog, version: &str) -> Option<Arc<Protocol>> {
    let number = match version {
        "latest" => catalog.newest_release(),
        version => version.parse().ok(),
    };
    let is = |it: &Arc<Protocol>| {
        let named = |name: &Name| **name == *version;
        old_name(it) == version
            || *it.name() == *version
            || it.family() == Family::Legacy && Some(it.version()) == number
            || catalog.legacy_names(it).iter().any(named)
    };
    let java = match number {
        Some(number) => {
            catalog.find(number).filter(|found| found.exact).map(|found| found.protocol)
        }
        None => catalog.by_name(version),
    };
    java.or_else(|| catalog.old().find(is))
}

/// Returns a version as it is written, and in the spelling of the tables: the launcher has `b1.7.3` for
/// `beta-1.7.3`, and a release candidate without a table has that of its release, whose packets it has.
fn spellings(version: &str) -> Vec<String> {
    let plain = version.trim().to_ascii_lowercase().replace(' ', "-");
    let mut all = vec![version.to_owned(), plain.clone()];
    let eras = [("alpha", "a"), ("beta", "beta-"), ("a", "a"), ("b", "beta-"), ("v", "")];
    for (theirs, ours) in eras {
        let number = plain.strip_prefix(theirs).map(|rest| rest.trim_start_matches(['-', 'v']));
        if let Some(number) = number.filter(|it| it.starts_with(|it: char| it.is_ascii_digit())) {
            all.push(format!("{ours}{number}"));
        }
    }
    for kind in ["rc", "pre"] {
        let Some((release, number)) = plain.split_once(kind) else { continue };
        let (release, number) = (release.trim_end_matches('-'), number.trim_start_matches('-'));
        all.push(format!("{release}-{kind}{number}"));
        all.push(format!("{release}-{kind}-{number}"));
        if kind == "rc" {
            all.push(release.to_owned());
        }
    }
    all
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_by_every_name_that_people_use() {
        for (name, expected) in [
            ("b1.7.3", "beta-1.7.3"),
            ("beta1.7.3", "beta-1.7.3"),
            ("Beta 1.7.3", "beta-1.7.3"),
            ("beta-1.7.3", "beta-1.7.3"),
            ("b1.7", "beta-1.7.3"),
            ("a1.2.3", "alpha-5"),
            ("alpha-1.2.3", "alpha-5"),
            ("Alpha v1.2.3", "alpha-5"),
            ("alpha-5", "alpha-5"),
            ("51", "1.4.7"),
            ("1.4.7", "1.4.7"),
            ("47", "47"),
            ("1.8.9", "47"),
            ("v1.8.9", "47"),
            ("26.3-rc-1", "777"),
            ("26.3-rc1", "777"),
            ("1.16-rc1", "734"),
            ("1.10-pre1", "204"),
            ("latest", "777"),
        ] {
            let found = find(Catalog::embedded(), name).map(|it| old_name(&it));
            assert_eq!(found.unwrap(), expected, "{name}");
        }
        let error = find(Catalog::embedded(), "1.21.44").unwrap_err().to_string();
        assert!(error.contains("did you mean `1.21.4`?"), "{error}");
        // A pre-release has packets of its own.
        for (name, number) in [("1.16-pre3", 725), ("26.4-snapshot-6", 1_073_742_168)] {
            let error = find(Catalog::embedded(), name).unwrap_err().to_string();
            assert!(
                error.contains(&format!("`{name}` (protocol {number}) has no tables")),
                "{error}"
            );
        }
        assert!(find(Catalog::embedded(), "b9.9").is_err());
    }
}
