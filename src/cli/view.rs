use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::bail;
use clap::Args;
use mitmcraft::capture::ReadError;
use mitmcraft::decode::{Traffic, TrafficOptions};
use mitmcraft::proxy::Stop;
use mitmcraft::schema::Catalog;
use mitmcraft::store::{Store, StoreOptions};
use mitmcraft::tui::App;

use super::args::{Memory, Protocols, Web};
use super::decode;
use super::exit::{Done, chain};
use super::input;
use super::notice::{decode_notice, read_error};
use super::output::Output;
use super::signals;
use super::terminal_interface::TerminalInterface;

/// Browse captures: packets, fields and bytes, filters, search, conversation, statistics
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft view session.pcapng
  mitmcraft view session.pcapng --web --open
  mitmcraft view monday.jsonl.zst tuesday.jsonl.zst --web
  mitmcraft view evening.pcap --keys keys.txt --web 127.0.0.1:9000
  ssh -L 8766:127.0.0.1:8766 host mitmcraft view session.pcapng --web

Without `--web`, they are shown in this terminal; `?` lists the keys. The first packets are shown while the rest is read. Bodies go to a temporary file of their size, in the
folder that TMPDIR names, which is deleted at the end.")]
pub(crate) struct Arguments {
    /// Captures in any format, and recordings of tcpdump or Wireshark; may be compressed
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    #[command(flatten)]
    web: Web,

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
    if !arguments.web.is_on() && !TerminalInterface::is_possible() {
        bail!("`view` needs a terminal, or `--web`, which shows the captures in a browser");
    }
    let runtime = tokio::runtime::Runtime::new()?;
    let ended = runtime.block_on(view(arguments, output));
    // Reading may go on.
    runtime.shutdown_background();
    ended
}

async fn view(arguments: Arguments, output: &Output) -> anyhow::Result<Done> {
    let catalog = arguments.protocols.catalog()?;
    let store = Arc::new(Store::new(StoreOptions::whole()));
    let server = arguments.web.bind(&store, &catalog, false).await?;
    let app = App::new(Arc::clone(&store), Arc::new(catalog.clone()), false);
    let sources = Sources {
        keys: decode::read_keys(&arguments.keys)?,
        catalog,
        memory: arguments.memory,
        store,
        output: *output,
    };
    // A file that cannot be opened is an error before anything is shown.
    for path in &arguments.files {
        decode::open(path)?;
    }
    let stop = Stop::new();
    let ending = stop.clone();
    tokio::spawn(async move {
        signals::end().await;
        ending.stop("stopped by the user");
    });
    let files = arguments.files;
    std::thread::spawn(move || sources.read_all(&files));
    let Some(server) = server else {
        TerminalInterface::new(app, None).run(&stop, output).await;
        return Ok(Done::Yes);
    };
    let url = server.url();
    output.note(&format!("open {url} in a browser; Ctrl-C ends"));
    let _opened = arguments.web.open(&url, output);
    server.run(&stop).await;
    Ok(Done::Yes)
}

/// Feeds a store with files.
struct Sources {
    catalog: Catalog,
    keys: mitmcraft::codec::KeyRing,
    memory: Memory,
    store: Arc<Store>,
    output: Output,
}

impl Sources {
    fn read_all(&self, files: &[PathBuf]) {
        for path in files {
            self.store.begin(&path.display().to_string());
            if let Err(error) = self.read(path) {
                self.output.error(&chain(&error));
            }
        }
        self.store.set_complete();
    }

    /// Reads a capture, or a recording of another program.
    fn read(&self, path: &Path) -> anyhow::Result<()> {
        let entries = match input::open(path, &self.catalog, &self.memory) {
            Ok(entries) => entries,
            Err(error) => {
                return match error.downcast_ref() {
                    Some(ReadError::ClassicPcap) => self.decode(path),
                    _ => Err(error),
                };
            }
        };
        for entry in entries {
            match entry {
                Ok(entry) => self.store.push(&entry),
                Err(ReadError::Foreign) => return self.decode(path),
                Err(error) => {
                    let (name, why) = (path.display(), read_error(&error));
                    self.output.warning(&format!("`{name}`: {why}"));
                }
            }
        }
        Ok(())
    }

    fn decode(&self, path: &Path) -> anyhow::Result<()> {
        let mut traffic = Traffic::new(TrafficOptions {
            catalog: Some(self.catalog.clone()),
            keys: self.keys.clone(),
            memory: self.memory.budget(),
            ports: Vec::new(),
        });
        let mut entries = Vec::new();
        let mut hand_on = |traffic: &mut Traffic| {
            for notice in traffic.take_notices() {
                self.output.warning(&decode_notice(&notice));
            }
            traffic.take_entries(&mut entries);
            entries.drain(..).for_each(|entry| self.store.push(&entry));
        };
        let mut fault = None;
        for captured in mitmcraft::decode::PcapReader::new(decode::open(path)?) {
            match captured {
                Ok(captured) => traffic.handle(&captured),
                Err(error) => fault = Some(error),
            }
            hand_on(&mut traffic);
        }
        traffic.finish();
        hand_on(&mut traffic);
        match fault {
            Some(fault) => Err(anyhow::Error::from(fault).context(format!("`{}`", path.display()))),
            None => Ok(()),
        }
    }
}
