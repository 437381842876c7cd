use std::path::PathBuf;
use std::sync::Arc;

use anyhow::bail;
use clap::Args;
use mitmcraft::proxy::Stop;
use mitmcraft::store::{Store, StoreOptions};
use mitmcraft::tui::App;
use mitmcraft::view::protocol::Failure;
use mitmcraft::web::{Opener, WebOptions};
use mitmcraft_protocol::schema::Catalog;

use super::args::{HighlightOptions, Memory, Protocols, Web};
use super::decode;
use super::exit::{Done, chain};
use super::input::{Progress, capture_files};
use super::output::Output;
use super::signals;
use super::terminal_interface::TerminalInterface;
use super::view_sources::{Turn, ViewFile, ViewSources};

/// Browse captures in the terminal or in a browser
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft view session.pcapng
  mitmcraft view session.pcapng --web --open
  mitmcraft view monday.jsonl.zst tuesday.jsonl.zst --web
  mitmcraft view evening.pcap --keys keys.txt --web 127.0.0.1:9000
  ssh -L 8766:127.0.0.1:8766 host mitmcraft view session.pcapng --web
  mitmcraft view --web --open

Without `--web`, the packets are shown in this terminal; `?` lists the keys. The first packets \
are shown while the rest is read. Bodies of uncompressed pcapng captures are read from the \
capture when needed. Those of other files go to a temporary file of their size, in the folder \
that TMPDIR names, and the file is deleted at the end. With `--web`, captures can also be opened on \
the page.")]
pub(crate) struct Arguments {
    /// Captures in any format, and recordings of tcpdump or Wireshark; may be compressed. A folder
    /// means all captures in it and its subfolders; a quoted pattern (`'logs/*.jsonl.zst'`) means
    /// the files that match it
    #[arg(required_unless_present = "web", value_name = "FILE")]
    files: Vec<PathBuf>,

    #[command(flatten)]
    web: Web,

    #[command(flatten)]
    highlights: HighlightOptions,

    /// A key log for encrypted recordings (repeatable) [default: the file named by
    /// MINECRAFT_KEY_LOG_FILE, if it exists]
    #[arg(short, long, value_name = "FILE")]
    keys: Vec<PathBuf>,

    #[command(flatten)]
    protocols: Protocols,

    #[command(flatten)]
    memory: Memory,
}

pub(crate) fn run(arguments: Arguments, output: &Output) -> anyhow::Result<Done> {
    if !arguments.web.is_on()
        && let Some(why) = TerminalInterface::obstacle()
    {
        bail!("`view` needs a terminal, and {why}; `--web` shows the captures in a browser");
    }
    let runtime = tokio::runtime::Runtime::new()?;
    let ended = runtime.block_on(view(arguments, output));
    // Reading may go on.
    runtime.shutdown_background();
    ended
}

async fn view(arguments: Arguments, output: &Output) -> anyhow::Result<Done> {
    let catalog = Arc::new(arguments.protocols.catalog()?);
    let store = Arc::new(Store::new(StoreOptions::whole()));
    let colors = arguments.highlights.store(&catalog, output)?;
    let mut options = WebOptions::new(Arc::clone(&store), Arc::clone(&catalog));
    options.colors = Some(colors.clone());
    let sources = ViewSources {
        keys: decode::read_keys(&arguments.keys)?,
        catalog: Catalog::clone(&catalog),
        memory: arguments.memory,
        store: Arc::clone(&store),
        output: *output,
        sent: Arc::default(),
        turn: Turn::default(),
    };
    let opening = sources.clone();
    options.opener = Some(Opener::new(StoreOptions::default().spool, move |sent, name| {
        opening.open_sent(sent, name).map_err(|error| Failure::new(chain(&error)))
    }));
    let server = arguments.web.bind(options).await?;
    arguments.web.warn(output);
    let mut app = App::new(Arc::clone(&store), Arc::clone(&catalog), false);
    if output.colors_stdout() {
        app = app.highlighted(colors);
    }
    // A file that cannot be opened is an error before anything is shown.
    let files = capture_files(&arguments.files)?;
    let files: Vec<ViewFile> = files.into_iter().map(ViewFile::from).collect();
    for file in &files {
        decode::open(&file.path, &Progress::new(&[], false))?;
        sources.check(file)?;
    }
    let stop = Stop::new();
    let (ending, first) = (stop.clone(), signals::end());
    tokio::spawn(async move {
        first.await;
        let second = signals::end_at_once();
        ending.stop("stopped by the user");
        // The terminal may take nothing more.
        second.await;
        std::process::exit(130);
    });
    let reading = sources.clone();
    std::thread::spawn(move || reading.read_all(&files));
    let Some(server) = server else {
        TerminalInterface::new(app, None).run(&stop, output).await;
        return Ok(Done::Yes);
    };
    let url = server.url();
    output.note(&format!("open {url} in a browser; Ctrl-C ends"));
    let _opened = arguments.web.open(&url, output);
    server.run(&stop).await;
    sources.delete_sent();
    Ok(Done::Yes)
}
