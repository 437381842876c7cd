use std::any::Any;
use std::sync::Arc;

use mlua::{AnyUserData, Error, Function, Table, Value as LuaValue};

use super::convert::{MAX_DEPTH, of_var, to_var};
use super::draft::{Draft, DraftError};
use super::host::{Host, MAX_NOTES, Registered, host, host_mut, noted};
use super::packet_table::PacketTable;
use super::place::Placed;
use super::sandbox::Sandbox;
use super::script::Script;
use super::session_table::{SessionTable, VARS};
use super::work::{FAILURE, MAX_AT_CLOSE, MAX_WORK, Second, Turn};
use crate::filter::{
    Effects, Filter, Kept, Message, Moment, Program, RuleCount, SessionEvent, Var, Verdict,
};
use mitmcraft_protocol::codec::MemoryBudget;
use mitmcraft_protocol::packet::{Packet, Timestamp};
use mitmcraft_protocol::schema::{PacketType, PerDirection, Protocol, State};

/// The filter that runs a script in one session.
#[derive(Debug)]
pub(super) struct LuaFilter {
    script: Script,
    budget: Option<MemoryBudget>,
    kept: Option<Kept>,
    machine: Loaded,
    /// The states that the last event told.
    states: PerDirection<State>,
    /// When the first timer is due.
    due: Option<Timestamp>,
    turn: Turn,
    second: Second,
}

#[derive(Debug)]
enum Loaded {
    NotYet,
    Running(Box<Machine>),
    /// The script could not be loaded in this session, has taken too long in it, or the session is over.
    Failed,
}

/// A Lua state with the functions that it has registered.
#[derive(Debug)]
struct Machine {
    registered: Registered,
    session: AnyUserData,
    sandbox: Sandbox,
}

/// What a call is about.
struct Call<'a> {
    function: &'a Function,
    line: usize,
    file: &'a Arc<str>,
    /// The name of the callback in records.
    actor: String,
    moment: &'a Moment<'a>,
    /// Bytes of the comments and tags that the packet has already.
    noted: usize,
}

/// A call that failed: nothing of what it did remains but its messages.
#[derive(Debug)]
struct Failed {
    error: Placed,
    said: Vec<Message>,
}

impl LuaFilter {
    pub(super) fn new(script: Script) -> Self {
        let (states, second) = (PerDirection::default(), Second::default());
        Self {
            script,
            budget: None,
            kept: None,
            machine: Loaded::NotYet,
            states,
            due: None,
            turn: Turn::default(),
            second,
        }
    }

    /// Loads the script, unless it is.
    fn load(&mut self, moment: &Moment<'_>, effects: &mut Effects) {
        if !matches!(self.machine, Loaded::NotYet) {
            return;
        }
        let host = self.script.host(Some(moment));
        let machine = Sandbox::new(host, self.budget.as_ref())
            .and_then(|sandbox| Machine::load(sandbox, &self.script, self.kept.as_ref()));
        self.machine = match machine {
            Ok((machine, said)) => {
                effects.messages.extend(said.messages);
                Loaded::Running(Box::new(machine))
            }
            Err(error) => {
                let error = Placed::of(&error, self.script.file(), 1);
                self.script.events().count_match();
                self.script.fail_event(&error, moment, effects);
                Loaded::Failed
            }
        };
        self.end(moment, effects);
    }

    /// Counts the work of what has been handled. A session whose script has taken too long goes on without it.
    fn end(&mut self, moment: &Moment<'_>, effects: &mut Effects) {
        self.find_due();
        let Loaded::Running(machine) = &self.machine else { return };
        let spent = machine.sandbox.work.spent();
        machine.sandbox.work.begin(MAX_WORK);
        if !self.turn.count(moment.at, spent) {
            self.script.shared().set_slow(moment.at);
        }
        if self.second.count(moment.at, spent) {
            return;
        }
        self.machine = Loaded::Failed;
        self.due = None;
        effects.notes.comments.push(format!("script failed: {}: {OFF}", self.script.file()));
        self.script.turn_off(OFF, moment, effects);
    }

    /// Calls the functions of an event, until they have had their share.
    fn call_all(
        &mut self,
        functions: Vec<(usize, Function)>,
        share: u64,
        moment: &Moment<'_>,
        effects: &mut Effects,
    ) {
        let Loaded::Running(machine) = &mut self.machine else { return };
        machine.sandbox.work.begin(share);
        for (line, function) in &functions {
            if machine.sandbox.work.is_over() {
                break;
            }
            let file = self.script.file();
            let call =
                Call { function, line: *line, file, actor: file.to_string(), moment, noted: 0 };
            self.script.events().count_match();
            match machine.sandbox.call_function(call, None, &machine.session) {
                Ok((_, done)) => {
                    self.script.events().count_act();
                    merge(done, effects);
                }
                Err(Failed { error, said }) => {
                    effects.messages.extend(said);
                    self.script.fail_event(&error, moment, effects);
                }
            }
        }
        self.end(moment, effects);
    }

    /// Calls the functions for a packet, until they have had their share.
    fn judge(&mut self, packet: &Packet, moment: &Moment<'_>, effects: &mut Effects) -> Verdict {
        let mut changed: Option<Packet> = None;
        let mut from = 0;
        loop {
            let current = changed.as_ref().unwrap_or(packet);
            let index = self.script.index(&current.context().protocol);
            let Some(place) = index.next(current, from) else { break };
            from = place + 1;
            let callback = &self.script.callbacks()[place];
            let Loaded::Running(machine) = &mut self.machine else { break };
            if machine.sandbox.work.is_over() {
                break;
            }
            if !callback.when.matches(current) {
                continue;
            }
            callback.shared.count_match();
            let Some((_, line, function)) = machine.registered.packets.get(place) else { continue };
            let actor = callback.name.clone();
            let (line, file, noted) = (*line, self.script.file(), noted(effects));
            let call = Call { function, line, file, actor, moment, noted };
            let (sandbox, session) = (&mut machine.sandbox, &machine.session);
            match sandbox.call_function(call, Some(current.clone()), session) {
                Ok((draft, done)) => {
                    callback.shared.count_act();
                    let closes = done.close.is_some();
                    merge(done, effects);
                    let Some(draft) = draft else { continue };
                    if draft.is_dropped || closes {
                        effects.notes.rules = vec![callback.name.clone()];
                        return Verdict::Drop;
                    }
                    if draft.is_changed {
                        effects.notes.rules.push(callback.name.clone());
                        changed = Some(draft.into_packet());
                    }
                }
                Err(Failed { error, said }) => {
                    callback.shared.count_failure();
                    effects.messages.extend(said);
                    if noted < MAX_NOTES {
                        effects.notes.comments.push(format!("script failed: {error}"));
                    }
                    self.script.report(&error, moment, effects);
                }
            }
        }
        match changed.map(|packet| packet.body()) {
            Some(Ok(body)) => Verdict::Replace(body),
            _ => Verdict::Pass,
        }
    }

    /// Returns the bytes that the state uses.
    #[cfg(test)]
    pub(super) fn used_memory(&self) -> usize {
        let Loaded::Running(machine) = &self.machine else { return 0 };
        machine.sandbox.lua.used_memory()
    }

    fn find_due(&mut self) {
        let Loaded::Running(machine) = &self.machine else {
            self.due = None;
            return;
        };
        let host = host(&machine.sandbox.lua);
        self.due = host.ok().and_then(|host| host.timers.iter().map(|timer| timer.due).min());
    }
}

impl Program for Script {
    fn filter(&self) -> Box<dyn Filter> {
        Box::new(LuaFilter::new(self.clone()))
    }

    fn counts(&self) -> Vec<RuleCount> {
        self.counts()
    }

    fn carry_over(&mut self, from: &dyn Program) {
        if let Some(from) = from.as_any().downcast_ref() {
            self.carry_over(from);
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Filter for LuaFilter {
    fn name(&self) -> &str {
        self.script.file()
    }

    fn wants(&self, packet: &Packet) -> bool {
        !self.script.index(&packet.context().protocol).rules(packet).is_empty()
    }

    fn wants_type(&self, protocol: &Arc<Protocol>, packet: &PacketType) -> bool {
        !self.script.index(protocol).rules_for(protocol, packet).is_empty()
    }

    fn changes(&self, protocol: &Arc<Protocol>, packet: &PacketType) -> bool {
        self.wants_type(protocol, packet)
    }

    fn asks_diagnostics(&self) -> bool {
        self.script.callbacks().iter().any(|callback| callback.when.asks_diagnostics())
    }

    fn apply(&mut self, packet: &Packet, effects: &mut Effects) -> Verdict {
        let mut states = self.states;
        states[packet.direction()] = packet.state();
        let moment = Moment { at: packet.at(), context: packet.context(), states };
        self.load(&moment, effects);
        let verdict = self.judge(packet, &moment, effects);
        self.end(&moment, effects);
        verdict
    }

    fn set_budget(&mut self, budget: &MemoryBudget) {
        self.budget = Some(budget.clone());
    }

    fn is_active(&self) -> bool {
        true
    }

    fn on_event(&mut self, event: SessionEvent, moment: &Moment<'_>, effects: &mut Effects) {
        self.states = moment.states;
        self.load(moment, effects);
        let Loaded::Running(machine) = &self.machine else { return };
        let functions = machine.registered.events.iter().filter(|(of, ..)| *of == event);
        let functions = functions.map(|(_, line, function)| (*line, function.clone())).collect();
        let share = if event == SessionEvent::Close { MAX_AT_CLOSE } else { MAX_WORK };
        self.call_all(functions, share, moment, effects);
        if event == SessionEvent::Close {
            self.machine = Loaded::Failed;
            self.due = None;
        }
    }

    fn is_slow(&self, at: Timestamp) -> bool {
        self.script.shared().is_slow(at)
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.due
    }

    fn on_timeout(&mut self, moment: &Moment<'_>, effects: &mut Effects) {
        let Loaded::Running(machine) = &self.machine else { return };
        let mut due = Vec::new();
        if let Ok(mut host) = host_mut(&machine.sandbox.lua) {
            let at = moment.at;
            host.timers.retain_mut(|timer| {
                if timer.due > at {
                    return true;
                }
                due.push((timer.due, timer.line, timer.function.clone()));
                let Some(every) = timer.every else { return false };
                timer.due = timer.due.plus(every);
                if timer.due <= at {
                    // What was missed is not made up for.
                    timer.due = at.plus(every);
                }
                true
            });
        }
        due.sort_by_key(|(at, ..)| *at);
        let due = due.into_iter().map(|(_, line, function)| (line, function)).collect();
        self.call_all(due, MAX_WORK, moment, effects);
    }

    fn take_kept(&mut self) -> Option<Kept> {
        let Loaded::Running(machine) = &self.machine else { return None };
        let vars: LuaValue = machine.sandbox.lua.named_registry_value(VARS).ok()?;
        let Some(Var::Table(vars)) = to_var(&vars, MAX_DEPTH) else { return None };
        Some(Kept { file: Arc::clone(self.script.file()), vars })
    }

    fn take_over(&mut self, kept: &Kept) {
        if kept.file == *self.script.file() {
            self.kept = Some(kept.clone());
        }
    }
}

impl Machine {
    /// Runs the script once.
    fn load(
        mut sandbox: Sandbox,
        script: &Script,
        kept: Option<&Kept>,
    ) -> Result<(Self, Effects), Error> {
        let lua = sandbox.lua.clone();
        if let Some(kept) = kept {
            let vars: Table = lua.named_registry_value(VARS)?;
            for (key, value) in &kept.vars {
                vars.raw_set(of_var(&lua, key)?, of_var(&lua, value)?)?;
            }
        }
        sandbox.work.begin(MAX_WORK);
        sandbox.grant();
        let run = script.run(&sandbox);
        sandbox.count_memory();
        run?;
        let (registered, said) = {
            let mut host = host_mut(&lua)?;
            (host.loading.take().unwrap_or_default(), std::mem::take(&mut host.effects))
        };
        let callbacks = script.callbacks();
        let same = registered.packets.len() == callbacks.len()
            && registered
                .packets
                .iter()
                .zip(callbacks)
                .all(|((when, ..), it)| *when == it.when.text());
        if !same {
            let message = format!("{}:1: {DIFFERENT}", script.file());
            return Err(Error::RuntimeError(message));
        }
        let session = lua.create_userdata(SessionTable)?;
        Ok((Self { registered, session, sandbox }, said))
    }
}

impl Sandbox {
    /// Calls a function of the script. Returns the packet and the effects.
    fn call_function(
        &mut self,
        call: Call<'_>,
        packet: Option<Packet>,
        session: &AnyUserData,
    ) -> Result<(Option<Draft>, Effects), Failed> {
        let Call { function, line, file, actor, moment, noted } = call;
        let lua = self.lua.clone();
        let has_packet = packet.is_some();
        let fail = |error| Failed { error: Placed::of(&error, file, line), said: Vec::new() };
        let (number, known) = {
            let mut host = host_mut(&lua).map_err(fail)?;
            host.call += 1;
            host.at = moment.at;
            host.context = Some(Arc::clone(moment.context));
            host.states = moment.states;
            host.actor = actor;
            host.noted = noted;
            host.draft = packet.map(Draft::new);
            (host.call, host.last_timer)
        };
        self.grant();
        let called = match has_packet {
            true => function.call::<()>((PacketTable { call: number }, session)),
            false => function.call::<()>(session),
        };
        self.count_memory();
        let mut host = host_mut(&lua).map_err(fail)?;
        host.call += 1;
        let mut draft = host.draft.take();
        let effects = std::mem::take(&mut host.effects);
        let stopped = std::mem::take(&mut host.stopped);
        let encoded = match (&called, &mut draft) {
            (Ok(()), Some(draft)) => draft.encode(),
            _ => Ok(()),
        };
        let error = match (called, encoded) {
            (Err(error), _) => Placed::of(&error, file, line),
            (_, Err(DraftError { line: at, cause })) => {
                Placed::new(file, at.unwrap_or(line), cause)
            }
            (Ok(()), Ok(())) => {
                host.timers.retain(|timer| !stopped.contains(&timer.number));
                return Ok((draft, effects));
            }
        };
        host.work.spend(FAILURE);
        // Nothing of a call that fails remains.
        host.timers.retain(|timer| timer.number <= known);
        Err(Failed { error, said: effects.messages })
    }
}

/// Adds the effects of a call to those of the packet.
fn merge(done: Effects, effects: &mut Effects) {
    let Effects { notes, sends, delay, close, messages, .. } = done;
    effects.notes.comments.extend(notes.comments);
    for tag in notes.tags {
        if !effects.notes.tags.contains(&tag) {
            effects.notes.tags.push(tag);
        }
    }
    effects.sends.extend(sends);
    effects.messages.extend(messages);
    if let Some(mut delay) = delay {
        if let Some(before) = effects.delay {
            delay.by += before.by;
            delay.reorder &= before.reorder;
        }
        effects.delay = Some(delay);
    }
    if close.is_some() {
        effects.close = close;
    }
}

impl Host {
    /// Creates the data of a state in which the script is loaded.
    pub(super) fn loading(
        file: Arc<str>,
        run: super::run::Run,
        moment: Option<&Moment<'_>>,
    ) -> Self {
        Self {
            actor: file.to_string(),
            file,
            run,
            loading: Some(Registered::default()),
            at: moment.map(|moment| moment.at).unwrap_or_default(),
            context: moment.map(|moment| Arc::clone(moment.context)),
            states: moment.map(|moment| moment.states).unwrap_or_default(),
            ..Self::default()
        }
    }
}

const OFF: &str = "takes too much time: it is off for the rest of the session";

const DIFFERENT: &str = "`on` was called with other expressions than when the file was checked; they \
                         must not depend on the session";
