use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};

use crate::cli::args::Overwrite;
use crate::cli::output::Output;

/// The user's folders in which Wireshark looks for plugins.
pub(super) struct Folders {
    plugins: PathBuf,
    /// Folders of external captures; the older ones are read by Wireshark before 4.2.
    extcaps: Vec<PathBuf>,
}

impl Folders {
    /// Returns the folders that Wireshark uses on this system for the user.
    pub(super) fn of_user() -> anyhow::Result<Self> {
        let base = directories::BaseDirs::new()
            .ok_or_else(|| anyhow!("no home folder found: use `-o FILE` instead of --install"))?;
        if cfg!(windows) {
            return Ok(Self::new(&base.config_dir().join("Wireshark"), None));
        }
        // Wireshark follows XDG on macOS too.
        let config = std::env::var_os("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty());
        let config = config.map_or_else(|| base.home_dir().join(".config"), PathBuf::from);
        let local = base.home_dir().join(".local").join("lib").join("wireshark");
        Ok(Self::new(&local, Some(&config.join("wireshark"))))
    }

    fn new(folder: &Path, old: Option<&Path>) -> Self {
        let extcaps = [Some(folder), old].into_iter().flatten().map(|it| it.join("extcap"));
        Self {
            plugins: folder.join("plugins"),
            // Wireshark on Windows hands a named pipe to the program, which cannot write to one.
            extcaps: if cfg!(windows) { Vec::new() } else { extcaps.collect() },
        }
    }

    /// Writes `dissector`, and links `program` as an external capture. Nothing is changed if one of
    /// the files is not ours, unless `overwrite` says so.
    pub(super) fn install(
        &self,
        dissector: &str,
        program: &Path,
        overwrite: Overwrite,
        output: &Output,
    ) -> anyhow::Result<()> {
        let script = self.plugins.join("minecraft.lua");
        let links: Vec<PathBuf> = self.extcaps.iter().map(|it| it.join("mitmcraft")).collect();
        if !overwrite.overwrite {
            let foreign = (!is_our_dissector(&script)?).then_some(&script);
            let foreign = foreign.or_else(|| links.iter().find(|link| !is_our_link(link)));
            if let Some(path) = foreign {
                let path = path.display();
                bail!("`{path}` exists and is not from mitmcraft: --overwrite replaces it");
            }
        }
        create_folder(&self.plugins)?;
        Overwrite { overwrite: true }.write(&script, dissector)?;
        output.line(&format!("wrote {}", script.display()))?;
        for link in &links {
            link.parent().map_or(Ok(()), create_folder)?;
            make_link(program, link)
                .with_context(|| format!("cannot link `{}`", link.display()))?;
            output.line(&format!("linked {}", link.display()))?;
        }
        output.note(if links.is_empty() {
            "restart Wireshark; live captures from its window are not available on Windows"
        } else {
            "restart Wireshark; its interface `mitmcraft` records a session live"
        });
        Ok(())
    }
}

fn create_folder(folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder)
        .with_context(|| format!("cannot create the folder `{}`", folder.display()))
}

/// Returns whether the file is missing, empty or a dissector of any version of this program.
fn is_our_dissector(path: &Path) -> anyhow::Result<bool> {
    match fs::read(path) {
        Ok(text) => {
            let head = String::from_utf8_lossy(text.get(..1000).unwrap_or(&text)).into_owned();
            Ok(text.is_empty() || head.starts_with("-- A Wireshark dissector for Minecraft"))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error).with_context(|| format!("cannot read `{}`", path.display())),
    }
}

/// Returns whether the path is free or a link to a program of this name.
fn is_our_link(path: &Path) -> bool {
    match fs::read_link(path) {
        Ok(target) => target.file_name().is_some_and(|name| name == "mitmcraft"),
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

#[cfg(unix)]
fn make_link(program: &Path, link: &Path) -> std::io::Result<()> {
    match fs::remove_file(link) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => std::os::unix::fs::symlink(program, link),
    }
}

#[cfg(not(unix))]
fn make_link(_: &Path, _: &Path) -> std::io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}
