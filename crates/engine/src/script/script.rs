use std::any::Any;
use std::fmt;
use std::sync::Arc;

use mlua::chunk::ChunkMode;
use mlua::{Error, Lua};

use super::check;
use super::host::Host;
use super::lua_filter::LuaFilter;
use super::place;
use super::run::Run;
use crate::filter::{
    Checked, Effects, Filter, Index, Message, Moment, Program, RuleCount, RuleSet, Shared,
    SourceFault,
};
use crate::lang::Expr;
use mitmcraft_protocol::packet::PerProtocol;
use mitmcraft_protocol::schema::{Catalog, Protocol};

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

/// The result of checking a script.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CheckedScript {
    /// The script; `None` if there are errors.
    pub script: Option<Script>,
    /// Errors and warnings, in the order of the file.
    pub faults: Vec<SourceFault>,
}

impl Script {
    /// Checks a script: runs it once, without a session, and checks its expressions against the packets of
    /// all versions. `file` is its name in messages.
    #[must_use]
    pub fn parse(file: &str, text: &str, catalog: &Catalog) -> CheckedScript {
        let (callbacks, faults) = check::check(file, text, catalog);
        let script = callbacks.map(|callbacks| {
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
        });
        CheckedScript { script, faults }
    }

    /// Checks a script as [`parse`](Self::parse) does, for use among the files with rules.
    #[must_use]
    pub fn parse_set(file: &str, text: &str, catalog: &Catalog) -> Checked {
        let CheckedScript { script, faults } = Self::parse(file, text, catalog);
        let rules = script.map(|script| RuleSet::of_program(Box::new(script)));
        Checked { rules, faults }
    }

    /// Returns the data of a state in which the script is loaded.
    pub(super) fn host(&self, moment: Option<&Moment<'_>>) -> Host {
        Host::loading(Arc::clone(&self.0.file), self.0.run.clone(), moment)
    }

    /// Runs the script in a state.
    pub(super) fn run(&self, lua: &Lua) -> Result<(), Error> {
        run(lua, &self.0.file, &self.0.text)
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
    pub(super) fn fail_event(&self, message: String, moment: &Moment<'_>, effects: &mut Effects) {
        self.0.events.count_failure();
        self.report(message, moment, effects);
    }

    /// Reports an error, if it is the first one at its place.
    pub(super) fn report(&self, text: String, moment: &Moment<'_>, effects: &mut Effects) {
        if self.0.run.is_new(place::of(&text)) {
            let (session, file) = (moment.context.session, Arc::clone(&self.0.file));
            effects.messages.push(Message { session, file, text, is_error: true });
        }
    }
}

impl Program for Script {
    fn filter(&self) -> Box<dyn Filter> {
        Box::new(LuaFilter::new(self.clone()))
    }

    fn counts(&self) -> Vec<RuleCount> {
        let callbacks = self.0.callbacks.iter();
        let mut counts: Vec<_> = callbacks.map(|it| it.shared.count(&it.name)).collect();
        let events = self.0.events.count(&format!("{} (timers and events)", self.0.file));
        if events.matched + events.failed > 0 {
            counts.push(events);
        }
        counts
    }

    fn carry_over(&mut self, from: &dyn Program) {
        let Some(Self(from)) = from.as_any().downcast_ref() else { return };
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

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Script").field(&self.0.file).finish()
    }
}

/// Runs a text as a script in a state.
pub(super) fn run(lua: &Lua, file: &str, text: &str) -> Result<(), Error> {
    let chunk = lua.load(text).set_name(format!("@{file}")).set_mode(ChunkMode::Text);
    chunk.exec()
}
