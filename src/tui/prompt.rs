use std::ops::Range;
use std::sync::Arc;

use ratatui_crossterm::crossterm::event::KeyCode;

use super::History;
use crate::control::HeldId;
use mitmcraft_engine::lang::Completion;
use mitmcraft_protocol::schema::Protocol;

/// What the line that is being typed is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Shows the packets that match.
    Filter,
    /// Finds text or bytes.
    Search,
    /// Holds the packets that match.
    Break,
    /// Replaces a held packet.
    Edit(HeldId),
    /// Sends a packet in this session.
    Send(u64),
    /// Ends this session.
    Kick(u64),
    /// Chooses the columns of the list.
    Columns,
    /// Comments on the packet of this row.
    Comment(u64),
    /// Sorts the list.
    Sort,
    /// Chooses the expressions of the timeline.
    Series,
    /// Chooses the colours of packets.
    Colors,
    /// Lists the sessions that have these words.
    Sessions,
    /// Goes to a packet.
    GoTo,
    /// Finds an action by what it does.
    Palette,
}

impl Purpose {
    /// Returns what stands before the line.
    pub(super) fn label(&self) -> String {
        match self {
            Self::Filter => "filter: ".to_owned(),
            Self::Search => "search: ".to_owned(),
            Self::Break => "hold: ".to_owned(),
            Self::Edit(id) => format!("edit {}: ", id.held),
            Self::Send(session) => format!("send in #{session}: "),
            Self::Columns => "columns: ".to_owned(),
            Self::Comment(_) => "comment: ".to_owned(),
            Self::Sort => "sort by (-size: greatest first): ".to_owned(),
            Self::Series => "series, with ; between them: ".to_owned(),
            Self::Colors => "colours, with ; between them: ".to_owned(),
            Self::Sessions => "sessions with: ".to_owned(),
            Self::GoTo => "go to: ".to_owned(),
            Self::Palette => "action: ".to_owned(),
            Self::Kick(session) => format!("kick #{session}, saying: "),
        }
    }

    /// Returns whether lines for it come back with the arrow keys.
    pub(super) fn is_remembered(&self) -> bool {
        matches!(self, Self::Filter | Self::Break | Self::Search)
    }

    /// Returns whether the line is an expression.
    pub(super) fn is_expression(&self) -> bool {
        matches!(self, Self::Filter | Self::Break)
    }
}

/// A line that is being typed.
#[derive(Debug, Clone)]
pub(super) struct Prompt {
    pub(super) purpose: Purpose,
    pub(super) text: String,
    /// The place of the cursor, in bytes, at a character.
    pub(super) cursor: usize,
    /// The place in the text that is wrong, in bytes, and why.
    pub(super) error: Option<(usize, String)>,
    /// A warning about entering the line, shown above it.
    pub(super) warning: Option<&'static str>,
    /// The names that complete the word before the cursor, once they were asked for.
    pub(super) names: Vec<String>,
    /// The name that stands there, or the place of the chosen action.
    pub(super) name: usize,
    /// Where it begins.
    start: usize,
    /// How many lines the person has gone back.
    back: usize,
}

impl Prompt {
    pub(super) fn new(purpose: Purpose, text: String) -> Self {
        Self {
            purpose,
            cursor: text.len(),
            text,
            error: None,
            warning: None,
            names: Vec::new(),
            name: 0,
            start: 0,
            back: 0,
        }
    }

    /// Completes the word before the cursor; asked again, takes the next name.
    pub(super) fn complete(&mut self, protocols: &[Arc<Protocol>]) {
        if self.names.is_empty() {
            let Completion { span, names, .. } =
                Completion::new(&self.text, self.cursor, protocols);
            (self.start, self.names, self.name) = (span.start, names, 0);
        } else {
            self.name = (self.name + 1) % self.names.len();
        }
        if let Some(name) = self.names.get(self.name) {
            self.text.replace_range(self.start..self.cursor, name);
            self.cursor = self.start + name.len();
        }
    }

    /// Takes an earlier line, or a later one.
    pub(super) fn recall(&mut self, history: &History, earlier: bool) {
        let back = if earlier { self.back + 1 } else { self.back.saturating_sub(1) };
        let line = history.line(&self.purpose, back);
        if back > 0 && line.is_none() {
            return;
        }
        self.back = back;
        self.text = line.unwrap_or_default().to_owned();
        self.cursor = self.text.len();
        self.names.clear();
    }

    /// Handles a key that edits the line as in a shell: Ctrl with a letter, or Alt if `by_word`.
    pub(super) fn edit_as_shell(&mut self, letter: char, by_word: bool) {
        self.names.clear();
        let (before, after) = self.text.split_at(self.cursor);
        let is_word = |char: char| char.is_alphanumeric() || char == '_';
        let is_other = |char: char| !is_word(char);
        let begin = before.trim_end_matches(is_other).trim_end_matches(is_word).len();
        let end = after.trim_start_matches(is_other).trim_start_matches(is_word).len();
        let end = self.text.len() - end;
        let in_spaces = |char: char| !char.is_whitespace();
        let spaced = before.trim_end().trim_end_matches(in_spaces).len();
        match (letter, by_word) {
            ('a', false) => self.edit(KeyCode::Home),
            ('e', false) => self.edit(KeyCode::End),
            ('b', false) => self.edit(KeyCode::Left),
            ('f', false) => self.edit(KeyCode::Right),
            ('h', false) => self.edit(KeyCode::Backspace),
            ('d', false) => self.edit(KeyCode::Delete),
            ('u', false) => self.remove(0..self.cursor),
            ('k', false) => self.remove(self.cursor..self.text.len()),
            ('w', false) => self.remove(spaced..self.cursor),
            ('b', true) => self.cursor = begin,
            ('f', true) => self.cursor = end,
            ('d', true) => self.remove(self.cursor..end),
            _ => {}
        }
    }

    fn remove(&mut self, range: Range<usize>) {
        self.cursor = range.start;
        self.text.replace_range(range, "");
    }

    /// Inserts a text at the cursor.
    pub(super) fn insert(&mut self, text: &str) {
        self.names.clear();
        self.name = 0;
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
    }

    /// Handles a key that edits the line.
    pub(super) fn edit(&mut self, key: KeyCode) {
        self.names.clear();
        self.name = 0;
        let before = self.text[..self.cursor].chars().next_back().map_or(0, char::len_utf8);
        let after = self.text[self.cursor..].chars().next().map_or(0, char::len_utf8);
        match key {
            KeyCode::Char(char) => {
                self.text.insert(self.cursor, char);
                self.cursor += char.len_utf8();
            }
            KeyCode::Backspace if before > 0 => {
                self.cursor -= before;
                self.text.remove(self.cursor);
            }
            KeyCode::Delete if after > 0 => {
                self.text.remove(self.cursor);
            }
            KeyCode::Left => self.cursor -= before,
            KeyCode::Right => self.cursor += after,
            KeyCode::Home => self.cursor = 0,
            KeyCode::End => self.cursor = self.text.len(),
            _ => {}
        }
    }
}
