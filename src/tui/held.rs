use ratatui_core::style::{Modifier, Style};

use super::commands::Asked;
use super::pane::{Input, Pane};
use super::selected_row::{FIRST_ROW, SelectedRow};
use super::{Painter, Shared};
use crate::control::{HeldId, HeldPacket};
use crate::view::protocol::Request;
use crate::view::{Action, HeldList};
use mitmcraft_engine::text::Escaped;
use mitmcraft_protocol::schema::Direction;

/// The list of packets that are held.
#[derive(Debug, Default)]
pub(super) struct HeldPane {
    pub(super) list: HeldList,
    selected: SelectedRow,
}

impl Pane for HeldPane {
    fn act(&mut self, shared: &mut Shared, input: Input) -> bool {
        match input {
            Input::Do(Action::Forward) => {
                self.decide(shared, |HeldId { session, held }| Request::Forward { session, held });
            }
            Input::Do(Action::Drop) => {
                self.decide(shared, |HeldId { session, held }| Request::Drop { session, held });
            }
            Input::Do(action @ (Action::Edit | Action::EditInEditor)) => {
                let Some(id) = self.selected() else { return true };
                let request = Request::Held { session: id.session, held: id.held };
                let in_editor = action == Action::EditInEditor;
                shared.request(request, Some(Asked::Content(id, in_editor)));
            }
            input => return self.selected.act(&self.numbers(), shared, input),
        }
        true
    }

    fn draw(&self, painter: &mut Painter<'_>, shared: &Shared) {
        let condition = match &self.list.condition {
            Some(condition) => format!(
                "holding `{}`{}; {} attached",
                Escaped(&condition.condition),
                if condition.overtaken { ", later packets overtake" } else { "" },
                self.list.interfaces
            ),
            None => "no condition holds packets: i sets one".to_owned(),
        };
        painter.text(0, 1, &condition, Style::new().add_modifier(Modifier::UNDERLINED));
        let now = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis();
        let top = self.selected.top(shared);
        let shown = self.list.packets().enumerate().skip(top).take(shared.height);
        for (y, (place, packet)) in (FIRST_ROW..).zip(shown) {
            let age = now.saturating_sub(packet.since.into()) / 1000;
            let selected = place == self.selected.place();
            let style = if selected { Style::new().reversed() } else { Style::new() };
            painter.row(y, &line(packet, age), style);
        }
    }

    fn session(&self, _shared: &Shared) -> Option<u64> {
        self.selected().map(|it| it.session)
    }
}

impl HeldPane {
    /// Takes the packets that are held now.
    pub(super) fn take(&mut self, list: HeldList) {
        self.list = list;
        self.selected.settle(&self.numbers());
    }

    /// Starts or stops letting later packets overtake held ones.
    pub(super) fn overtake(&self, shared: &mut Shared) {
        if let Some(condition) = self.list.condition.clone() {
            let (condition, overtaken) = (condition.condition, !condition.overtaken);
            shared.request(Request::Break { condition, overtaken }, None);
        }
    }

    fn decide(&self, shared: &mut Shared, decision: fn(HeldId) -> Request) {
        if let Some(id) = self.selected() {
            shared.request(decision(id), None);
        }
    }

    fn selected(&self) -> Option<HeldId> {
        let number = self.selected.number()?;
        self.list.packets().find(|it| it.number == number).map(HeldPacket::id)
    }

    /// Returns the numbers of the packets in the run.
    fn numbers(&self) -> Vec<u64> {
        self.list.packets().map(|it| it.number).collect()
    }
}

/// Returns a packet that has been held for so many seconds as a line.
fn line(packet: &HeldPacket, age: u128) -> String {
    let note = match (packet.decided, packet.in_order) {
        (Some(decided), _) => format!("[{}] ", decided.name()),
        (None, Some(why)) => format!("[{why}] "),
        (None, None) => String::new(),
    };
    let way = if packet.dir == Direction::Serverbound { '→' } else { '←' };
    format!(
        "{age:>5} s #{} {:>4} {way} {:<6} {} {note}{}",
        packet.session,
        packet.held,
        packet.state.name(),
        Escaped(packet.packet.as_deref().unwrap_or_default()),
        Escaped(&packet.summary)
    )
}
