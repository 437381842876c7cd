use std::collections::HashSet;
use std::time::Duration;

use super::{Certainty, EndKind, Ending, Evidence, Watched};
use crate::analysis::{Exchange, MismatchCause, VersionMismatch, Waiting};
use crate::capture::{Outcome, Record};
use crate::link::Side;
use crate::lint::LintRule;
use crate::report::Finding;
use crate::text::count;
use mitmcraft_protocol::meaning::{DisconnectTopic as Topic, Grade};
use mitmcraft_protocol::packet::{Diagnostic, Origin, Packet, Reading, Undecoded};
use mitmcraft_protocol::schema::{DecodeCause, Direction, Release, Role, State, Value};

/// Returns `false` for what a server corrects, and for what the game only does otherwise.
fn can_end(finding: &Finding) -> bool {
    finding.grade.is_none_or(|grade| grade == Grade::Ends)
}

/// Collects what speaks for a cause of an end, the most certain first.
pub(super) fn causes(session: &Watched, ending: &Ending) -> Vec<Evidence> {
    let mut causes = Causes { session, ending, found: Vec::new() };
    causes.versions();
    causes.packets_of_the_server();
    causes.packets_of_the_client();
    causes.keep_alives();
    causes.silence();
    causes.login();
    causes.movement();
    causes.chat();
    causes.join();
    causes.connection();
    causes.words();
    let mut found = causes.found;
    // What the server says of its own decision is as certain as anything can be.
    let is_behind = |it: &Evidence| it.certainty != Certainty::Certain || it.finding.rule != WORDS;
    found.sort_by_key(|it| (it.certainty, is_behind(it)));
    let mut named = HashSet::new();
    found.retain(|it| named.insert(it.seq) || !LAST.contains(&&*it.finding.rule));
    found
}

/// What was found for an end.
struct Causes<'s> {
    session: &'s Watched,
    ending: &'s Ending,
    found: Vec<Evidence>,
}

impl Causes<'_> {
    fn add(&mut self, record: &Record, certainty: Certainty, rule: &'static str, reason: String) {
        self.found.push(Evidence::of(self.session, record, certainty, rule, reason));
    }

    fn is_about(&self, topic: Topic) -> bool {
        self.ending.topic() == Some(topic)
    }

    /// Returns whether the server ended the session for a reason that is not known to be another.
    fn server_ended(&self) -> bool {
        let is_open = matches!(self.ending.topic(), None | Some(Topic::Unread));
        self.ending.kind.side() == Some(Side::Server) && is_open
    }

    /// A client of another version than the server.
    fn versions(&mut self) {
        let session = self.session;
        let Some(handshake) = &session.login.handshake else { return };
        if self.is_about(Topic::Version) {
            let version = session.context.version.unwrap_or_default();
            let name = session.context.game_version();
            let said = self.ending.words.as_ref().map(|it| it.text()).unwrap_or_default();
            let reason =
                format!("the client speaks {name} (protocol {version}), the server says `{said}`");
            self.add(handshake, Certainty::Certain, "version-differs", reason);
        } else if let Some(mismatch) = &session.mismatch {
            self.mismatch(handshake, mismatch);
        }
    }

    /// What most packets of the server read as that do not decode.
    fn mismatch(&mut self, handshake: &Record, mismatch: &VersionMismatch) {
        let findings = self.session.linter.report().findings;
        let is_first = |it: &&Finding| it.packet().map(Packet::seq) == mismatch.first;
        let first = findings.iter().find(is_first).and_then(|it| it.around.records.first());
        let first = first.unwrap_or(handshake);
        let (record, certainty, rule) = match (&mismatch.cause, &mismatch.status) {
            (MismatchCause::Compressed | MismatchCause::Uncompressed, _) => {
                (first, Certainty::Certain, "compression-differs")
            }
            (MismatchCause::State(_), _) => (first, Certainty::Likely, "state-differs"),
            (MismatchCause::Version(_), _) | (MismatchCause::Unknown, Some(_)) => {
                (handshake, Certainty::Certain, "version-differs")
            }
            // Each packet has its own error.
            (MismatchCause::Unknown, None) => return,
        };
        self.add(record, certainty, rule, mismatch.to_string());
    }

    /// Faults in what the client got.
    fn packets_of_the_server(&mut self) {
        let session = self.session;
        let mut findings: Vec<Finding> = session.linter.report().findings;
        findings.retain(can_end);
        findings.sort_by_key(|it| it.packet().map(Packet::seq));
        // A client that froze at a packet is silent from then on.
        let is_told =
            self.ending.kind.side() == Some(Side::Server) && !self.is_about(Topic::Silence);
        for mut finding in findings {
            let rule = finding.rule.clone();
            let place = finding.around.at_fault;
            let Some(record) = place.and_then(|place| finding.around.records.get(place)) else {
                continue;
            };
            let is_forwarding = rule == LintRule::ForwardingUnread.name();
            if record.packet.direction() == Direction::Serverbound && !is_forwarding {
                continue;
            }
            let bore = session.client_bore(record);
            let is_of_server = is_told && record.packet.role() != Some(Role::Disconnect);
            let certainty = match (bore, finding.certain) {
                _ if HARMLESS.contains(&&*rule) => continue,
                // The server's words are evidence of their own.
                _ if is_forwarding && record.packet.role() == Some(Role::Disconnect) => continue,
                _ if is_forwarding && session.ended_in_login() => Certainty::Likely,
                _ if is_forwarding => Certainty::Possible,
                (true, true) if is_refused(&rule, record) => Certainty::Possible,
                (true, _) => continue,
                (false, _) if rule == LintRule::BundleOpen.name() => Certainty::Likely,
                (false, true) if is_of_server => Certainty::Likely,
                (false, true) if session.ended_at(record) => Certainty::Certain,
                (false, true) => Certainty::Likely,
                (false, false) if is_of_server => continue,
                (false, false) => Certainty::Possible,
            };
            if bore && !is_forwarding {
                finding.reason.push_str(", but the client went on");
            }
            let seq = record.packet.seq();
            finding.place.source.clone_from(&session.source);
            for record in &mut finding.around.records {
                if record.packet.origin() == Origin::Proxy {
                    record.outcome = Outcome::Send;
                }
            }
            self.found.push(Evidence::found(finding, certainty, seq));
        }
    }

    /// Faults in what the server got.
    fn packets_of_the_client(&mut self) {
        let session = self.session;
        let mut unread: Vec<&Record> = session.unread.values().collect();
        unread.sort_by_key(|record| record.packet.seq());
        for record in unread {
            let Some((rule, error)) = fault(record) else { continue };
            let bore = session.server_bore(record);
            let is_of_server = self.ending.kind.side() == Some(Side::Server);
            if bore && !is_of_server {
                continue;
            }
            let is_sure = !bore && !record.packet.context().guess && is_of_server;
            let certainty = if is_sure { Certainty::Certain } else { Certainty::Possible };
            let but = if bore { ", but the server went on" } else { "" };
            let reading = Reading::of(&record.packet).map(|it| format!("; it {it}"));
            let reading = reading.unwrap_or_default();
            self.add(record, certainty, rule, format!("{error}{but}{reading}"));
            if let Some(found) = self.found.last_mut()
                && let Undecoded::Decode(_) = error
            {
                found.finding.span = Some(error.at()..error.at() + 1);
            }
        }
        for (diagnostic, record) in &session.diagnosed {
            let topic = match diagnostic {
                Diagnostic::KeepAliveLate
                | Diagnostic::KeepAliveUnanswered
                | Diagnostic::KeepAliveUnasked => Topic::Silence,
                Diagnostic::PositionOutOfRange | Diagnostic::StanceIllegal => Topic::Movement,
                Diagnostic::ChatTooLong => Topic::Chat,
                // The client's own rules have no other.
                _ => Topic::Unread,
            };
            let certainty = if self.is_about(topic) {
                Certainty::Certain
            } else if self.server_ended() && !session.server_bore(record) {
                Certainty::Likely
            } else {
                continue;
            };
            self.add(record, certainty, diagnostic.name(), diagnostic.description().to_owned());
        }
        // What the server may have refused, besides.
        let is_refused = self.ending.kind.side() == Some(Side::Server)
            && (self.server_ended() || self.is_about(Topic::Unread));
        let findings = session.linter.report().findings.into_iter();
        for mut finding in findings.filter(|it| is_refused && it.certain && can_end(it)) {
            let Some(record) = finding.at_fault().cloned() else { continue };
            let is_known = |found: &Evidence| found.seq == record.packet.seq();
            if record.packet.direction() == Direction::Clientbound
                || session.server_bore(&record)
                || self.found.iter().any(is_known)
            {
                continue;
            }
            finding.place.source.clone_from(&session.source);
            self.found.push(Evidence::found(finding, Certainty::Likely, record.packet.seq()));
        }
    }

    /// Keep-alives that the client has not answered.
    fn keep_alives(&mut self) {
        let session = self.session;
        let open = session.questions.iter().find(|(exchange, ..)| *exchange == Exchange::KeepAlive);
        let Some((.., record)) = open else { return };
        let waited = session.end().since(record.packet.at());
        let is_late = waited >= patience(record);
        let certainty = match self.ending.kind {
            EndKind::Kicked if self.is_about(Topic::Silence) => Certainty::Certain,
            _ if !is_late => return,
            EndKind::Kicked if self.ending.topic().is_some() => return,
            EndKind::Stopped | EndKind::Unreachable | EndKind::Proxy => return,
            EndKind::Left | EndKind::Refused => Certainty::Possible,
            _ => Certainty::Likely,
        };
        let reason =
            format!("the server got no answer to this keep-alive for {} s", waited.as_secs());
        self.add(record, certainty, Diagnostic::KeepAliveUnanswered.name(), reason);
    }

    /// A peer from which nothing came before the end.
    fn silence(&mut self) {
        let (session, end) = (self.session, self.session.end());
        let silent = |record: &Record| end.since(record.packet.at());
        let waits = |record: &&Record| {
            matches!(record.packet.state(), State::Login | State::Configuration | State::Play)
        };
        let is_silence = self.is_about(Topic::Silence);
        let server = session.last.clientbound.as_ref().filter(waits);
        let client = session.last.serverbound.as_ref().filter(waits);
        let client_waited = matches!(
            self.ending.kind,
            EndKind::Left | EndKind::Refused | EndKind::LostClient | EndKind::Open
        );
        if let Some(record) = server.filter(|it| client_waited && silent(it) >= SILENCE) {
            let seconds = silent(record).as_secs();
            let reason = format!("the server sent nothing for {seconds} s after this packet");
            self.add(record, Certainty::Certain, LintRule::ServerSilent.name(), reason);
        } else if let Some(record) = session.keep_alive.as_ref().filter(|_| client_waited) {
            let (gap, limit) = (silent(record), client_patience(record));
            // A client that waited much longer has another limit.
            if (limit..limit + MARGIN).contains(&gap) {
                let seconds = gap.as_secs();
                let reason = format!("no keep-alive came for {seconds} s after this one");
                let certainty =
                    if limit < SILENCE { Certainty::Likely } else { Certainty::Possible };
                self.add(record, certainty, Diagnostic::KeepAliveOverdue.name(), reason);
            }
        }
        if let Some(record) = client.filter(|it| is_silence && silent(it) >= SILENCE) {
            let seconds = silent(record).as_secs();
            let reason = format!("the client sent nothing for {seconds} s after this packet");
            self.add(record, Certainty::Certain, "client-silent", reason);
        }
    }

    /// The account, the encryption and the forwarding of a proxy.
    fn login(&mut self) {
        let (session, login) = (self.session, &self.session.login);
        let asked = login.encryption_response.as_ref().or(login.encryption_request.as_ref());
        let cause = self.ending.words.as_ref().and_then(|it| it.known).map(|it| it.cause.clone());
        if self.is_about(Topic::Account) {
            if let Some(record) = asked.or(login.start.as_ref()) {
                let cause = cause.unwrap_or_default();
                self.add(record, Certainty::Certain, "account-unverified", cause);
            }
        } else if self.is_about(Topic::Forwarding) {
            let lacks = |record: &&Record| {
                let data = record.packet.value().ok();
                let data = data.as_ref().and_then(|it| it.get("data")).map(Value::plain);
                !matches!(data, Some(Value::Bytes(bytes)) if !bytes.is_empty())
            };
            let answer = login.plugin_response.as_ref().filter(lacks);
            if let Some(record) = answer.or(login.handshake.as_ref()) {
                let forwarded =
                    forwarded(record).map(|it| format!("; the handshake forwards {it}"));
                let cause = cause.unwrap_or_default() + &forwarded.unwrap_or_default();
                self.add(record, Certainty::Certain, "forwarding-missing", cause);
            }
        } else if let Some(header) = &login.preamble
            && session.last.clientbound.is_none()
            && matches!(self.ending.kind, EndKind::Dropped | EndKind::LostServer)
        {
            let reason = "the server ended the session before it said anything: it may not expect this PROXY header";
            self.add(header, Certainty::Likely, "proxy-header-refused", reason.to_owned());
        } else if let Some(last) = &session.last.serverbound
            && matches!(self.ending.kind, EndKind::Dropped | EndKind::LostServer)
            && matches!(
                last.packet.role(),
                Some(Role::LoginStart | Role::UnframedLogin | Role::EncryptionResponse)
            )
        {
            let reason = "the server ended the login right after this packet: it may want an account, another \
                          version or a proxy in front of it";
            self.add(last, Certainty::Likely, "account-unverified", reason.to_owned());
        } else if let (Some(request), None) =
            (&login.encryption_request, &login.encryption_response)
            && matches!(self.ending.kind, EndKind::Left | EndKind::LostClient)
        {
            let reason = "the client left instead of answering: its account could not join";
            self.add(request, Certainty::Likely, "account-unverified", reason.to_owned());
        }
    }

    /// Positions that the server has corrected before it ended the session.
    fn movement(&mut self) {
        let session = self.session;
        let is_recent =
            |record: &&Record| session.end().since(record.packet.at()) <= CORRECTED_WITHIN;
        let recent: Vec<&Record> = session.corrections.iter().filter(is_recent).collect();
        let certainty = match self.ending.kind {
            EndKind::Kicked if self.is_about(Topic::Movement) => Certainty::Likely,
            EndKind::Kicked if self.ending.topic().is_none() && recent.len() >= 3 => {
                Certainty::Possible
            }
            _ => return,
        };
        let Some(last) = recent.last() else { return };
        let times = count(recent.len() as u64, "time");
        let reason = format!(
            "the server corrected the player's position {times} in the last {} s, the last time here",
            CORRECTED_WITHIN.as_secs()
        );
        self.add(last, certainty, "position-corrected", reason);
    }

    /// A message that the server refused.
    fn chat(&mut self) {
        if !self.is_about(Topic::Chat) {
            return;
        }
        let session = self.session;
        if let Some(record) = &session.changed_chat {
            let reason = "a rule changed this message, or left it out".to_owned();
            self.add(record, Certainty::Certain, "chat-changed", reason);
        } else if let Some(record) = &session.chat {
            let reason = "the last message of the client before the end".to_owned();
            self.add(record, Certainty::Likely, "chat-refused", reason);
        }
    }

    /// A connection that broke, or was closed without a word.
    fn connection(&mut self) {
        let session = self.session;
        let last = |side: Side| session.last[side.sends()].as_ref();
        let (side, rule) = match self.ending.kind {
            EndKind::LostClient => (Side::Client, "connection-lost"),
            EndKind::LostServer => (Side::Server, "connection-lost"),
            EndKind::Dropped => (Side::Client, "closed-without-a-word"),
            _ => return,
        };
        let Some(record) = last(side).or_else(|| last(side.other())) else { return };
        let why = self.ending.reason.clone().unwrap_or_default();
        let (certainty, reason) = match self.ending.kind {
            EndKind::Dropped => (
                Certainty::Possible,
                "the last packet of the client: it may be one that the server refuses",
            ),
            _ => (Certainty::Likely, "the last packet of that side"),
        };
        self.add(record, certainty, rule, format!("{why}; {reason}"));
    }

    /// What the client, or the server, still waited for at the end.
    fn join(&mut self) {
        let certainty = match self.ending.kind {
            EndKind::Open | EndKind::Left | EndKind::Refused => Certainty::Likely,
            EndKind::Kicked if self.is_about(Topic::Silence) => Certainty::Likely,
            EndKind::Dropped | EndKind::LostClient | EndKind::LostServer => Certainty::Possible,
            EndKind::Kicked | EndKind::Stopped | EndKind::Unreachable | EndKind::Proxy => return,
        };
        let session = self.session;
        // A player who acts is in the world; one who is asked may have left instead.
        let is_of_end = |it: &Waiting<'_>| it.owed == Direction::Serverbound || !it.is_up_to_player;
        if let Some(waiting) = session.join.waits(session.end()).filter(is_of_end) {
            let rule = LintRule::JoinIncomplete.name();
            self.add(waiting.record, certainty, rule, waiting.reason());
        }
    }

    /// The words of the server.
    fn words(&mut self) {
        let Some(words) =
            self.ending.words.as_ref().filter(|_| self.ending.kind == EndKind::Kicked)
        else {
            return;
        };
        if self.is_about(Topic::Unread)
            && let Some(last) = &self.session.last.serverbound
        {
            let reason = "the last packet of the client before the server gave up".to_owned();
            self.add(last, Certainty::Possible, "packet-refused", reason);
        }
        let Some(record) = &words.packet else { return };
        let (certainty, cause) = match words.known {
            Some(known) if known.topic == Topic::Decision => {
                (Certainty::Certain, known.cause.as_str())
            }
            Some(known) => (Certainty::Likely, known.cause.as_str()),
            None => (Certainty::Possible, OWN_WORDS),
        };
        self.add(record, certainty, WORDS, format!("the server says `{}`: {cause}", words.text()));
    }
}

/// Returns whether the first evidence are only the server's own words: nothing is wrong with the packets
/// before them.
pub(super) fn is_own_decision(first: &Evidence) -> bool {
    first.finding.rule == WORDS && first.certainty == Certainty::Possible
}

/// Returns the address that a handshake forwards; `None` if it forwards nothing.
fn forwarded(handshake: &Record) -> Option<String> {
    let value = handshake.packet.value_with_payload().ok()?;
    let address = value.get("payload")?.get("forwarded")?.get("address")?;
    Some(format!("`{}`", address.as_text()?))
}

/// Returns the rule that a packet breaks that does not decode; `None` if that is nobody's fault.
fn fault(record: &Record) -> Option<(&'static str, Undecoded)> {
    let error = record.packet.error()?;
    let rule = match &error {
        Undecoded::Codec(_) => LintRule::FrameInvalid,
        Undecoded::Raw(reason) if reason.is_fault_of_stream() => LintRule::FrameInvalid,
        Undecoded::Raw(_) | Undecoded::Foreign(_) => return None,
        Undecoded::Decode(error) => match &error.cause {
            DecodeCause::UnknownId { .. } => LintRule::IdUnknown,
            DecodeCause::Trailing(_) => LintRule::BytesLeft,
            DecodeCause::Empty => LintRule::BytesMissing,
            DecodeCause::Wire(error) if error.is_incomplete() => LintRule::BytesMissing,
            _ => LintRule::FieldInvalid,
        },
    };
    Some((rule.name(), error))
}

/// Returns whether the game refuses such a packet in any case: while it reads it, or since 1.20.5 also while
/// it acts on it. A client that went on is another one.
fn is_refused(rule: &str, record: &Record) -> bool {
    let release = record.packet.context().protocol.release();
    READING.contains(&rule) || release >= Release::V1_20_5
}

/// Returns how long a server waits for the answer to a keep-alive.
fn patience(record: &Record) -> Duration {
    let is_new = record.packet.context().protocol.release() >= Release::V1_12_2;
    if is_new { Duration::from_secs(15) } else { SILENCE }
}

/// Returns how long a client waits for a keep-alive: up to 1.8 it counts them, and since then any packet.
fn client_patience(record: &Record) -> Duration {
    let is_old = record.packet.context().protocol.release() < Release::V1_9;
    if is_old { Duration::from_secs(20) } else { SILENCE }
}

/// Rules that say nothing about the end: the game goes on, or another judgement has them.
const HARMLESS: [&str; 7] = [
    "channel-unregistered",
    "join-incomplete",
    "keep-alive-overdue",
    "pack-hash-invalid",
    "server-silent",
    "uncompressed-above-threshold",
    "version-differs",
];

/// Rules that the game checks while it reads a packet.
const READING: [&str; 14] = [
    "bundle-too-long",
    "bytes-left",
    "bytes-missing",
    "field-invalid",
    "frame-invalid",
    "id-unknown",
    "identifier-invalid",
    "inflated-too-long",
    "json-invalid",
    "length-invalid",
    "nbt-too-large",
    "registry-missing",
    "text-invalid",
    "text-too-long",
];

/// The time after which a peer gives up one that sends nothing.
const SILENCE: Duration = Duration::from_secs(30);

/// The time within which a client closes after its limit.
const MARGIN: Duration = Duration::from_secs(5);

/// The time before a kick in which corrections count.
const CORRECTED_WITHIN: Duration = Duration::from_secs(10);

/// Rules of packets that are only the last before the end.
const LAST: [&str; 3] = ["closed-without-a-word", "connection-lost", "packet-refused"];

/// The rule of what a server says itself.
const WORDS: &str = "disconnect-text";

/// What words of a server mean that are nobody else's.
const OWN_WORDS: &str = "words of its own, so a plugin or a person decided";
