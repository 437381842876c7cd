//! The panes that are only text: statistics, a comparison, why a session ended, and the keys.

use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

use super::draw::wrapped;
use super::pane::{Input, Pane};
use super::summary::SORTS;
use super::{Painter, Shared, summary};
use crate::view::{Action, Explanation, Statistics};
use mitmcraft_engine::analysis::Sort;

/// Lines of text, wrapped, of which those that the screen has room for are shown.
#[derive(Debug, Default)]
pub(super) struct TextPane {
    pub(super) lines: Vec<String>,
    /// The rows that are above the screen.
    above: usize,
}

impl TextPane {
    pub(super) fn new(lines: Vec<String>) -> Self {
        Self { lines, above: 0 }
    }
}

impl Pane for TextPane {
    fn open(&mut self, _shared: &mut Shared) {
        self.above = 0;
    }

    fn act(&mut self, shared: &mut Shared, input: Input) -> bool {
        let Input::Move(rows) = input else { return false };
        let all: usize =
            self.lines.iter().map(|it| wrapped(it, shared.area.width.into()).count()).sum();
        // The last screen is full.
        let last = all.saturating_sub(shared.height.max(1));
        let rows = isize::try_from(rows).unwrap_or_default();
        self.above = self.above.saturating_add_signed(rows).min(last);
        true
    }

    fn fit(&mut self, shared: &mut Shared, area: Rect) {
        // Without heads.
        shared.set_height(area.height.saturating_sub(3).into());
    }

    fn draw(&self, painter: &mut Painter<'_>, shared: &Shared) {
        let lines = self.lines.iter().flat_map(|line| wrapped(line, shared.area.width.into()));
        for (y, line) in (1..).zip(lines.skip(self.above).take(shared.height)) {
            painter.text(0, y, line, Style::new());
        }
    }
}

/// The statistics of the listed packets.
#[derive(Debug, Default)]
pub(super) struct StatisticsPane {
    statistics: Statistics,
    sort: Sort,
    text: TextPane,
}

impl Pane for StatisticsPane {
    fn open(&mut self, _shared: &mut Shared) {
        self.statistics = Statistics::default();
        self.text = TextPane::new(vec!["counting ..".to_owned()]);
    }

    fn act(&mut self, shared: &mut Shared, input: Input) -> bool {
        let place = match input {
            // The next column, the first one after the last.
            Input::Do(Action::Sort) => {
                let place = SORTS.iter().position(|(_, sort, _)| *sort == self.sort);
                place.map_or(0, |place| place + 1) % SORTS.len()
            }
            Input::Click(at) if at.y == 1 && self.text.above == 0 => {
                SORTS.iter().position(|(end, ..)| at.x < *end).unwrap_or_default()
            }
            input => return self.text.act(shared, input),
        };
        let (_, sort, name) = SORTS[place];
        self.sort = sort;
        shared.status = format!("sorted by {name}");
        self.write();
        true
    }

    fn advance(&mut self, shared: &mut Shared) -> bool {
        let statistics = &mut self.statistics;
        let before = (statistics.counted(), statistics.is_complete());
        let busy = !statistics.advance(&shared.list, Statistics::SLICE);
        if before != (statistics.counted(), statistics.is_complete()) {
            self.write();
        }
        busy
    }

    fn fit(&mut self, shared: &mut Shared, area: Rect) {
        self.text.fit(shared, area);
    }

    fn draw(&self, painter: &mut Painter<'_>, shared: &Shared) {
        self.text.draw(painter, shared);
    }
}

impl StatisticsPane {
    fn write(&mut self) {
        if self.statistics.is_complete() {
            self.text.lines = summary::statistics(self.statistics.stats(), self.sort);
        }
    }
}

/// How a session ended, and why.
#[derive(Debug, Default)]
pub(super) struct ExplanationPane {
    /// `None` until there is a session to explain.
    explanation: Option<Explanation>,
    text: TextPane,
}

impl ExplanationPane {
    /// Explains a session. Returns `false` if it is not stored any more.
    pub(super) fn explain(&mut self, shared: &Shared, session: u64) -> bool {
        self.explanation = Explanation::new(&shared.store, session);
        self.explanation.is_some()
    }
}

impl Pane for ExplanationPane {
    fn open(&mut self, _shared: &mut Shared) {
        self.text = TextPane::new(vec!["explaining ..".to_owned()]);
    }

    fn act(&mut self, shared: &mut Shared, input: Input) -> bool {
        self.text.act(shared, input)
    }

    fn advance(&mut self, _shared: &mut Shared) -> bool {
        let unfinished = self.explanation.as_mut().filter(|it| it.lines().is_empty());
        let Some(explanation) = unfinished else { return false };
        let is_complete = explanation.advance(Explanation::SLICE);
        if is_complete {
            self.text.lines = explanation.lines().to_vec();
        }
        !is_complete
    }

    fn fit(&mut self, shared: &mut Shared, area: Rect) {
        self.text.fit(shared, area);
    }

    fn draw(&self, painter: &mut Painter<'_>, shared: &Shared) {
        self.text.draw(painter, shared);
    }

    fn session(&self, _shared: &Shared) -> Option<u64> {
        self.explanation.as_ref().map(Explanation::session)
    }
}
