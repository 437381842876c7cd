use std::time::Duration;

use bytes::Bytes;

use super::{Message, is_own};
use mitmcraft_protocol::schema::Direction;

/// The verdict of a filter on a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Forward it unchanged.
    Pass,
    /// Do not forward it.
    Drop,
    /// Forward this body (id and fields) instead.
    Replace(Bytes),
}

/// The side effects of judging a packet; each filter adds to them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Effects {
    /// The way the packet is logged.
    pub notes: Notes,
    /// Additional packets to send.
    pub sends: Vec<Injection>,
    /// The number of additional copies to send.
    pub copies: u32,
    /// The rules that ask for copies, by name.
    pub copied_by: Vec<String>,
    /// The delay of the packet.
    pub delay: Option<Delay>,
    /// Ends the session with this reason, which the player is shown.
    pub close: Option<String>,
    /// Messages to the person who runs the proxy.
    pub messages: Vec<Message>,
}

/// The combined judgement of all filters on a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Judgement {
    /// The verdict on the packet.
    pub verdict: Verdict,
    /// The side effects.
    pub effects: Effects,
}

impl Judgement {
    /// Returns whether the packet is forwarded unchanged, at once and alone.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        let Effects { sends, copies, delay, .. } = &self.effects;
        self.verdict == Verdict::Pass && sends.is_empty() && *copies == 0 && delay.is_none()
    }

    /// Withdraws what rules did to the packet itself: it is forwarded unchanged.
    pub fn pass(&mut self) {
        self.verdict = Verdict::Pass;
        self.effects.notes.rules.clear();
    }

    /// Reduces the judgement to forwarding the packet unchanged and at once, with nothing before
    /// it.
    pub fn keep(&mut self) {
        self.pass();
        self.effects.delay = None;
        self.effects.copies = 0;
        for send in &mut self.effects.sends {
            send.before = false;
        }
    }
}

/// The way a packet is logged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Notes {
    /// `true` if the packet is hidden on the screen.
    pub hidden: bool,
    /// `true` if the packet is left out of captures.
    pub unrecorded: bool,
    /// The rules that dropped, rewrote or made the packet, by name.
    pub rules: Vec<String>,
    /// The level of detail on the screen, if not the general one.
    pub detail: Option<Detail>,
    /// Comments on the packet, in captures and on the screen.
    pub comments: Vec<String>,
    /// Tags from rules.
    pub tags: Vec<String>,
    /// The action on the capture that rules write.
    pub ring: Option<Ring>,
}

impl Notes {
    /// Returns the notes of a packet that rules have made.
    #[must_use]
    pub fn made_by(rules: Vec<String>) -> Self {
        Self { rules, ..Self::default() }
    }

    /// Adds a comment of the proxy's own.
    pub(crate) fn remark(&mut self, remark: impl Into<String>) {
        let remark = remark.into();
        debug_assert!(is_own(&remark), "redaction does not know the remark: {remark}");
        self.comments.push(remark);
    }

    /// Returns about how many bytes the notes keep in memory.
    #[must_use]
    pub fn memory(&self) -> usize {
        let texts = self.rules.iter().chain(&self.comments).chain(&self.tags);
        size_of::<Self>() + texts.map(|text| size_of::<String>() + text.len()).sum::<usize>()
    }

    /// Returns the rules as text: ``rule `shout` ``; `None` without any.
    #[must_use]
    pub fn named_rules(&self) -> Option<String> {
        let names =
            self.rules.iter().map(|rule| format!("`{rule}`")).collect::<Vec<_>>().join(", ");
        match self.rules.len() {
            0 => None,
            1 => Some(format!("rule {names}")),
            _ => Some(format!("rules {names}")),
        }
    }
}

/// A level of detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Its name.
    Name,
    /// All fields.
    Full,
    /// All fields and bytes.
    Hex,
}

/// An action on the capture that rules write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ring {
    /// Write from this packet on, preceded by the contents of the ring.
    Start,
    /// Stop writing after this packet.
    Stop,
    /// Write the contents of the ring and this packet.
    Flush,
}

/// A packet made by a filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Injection {
    /// The direction in which it is sent.
    pub direction: Direction,
    /// `true` if it is sent before the judged packet, not after.
    pub before: bool,
    /// Id and fields; if not `framed`, the raw bytes to send.
    pub body: Bytes,
    /// `true` if the body is put into a frame.
    pub framed: bool,
    /// The name of the rule that made it; `None` if no rule did.
    pub rule: Option<String>,
}

/// The delay of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delay {
    /// The time since its arrival.
    pub by: Duration,
    /// `true` if later packets may overtake it.
    pub reorder: bool,
}
