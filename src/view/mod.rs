//! What user interfaces show of a [`Store`](crate::store::Store), without how they show it.
//!
//! A [`List`] has the packets that a filter selects, and finds among them what is searched. All work is done in
//! slices, so that whoever draws is never kept waiting: [`advance`](List::advance) does some of it and tells whether
//! there is more.

mod action;
mod chart;
mod combination;
mod comparison;
mod conversation;
mod conversation_line;
mod cursor;
mod explanation;
mod go_to;
mod held_list;
mod highlights;
mod list;
mod order;
mod packet_expression;
mod picked_field;
pub mod protocol;
mod protocols;
mod round_trip;
mod sent_packets;
mod session_query;
mod sort_key;
mod statistics;
mod subscription;
#[cfg(test)]
pub(crate) mod tests;
pub mod words;
mod world_map;

pub use action::{Action, Binding, Group, Interface, Thing};
pub use chart::{Chart, ChartData, ChartSeries};
pub use combination::{Combination, has_name};
pub use comparison::{ComparedField, Comparison};
pub use conversation::Conversation;
pub use conversation_line::ConversationLine;
pub use cursor::Cursor;
pub use explanation::Explanation;
pub use go_to::{GoTo, GoToError};
pub use held_list::HeldList;
pub use highlights::{Highlight, HighlightColor, HighlightError, Highlights};
pub use list::{FindResult, List, Sorting};
pub use packet_expression::{
    PacketExpression, answer_type, next_rule, packet_expression, packet_rule, rule_choices,
};
pub use picked_field::PickedField;
pub use protocols::protocols;
pub use round_trip::RoundTrip;
pub use sent_packets::{replies, sent_packets};
pub use session_query::SessionQuery;
pub use sort_key::SortKey;
pub use statistics::Statistics;
pub use subscription::Subscription;
pub use world_map::{MapDimension, MapPlace, MapState, WorldMap};

/// Packets evaluated before anything else gets its turn: some hundredths of a second.
pub const SLICE: usize = 1 << 16;
