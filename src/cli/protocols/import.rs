use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use mitmcraft::proxy::read_source;
use mitmcraft_engine::text::{Escaped, shell_quoted};
use mitmcraft_protocol::derived::{Import, ImportedPacket, Reports, import, nearest};
use mitmcraft_protocol::schema::Catalog;
use serde::Serialize as _;
use serde_json::{Value as Json, json};

use super::super::args::{Overwrite, Protocols, Suggested};
use super::super::exit::Done;
use super::super::output::{Level, Output};
use super::super::version;
use super::by_section;

/// Describe a new version by the reports of the game's data generator
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft protocols import server.jar
  mitmcraft protocols import generated/reports -o 778.json
  mitmcraft protocols import reports --number 778 --name 26.4 --extends 26.3 > 778.json

Writes a file for `--protocol`, in which ids and names are those of the reports, and layouts those \
of the nearest known version. What is new, changed or unsure is listed. `mitmcraft help \
new-version` tells what to do then.")]
pub(crate) struct Arguments {
    /// The folder with `packets.json`, `registries.json` and `blocks.json`; or the server's jar, for
    /// the command that writes them
    reports: PathBuf,

    /// Output file [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// The protocol number [default: that of `version.json`, from the server's jar, in the folder or
    /// up to two folders above]
    #[arg(long, value_name = "N")]
    number: Option<i32>,

    /// The version of the game [default: that of `version.json`]
    #[arg(long, value_name = "VERSION", value_parser = version_name)]
    name: Option<String>,

    /// The version whose layouts are taken [default: the one with the most packets of these names]
    #[arg(
        long,
        value_name = "VERSION",
        value_parser = Suggested::new(version::names),
        hide_possible_values = true
    )]
    extends: Option<String>,

    /// Print the list as JSON, on stdout
    #[arg(long, requires = "output")]
    json: bool,

    #[command(flatten)]
    overwrite: Overwrite,

    #[command(flatten)]
    protocols: Protocols,
}

pub(super) fn run(arguments: &Arguments, output: &Output) -> anyhow::Result<Done> {
    if is_jar(&arguments.reports) {
        return generate(&arguments.reports, output);
    }
    if let Some(path) = &arguments.output {
        arguments.overwrite.check(path)?;
    }
    let mut catalog = arguments.protocols.catalog()?;
    let folder = reports_folder(&arguments.reports)?;
    let read = |name| read(&folder.join(name));
    let [packets, registries, blocks] =
        [Reports::PACKETS, Reports::REGISTRIES, Reports::BLOCKS].map(read);
    let reports = Reports::parse(&packets?, &registries?, &blocks?)
        .with_context(|| format!("cannot use the reports in `{}`", folder.display()))?;
    let (number, name) = arguments.version(&folder)?;
    let base = match &arguments.extends {
        Some(version) => version::find(&catalog, version)?,
        None => nearest(&catalog, &reports, number).context("there is no version to extend")?,
    };
    let imported = import(&catalog, &base, &reports, number, &name)?;
    check(&mut catalog, &imported)?;
    let text = text_of(&imported.description)?;
    match &arguments.output {
        Some(path) => arguments.overwrite.write(path, text)?,
        None => output.lines(text.trim_end())?,
    }
    match arguments.json {
        true => output.json(&list_json(&imported, number, &name))?,
        false => output.message_lines(Level::Info, &list(&imported, number, &name)),
    }
    Ok(Done::Yes)
}

impl Arguments {
    /// Returns the number and the name of the version that the reports are of, which they do not tell.
    fn version(&self, folder: &Path) -> anyhow::Result<(i32, String)> {
        if let (Some(number), Some(name)) = (self.number, &self.name) {
            return Ok((number, name.clone()));
        }
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let files = folder.ancestors().take(3).map(|folder| folder.join("version.json"));
        let Some(file) = files.into_iter().find(|file| file.is_file()) else {
            bail!(
                "the reports do not tell their version: name it with `--number N --name VERSION`, or put \
                 `version.json` from the server's jar into `{}`",
                folder.display()
            );
        };
        let json: Json = serde_json::from_str(&read(&file)?)
            .with_context(|| format!("cannot read `{}`", file.display()))?;
        let number = json["protocol_version"].as_i64().and_then(|it| i32::try_from(it).ok());
        let name = json["name"].as_str().or_else(|| json["id"].as_str()).map(str::to_owned);
        let missing =
            |key, option| format!("`{}` has no `{key}`: name it with `{option}`", file.display());
        let number = self.number.or(number);
        Ok((
            number.with_context(|| missing("protocol_version", "--number"))?,
            self.name.clone().or(name).with_context(|| missing("name", "--name"))?,
        ))
    }
}

fn version_name(text: &str) -> Result<String, &'static str> {
    match Catalog::is_version_name(text) {
        true => Ok(text.to_owned()),
        false => Err("expected up to 100 bytes of text without control characters"),
    }
}

fn is_jar(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("jar"))
}

/// Prints the command that writes the reports of a server.
fn generate(jar: &Path, output: &Output) -> anyhow::Result<Done> {
    if !jar.is_file() {
        bail!("there is no file `{}`", jar.display());
    }
    let jar = jar.display().to_string();
    let quoted = shell_quoted(&jar);
    output.note("this command writes the reports to `generated/reports`, for `protocols import`:");
    let java = "java -DbundlerMainClass=net.minecraft.data.Main -jar";
    output.line(&format!("{java} {quoted} --reports"))?;
    Ok(Done::Yes)
}

/// Returns the folder with the reports: the given one, or `reports` in it.
fn reports_folder(given: &Path) -> anyhow::Result<PathBuf> {
    if !given.is_dir() {
        bail!("`{}` is not a folder, nor the jar of a server", given.display());
    }
    let inner = given.join("reports");
    let found = [given, &inner].into_iter().find(|it| it.join(Reports::PACKETS).is_file());
    found.map(Path::to_owned).with_context(|| {
        format!(
            "`{}` has no `{}`, which the game's data generator writes since 1.21",
            given.display(),
            Reports::PACKETS
        )
    })
}

fn read(path: &Path) -> anyhow::Result<String> {
    read_source(path).with_context(|| format!("cannot read `{}`", path.display()))
}

/// Checks that the description can be used, before it is written.
fn check(catalog: &mut Catalog, imported: &Import) -> anyhow::Result<()> {
    let added = catalog.add(None, "import", imported.description.clone());
    added.with_context(|| {
        let base = imported.base.newest_name();
        format!("cannot use what was made of the reports and the layouts of {base}")
    })
}

/// Returns a description as text, in which lists have one line.
fn text_of(description: &Json) -> anyhow::Result<String> {
    let mut text = Vec::new();
    description
        .serialize(&mut serde_json::Serializer::with_formatter(&mut text, Lines::default()))?;
    Ok(String::from_utf8(text)? + "\n")
}

/// The layout of a description as text.
#[derive(Default)]
struct Lines {
    /// Objects around the current place.
    depth: usize,
    /// Lists around the current place.
    lists: usize,
}

impl Lines {
    fn line(&self, writer: &mut (impl io::Write + ?Sized)) -> io::Result<()> {
        match self.lists {
            0 => write!(writer, "\n{:1$}", "", 2 * self.depth),
            _ => Ok(()),
        }
    }
}

impl serde_json::ser::Formatter for Lines {
    fn begin_array<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.lists += 1;
        writer.write_all(b"[")
    }

    fn end_array<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.lists -= 1;
        writer.write_all(b"]")
    }

    fn begin_array_value<W: io::Write + ?Sized>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        writer.write_all(b"{")
    }

    fn end_object<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        self.line(writer)?;
        writer.write_all(b"}")
    }

    fn begin_object_key<W: io::Write + ?Sized>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        match (first, self.lists) {
            (true, _) => {}
            (false, 0) => writer.write_all(b",")?,
            (false, _) => writer.write_all(b", ")?,
        }
        self.line(writer)
    }

    fn begin_object_value<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

/// Lists what the description rests on.
fn list(imported: &Import, number: i32, name: &str) -> String {
    let (base, older) = (&imported.base, Escaped(imported.base.newest_name()));
    let mut text = format!(
        "{} (protocol {number}), with the layouts of {older} (protocol {}):\n",
        Escaped(name),
        base.version()
    );
    for (word, says) in BASES {
        let packets = imported.packets.iter().filter(|it| it.basis.word() == word);
        let packets: Vec<&ImportedPacket> = packets.collect();
        if packets.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n{} {word}: {says}", packets.len());
        match word {
            "unproven" | "all_versions" => {
                let names = packets.iter().map(|it| (it.state, it.direction, it.name.clone()));
                text.push_str(&by_section(names));
            }
            _ => packets.iter().for_each(|packet| row(packet, &mut text)),
        }
    }
    if !imported.lists.is_empty() {
        text.push_str("\nlists of names in layouts:\n");
    }
    for list in &imported.lists {
        let _ = write!(text, "  {}:", list.registry);
        for (sign, names) in [('+', &list.added), ('-', &list.removed)] {
            for name in names {
                let _ = write!(text, " {sign}{name}");
            }
        }
        text.push_str(match (list.added.is_empty() && list.removed.is_empty(), list.decides) {
            (true, _) => " other numbers\n",
            (false, true) if !list.added.is_empty() => "; the data of new ones is unknown\n",
            (false, _) => "\n",
        });
    }
    text.push_str("\nnames of numbers:\n");
    for (kind, names) in &imported.names {
        let _ = match names.reported {
            true => writeln!(
                text,
                "  {}: {}, +{} -{}",
                kind.name(),
                names.count,
                names.added,
                names.removed
            ),
            false => writeln!(text, "  {}: those of {older}, the reports have none", kind.name()),
        };
    }
    text.trim_end().to_owned()
}

/// Appends a line for a packet.
fn row(packet: &ImportedPacket, text: &mut String) {
    let ImportedPacket { state, direction, id, was, basis, .. } = packet;
    let hex = |id: i32| format!("0x{id:02x}");
    let id = match (id.map(i32::from), was) {
        (Some(id), _) => hex(id),
        (None, was) => was.map(hex).unwrap_or_default(),
    };
    let _ = write!(
        text,
        "  {:<13} {:<11} {id}  {}",
        state.to_string(),
        direction.to_string(),
        Escaped(&packet.name)
    );
    if packet.official != packet.name {
        let _ = write!(text, " ({})", Escaped(&packet.official));
    }
    match basis.registries() {
        [] => text.push('\n'),
        registries => drop(writeln!(text, ": {}", registries.join(", "))),
    }
}

/// What layouts rest on, by [`Basis::word`], the least certain first.
const BASES: [(&str, &str); 6] = [
    ("new", "without a layout, read as bytes"),
    ("gone", "not in this version"),
    (
        "unsure",
        "the layout of that name; these registries decide about its data, which often changes",
    ),
    ("changed", "the layout of that name, with new lists of names"),
    ("unproven", "the layout of that name, and nothing else"),
    ("all_versions", "the same in all versions"),
];

fn list_json(imported: &Import, number: i32, name: &str) -> Json {
    let packets = imported.packets.iter().map(|packet| {
        json!({
            "state": packet.state.name(),
            "dir": packet.direction.to_string(),
            "id": packet.id,
            "was": packet.was,
            "packet": packet.name,
            "official": packet.official,
            "basis": packet.basis.word(),
            "registries": packet.basis.registries(),
        })
    });
    let lists = imported.lists.iter().map(|list| {
        json!({
            "registry": list.registry,
            "added": list.added,
            "removed": list.removed,
            "data_unknown": list.decides && !list.added.is_empty(),
        })
    });
    let names = imported.names.iter().map(|(kind, names)| {
        let names = json!({
            "count": names.count,
            "added": names.added,
            "removed": names.removed,
            "reported": names.reported,
        });
        (kind.name().to_owned(), names)
    });
    json!({
        "protocol": number,
        "version": name,
        "extends": { "protocol": imported.base.version(), "version": imported.base.newest_name() },
        "packets": packets.collect::<Json>(),
        "lists": lists.collect::<Json>(),
        "names": names.collect::<serde_json::Map<_, _>>(),
    })
}
