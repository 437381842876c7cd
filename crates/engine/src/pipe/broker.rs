use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf as _, BytesMut};

use super::Fault;
use super::answer::Answer;
use super::back_off::BackOff;
use super::last_line::LastLine;
use super::lines::Lines;
use crate::capture::write_question;
use crate::link::{Question, RuledVerdict, Ruling, Unruled};
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
/// Each question gets one [`BrokerAction::Answer`]: from the program, or the reason why there is none.
///
/// Sessions take turns: each sends the program one question, then the next session does. The program is sent
/// more only while it has few, so that the questions of a session wait for a bounded number of those of each
/// other session. It is judged by what it does with a question that it has been sent, and not by the number
/// of those that wait, which sessions bound.
#[derive(Debug)]
pub struct Broker {
    timeout: Duration,
    program: Program,
    /// The questions of each session that the program has not been sent. No queue is empty.
    queues: HashMap<u64, VecDeque<Question>>,
    /// The sessions that have a queue, in the order of their turns. Those that have closed may still be here.
    turns: VecDeque<u64>,
    /// The sessions and their numbers of the questions that the program has not answered, by id.
    asked: BTreeMap<u64, (u64, u64)>,
    /// The time since which the program has had only the first of `asked` to answer, and later ones.
    since: Timestamp,
    /// The id of the last question.
    last: u64,
    /// What is still to be written to the program.
    waiting: BytesMut,
    answers: Lines,
    errors: LastLine,
    back_off: BackOff,
    actions: VecDeque<BrokerAction>,
    counts: BrokerCounts,
}

/// What became of the questions to a program.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct BrokerCounts {
    /// Packets that it left as they are.
    pub passed: u64,
    /// Packets that it changed or replaced.
    pub changed: u64,
    /// Packets that it dropped.
    pub dropped: u64,
    /// Packets of its own.
    pub sent: u64,
    /// Packets on which it did not decide.
    pub undecided: u64,
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
            queues: HashMap::new(),
            turns: VecDeque::new(),
            asked: BTreeMap::new(),
            since: Timestamp(0),
            last: 0,
            waiting: BytesMut::new(),
            answers: Lines::default(),
            errors: LastLine::default(),
            back_off: BackOff::default(),
            actions: VecDeque::from([BrokerAction::Start]),
            counts: BrokerCounts::default(),
        }
    }

    /// Asks about a packet of a session.
    pub fn ask(&mut self, now: Timestamp, session: u64, question: Question) {
        if let Program::Down { .. } = self.program {
            return self.answer(session, question.number, Err(Unruled::Down));
        }
        let queue = self.queues.entry(session).or_default();
        if queue.is_empty() {
            self.turns.push_back(session);
        }
        queue.push_back(question);
        self.fill(now);
    }

    /// A session is over: what it has asked needs no answer.
    pub fn close(&mut self, session: u64) {
        self.queues.remove(&session);
    }

    /// The program runs.
    pub fn on_started(&mut self, now: Timestamp) {
        self.program = Program::Running { since: now };
        self.fill(now);
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
                if self.deadline().is_some_and(|at| at <= now) {
                    self.fail(now, Fault::TooSlow(self.timeout));
                }
            }
        }
    }

    /// Counts the first `count` of the [`pending`](Self::pending) bytes as written.
    pub fn advance(&mut self, now: Timestamp, count: usize) {
        self.waiting.advance(count);
        self.fill(now);
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
            Program::Starting | Program::Running { .. } => self.deadline(),
        }
    }

    /// Returns what became of the questions until now.
    #[must_use]
    pub fn counts(&self) -> BrokerCounts {
        self.counts
    }

    /// Returns how many questions are not answered.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.asked.len() + self.queues.values().map(VecDeque::len).sum::<usize>()
    }

    /// Returns when the program has taken too long for the first question that it has not answered: the time
    /// begins when it has been sent that, and has answered all before.
    fn deadline(&self) -> Option<Timestamp> {
        (!self.asked.is_empty()).then(|| self.since.plus(self.timeout))
    }

    /// Writes questions to the program while it has few, of each session in turn.
    fn fill(&mut self, now: Timestamp) {
        while self.is_running()
            && self.asked.len() < MAX_ASKED
            && self.waiting.len() < MAX_WAITING
            && let Some(session) = self.turns.pop_front()
        {
            let Some(queue) = self.queues.get_mut(&session) else { continue };
            let question = queue.pop_front();
            if queue.is_empty() {
                self.queues.remove(&session);
            } else {
                self.turns.push_back(session);
            }
            let Some(Question { number, packet }) = question else { continue };
            if self.asked.is_empty() {
                self.since = now;
            }
            self.last += 1;
            let id = self.last;
            self.asked.insert(id, (session, number));
            let mut line = Vec::with_capacity(512);
            write_question(&mut line, packet);
            self.waiting.extend_from_slice(format!("{{\"id\":{id},").as_bytes());
            self.waiting.extend_from_slice(&line[1..]);
            self.waiting.extend_from_slice(b"\n");
        }
    }

    fn answer(&mut self, session: u64, number: u64, ruling: Result<Ruling, Unruled>) {
        match &ruling {
            Ok(ruling) => {
                *match ruling.verdict {
                    RuledVerdict::Pass => &mut self.counts.passed,
                    RuledVerdict::Set(_) | RuledVerdict::Replace(_) => &mut self.counts.changed,
                    RuledVerdict::Drop => &mut self.counts.dropped,
                } += 1;
                self.counts.sent += ruling.sends.len() as u64;
            }
            Err(_) => self.counts.undecided += 1,
        }
        self.actions.push_back(BrokerAction::Answer { session, number, ruling });
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
                    self.answer(session, number, Ok(ruling));
                    if self.asked.first_key_value().is_none_or(|(first, _)| *first > id) {
                        self.since = now;
                    }
                    self.fill(now);
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
        let undecided = self.outstanding();
        let asked = std::mem::take(&mut self.asked).into_values();
        let mut queues = std::mem::take(&mut self.queues);
        let waiting = std::mem::take(&mut self.turns).into_iter().flat_map(|session| {
            let queue = queues.remove(&session).unwrap_or_default();
            queue.into_iter().map(move |question| (session, question.number))
        });
        for (session, number) in asked.chain(waiting).collect::<Vec<_>>() {
            self.answer(session, number, Err(reason.clone()));
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

/// Questions that the program has at the same time: enough to keep it busy, few enough for a packet that comes
/// behind them.
const MAX_ASKED: usize = 64;

/// Bytes of questions that wait for the program to read them, but for the last question.
const MAX_WAITING: usize = 64 << 10;
