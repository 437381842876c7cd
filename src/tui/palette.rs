//! The command palette: a line that finds an action by what it does.

use ratatui_crossterm::crossterm::event::KeyCode;

use super::Purpose;
use super::app::App;
use crate::view::{Binding, Interface};

impl App {
    /// The actions that the line finds, and the place of the chosen one; `None` while another line is typed.
    pub(super) fn found_actions(&self) -> Option<(Vec<&'static Binding>, usize)> {
        let prompt = self.shared.prompt.as_ref().filter(|it| it.purpose == Purpose::Palette)?;
        let found = Interface::Terminal.find(&prompt.text, self.shared.live);
        let chosen = prompt.name.min(found.len().saturating_sub(1));
        Some((found, chosen))
    }

    /// Chooses another action that the line finds.
    pub(super) fn choose_action(&mut self, key: KeyCode) {
        let Some((found, chosen)) = self.found_actions() else { return };
        let last = found.len().saturating_sub(1);
        if let Some(prompt) = &mut self.shared.prompt {
            prompt.name = match key {
                KeyCode::Up => chosen.checked_sub(1).unwrap_or(last),
                _ if chosen == last => 0,
                _ => chosen + 1,
            };
        }
    }

    /// Runs the chosen action.
    pub(super) fn run_chosen(&mut self) {
        let Some((found, chosen)) = self.found_actions() else { return };
        let Some(binding) = found.get(chosen) else { return };
        self.shared.prompt = None;
        self.act(binding.action);
    }
}
