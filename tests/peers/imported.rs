//! The embedded tables are those of the package with the patches: an import stops at a patch that upstream has
//! taken over.

use std::fs;

use super::import_tables::{REGISTRIES, TABLES, pack};
use super::support::root;

#[test]
fn an_import_of_the_package_gives_the_embedded_tables() {
    let packed = pack(&root().join("tests/real/node_modules/minecraft-data")).unwrap();
    let src = root().join("crates/protocol/src");
    assert!(packed.tables == fs::read(src.join(TABLES)).unwrap(), "import the tables again");
    assert!(
        packed.registries == fs::read(src.join(REGISTRIES)).unwrap(),
        "import the tables again"
    );
}
