use std::collections::VecDeque;
use std::time::Duration;

use super::{ClientRule, Found};
use crate::capture::Record;
use crate::lint::{Fault, LintRule};
use mitmcraft_protocol::meaning::{Answer, Grade};
use mitmcraft_protocol::packet::{Packet, Timestamp};
use mitmcraft_protocol::schema::{State, Value};

/// The questions of a server, and the client's answers.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// The questions without an answer, the oldest first; at most [`MAX_OPEN`].
    open: VecDeque<Question>,
    /// The memory that the packets in `open` take, in bytes; at most [`MAX_KEPT`].
    kept: usize,
    /// The name and number of the last answer of each kind.
    given: Vec<(State, &'static str, Option<Value>)>,
    /// The kinds of answers to questions that were dropped because too many were open.
    forgotten: Vec<(State, &'static str)>,
}

#[derive(Debug)]
struct Question {
    record: Record,
    answer: &'static Answer,
    number: Option<Value>,
    /// The memory that the packet takes, in bytes.
    memory: usize,
    /// `true` once it was reported to be without an answer, which may still come.
    is_reported: bool,
}

impl Question {
    /// Returns the state and the name of the answer.
    fn kind(&self) -> (State, &'static str) {
        (self.record.packet.state(), &self.answer.by)
    }
}

impl Answers {
    /// Takes a packet of the server, which may be a question.
    pub(super) fn ask(&mut self, record: &Record) {
        let packet = &record.packet;
        let Some(kind) = packet.kind() else { return };
        let Some(answer) = Answer::to(packet.context().protocol.release(), kind) else { return };
        let needs_none = answer.unless.as_deref().is_some_and(|field| {
            let value = packet.value().ok();
            value.and_then(|it| Some(*it.get(field)?.plain() == Value::Bool(true))) == Some(true)
        });
        if needs_none {
            return;
        }
        let (record, number, memory) = (record.clone(), number(packet, answer), record.memory());
        self.open.push_back(Question { record, answer, number, memory, is_reported: false });
        self.kept += memory;
        while self.open.len() > MAX_OPEN || self.kept > MAX_KEPT {
            let Some(oldest) = self.open.pop_front() else { return };
            self.kept -= oldest.memory;
            if !self.forgotten.contains(&oldest.kind()) {
                self.forgotten.push(oldest.kind());
            }
        }
    }

    /// Takes a packet of the client, which may be an answer.
    pub(super) fn answer(&mut self, found: &mut Found<'_>) {
        let packet = &found.record.packet;
        self.expire(found, packet.at());
        let Some(kind) = packet.kind() else { return };
        let Some((question, answer)) = Answer::by(found.release, kind) else { return };
        let (state, number) = (packet.state(), number(packet, answer));
        let is_kind = |it: &Question| it.kind() == (state, &*answer.by);
        let is_asked = |it: &Question| is_kind(it) && it.number == number;
        // An answer without a number belongs to a question that is not overdue, if there is one.
        let place = self.open.iter().position(|it| is_asked(it) && !it.is_reported);
        let place = place.or_else(|| self.open.iter().position(is_asked));
        let given = self.given.iter_mut().find(|(at, name, _)| (*at, *name) == (state, question));
        let is_repeated =
            given.as_ref().is_some_and(|(.., last)| number.is_some() && *last == number);
        match given {
            Some((.., last)) => last.clone_from(&number),
            None => self.given.push((state, question, number.clone())),
        }
        let field = answer.number.as_deref();
        let Some(place) = place else {
            if self.forgotten.contains(&(state, &*answer.by)) {
                return;
            }
            let awaits = self.open.iter().any(is_kind);
            let (grade, reason) = match answer.repeated.filter(|_| is_repeated && !awaits) {
                Some(grade) => (grade, format!("`{question}` has been answered before")),
                None => (answer.unasked, format!("the server has sent no such `{question}`")),
            };
            push(found, ClientRule::AnswerUnasked, grade, field, reason);
            return;
        };
        let earlier = self.open.iter().take(place).any(|it| is_kind(it) && !it.is_reported);
        self.kept -= self.open.remove(place).map_or(0, |it| it.memory);
        if earlier && answer.is_in_order {
            let reason = format!("an earlier `{question}` has no answer yet");
            push(found, ClientRule::AnswerOrder, Grade::Corrects, field, reason);
        }
    }

    /// Returns the faults of the overdue questions without an answer when the session ends.
    pub(super) fn end(&self, now: Timestamp) -> Vec<(Record, Fault)> {
        let late = self.open.iter().filter(|it| !it.is_reported && is_late(it, now));
        late.filter_map(missing).collect()
    }

    /// Returns the number of questions that are kept.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.open.len()
    }

    /// Reports the questions that have waited for too long.
    fn expire(&mut self, found: &mut Found<'_>, now: Timestamp) {
        for question in self.open.iter_mut().take_while(|it| is_late(it, now)) {
            if !std::mem::replace(&mut question.is_reported, true)
                && let Some((record, fault)) = missing(question)
            {
                // The answer may still come.
                found.faults.push((record, Fault { certain: false, ..fault }));
            }
        }
    }
}

/// Returns whether the time for the answer to a question has passed at `now`.
fn is_late(question: &Question, now: Timestamp) -> bool {
    now.since(question.record.packet.at()) > PATIENCE
}

/// Returns the fault of a question without an answer, unless a player may take any time.
fn missing(question: &Question) -> Option<(Record, Fault)> {
    let by = &question.answer.by;
    let reason = format!("the client has not answered with `{by}` within {} s", PATIENCE.as_secs());
    let grade = question.answer.missing?;
    let fault = Fault::new(LintRule::Client(ClientRule::AnswerMissing), reason);
    Some((question.record.clone(), Fault { grade, then: Some(then(grade)), ..fault }))
}

fn push(
    found: &mut Found<'_>,
    rule: ClientRule,
    grade: Grade,
    field: Option<&str>,
    reason: String,
) {
    let fault = Fault::new(LintRule::Client(rule), reason);
    let fault = Fault { grade, then: Some(then(grade)), field: field.map(str::to_owned), ..fault };
    found.faults.push((found.record.clone(), fault));
}

/// Returns the consequence of a fault of this grade, in words.
fn then(grade: Grade) -> &'static str {
    match grade {
        Grade::Ends => "the server ends the session",
        Grade::Corrects => "the server ignores it or waits, or anticheats flag it",
        Grade::Differs => "nothing in the game; plugins may wait",
    }
}

/// Returns the value that a question and its answer share.
fn number(packet: &Packet, answer: &Answer) -> Option<Value> {
    Some(packet.value().ok()?.get(answer.number.as_deref()?)?.plain().clone())
}

/// The time within which every client answers.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most questions that are kept.
const MAX_OPEN: usize = 256;

/// The most memory that the packets of questions take, in bytes: 4 KiB for each.
const MAX_KEPT: usize = MAX_OPEN << 12;
