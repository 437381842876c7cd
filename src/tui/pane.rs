use ratatui_core::layout::{Position, Rect};

use super::{Painter, Shared};
use crate::view::Action;

/// A part of the interface that is shown alone. It owns its state; what the parts have in common is [`Shared`].
pub(super) trait Pane {
    /// Begins anew, as a person goes to the pane.
    fn open(&mut self, _shared: &mut Shared) {}

    /// Handles what a person does. Returns `false` if that has no meaning of its own in this pane.
    fn act(&mut self, shared: &mut Shared, input: Input) -> bool;

    /// Goes on with what the store and the inbox have taken. Returns whether there is more to do at once.
    fn advance(&mut self, _shared: &mut Shared) -> bool {
        false
    }

    /// Takes the size of the screen.
    fn fit(&mut self, shared: &mut Shared, area: Rect) {
        shared.set_height(area.height.saturating_sub(4).into());
    }

    /// Returns the rows by which a page moves: those that are shown.
    fn page(&self, shared: &Shared) -> usize {
        shared.height
    }

    /// Draws the pane below the line of the tabs.
    fn draw(&self, painter: &mut Painter<'_>, shared: &Shared);

    /// Returns the row of the selected packet; `None` if the pane shows none.
    fn row(&self, _shared: &Shared) -> Option<u64> {
        None
    }

    /// Returns the rows of the packets that commands act on.
    fn rows(&self, shared: &Shared) -> Vec<u64> {
        self.row(shared).into_iter().collect()
    }

    /// Returns the selected session: by default, that of the selected packet.
    fn session(&self, shared: &Shared) -> Option<u64> {
        let row = self.row(shared)?;
        shared.list.snapshot().context(row).map(|it| it.session)
    }
}

/// A key or the mouse, as far as it concerns the [`Pane`] that is shown.
#[derive(Debug, Clone, Copy)]
pub(super) enum Input {
    /// A key with this meaning.
    Do(Action),
    /// Moves the selection, or what is shown, by this many rows.
    Move(i64),
    /// A click.
    Click(Position),
}
