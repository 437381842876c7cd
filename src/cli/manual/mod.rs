//! Pages of the documentation that the program brings along: `help filters`, and man pages.

mod block;
mod roff;
mod terminal;
mod topic;

pub(super) use roff::man_page;
pub(super) use terminal::print_page;
pub(super) use topic::{TOPICS, Topic};
