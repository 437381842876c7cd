//! The terminal interface: draws a [`Store`](crate::store::Store), and sends
//! [`Request`](crate::view::protocol::Request)s to the controller. It decides nothing itself.
//!
//! An [`App`] has everything that is shown. It takes keys, reads its [`Inbox`], and is drawn into a buffer, so
//! that tests need no terminal. [`Screen`] owns the terminal.

mod app;
mod column;
mod commands;
mod details;
mod draw;
mod draw_details;
mod draw_lists;
mod expressions;
mod history;
mod inbox;
mod leaving;
mod modes;
mod palette;
mod picks;
mod prompt;
mod screen;
mod sent;
mod summary;
#[cfg(test)]
mod tests;
mod timeline;
mod views;

pub use app::App;
use column::Column;
use details::DetailsPane;
use draw::Painter;
use history::History;
pub use inbox::Inbox;
use modes::{TimeMode, View};
use prompt::{Prompt, Purpose};
pub use screen::{Screen, ScreenEnd};
use sent::Sent;
use timeline::Timeline;
