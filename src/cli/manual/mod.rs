//! Pages of the documentation that the program brings along: `help filters`, and man pages.

mod page;
mod roff;
mod topic;

pub(super) use page::print_page;
pub(super) use roff::man_page;
pub(super) use topic::{TOPICS, Topic};
