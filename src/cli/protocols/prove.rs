use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::bail;
use clap::Args;
use mitmcraft_engine::analysis::FollowedStates;
use mitmcraft_engine::capture::{Entry, EventKind, Record};
use mitmcraft_engine::text::Escaped;
use mitmcraft_protocol::derived::{Proof, ProvenPacket, Standing};
use mitmcraft_protocol::packet::Origin;
use mitmcraft_protocol::schema::{Catalog, Family, Protocol, Role};
use serde_json::{Value as Json, json};

use super::super::args::{Memory, Protocols};
use super::super::exit::Done;
use super::super::input::{Input, Reading, capture_files};
use super::super::output::Output;
use super::super::plural::count;
use super::by_section;

/// Confirm the layouts of a version by packets
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft protocols prove session.jsonl --protocol 778.json
  mitmcraft protocols prove logs/ --protocol 778.json --json | jq '.packets[] | select(.result == \"misfit\")'

A layout is confirmed if three packets that differ decode to their last byte, without a form that \
no program writes (such as a bool of 2), and encode to the same bytes, and none does not. Types without fields, and those that end in the rest of the packet, would \
fit anything.

Exit code: 1 if a packet does not fit its layout.")]
pub(crate) struct Arguments {
    /// Captures in any format; `-` is stdin. A folder means all captures in it and its subfolders;
    /// a quoted pattern (`'logs/*.jsonl.zst'`) means the files that match it
    #[arg(required = true, value_name = "CAPTURE")]
    captures: Vec<PathBuf>,

    /// Print JSON, one object per version
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    protocols: Protocols,

    #[command(flatten)]
    memory: Memory,
}

pub(super) fn run(arguments: &Arguments, output: &Output) -> anyhow::Result<Done> {
    let catalog = arguments.protocols.catalog()?;
    let files = capture_files(&arguments.captures)?;
    let reading = Reading::new(&files, true, &catalog, &arguments.memory, output);
    let mut input = Input::open(&files, &reading)?;
    let mut proofs = Proofs::new(&catalog);
    for entry in input.by_ref() {
        match &entry {
            Entry::Packet(record) => proofs.take(record),
            Entry::Event(event) => {
                if let EventKind::Open | EventKind::Close(_) = event.kind {
                    proofs.states.forget(event.context.session);
                }
            }
        }
    }
    let damage = input.end();
    let guessed = proofs.guessed;
    let proofs = match proofs.finish() {
        Ok(proofs) => proofs,
        Err(nothing) => return damage.and(Err(nothing)),
    };
    if guessed > 0 {
        output.warning(&format!(
            "{} recorded with the layouts of another version, which also told the states, since the capture does not \
             begin with the handshake: a packet of another state counts as one that does not fit, or for the wrong layout",
            count(guessed, "packet")
        ));
    }
    let mut done = Done::Yes;
    for proof in proofs {
        let results = proof.results();
        if results.iter().any(|it| matches!(it.standing, Standing::Misfit(_))) {
            done = Done::No;
        }
        match arguments.json {
            true => output.json(&as_json(proof.protocol(), &results))?,
            false => output.lines(&as_text(proof.protocol(), &results))?,
        }
    }
    damage.map(|()| done)
}

/// The proofs of all versions in question, by number.
struct Proofs<'c> {
    catalog: &'c Catalog,
    proofs: BTreeMap<i32, Proof>,
    /// `true` if only versions that the user added are in question.
    only_added: bool,
    /// The versions of other packets.
    others: BTreeSet<i32>,
    /// The states of sessions that were recorded with the layouts of another version.
    states: FollowedStates,
    /// Packets of such sessions whose state is only known from the capture.
    guessed: u64,
}

impl<'c> Proofs<'c> {
    fn new(catalog: &'c Catalog) -> Self {
        let added = catalog.versions().filter_map(|(number, _)| catalog.added(number));
        let proofs: BTreeMap<i32, Proof> =
            added.map(|it| (it.version(), Proof::new(Arc::clone(it)))).collect();
        let only_added = !proofs.is_empty();
        let (others, states) = (BTreeSet::new(), FollowedStates::default());
        Self { catalog, only_added, proofs, others, states, guessed: 0 }
    }

    /// Takes a packet as a peer sent it. The version is the client's, also if it was recorded with the layouts of
    /// another one.
    fn take(&mut self, record: &Record) {
        let (packet, context) = (&record.packet, record.packet.context());
        if packet.origin() == Origin::Proxy || context.protocol.family() != Family::Java {
            return;
        }
        let Ok(body) = packet.body() else { return };
        self.states.begin(packet);
        // The handshake is the same in all versions.
        let Some(number) = context.version else { return };
        let is_own = context.protocol.version() == number;
        if !self.only_added && !self.proofs.contains_key(&number) {
            let known = self.catalog.find(number).filter(|it| it.exact).map(|it| it.protocol);
            let known = known.or_else(|| is_own.then(|| Arc::clone(&context.protocol)));
            self.proofs.extend(known.map(|protocol| (number, Proof::new(protocol))));
        }
        match self.proofs.get_mut(&number) {
            Some(proof) => {
                // Layouts of another version may have told another state.
                let followed = match is_own {
                    true => Some(packet.state()),
                    false if packet.role() == Some(Role::Handshake) => Some(packet.state()),
                    false => self.states.take(packet, &body, proof.protocol()),
                };
                self.guessed += u64::from(followed.is_none());
                let state = followed.unwrap_or_else(|| packet.state());
                proof.take(state, packet.direction(), &body, || {
                    format!("session {}, packet {}", context.session, packet.seq())
                });
            }
            None => drop(self.others.insert(number)),
        }
    }

    fn finish(self) -> anyhow::Result<Vec<Proof>> {
        let wanted: Vec<String> = self.proofs.keys().map(i32::to_string).collect();
        let proofs: Vec<Proof> = self.proofs.into_values().filter(|it| !it.is_empty()).collect();
        if !proofs.is_empty() {
            return Ok(proofs);
        }
        let others: Vec<String> = self.others.iter().map(i32::to_string).collect();
        match (wanted.is_empty(), others.is_empty()) {
            (_, true) => bail!("the captures have no packets from 1.7 on whose version is known"),
            (true, _) => bail!(
                "the captures have only packets of protocol {}, which has no description: add one with \
                 `--protocol`",
                others.join(", ")
            ),
            (false, _) => bail!(
                "the captures have packets of protocol {}, none of {}",
                others.join(", "),
                wanted.join(", ")
            ),
        }
    }
}

fn as_text(protocol: &Protocol, results: &[ProvenPacket]) -> String {
    let of = |word: &'static str| results.iter().filter(move |it| it.standing.word() == word);
    let types = protocol.packets().len();
    let confirmed = of("confirmed").count();
    let mut text = format!(
        "{} (protocol {}): {confirmed} of {types} packet types confirmed\n",
        Escaped(protocol.newest_name()),
        protocol.version()
    );
    for (word, says) in [
        ("misfit", "do not fit"),
        ("confirmed", "confirmed"),
        ("too_few", "fit, but in fewer than 3 packets that differ"),
        ("unprovable", "would fit anything: no fields, or the rest of the packet"),
        ("unseen", "not seen"),
    ] {
        let count = of(word).count();
        if count > 0 {
            let _ = writeln!(text, "\n{count} {says}:");
        }
        match word {
            "misfit" => of(word).for_each(|packet| row(packet, &mut text)),
            _ => text.push_str(&by_section(of(word).map(|packet| {
                (packet.state, packet.direction, packet.name.clone().unwrap_or_default())
            }))),
        }
    }
    text.trim_end().to_owned()
}

/// Appends a type of packet, and where its packets stop.
fn row(packet: &ProvenPacket, text: &mut String) {
    let Standing::Misfit(misfits) = &packet.standing else { return };
    let (state, direction) = (packet.state.to_string(), packet.direction.to_string());
    let id = packet.id.map_or_else(|| "?".to_owned(), |id| format!("0x{id:02x}"));
    let name = packet.name.as_deref().unwrap_or("no such packet");
    let official = packet.official.map(|name| format!(" ({name})")).unwrap_or_default();
    let _ = writeln!(
        text,
        "  {state:<13} {direction:<11} {id:<4}  {}{official}: {}",
        Escaped(name),
        count(packet.packets, "packet")
    );
    for misfit in misfits {
        let stops = match misfit.packets {
            1 => "1 stops".to_owned(),
            several => format!("{several} stop"),
        };
        let (at, length) = (misfit.at, misfit.length);
        let _ = writeln!(
            text,
            "    {stops} at byte {at} of {length}: {} ({})",
            Escaped(&misfit.cause),
            misfit.first
        );
    }
}

fn as_json(protocol: &Protocol, results: &[ProvenPacket]) -> Json {
    let packets = results.iter().map(|packet| {
        let mut json = json!({
            "state": packet.state.name(),
            "dir": packet.direction.to_string(),
            "id": packet.id,
            "packet": packet.name,
            "official": packet.official,
            "packets": packet.packets,
            "result": packet.standing.word(),
        });
        match &packet.standing {
            Standing::TooFew(few) => json["different"] = json!(few),
            Standing::Misfit(misfits) => {
                let misfits = misfits.iter().map(|misfit| {
                    json!({
                        "at": misfit.at,
                        "size": misfit.length,
                        "cause": misfit.cause,
                        "packets": misfit.packets,
                        "first": misfit.first,
                    })
                });
                json["misfits"] = misfits.collect();
            }
            Standing::Confirmed | Standing::Unprovable | Standing::Unseen => {}
        }
        json
    });
    json!({
        "protocol": protocol.version(),
        "version": protocol.newest_name(),
        "packets": packets.collect::<Json>(),
    })
}
