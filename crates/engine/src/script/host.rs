use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use mlua::{AppDataRef, AppDataRefMut, Error, Function, Lua};

use super::draft::Draft;
use super::host_error::HostError;
use super::run::Run;
use super::timer::Timer;
use crate::filter::{Effects, Message, SessionEvent};
use mitmcraft_protocol::packet::{Context, Timestamp};
use mitmcraft_protocol::schema::{PerDirection, State};

/// Everything outside Lua that the functions of a script read and change: the data of its state.
#[derive(Debug, Default)]
pub(super) struct Host {
    /// The script's name, as places have it.
    pub(super) file: Arc<str>,
    pub(super) run: Run,
    /// What the script registers while it is loaded; `None` afterwards.
    pub(super) loading: Option<Registered>,
    pub(super) timers: Vec<Timer>,
    pub(super) last_timer: u64,
    /// Timers that the script has stopped in this call.
    pub(super) stopped: Vec<u64>,
    /// The number of the present call. A packet of another call cannot be used.
    pub(super) call: u64,
    /// The packet of the present call.
    pub(super) draft: Option<Draft>,
    pub(super) work: Work,
    /// Bytes of the comments and tags that the packet had before the present call.
    pub(super) noted: usize,
    /// What the present call wants besides the packet.
    pub(super) effects: Effects,
    /// The name under which packets that the call makes are recorded.
    pub(super) actor: String,
    pub(super) at: Timestamp,
    /// The session; `None` while the script is only checked.
    pub(super) context: Option<Arc<Context>>,
    pub(super) states: PerDirection<State>,
}

/// The work of a packet, an event or a moment so far, in instructions of Lua, of all functions that are called for it.
/// Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Work(Arc<Spent>);

#[derive(Debug, Default)]
struct Spent {
    work: AtomicU64,
    /// The work after which every call fails.
    share: AtomicU64,
}

/// What a script registers while it is loaded.
#[derive(Debug, Default)]
pub(super) struct Registered {
    /// Callbacks on packets: expression, line, function.
    pub(super) packets: Vec<(String, usize, Function)>,
    /// Callbacks on events of the session: event, line, function.
    pub(super) events: Vec<(SessionEvent, usize, Function)>,
}

impl Registered {
    /// Returns the number of functions.
    pub(super) fn count(&self) -> usize {
        self.packets.len() + self.events.len()
    }
}

impl Host {
    /// Adds a message of the script; a call has room for some.
    pub(super) fn say(&mut self, text: String, is_error: bool) {
        if self.effects.messages.len() < MAX_MESSAGES {
            let session = self.context.as_ref().map_or(0, |context| context.session);
            let file = Arc::clone(&self.file);
            self.effects.messages.push(Message { session, file, text, is_error });
        }
    }

    /// Checks that another comment or tag of `bytes` bytes stays within the limit of the packet.
    pub(super) fn has_room(&self, bytes: usize) -> Result<(), HostError> {
        if self.noted + noted(&self.effects) + bytes > MAX_NOTES {
            return Err(HostError::TooManyNotes(MAX_NOTES));
        }
        Ok(())
    }

    /// Returns the packet of the call that a table of a packet belongs to.
    pub(super) fn draft(&mut self, call: u64) -> Result<&mut Draft, HostError> {
        if call != self.call {
            return Err(HostError::Kept);
        }
        self.draft.as_mut().ok_or(HostError::Kept)
    }
}

impl Work {
    /// Begins a packet, an event or a moment, whose calls may do `share` together.
    pub(super) fn begin(&self, share: u64) {
        self.0.work.store(0, Relaxed);
        self.0.share.store(share, Relaxed);
    }

    /// Adds work that takes as long as this number of instructions. Returns `true` if the calls have had their share.
    pub(super) fn spend(&self, instructions: usize) -> bool {
        self.0.work.fetch_add(instructions as u64, Relaxed);
        self.is_over()
    }

    pub(super) fn is_over(&self) -> bool {
        self.spent() > self.0.share.load(Relaxed)
    }

    pub(super) fn spent(&self) -> u64 {
        self.0.work.load(Relaxed)
    }
}

/// Returns the bytes of comments and tags, with some for each.
pub(super) fn noted(effects: &Effects) -> usize {
    let texts = effects.notes.comments.iter().chain(&effects.notes.tags);
    texts.map(|text| text.len() + NOTE).sum()
}

/// Returns the data of a state.
pub(super) fn host(lua: &Lua) -> Result<AppDataRef<'_, Host>, Error> {
    lua.app_data_ref::<Host>().ok_or_else(gone)
}

/// Returns the data of a state for changes.
pub(super) fn host_mut(lua: &Lua) -> Result<AppDataRefMut<'_, Host>, Error> {
    lua.app_data_mut::<Host>().ok_or_else(gone)
}

fn gone() -> Error {
    Error::RuntimeError("the session is over".to_owned())
}

/// Bytes of the comments and tags of one packet, with some for each.
pub(super) const MAX_NOTES: usize = 64 << 10;
const NOTE: usize = 64;

/// Most messages of one call.
const MAX_MESSAGES: usize = 20;
