use clap::Args;
use mitmcraft_engine::analysis::{RedactSink, Redactor};
use mitmcraft_engine::capture::Sink;
use rsa::rand_core::{OsRng, RngCore as _};

/// `--redact`, which makes captures safe to share.
#[derive(Debug, Args)]
pub(crate) struct Redaction {
    /// Replace private data, so that the capture can be shared: players, addresses, chat and other
    /// text, keys, skins, payloads of plugin channels
    #[arg(long)]
    pub(super) redact: bool,

    /// Use the same replacements in every capture that is redacted with this text, which must stay
    /// secret [default: replacements of this run only]
    #[arg(long, value_name = "TEXT", requires = "redact")]
    redact_seed: Option<String>,
}

/// The seed of the replacements in all captures of a run; `None` if they are not redacted.
#[derive(Debug, Clone, Default)]
pub(crate) struct RedactionSeed(Option<Vec<u8>>);

impl Redaction {
    /// Returns whether the user wants redacted captures.
    pub(crate) fn is_on(&self) -> bool {
        self.redact
    }

    /// Returns the seed, random unless the user has set one.
    pub(crate) fn seed(&self) -> RedactionSeed {
        let seed = || match &self.redact_seed {
            Some(text) => text.as_bytes().to_vec(),
            None => random(),
        };
        RedactionSeed(self.redact.then(seed))
    }
}

impl RedactionSeed {
    /// Returns the seed, or a random one if captures are not redacted.
    pub(crate) fn or_random(&self) -> Vec<u8> {
        self.0.clone().unwrap_or_else(random)
    }

    /// Redacts what `sink` gets, if it is to be redacted.
    pub(crate) fn apply(&self, sink: Box<dyn Sink>) -> Box<dyn Sink> {
        match &self.0 {
            Some(seed) => Box::new(RedactSink::new(sink, Redactor::new(seed))),
            None => sink,
        }
    }
}

fn random() -> Vec<u8> {
    let mut seed = vec![0; 32];
    OsRng.fill_bytes(&mut seed);
    seed
}
