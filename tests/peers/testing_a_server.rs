//! The check of `docs/testing-a-server.md`: a good build of a plugin passes it, a broken one does not.

use std::process::Command;

use crate::support::{Program, mitmcraft, root, scratch_file, text};

#[test]
fn the_check_of_a_plugin_tells_a_good_build_from_a_broken_one() {
    // A copy that gives the server more time: this machine may have other things to do.
    let folder = scratch_file("testing-a-server");
    std::fs::create_dir(&folder).unwrap();
    for file in std::fs::read_dir(root().join("examples/testing-a-server")).unwrap() {
        let file = file.unwrap();
        let copied = std::fs::read_to_string(file.path()).unwrap();
        let patient = copied.replace("within = \"5s\"", "within = \"5m\"");
        let patient = patient.replace("within = \"2s\"", "within = \"5m\"");
        assert_eq!(patient != copied, file.file_name() == "tests.toml");
        std::fs::write(folder.join(file.file_name()), patient).unwrap();
    }
    let check = |plugin: &str| {
        let results = scratch_file(plugin);
        let mut command = Command::new("bash");
        command.arg(folder.join("check.sh")).arg(folder.join(plugin)).arg(&results);
        command.env("NODE_PATH", root().join("tests/real/node_modules"));
        command.env("MITMCRAFT", mitmcraft().get_program()).env("ANNOTATIONS", "github");
        let (status, said) = Program::start(plugin, command).finish();
        let xml = |name: &str| {
            let mut parser = Command::new(root().join("tests/real/venv/bin/python"));
            parser.arg("-c").arg(PARSER).arg(results.join(name));
            Program::start("parser", parser).succeed();
            std::fs::read_to_string(results.join(name)).unwrap()
        };
        (status.code(), said, xml("expectations.xml"), xml("lint.xml"))
    };
    let (code, said, expectations, lint) = check("home.js");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("3 passed, 0 failed, 1 skipped\n"), "{said}");
    assert!(expectations.contains(" failures=\"0\"") && lint.contains(" failures=\"0\""));

    let (code, said, expectations, lint) = check("home-broken.js");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("failed: /home takes the player home ("), "{said}");
    let annotation = format!("::error file={}", text(&folder.join("tests.toml")));
    assert!(said.contains(&annotation), "{said}");
    assert!(said.contains("bytes-left in 1.8.9: 1 byte left after the last field\n"), "{said}");
    assert!(expectations.contains(" failures=\"1\"") && lint.contains(" failures=\"1\""));
}

/// Reads results as programs of CI services do: by a parser of XML, and by its counts.
const PARSER: &str = "
import sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
assert root.tag == 'testsuites' and len(root) > 0
for suite in root:
    assert suite.tag == 'testsuite' and suite.get('name')
    cases = suite.findall('testcase')
    assert all(case.get('name') and case.get('classname') for case in cases)
    for what, count in [('failure', 'failures'), ('skipped', 'skipped')]:
        if suite.get(count) is not None:
            assert int(suite.get(count)) == sum(case.find(what) is not None for case in cases), suite.attrib
    assert int(suite.get('tests')) == len(cases) > 0, suite.attrib
";
