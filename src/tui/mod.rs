//! The terminal interface: draws a [`Store`](crate::store::Store), and sends the requests of
//! [`control`](crate::control). It decides nothing itself.
//!
//! An [`App`] has everything that is shown. It takes keys and messages, and is drawn into a buffer, so
//! that tests need no terminal. [`Screen`] owns the terminal.

mod app;
mod column;
mod commands;
mod details;
mod draw;
mod held_list;
mod history;
mod prompt;
mod screen;
mod summary;
#[cfg(test)]
mod tests;

pub use app::App;
use column::Column;
use details::DetailsPane;
use draw::Painter;
use held_list::HeldList;
use history::History;
use prompt::{Prompt, Purpose};
pub use screen::{Screen, ScreenEnd};
