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
    /// What the present call wants besides the packet.
    pub(super) effects: Effects,
    /// The name under which packets that the call makes are recorded.
    pub(super) actor: String,
    pub(super) at: Timestamp,
    /// The session; `None` while the script is only checked.
    pub(super) context: Option<Arc<Context>>,
    pub(super) states: PerDirection<State>,
}

/// The work of the present call so far, in instructions of Lua. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Work(Arc<AtomicU64>);

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

    /// Checks that another comment or tag of `bytes` bytes stays within the limit of the call.
    pub(super) fn has_room(&self, bytes: usize) -> Result<(), HostError> {
        let notes = &self.effects.notes;
        let texts = notes.comments.iter().chain(&notes.tags);
        if texts.map(|text| text.len() + NOTE).sum::<usize>() + bytes > MAX_NOTES {
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
    /// Begins a call, which has all of its share.
    pub(super) fn begin(&self) {
        self.0.store(0, Relaxed);
    }

    /// Adds work that takes as long as this number of instructions. Returns `true` if the call has had its share.
    pub(super) fn spend(&self, instructions: usize) -> bool {
        self.0.fetch_add(instructions as u64, Relaxed);
        self.0.load(Relaxed) > MAX_WORK
    }
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

/// Work that a call may do, which takes about 0.1 s.
const MAX_WORK: u64 = 10_000_000;

/// Bytes of the comments and tags of one call, with some for each.
const MAX_NOTES: usize = 64 << 10;
const NOTE: usize = 64;

/// Most messages of one call.
const MAX_MESSAGES: usize = 20;
