use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::{HeldPacket, Request, RequestError, Target};
use crate::link::{Action, Breakpoint, Command, Decision, Report};
use crate::schema::Catalog;

/// Connects user interfaces with the sessions of a run.
///
/// The last command wins, and all interfaces see it. Packets are held while at least one interface is
/// attached, and before the first one is; when the last one detaches, everything that is held goes on.
#[derive(Debug)]
pub struct Controller {
    catalog: Arc<Catalog>,
    interfaces: BTreeSet<u64>,
    /// The number of interfaces that were ever attached.
    attached: u64,
    sessions: BTreeSet<u64>,
    breakpoint: Option<Breakpoint>,
    held: BTreeMap<Target, HeldPacket>,
    commands: VecDeque<(u64, Command)>,
    /// The number of the last command.
    number: u64,
    /// Requests whose commands a session has not answered yet.
    asked: HashMap<u64, Asked>,
    messages: VecDeque<(Option<u64>, Json)>,
}

/// A command that a session has not answered.
#[derive(Debug)]
struct Asked {
    session: u64,
    interface: u64,
    id: Json,
    /// The held packet that is decided on, and how.
    decides: Option<(Target, &'static str)>,
}

impl Controller {
    /// Creates a controller of no sessions, which holds what matches `breakpoint` from the start.
    #[must_use]
    pub fn new(catalog: Arc<Catalog>, breakpoint: Option<Breakpoint>) -> Self {
        Self {
            catalog,
            interfaces: BTreeSet::new(),
            attached: 0,
            sessions: BTreeSet::new(),
            breakpoint,
            held: BTreeMap::new(),
            commands: VecDeque::new(),
            number: 0,
            asked: HashMap::new(),
            messages: VecDeque::new(),
        }
    }

    /// Adds a user interface and returns its number. It is told what is held already.
    pub fn attach(&mut self) -> u64 {
        let first = self.interfaces.is_empty() && self.attached > 0;
        self.attached += 1;
        let interface = self.attached;
        self.interfaces.insert(interface);
        if first && self.breakpoint.is_some() {
            self.command_all(&Action::Break(self.breakpoint.clone()));
        }
        for (target, held) in &self.held {
            let push = held.push(target.session, target.held);
            self.messages.push_back((Some(interface), push));
        }
        self.push_control(None);
        interface
    }

    /// Removes a user interface.
    pub fn detach(&mut self, interface: u64) {
        if !self.interfaces.remove(&interface) {
            return;
        }
        self.asked.retain(|_, asked| asked.interface != interface);
        if self.interfaces.is_empty() {
            self.command_all(&Action::Break(None));
            self.command_all(&Action::ForwardAll);
        }
        self.push_control(None);
    }

    /// Adds a session.
    pub fn open(&mut self, session: u64) {
        self.sessions.insert(session);
        if self.breakpoint.is_some() && self.holds() {
            self.command(session, Action::Break(self.breakpoint.clone()));
        }
    }

    /// Removes a session.
    pub fn close(&mut self, session: u64) {
        self.sessions.remove(&session);
        self.commands.retain(|(of, _)| *of != session);
        let held = self.held.keys().filter(|it| it.session == session).copied();
        for target in held.collect::<Vec<_>>() {
            self.release(target, "the session ended");
        }
        let over = self.asked.extract_if(|_, asked| asked.session == session);
        for (_, asked) in over.collect::<Vec<_>>() {
            self.answer(asked.interface, asked.id, Err("the session has ended".into()));
        }
    }

    /// Handles a request of a user interface.
    pub fn handle(&mut self, interface: u64, request: &Json) {
        let id = request.get("id").cloned().unwrap_or_default();
        let done = Request::read(request, &self.catalog)
            .and_then(|request| self.carry_out(interface, &id, request));
        if let Some(answer) = done.transpose() {
            self.answer(interface, id, answer);
        }
    }

    /// Takes what a session reports.
    pub fn report(&mut self, session: u64, report: Report) {
        match report {
            Report::Held { held, packet, since, in_order } => {
                let (target, decided) = (Target { session, held }, None);
                let held = HeldPacket { packet, since, in_order, decided };
                self.messages.push_back((None, held.push(session, target.held)));
                self.held.insert(target, held);
            }
            Report::Released { held, how } => {
                self.release(Target { session, held }, how.words());
            }
            Report::Done { command } => {
                let Some(asked) = self.asked.remove(&command) else { return };
                self.answer(asked.interface, asked.id, Ok(json!({})));
                if let Some((target, how)) = asked.decides {
                    self.decided(target, how);
                }
            }
            Report::Refused { command, path, reason } => {
                let Some(asked) = self.asked.remove(&command) else {
                    let push = json!({ "push": "message", "session": session, "text": reason });
                    return self.messages.push_back((None, push));
                };
                let error = RequestError { path, ..reason.into() };
                self.answer(asked.interface, asked.id, Err(error));
            }
        }
    }

    /// Reports that a session cannot take its commands now.
    pub fn refuse(&mut self, session: u64, command: &Command) {
        let reason = "the session is busy: try again".into();
        let (command, path) = (command.number, String::new());
        self.report(session, Report::Refused { command, path, reason });
    }

    /// Returns the next command, with the session that it is for.
    pub fn poll_command(&mut self) -> Option<(u64, Command)> {
        self.commands.pop_front()
    }

    /// Returns the next message, with the interface that it is for; `None` is for all.
    pub fn poll_message(&mut self) -> Option<(Option<u64>, Json)> {
        self.messages.pop_front()
    }

    /// Returns whether packets are to be held now.
    fn holds(&self) -> bool {
        !self.interfaces.is_empty() || self.attached == 0
    }

    /// Returns the answer, or `None` if a session is going to answer.
    fn carry_out(
        &mut self,
        interface: u64,
        id: &Json,
        request: Request,
    ) -> Result<Option<Json>, RequestError> {
        let (session, action, decides) = match request {
            Request::Break(breakpoint) => {
                self.breakpoint.clone_from(&breakpoint);
                self.command_all(&Action::Break(breakpoint));
                self.push_control(Some(interface));
                return Ok(Some(json!({})));
            }
            Request::ForwardAll(session) => {
                let sessions = self.sessions.iter().copied();
                let sessions = sessions.filter(|it| session.is_none_or(|one| one == *it));
                for session in sessions.collect::<Vec<_>>() {
                    self.command(session, Action::ForwardAll);
                }
                return Ok(Some(json!({})));
            }
            Request::Held(target) => {
                let held = self.held.get(&target).ok_or("the packet is not held any more")?;
                return Ok(Some(held.content()));
            }
            Request::Decide(target, decision) => {
                let how = match decision {
                    Decision::Forward => "forward",
                    Decision::Drop => "drop",
                    Decision::Edit(_) => "edit",
                };
                let action = Action::Decide { held: target.held, decision };
                (target.session, action, Some((target, how)))
            }
            Request::Act(session, action) => (session, action, None),
        };
        if !self.sessions.contains(&session) {
            return Err(format!("session {session} is not open").into());
        }
        if self.asked.len() >= MAX_ASKED {
            return Err("too many commands at once: try again".into());
        }
        let number = self.command(session, action);
        self.asked.insert(number, Asked { session, interface, id: id.clone(), decides });
        Ok(None)
    }

    fn command_all(&mut self, action: &Action) {
        for session in self.sessions.iter().copied().collect::<Vec<_>>() {
            self.command(session, action.clone());
        }
    }

    fn command(&mut self, session: u64, action: Action) -> u64 {
        self.number += 1;
        self.commands.push_back((session, Command { number: self.number, action }));
        self.number
    }

    fn decided(&mut self, target: Target, how: &'static str) {
        let Some(held) = self.held.get_mut(&target) else { return };
        held.decided = Some(how);
        let push = json!({
            "push": "decided",
            "session": target.session,
            "held": target.held,
            "as": how,
        });
        self.messages.push_back((None, push));
    }

    fn release(&mut self, target: Target, how: &str) {
        if self.held.remove(&target).is_none() {
            return;
        }
        let push = json!({
            "push": "released",
            "session": target.session,
            "held": target.held,
            "how": how,
        });
        self.messages.push_back((None, push));
    }

    fn answer(&mut self, interface: u64, id: Json, answer: Result<Json, RequestError>) {
        let mut answer = answer.unwrap_or_else(|error| {
            let RequestError { message, path, condition } = error;
            let mut json = json!({ "error": { "message": message } });
            if !path.is_empty() {
                json["error"]["path"] = path.into();
            }
            if let Some((span, hint)) = condition {
                json["error"]["start"] = span.start.into();
                json["error"]["end"] = span.end.into();
                json["error"]["hint"] = hint.into();
            }
            json
        });
        answer["id"] = id;
        self.messages.push_back((Some(interface), answer));
    }

    fn push_control(&mut self, by: Option<u64>) {
        let breakpoint = self
            .breakpoint
            .as_ref()
            .map(|it| json!({ "where": it.condition.to_string(), "overtaken": it.overtaken }));
        let push = json!({
            "push": "control",
            "break": breakpoint,
            "by": by,
            "interfaces": self.interfaces.len(),
        });
        self.messages.push_back((None, push));
    }
}

/// Most commands that sessions have not answered.
const MAX_ASKED: usize = 10_000;
