use std::fmt;
use std::sync::Arc;

use mlua::Error;

use super::host::Host;
use super::place::Placed;
use super::run::Run;
use super::sandbox::Sandbox;
use crate::filter::{Effects, Index, Message, Moment, RuleCount, Shared};
use crate::lang::Expr;
use mitmcraft_protocol::packet::PerProtocol;
use mitmcraft_protocol::schema::Protocol;

/// A filter in Lua. Cheap to clone; clones share `run.vars` and their counts.
#[derive(Clone)]
pub struct Script(Arc<Inner>);

struct Inner {
    /// The name of the file in messages.
    file: Arc<str>,
    text: Box<str>,
    callbacks: Box<[Callback]>,
    indexes: PerProtocol<Index>,
    /// What timers and events did.
    events: Arc<Shared>,
    run: Run,
}

/// A function that a script has registered for packets.
pub(super) struct Callback {
    pub(super) when: Expr,
    /// Its place: `greet.lua:12`.
    pub(super) name: String,
    pub(super) shared: Arc<Shared>,
}

impl Script {
    /// Creates a script that registers callbacks for these expressions, in these lines.
    pub(super) fn new(file: &str, text: &str, callbacks: Vec<(Expr, usize)>) -> Self {
        let callbacks = callbacks.into_iter().map(|(when, line)| Callback {
            when,
            name: format!("{file}:{line}"),
            shared: Arc::default(),
        });
        Self(Arc::new(Inner {
            file: file.into(),
            text: text.into(),
            callbacks: callbacks.collect(),
            indexes: PerProtocol::default(),
            events: Arc::default(),
            run: Run::default(),
        }))
    }

    /// Returns the data of a state in which the script is loaded.
    pub(super) fn host(&self, moment: Option<&Moment<'_>>) -> Host {
        Host::loading(Arc::clone(&self.0.file), self.0.run.clone(), moment)
    }

    /// Runs the script in a state.
    pub(super) fn run(&self, sandbox: &Sandbox) -> Result<(), Error> {
        sandbox.run(&self.0.file, &self.0.text)
    }

    pub(super) fn callbacks(&self) -> &[Callback] {
        &self.0.callbacks
    }

    pub(super) fn index(&self, protocol: &Arc<Protocol>) -> &Index {
        let conditions = self.0.callbacks.iter().map(|callback| Some(&callback.when));
        let conditions = (0..).zip(conditions);
        self.0.indexes.get_or_init(protocol, || Index::new(protocol, conditions))
    }

    pub(super) fn file(&self) -> &Arc<str> {
        &self.0.file
    }

    /// Returns the counts of timers and events that call a function.
    pub(super) fn events(&self) -> &Shared {
        &self.0.events
    }

    /// Counts the failure of a timer or an event, and reports it.
    pub(super) fn fail_event(&self, error: &Placed, moment: &Moment<'_>, effects: &mut Effects) {
        self.0.events.count_failure();
        self.report(error, moment, effects);
    }

    /// Counts and reports that a session goes on without the script.
    pub(super) fn turn_off(&self, why: &str, moment: &Moment<'_>, effects: &mut Effects) {
        self.0.events.count_failure();
        let (session, file) = (moment.context.session, Arc::clone(&self.0.file));
        if self.0.run.is_new(&format!("{file} in session {session}")) {
            let text = format!("{file}: {why}");
            effects.messages.push(Message { session, file, text, is_error: true });
        }
    }

    /// Returns what all sessions share.
    pub(super) fn shared(&self) -> &Run {
        &self.0.run
    }

    /// Reports an error, if it is the first one at its place.
    pub(super) fn report(&self, error: &Placed, moment: &Moment<'_>, effects: &mut Effects) {
        if self.0.run.is_new(&error.place()) {
            let (session, file) = (moment.context.session, Arc::clone(&self.0.file));
            let text = error.to_string();
            effects.messages.push(Message { session, file, text, is_error: true });
        }
    }

    /// Returns the counts of each callback, and of timers and events together.
    pub(super) fn counts(&self) -> Vec<RuleCount> {
        let callbacks = self.0.callbacks.iter();
        let mut counts: Vec<_> = callbacks.map(|it| it.shared.count(&it.name)).collect();
        let events = self.0.events.count(&format!("{} (timers and events)", self.0.file));
        if events.matched + events.failed > 0 {
            counts.push(events);
        }
        counts
    }

    /// Takes over `run.vars` and the counts of an earlier version of the file. Does nothing once the script has been
    /// cloned.
    pub(super) fn carry_over(&mut self, Self(from): &Self) {
        let Some(inner) = Arc::get_mut(&mut self.0) else { return };
        inner.run = from.run.clone();
        inner.run.forget_reports();
        inner.events = Arc::clone(&from.events);
        let mut old: Vec<&Callback> = from.callbacks.iter().collect();
        for callback in &mut inner.callbacks {
            let place = old.iter().position(|old| old.when.text() == callback.when.text());
            if let Some(place) = place {
                callback.shared = Arc::clone(&old.remove(place).shared);
            }
        }
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Script").field(&self.0.file).finish()
    }
}
