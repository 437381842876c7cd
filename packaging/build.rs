//! Names the commit in the version of release builds: `0.1.0 (f90006c1d2)`. Without Git, and in other builds,
//! which would be built again after every commit, the version stands alone.

use std::env::var;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=packaging/build.rs");
    let version = var("CARGO_PKG_VERSION").unwrap_or_default();
    let is_release = var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = is_release.then(|| git(&["rev-parse", "--short=10", "HEAD"])).flatten();
    if commit.is_some()
        && let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"])
    {
        println!("cargo::rerun-if-changed={log}");
    }
    let commit = commit.map(|commit| format!(" ({commit})")).unwrap_or_default();
    println!("cargo::rustc-env=VERSION_AND_COMMIT={version}{commit}");
}

/// Returns what `git` prints, if it succeeds.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned()).filter(|text| !text.is_empty())
}
