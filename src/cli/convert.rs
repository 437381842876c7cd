use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use mitmcraft::analysis::{RedactSink, Redactor};
use mitmcraft::capture::{
    Compression, CreateOptions, Entry, FileType, McprError, McprSink, Sink, Views, WhereSink,
};
use mitmcraft::schema::Catalog;
use mitmcraft::text::write_info;
use rsa::rand_core::{OsRng, RngCore as _};

use super::exit::Done;
use super::input::Input;
use super::output::Output;
use super::proxy::parse;
use super::recording::{check_views, create, file_type, is_stdout, views};

/// Write a capture again, in another format or only a part of it
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft convert session.jsonl.zst session.pcapng
  mitmcraft convert -Y 'chat or kick_disconnect' session.pcapng chat.jsonl
  mitmcraft convert --pcap-view plain,json session.jsonl session.pcapng
  mitmcraft convert --session 2 session.jsonl session.mcpr
  mitmcraft convert --redact session.jsonl to-share.jsonl
  ssh host cat session.jsonl.gz | mitmcraft convert - - --format pcapng | wireshark -k -i -

A capture that is damaged or cut off is converted up to the damage; the exit code is then 2.")]
pub(crate) struct Arguments {
    /// A capture in any format; `-` is stdin
    #[arg(value_name = "IN")]
    from: PathBuf,

    /// Where it goes; the ending chooses the format: .jsonl, .pcapng or .pcap, with .gz or .zst
    /// behind it to compress it; .mcpr is a replay for ReplayMod; `-` is stdout
    #[arg(value_name = "OUT")]
    to: PathBuf,

    /// Keep only packets that match
    #[arg(short = 'Y', long = "where", value_name = "EXPR")]
    condition: Option<String>,

    /// What `-` as OUT is: jsonl, pcapng or pcap; pcapng.gz and so on
    #[arg(long, value_name = "FORMAT", default_value_t = FileType::JSONL, value_parser = file_type)]
    format: FileType,

    /// What a .pcapng file shows in Wireshark: plain (decrypted and inflated), json (decoded,
    /// without a plugin), or both: plain,json
    #[arg(long, value_name = "VIEW", default_value_t = Views::PLAIN, value_parser = views)]
    pcap_view: Views,

    /// Keep only this session
    #[arg(long, value_name = "N")]
    session: Option<u64>,

    /// Leave the packets' bytes out of JSONL: only what was decoded
    #[arg(long)]
    no_body: bool,

    /// Replace what nobody should know, so that the capture can be shared: players, addresses, what
    /// was said and written, keys, skins, payloads of plugin channels
    #[arg(long)]
    redact: bool,

    /// Replace the same by the same in every capture that is redacted with this text, which nobody
    /// should know; without it, in this capture only
    #[arg(long, value_name = "TEXT", requires = "redact")]
    redact_seed: Option<String>,
}

pub(crate) fn run(arguments: &Arguments, output: &Output) -> anyhow::Result<Done> {
    let catalog = Catalog::embedded();
    let condition = parse(arguments.condition.as_deref(), "--where", catalog, output)?;
    if same_file(&arguments.from, &arguments.to) {
        bail!("`{}` is the capture that is read: choose another name", arguments.to.display());
    }
    if arguments.pcap_view.wire {
        bail!("`--pcap-view {}`: only `proxy` sees what crosses the wire", arguments.pcap_view);
    }
    check_views(arguments.pcap_view, arguments.format, [&arguments.to])?;
    let silent = !is_stdout(&arguments.to) || !io::stdout().is_terminal();
    let mut input = Input::open(&arguments.from, silent, output)?;
    let options = CreateOptions {
        bodies: !arguments.no_body,
        views: arguments.pcap_view,
        describe: write_info,
        ..CreateOptions::default()
    };
    let sink = match is_replay(&arguments.to) {
        true => replay(arguments)?,
        false => create(&arguments.to, arguments.format, &options)?,
    };
    let sink: Box<dyn Sink> = match arguments.redact {
        true => Box::new(RedactSink::new(sink, Redactor::new(&seed(arguments)))),
        false => sink,
    };
    let mut sink = WhereSink::new(sink, condition);
    // A pipe from one program to the next is live: nobody waits for a full buffer there.
    let live = is_stdout(&arguments.from)
        && is_stdout(&arguments.to)
        && arguments.format.compression == Compression::None;
    let chosen =
        |entry: &Entry| arguments.session.is_none_or(|session| session == entry.context().session);
    let written = input.by_ref().filter(chosen).try_for_each(|entry| {
        sink.write(&entry)?;
        if live { sink.batch_done() } else { Ok(()) }
    });
    let written = written.and_then(|()| sink.finish());
    let ended = input.end();
    if written.is_err() && is_replay(&arguments.to) {
        // Half a replay is none; that it could not be removed matters less than why it is none.
        let _ = fs::remove_file(&arguments.to);
    }
    written
        .map_err(worded)
        .with_context(|| format!("cannot write `{}`", arguments.to.display()))?;
    ended.map(|()| Done::Yes)
}

/// Words an error, naming the option that helps.
fn worded(error: io::Error) -> anyhow::Error {
    match error.get_ref().and_then(|cause| cause.downcast_ref()) {
        Some(McprError::SeveralSessions { .. }) => {
            anyhow!("{error}: choose one with `--session`")
        }
        _ => error.into(),
    }
}

/// Whether the name is that of a replay for ReplayMod.
fn is_replay(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("mcpr"))
}

fn replay(arguments: &Arguments) -> anyhow::Result<Box<dyn Sink>> {
    let create = || McprSink::new(BufWriter::new(File::create(&arguments.to)?), arguments.session);
    let sink = create().with_context(|| format!("cannot write `{}`", arguments.to.display()))?;
    Ok(Box::new(sink))
}

/// What replacements are made of.
fn seed(arguments: &Arguments) -> Vec<u8> {
    match &arguments.redact_seed {
        Some(text) => text.as_bytes().to_vec(),
        None => {
            let mut seed = vec![0; 32];
            OsRng.fill_bytes(&mut seed);
            seed
        }
    }
}

/// Whether both names are of one file.
fn same_file(one: &Path, other: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let place = |path| fs::metadata(path).ok().map(|it| (it.dev(), it.ino()));
        !is_stdout(one)
            && !is_stdout(other)
            && place(one).is_some_and(|it| Some(it) == place(other))
    }
    #[cfg(not(unix))]
    {
        let place = |path| fs::canonicalize(path).ok();
        !is_stdout(one)
            && !is_stdout(other)
            && place(one).is_some_and(|it| Some(it) == place(other))
    }
}
