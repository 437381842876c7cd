use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf as _, BytesMut};

use super::Fault;
use super::answer::Answer;
use super::back_off::BackOff;
use super::last_line::LastLine;
use super::lines::Lines;
use crate::link::{Ruling, Unruled};
use mitmcraft_protocol::packet::Timestamp;

/// The questions of all sessions of a run to one program, and its answers.
///
/// ```text
///             started                    fault: kill it, report, answer all
///  Starting ──────────> Running ─────────────────────────────> Down
///     ^                                                         │
///     └───────────────── start, after a pause ──────────────────┘
/// ```
///
/// Each question gets one [`BrokerAction::Answer`]: from the program, or the reason why there is none. What
/// waits to be written to the program is bounded by 16 MiB and one line: beyond that the program
/// has failed.
#[derive(Debug)]
pub struct Broker {
    timeout: Duration,
    program: Program,
    /// The sessions and their numbers of the questions that are not answered, by id.
    asked: HashMap<u64, (u64, u64)>,
    /// The deadlines of questions in the order in which they were asked; the first is not answered.
    deadlines: VecDeque<(Timestamp, u64)>,
    /// The id of the last question.
    last: u64,
    /// What is still to be written to the program.
    waiting: BytesMut,
    answers: Lines,
    errors: LastLine,
    back_off: BackOff,
    actions: VecDeque<BrokerAction>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Program {
    Starting,
    Running { since: Timestamp },
    Down { until: Timestamp },
}

/// Something that a [`Broker`] wants done.
#[derive(Debug)]
#[non_exhaustive]
pub enum BrokerAction {
    /// Start the program.
    Start,
    /// Kill the program, and read nothing more of it.
    Kill,
    /// Answer a session's question.
    Answer {
        /// The session's number.
        session: u64,
        /// The question's number in its session.
        number: u64,
        /// The answer.
        ruling: Result<Ruling, Unruled>,
    },
    /// Show the user a line that the program has written to stderr.
    Say(String),
    /// Tell the user that the program has failed.
    Report {
        /// The failure.
        fault: Fault,
        /// The last line of its stderr, if there is one.
        last: Option<String>,
        /// Packets on which it has not decided.
        undecided: usize,
        /// The pause until it is started again.
        pause: Duration,
    },
}

impl Broker {
    /// Creates a broker that wants its program started. The program may take `timeout` for a packet.
    #[must_use]
    pub fn new(timeout: Duration) -> Self {
        Self {
            timeout,
            program: Program::Starting,
            asked: HashMap::new(),
            deadlines: VecDeque::new(),
            last: 0,
            waiting: BytesMut::new(),
            answers: Lines::default(),
            errors: LastLine::default(),
            back_off: BackOff::default(),
            actions: VecDeque::from([BrokerAction::Start]),
        }
    }

    /// Asks about a packet of a session; `line` is its [`question_line`](super::question_line).
    pub fn ask(&mut self, now: Timestamp, session: u64, number: u64, line: &[u8]) {
        if self.waiting.len() > MAX_WAITING {
            self.fail(now, Fault::ReadsNothing(self.waiting.len()));
        }
        if let Program::Down { .. } = self.program {
            let ruling = Err(Unruled::Down);
            return self.actions.push_back(BrokerAction::Answer { session, number, ruling });
        }
        self.last += 1;
        let id = self.last;
        self.asked.insert(id, (session, number));
        self.deadlines.push_back((now.plus(self.timeout), id));
        self.waiting.extend_from_slice(format!("{{\"id\":{id},").as_bytes());
        self.waiting.extend_from_slice(&line[1..]);
        self.waiting.extend_from_slice(b"\n");
    }

    /// The program runs.
    pub fn on_started(&mut self, now: Timestamp) {
        self.program = Program::Running { since: now };
    }

    /// The program cannot be started, for this reason.
    pub fn on_not_started(&mut self, now: Timestamp, reason: String) {
        self.fail(now, Fault::NotStarted(reason));
    }

    /// The program has written to stdout.
    pub fn on_output(&mut self, now: Timestamp, bytes: &[u8]) {
        let mut answers = std::mem::take(&mut self.answers);
        let fits = answers.push(bytes, |line| self.is_running() && self.on_line(now, line));
        self.answers = answers;
        if !fits && self.is_running() {
            self.fail(now, Fault::EndlessLine(Lines::MAX));
        }
    }

    /// The program has written to stderr.
    pub fn on_errors(&mut self, now: Timestamp, bytes: &[u8]) {
        let actions = &mut self.actions;
        self.errors.push(now, bytes, |line| actions.push_back(BrokerAction::Say(line)));
    }

    /// The program has ended in this way, and everything that it wrote has been passed in.
    pub fn on_end(&mut self, now: Timestamp, how: String) {
        if self.is_running() {
            self.fail(now, Fault::Ended(how));
        }
    }

    /// The time of [`poll_timeout`](Self::poll_timeout) has come.
    pub fn on_timeout(&mut self, now: Timestamp) {
        match self.program {
            Program::Down { until } if until <= now => {
                self.program = Program::Starting;
                self.actions.push_back(BrokerAction::Start);
            }
            Program::Down { .. } => {}
            Program::Starting | Program::Running { .. } => {
                if self.deadlines.front().is_some_and(|(at, _)| *at <= now) {
                    self.fail(now, Fault::TooSlow(self.timeout));
                }
            }
        }
    }

    /// Counts the first `count` of the [`pending`](Self::pending) bytes as written.
    pub fn advance(&mut self, count: usize) {
        self.waiting.advance(count);
    }

    /// Returns the next thing to be done, if any.
    pub fn poll_action(&mut self) -> Option<BrokerAction> {
        self.actions.pop_front()
    }

    /// Returns the bytes to be written to the program.
    #[must_use]
    pub fn pending(&self) -> &[u8] {
        if self.is_running() { &self.waiting } else { &[] }
    }

    /// Returns when to call [`on_timeout`](Self::on_timeout), if nothing else happens before.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        match self.program {
            Program::Down { until } => Some(until),
            Program::Starting | Program::Running { .. } => {
                self.deadlines.front().map(|(at, _)| *at)
            }
        }
    }

    /// Returns how many questions are not answered.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.asked.len()
    }

    fn is_running(&self) -> bool {
        matches!(self.program, Program::Running { .. })
    }

    /// Handles a line of the program. Returns whether it was an answer.
    fn on_line(&mut self, now: Timestamp, line: &[u8]) -> bool {
        if line.trim_ascii().is_empty() {
            return true;
        }
        let fault = match Answer::parse(line) {
            Err(reason) => Fault::NotAnswer { line: excerpt(line), reason },
            Ok(Answer { id, ruling }) => match self.asked.remove(&id) {
                Some((session, number)) => {
                    let ruling = Ok(ruling);
                    self.actions.push_back(BrokerAction::Answer { session, number, ruling });
                    while self.deadlines.front().is_some_and(|(_, id)| !self.asked.contains_key(id))
                    {
                        self.deadlines.pop_front();
                    }
                    return true;
                }
                None if (1..=self.last).contains(&id) => Fault::AnsweredTwice(id),
                None => Fault::UnknownId(id),
            },
        };
        self.fail(now, fault);
        false
    }

    /// Gives up on the program as it is: nothing that was asked will be answered.
    fn fail(&mut self, now: Timestamp, fault: Fault) {
        let ran = match self.program {
            Program::Running { since } => {
                self.actions.push_back(BrokerAction::Kill);
                now.since(since)
            }
            Program::Starting | Program::Down { .. } => Duration::ZERO,
        };
        let pause = self.back_off.after(ran);
        self.program = Program::Down { until: now.plus(pause) };
        let reason = Unruled::Failed(Arc::from(fault.to_string()));
        let undecided = self.asked.len();
        for (_, id) in std::mem::take(&mut self.deadlines) {
            if let Some((session, number)) = self.asked.remove(&id) {
                let ruling = Err(reason.clone());
                self.actions.push_back(BrokerAction::Answer { session, number, ruling });
            }
        }
        self.waiting = BytesMut::new();
        self.answers.clear();
        let last = self.errors.take();
        self.actions.push_back(BrokerAction::Report { fault, last, undecided, pause });
    }
}

/// Returns the beginning of a line.
fn excerpt(line: &[u8]) -> String {
    let end = line.len().min(EXCERPT);
    let text = String::from_utf8_lossy(&line[..end]);
    if end < line.len() { format!("{text}..") } else { text.into_owned() }
}

/// Bytes of a line in a message.
const EXCERPT: usize = 100;

/// A program that leaves more than this unread does not read: seconds of the busiest sessions.
const MAX_WAITING: usize = 16 << 20;
