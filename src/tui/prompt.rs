use ratatui_crossterm::crossterm::event::KeyCode;

/// What the line that is being typed is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Shows the packets that match.
    Filter,
    /// Finds text or bytes.
    Search,
    /// Holds the packets that match.
    Break,
    /// Replaces a held packet: session and number.
    Edit(u64, u64),
    /// Sends a packet in this session.
    Send(u64),
    /// Ends this session.
    Kick(u64),
}

impl Purpose {
    /// Returns what stands before the line.
    pub(super) fn label(&self) -> String {
        match self {
            Self::Filter => "filter: ".to_owned(),
            Self::Search => "search: ".to_owned(),
            Self::Break => "hold: ".to_owned(),
            Self::Edit(_, held) => format!("edit {held}: "),
            Self::Send(session) => format!("send in #{session}: "),
            Self::Kick(session) => format!("kick #{session}, saying: "),
        }
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
}

impl Prompt {
    pub(super) fn new(purpose: Purpose, text: String) -> Self {
        Self { purpose, cursor: text.len(), text, error: None }
    }

    /// Handles a key that edits the line.
    pub(super) fn edit(&mut self, key: KeyCode) {
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
