use std::fmt::Write as _;
use std::time::Duration;

use thiserror::Error;
use toml::de::DeTable;

use super::spawn::SpawnOffset;
use super::{Behaviour, Deviation};
use crate::analysis::{Difference, Ignore, IgnoreError};
use crate::lang::amount::Period;
use crate::text::toml_string;
use mitmcraft_protocol::packet::{Glob, any_position};

/// What may differ between two runs of the same server.
#[derive(Debug, Clone)]
pub struct Normalisation {
    pub(super) ignore: Ignore,
    /// Packets with a freedom other than that of fields to be ignored.
    free: Vec<(Freedom, Glob)>,
    /// How much later than recorded a periodic packet may come.
    pub(super) late: Duration,
    /// `true` if the player has to appear at the same place.
    has_fixed_spawn: bool,
    /// The rules that were added to the defaults.
    added: Vec<(Freedom, String)>,
}

/// A way in which packets may differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freedom {
    /// A packet, or a field of one, is not compared.
    Ignore,
    /// A packet may come at any place among the others.
    AnyOrder,
    /// A packet may come any number of times; those that came in both runs are compared.
    AnyNumber,
    /// A packet comes at intervals, with values that differ: only its lateness is judged.
    Periodic,
}

/// The reason why a file of a normalisation is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NormalisationError {
    /// The file is not valid TOML.
    #[error("invalid TOML: {0}")]
    Syntax(String),
    /// A key is unknown.
    #[error(
        "unknown key `{0}`: expected one of `ignore`, `any_order`, `any_number`, `periodic`, \
         `late`, `spawn`"
    )]
    Unknown(String),
    /// A value has another form than its key asks for.
    #[error("`{0}`: expected a list of texts")]
    List(String),
    /// The value of `late` is no duration.
    #[error("`late`: expected a duration, such as \"5s\"")]
    Late,
    /// The value of `spawn` is unknown.
    #[error("`spawn`: expected \"random\" or \"fixed\"")]
    Spawn,
    /// A rule of `ignore` is invalid.
    #[error("`ignore`: {0}")]
    Ignore(#[from] IgnoreError),
}

impl Default for Normalisation {
    fn default() -> Self {
        Self::new(Ignore::default())
    }
}

impl Normalisation {
    /// Creates a normalisation with the defaults, except for what is ignored.
    #[must_use]
    pub fn new(ignore: Ignore) -> Self {
        let any_order = ANY_ORDER.map(|name| (Freedom::AnyOrder, Glob::new(name)));
        let periodic = PERIODIC.map(|name| (Freedom::Periodic, Glob::new(name)));
        Self {
            ignore,
            free: any_order.into_iter().chain(periodic).collect(),
            late: LATE,
            has_fixed_spawn: false,
            added: Vec::new(),
        }
    }

    /// Adds the rules of a file in TOML.
    ///
    /// # Errors
    /// [`NormalisationError`] if the file is invalid.
    pub fn read(&mut self, text: &str) -> Result<(), NormalisationError> {
        let table = DeTable::parse(text)
            .map_err(|error| NormalisationError::Syntax(error.message().to_owned()))?;
        for (key, value) in table.get_ref() {
            let (key, value) = (key.get_ref().as_ref(), value.get_ref());
            if key == "late" {
                let late = value.as_str().and_then(|text| text.parse::<Period>().ok());
                self.late = late.ok_or(NormalisationError::Late)?.0;
                continue;
            }
            if key == "spawn" {
                self.has_fixed_spawn = match value.as_str() {
                    Some("fixed") => true,
                    Some("random") => false,
                    _ => return Err(NormalisationError::Spawn),
                };
                continue;
            }
            let freedom = Freedom::ALL.into_iter().find(|it| it.key() == key);
            let freedom = freedom.ok_or_else(|| NormalisationError::Unknown(key.to_owned()))?;
            let wrong = || NormalisationError::List(key.to_owned());
            for rule in value.as_array().ok_or_else(wrong)?.iter() {
                self.add(freedom, rule.get_ref().as_str().ok_or_else(wrong)?)?;
            }
        }
        Ok(())
    }

    /// Lets a packet (`entity_*`) differ, or with [`Freedom::Ignore`] also a field (`map_chunk.x`).
    ///
    /// # Errors
    /// [`IgnoreError`] if `rule` names neither.
    pub fn add(&mut self, freedom: Freedom, rule: &str) -> Result<(), IgnoreError> {
        match freedom {
            Freedom::Ignore => self.ignore.add(rule)?,
            _ => self.free.push((freedom, Glob::new(rule))),
        }
        self.added.push((freedom, rule.to_owned()));
        Ok(())
    }

    /// Adds what differs between runs of the same server, until no two of them deviate.
    pub fn calibrate(&mut self, runs: &[&Behaviour]) {
        for _ in 0..MAX_ROUNDS {
            let mut steady = true;
            for (place, a) in runs.iter().enumerate() {
                for b in &runs[place + 1..] {
                    for deviation in a.compare(b, self).deviations {
                        steady = false;
                        self.allow(&deviation);
                    }
                }
            }
            if steady {
                break;
            }
        }
    }

    /// Returns the rules that were added to the defaults, in the form of the file.
    #[must_use]
    pub fn toml(&self) -> String {
        let mut out = String::new();
        for freedom in Freedom::ALL {
            let of = self.added.iter().filter(|(of, _)| *of == freedom);
            let rules: Vec<&str> = of.map(|(_, rule)| rule.as_str()).collect();
            if rules.is_empty() {
                continue;
            }
            let _ = writeln!(out, "{} = [", freedom.key());
            for rule in rules {
                let _ = writeln!(out, "    {},", toml_string(rule));
            }
            out.push_str("]\n");
        }
        if self.has_fixed_spawn {
            out.push_str("spawn = \"fixed\"\n");
        }
        if self.late != LATE {
            let _ = writeln!(out, "late = \"{}ms\"", self.late.as_millis());
        }
        out
    }

    /// Returns `b` as it would be if its player had appeared where that of `a` did; `None` if it has, or has
    /// to.
    pub(super) fn placed(&self, a: &Behaviour, b: &Behaviour) -> Option<Behaviour> {
        let offset = SpawnOffset::between(a, b).filter(|_| !self.has_fixed_spawn)?;
        Some(offset.undone(a, b))
    }

    pub(super) fn allows(&self, freedom: Freedom, packet: &str) -> bool {
        self.free.iter().any(|(of, glob)| *of == freedom && glob.matches(packet))
    }

    /// Adds a rule that allows a deviation.
    fn allow(&mut self, deviation: &Deviation) {
        let packet = deviation.packet();
        let rules = match deviation {
            Deviation::Packet(Difference::Changed(_, _, changes)) => changes
                .iter()
                .map(|change| (Freedom::Ignore, format!("{packet}.{}", any_position(&change.path))))
                .collect(),
            Deviation::Packet(_) => vec![(Freedom::AnyNumber, packet.to_owned())],
            Deviation::Moved { .. } => vec![(Freedom::AnyOrder, packet.to_owned())],
            Deviation::Late { longest: [then, now], .. } => {
                self.late = self.late.max(now.saturating_sub(*then) * 2);
                return;
            }
        };
        for (freedom, rule) in rules {
            if !self.added.iter().any(|(of, known)| *of == freedom && *known == rule)
                && self.add(freedom, &rule).is_err()
            {
                // A path into NBT or the bytes of a packet is no rule: the packet is ignored.
                let _ = self.add(Freedom::Ignore, packet);
            }
        }
    }
}

impl Freedom {
    const ALL: [Self; 4] = [Self::Ignore, Self::AnyOrder, Self::AnyNumber, Self::Periodic];

    /// Returns the key of the file.
    fn key(self) -> &'static str {
        match self {
            Self::Ignore => "ignore",
            Self::AnyOrder => "any_order",
            Self::AnyNumber => "any_number",
            Self::Periodic => "periodic",
        }
    }
}

/// Packets that servers send in whatever order they become due within a tick: of the world, of entities
/// and their effects.
const ANY_ORDER: [&str; 19] = [
    "*chunk*",
    "update_light",
    "*entity*",
    "*head_rotation",
    "animation",
    "attach_*",
    "set_passengers",
    "collect",
    "block_*",
    "multi_block_change",
    "tile_*",
    "world_*",
    "*sound*",
    "explosion",
    "player_info",
    "player_remove",
    "update_view_position",
    "game_state_change",
    "bundle_delimiter",
];

/// Packets at intervals, whose values are numbers of their own.
const PERIODIC: [&str; 2] = ["keep_alive", "update_time"];

/// A machine under load is slower than the recorded one; the game waits for 15 s and more.
const LATE: Duration = Duration::from_secs(5);

/// Each round allows what the previous one has found: the fields of packets first, then their order.
const MAX_ROUNDS: usize = 16;
