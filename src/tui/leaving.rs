//! Keys that do more than one may want: those that end a run, and those that come out of a clipboard.

use super::{App, Prompt, Purpose};

impl App {
    /// Leaves, which ends a run; if players are in, once that was asked for twice.
    pub(super) fn leave(&mut self) {
        // Those on the screen may be over already.
        let sessions = self.shared.store.sessions();
        let open = sessions.iter().filter(|it| it.closed.is_none());
        let players = open.filter(|it| it.context.player.is_some()).count();
        if !self.shared.live || players == 0 || self.leaves {
            self.quits = true;
            return;
        }
        self.leaves = true;
        let players = match players {
            1 => "1 player is".to_owned(),
            many => format!("{many} players are"),
        };
        self.shared.status =
            format!("{players} in, and would be disconnected: q or Ctrl-C again ends the run");
    }

    /// Takes a text that the person has pasted: into the line that is being typed, otherwise nowhere, since its letters
    /// are no keys.
    pub fn on_paste(&mut self, text: &str) {
        let Some(prompt) = &mut self.shared.prompt else {
            "pasted text goes only into a line: press / first, or another key that opens one"
                .clone_into(&mut self.shared.status);
            return;
        };
        prompt.paste(text);
        self.check();
        self.advance();
    }
}

impl Prompt {
    /// Inserts a text, of which a line break is a space. The JSON of a packet takes the place of a whole packet before
    /// the cursor.
    fn paste(&mut self, text: &str) {
        let sends = matches!(self.purpose, Purpose::Send(_) | Purpose::Edit(_));
        let is_packet = |text: &str| text.starts_with('{') && text.ends_with('}');
        if sends
            && self.cursor == self.text.len()
            && is_packet(self.text.trim())
            && is_packet(text.trim())
        {
            (self.text, self.cursor) = (String::new(), 0);
        }
        let text: String = text.trim_end_matches(['\r', '\n']).replace("\r\n", " ");
        let text: String = text.chars().take(MAX_PASTED).map(plain).collect();
        self.insert(&text);
    }
}

/// Returns a space for a control character.
fn plain(char: char) -> char {
    if char.is_control() { ' ' } else { char }
}

/// Most characters of a pasted text: more than the longest packet has in hex.
const MAX_PASTED: usize = 8 << 20;
