use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use super::request::merged;
use super::{
    Answer, BreakCondition, ControlError, Decided, HeldContent, HeldId, HeldPacket, HeldRows,
    Holding, Message, Push, Request, Sending, Span,
};
use mitmcraft_engine::link::{
    Action, Breakpoint, Command, CommandError, Decision, Release, Report,
};
use mitmcraft_protocol::packet::Packet;

/// Connects user interfaces with the sessions of a run.
///
/// The last command wins, and all interfaces see it. Packets are held while at least one interface is
/// attached, and before the first one is. After the last one has detached, the owner waits a while for another
/// one, as when a page is loaded again, and calls [`abandon`](Self::abandon).
#[derive(Debug, Default)]
pub struct Controller {
    interfaces: BTreeSet<u64>,
    /// The number of interfaces that were ever attached.
    attached: u64,
    /// `true` from [`abandon`](Self::abandon) until an interface attaches.
    abandoned: bool,
    sessions: BTreeSet<u64>,
    breakpoint: Option<Breakpoint>,
    /// The breakpoint that was set when everything was abandoned.
    earlier: Option<Breakpoint>,
    held: HashMap<HeldId, (Packet, HeldPacket)>,
    /// The held packets by their numbers in the run: in the order in which they came.
    order: BTreeMap<u64, HeldId>,
    /// The number of packets that were ever held.
    came: u64,
    /// The packets that are sent repeatedly, by the number of their command.
    sending: BTreeMap<u64, Sending>,
    /// How often a held packet was decided on or released.
    changes: u64,
    commands: VecDeque<(u64, Command)>,
    /// The number of the last command.
    number: u64,
    /// Requests whose commands a session has not answered yet.
    asked: HashMap<u64, Asked>,
    /// Requests that several sessions answer, by the number of their first command.
    joint: HashMap<u64, Joint>,
    messages: VecDeque<(Option<u64>, Message)>,
}

/// A command that a session has not answered.
#[derive(Debug)]
struct Asked {
    session: u64,
    interface: u64,
    id: Option<u64>,
    /// The held packets that are decided on, and how.
    decides: Option<(Vec<HeldId>, Decided)>,
    /// The request of which it is a part.
    joint: Option<u64>,
}

/// A request that several sessions answer.
#[derive(Debug)]
struct Joint {
    interface: u64,
    id: Option<u64>,
    /// The sessions that have not answered.
    open: usize,
    /// The packets that were decided on.
    decided: usize,
    /// Why a session did not carry it out.
    error: Option<ControlError>,
}

impl Controller {
    /// Creates a controller of no sessions, which holds what matches `breakpoint` from the start.
    #[must_use]
    pub fn new(breakpoint: Option<Breakpoint>) -> Self {
        Self { breakpoint, ..Self::default() }
    }

    /// Adds a user interface and returns its number. Queues for it pushes about the packets that are held or sent
    /// repeatedly already, and the condition that was set when the last interface detached. That condition holds
    /// nothing until it is set again.
    pub fn attach(&mut self) -> u64 {
        self.abandoned = false;
        self.attached += 1;
        let interface = self.attached;
        self.interfaces.insert(interface);
        for sending in self.sending.values() {
            let push = Message::Push(Push::Sending(sending.clone()));
            self.messages.push_back((Some(interface), push));
        }
        for (_, held) in self.order.values().filter_map(|id| self.held.get(id)) {
            let push = Message::Push(Push::Held(held.clone()));
            self.messages.push_back((Some(interface), push));
        }
        self.push_control(None);
        interface
    }

    /// Removes a user interface. What is held stays held.
    pub fn detach(&mut self, interface: u64) {
        if !self.interfaces.remove(&interface) {
            return;
        }
        self.asked.retain(|_, asked| asked.interface != interface);
        self.joint.retain(|_, joint| joint.interface != interface);
        self.push_control(None);
    }

    /// Forwards everything that is held, and holds and repeats no more: the last interface is gone.
    pub fn abandon(&mut self) {
        if self.is_left() {
            self.abandoned = true;
            self.earlier = self.breakpoint.take().or_else(|| self.earlier.take());
            self.command_all(&Action::Break(None));
            self.command_all(&Action::ForwardAll);
            self.command_all(&Action::Stop(None));
        }
    }

    /// Adds a session.
    pub fn open(&mut self, session: u64) {
        self.sessions.insert(session);
        if self.breakpoint.is_some() {
            self.command(session, Action::Break(self.breakpoint.clone()));
        }
    }

    /// Removes a session.
    pub fn close(&mut self, session: u64) {
        self.sessions.remove(&session);
        self.commands.retain(|(of, _)| *of != session);
        let held = self.order.values().filter(|it| it.session == session).copied();
        for target in held.collect::<Vec<_>>() {
            self.release(target, Release::Lost);
        }
        let sent = self.sending.values().filter(|it| it.session == session);
        for number in sent.map(|it| it.number).collect::<Vec<_>>() {
            self.repeated(number, None, true);
        }
        let over = self.asked.extract_if(|_, asked| asked.session == session);
        for (_, asked) in over.collect::<Vec<_>>() {
            self.settle(&asked, 0, Err(ControlError::Ended));
        }
    }

    /// Handles a request of a user interface. The answer repeats `id`.
    pub fn handle(&mut self, interface: u64, id: Option<u64>, request: Request) {
        if let Some(answer) = self.carry_out(interface, id, request).transpose() {
            self.answer(interface, id, answer);
        }
    }

    /// Takes what a session reports.
    pub fn report(&mut self, session: u64, report: Report) {
        match report {
            Report::Held { held, packet, since, in_order } => {
                let id = HeldId { session, held };
                self.came += 1;
                let held = HeldPacket::new(id, self.came, &packet, since, in_order);
                self.push(Push::Held(held.clone()));
                self.order.insert(self.came, id);
                self.held.insert(id, (packet, held));
            }
            Report::Released { held, how } => self.release(HeldId { session, held }, how),
            Report::Repeating { command, left, over } => {
                self.repeated(command, Some(left), over);
            }
            Report::Done { command } => {
                let Some(asked) = self.asked.remove(&command) else { return };
                let count = asked.decides.as_ref().map_or(0, |(targets, _)| targets.len());
                self.settle(&asked, count, Ok(Answer::Done));
                if let Some((targets, decision)) = asked.decides {
                    for target in targets {
                        self.decided(target, decision);
                    }
                }
            }
            Report::Refused { command, error } => {
                // The others of several are decided on.
                let asked = self.asked.get(&command).and_then(|asked| asked.decides.clone());
                let mut count = 0;
                if let (CommandError::NotAll { held, .. }, Some((targets, decision))) =
                    (&error, asked)
                {
                    for target in targets.into_iter().filter(|it| !held.contains(&it.held)) {
                        self.decided(target, decision);
                        count += 1;
                    }
                }
                if self.asked.contains_key(&command) {
                    self.fail(command, count, error.into());
                } else {
                    self.push(Push::Message { session, text: error.to_string() });
                }
            }
        }
    }

    /// Reports that a session cannot take a command now.
    pub fn refuse(&mut self, session: u64, command: &Command) {
        if self.asked.contains_key(&command.number) {
            self.fail(command.number, 0, ControlError::Busy);
        } else {
            self.push(Push::Message { session, text: ControlError::Busy.to_string() });
        }
    }

    /// Returns `true` if the last interface has detached, and nothing was [abandoned](Self::abandon) since.
    #[must_use]
    pub fn is_left(&self) -> bool {
        self.interfaces.is_empty() && self.attached > 0 && !self.abandoned
    }

    /// Returns how much is held.
    #[must_use]
    pub fn holding(&self) -> Holding {
        Holding { total: self.held.len(), changes: self.changes, last: self.came }
    }

    /// Returns the next command, with the session that it is for.
    pub fn poll_command(&mut self) -> Option<(u64, Command)> {
        self.commands.pop_front()
    }

    /// Returns the next message, with the interface that it is for; `None` is for all.
    pub fn poll_message(&mut self) -> Option<(Option<u64>, Message)> {
        self.messages.pop_front()
    }

    /// Returns the answer, or `None` if a session is going to answer.
    fn carry_out(
        &mut self,
        interface: u64,
        id: Option<u64>,
        request: Request,
    ) -> Result<Option<Answer>, ControlError> {
        let (session, action, decides) = match request {
            Request::Break(breakpoint) => {
                self.breakpoint.clone_from(&breakpoint);
                self.earlier = None;
                self.command_all(&Action::Break(breakpoint));
                self.push_control(Some(interface));
                return Ok(Some(Answer::Done));
            }
            Request::ForwardAll(session) => {
                let sessions = self.sessions.iter().copied();
                let sessions = sessions.filter(|it| session.is_none_or(|one| one == *it));
                for session in sessions.collect::<Vec<_>>() {
                    self.command(session, Action::ForwardAll);
                }
                return Ok(Some(Answer::Done));
            }
            Request::Content(target) => {
                let (packet, _) = self.held.get(&target).ok_or(ControlError::NotHeld)?;
                return Ok(Some(Answer::Held(HeldContent::from(packet))));
            }
            Request::List { start, count, anchor } => {
                let shown = self.order.values().skip(start).take(count);
                let packets = shown.filter_map(|id| Some(self.held.get(id)?.1.clone()));
                return Ok(Some(Answer::List(HeldRows {
                    start,
                    total: self.held.len(),
                    packets: packets.collect(),
                    anchor: anchor.map(|number| self.order.range(..number).count()),
                })));
            }
            Request::Undecided(mut numbers, spans) => {
                numbers.retain(|number| self.undecided(vec![(*number, *number)]).next().is_some());
                let count = self.undecided(spans).count();
                return Ok(Some(Answer::Undecided(numbers, count)));
            }
            Request::Decide(session, held, decision) => {
                let targets = held.iter().map(|held| HeldId { session, held: *held }).collect();
                let decides = Some((targets, Decided::from(&decision)));
                (session, Action::Decide { held, decision }, decides)
            }
            Request::DecideSpans(spans, decision) => {
                return self.decide_spans(interface, id, spans, &decision);
            }
            Request::Send(session, transmission) => (session, Action::Send(transmission), None),
            Request::Stop(None) => {
                self.command_all(&Action::Stop(None));
                return Ok(Some(Answer::Done));
            }
            Request::Stop(Some(number)) => {
                // It may be over by now.
                let Some(sending) = self.sending.get(&number) else {
                    return Ok(Some(Answer::Done));
                };
                (sending.session, Action::Stop(Some(number)), None)
            }
            Request::Kick(session, text) => (session, Action::Kick(text), None),
        };
        if !self.sessions.contains(&session) {
            return Err(ControlError::NotOpen(session));
        }
        if self.asked.len() >= MAX_ASKED {
            return Err(ControlError::TooMany);
        }
        let sending = Sending::new(session, &action);
        let number = self.command(session, action);
        if let Some(sending) = sending {
            self.sending.insert(number, Sending { number, ..sending });
        }
        self.asked.insert(number, Asked { session, interface, id, decides, joint: None });
        Ok(None)
    }

    /// Decides on the packets in spans that are held and not decided on. Returns the answer if there are none.
    fn decide_spans(
        &mut self,
        interface: u64,
        id: Option<u64>,
        spans: Vec<Span>,
        decision: &Decision,
    ) -> Result<Option<Answer>, ControlError> {
        let mut sessions: BTreeMap<u64, Vec<HeldId>> = BTreeMap::new();
        for target in self.undecided(spans) {
            sessions.entry(target.session).or_default().push(target);
        }
        if sessions.is_empty() {
            return Ok(Some(Answer::Decided(0)));
        }
        if self.asked.len() + sessions.len() > MAX_ASKED {
            return Err(ControlError::TooMany);
        }
        let first = self.number + 1;
        let open = sessions.len();
        self.joint.insert(first, Joint { interface, id, open, decided: 0, error: None });
        for (session, targets) in sessions {
            let held = targets.iter().map(|it| it.held).collect();
            let number = self.command(session, Action::Decide { held, decision: decision.clone() });
            let decides = Some((targets, Decided::from(decision)));
            let asked = Asked { session, interface, id, decides, joint: Some(first) };
            self.asked.insert(number, asked);
        }
        Ok(None)
    }

    /// Returns the packets in spans that are held and not decided on, each once.
    fn undecided(&self, spans: Vec<Span>) -> impl Iterator<Item = HeldId> {
        let spans = merged(spans).into_iter();
        let ids = spans.flat_map(|(first, last)| self.order.range(first..=last));
        let undecided = |id: &HeldId| self.held.get(id).is_some_and(|(_, it)| it.decided.is_none());
        ids.map(|(_, id)| *id).filter(undecided)
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

    fn decided(&mut self, target: HeldId, decision: Decided) {
        let Some((_, packet)) = self.held.get_mut(&target) else { return };
        packet.decided = Some(decision);
        self.changes += 1;
        let HeldId { session, held } = target;
        self.push(Push::Decided { session, held, decision });
    }

    fn release(&mut self, target: HeldId, how: Release) {
        if let Some((_, packet)) = self.held.remove(&target) {
            self.order.remove(&packet.number);
            self.changes += 1;
            let HeldId { session, held } = target;
            self.push(Push::Released { session, held, how });
        }
    }

    /// Tells how far a repetition is: `left` packets are still to be sent, or as many as before.
    fn repeated(&mut self, command: u64, left: Option<u32>, over: bool) {
        let Some(sending) = self.sending.get_mut(&command) else { return };
        sending.left = left.unwrap_or(sending.left);
        sending.over = over;
        let sending = sending.clone();
        if over {
            self.sending.remove(&command);
        }
        self.push(Push::Sending(sending));
    }

    /// Answers the request of a command that is not carried out.
    fn fail(&mut self, command: u64, decided: usize, error: ControlError) {
        // Nothing is repeated: no interface needs a push.
        self.sending.remove(&command);
        if let Some(asked) = self.asked.remove(&command) {
            self.settle(&asked, decided, Err(error));
        }
    }

    /// Answers a request, once all sessions have that are to carry it out. This one has decided on `decided` packets.
    fn settle(&mut self, asked: &Asked, decided: usize, result: Result<Answer, ControlError>) {
        let Some(first) = asked.joint else {
            return self.answer(asked.interface, asked.id, result);
        };
        let Some(joint) = self.joint.get_mut(&first) else { return };
        joint.open -= 1;
        joint.decided += decided;
        joint.error = joint.error.take().or_else(|| result.err());
        if joint.open > 0 {
            return;
        }
        if let Some(Joint { interface, id, decided, error, .. }) = self.joint.remove(&first) {
            let failed = error.filter(|_| decided == 0);
            self.answer(interface, id, failed.map_or(Ok(Answer::Decided(decided)), Err));
        }
    }

    fn answer(&mut self, interface: u64, id: Option<u64>, answer: Result<Answer, ControlError>) {
        self.messages.push_back((Some(interface), Message::Answer { id, answer }));
    }

    fn push(&mut self, push: Push) {
        self.messages.push_back((None, Message::Push(push)));
    }

    fn push_control(&mut self, by: Option<u64>) {
        let shown = |breakpoint: &Option<Breakpoint>| {
            breakpoint.as_ref().map(|it| BreakCondition {
                condition: it.condition.to_string(),
                overtaken: it.overtaken,
            })
        };
        let (condition, earlier) = (shown(&self.breakpoint), shown(&self.earlier));
        let interfaces = self.interfaces.len();
        self.push(Push::Control { condition, earlier, by, interfaces });
    }
}

/// Most commands that sessions have not answered.
const MAX_ASKED: usize = 10_000;
