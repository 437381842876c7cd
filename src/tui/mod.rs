//! The terminal interface: draws a [`Store`](crate::store::Store), and sends
//! [`Request`](crate::view::protocol::Request)s to the controller. It decides nothing itself.
//!
//! An [`App`] has a pane for each view, which owns what it shows, and what the panes share. It takes keys, reads its
//! [`Inbox`], and is drawn into a buffer, so that tests need no terminal. [`Screen`] owns the terminal.

mod app;
mod column;
mod commands;
mod conversation;
mod details;
mod draw;
mod held;
mod history;
mod inbox;
mod leaving;
mod lines;
mod modes;
mod packets;
mod palette;
mod pane;
mod prompt;
mod screen;
mod selected_row;
mod sent;
mod sessions;
mod shared;
mod summary;
#[cfg(test)]
mod tests;
mod text;
mod timeline;

pub use app::App;
use column::Column;
use details::DetailsPane;
use draw::Painter;
use history::History;
pub use inbox::Inbox;
use modes::{TimeMode, View};
use prompt::{Prompt, Purpose};
pub use screen::{Screen, ScreenEnd};
use shared::Shared;
