//! Lines that a person types: what they say, and what is wrong with them.

use ratatui_crossterm::crossterm::event::KeyCode;
use serde_json::Value as Json;

use super::{App, Column, Prompt, Purpose, Shared, View};
use crate::store::{Annotation, search_expression};
use crate::view::{Chart, GoTo, Highlight, HighlightError, Highlights, SortKey, protocols};
use mitmcraft_engine::lang::{Expr, ExprError, Vocabulary, split};
use mitmcraft_protocol::schema::Catalog;

/// What a line says.
enum Line {
    Filter(Option<Expr>),
    /// The text that is searched.
    Search(String),
    Columns(Vec<Column>),
    /// The order, and its text.
    Sort(Option<(SortKey, bool)>, String),
    Series(Vec<Expr>),
    Colors(Highlights),
    /// The words of sessions that are searched.
    Sessions(String),
    /// The comment on the packet of a row.
    Comment(u64, String),
    /// The packet to go to.
    GoTo(GoTo),
    /// Something about sessions.
    Command(Purpose, String),
    Nothing,
}

impl App {
    /// Handles a key while a line is typed.
    pub(super) fn type_key(&mut self, key: KeyCode) {
        let Some(prompt) = &mut self.shared.prompt else { return };
        match key {
            KeyCode::Esc => self.shared.prompt = None,
            KeyCode::Enter if prompt.purpose == Purpose::Palette => self.run_chosen(),
            KeyCode::Up | KeyCode::Down | KeyCode::Tab if prompt.purpose == Purpose::Palette => {
                self.choose_action(key);
            }
            KeyCode::Enter => self.enter(),
            KeyCode::Up | KeyCode::Down => {
                prompt.recall(&self.history, key == KeyCode::Up);
                self.check();
            }
            KeyCode::Tab if prompt.purpose.is_expression() => {
                prompt.complete(&protocols(&self.shared.sessions, &self.shared.catalog));
                self.check();
            }
            key => {
                prompt.edit(key);
                self.check();
            }
        }
    }

    /// Handles a letter that is pressed with Ctrl, or with Alt if `by_word`, while a line is typed.
    pub(super) fn type_as_shell(&mut self, letter: char, by_word: bool) {
        let Some(prompt) = &mut self.shared.prompt else { return };
        match (letter, by_word) {
            ('p' | 'n', false) => prompt.recall(&self.history, letter == 'p'),
            _ => prompt.edit_as_shell(letter, by_word),
        }
        self.check();
    }

    /// Takes what was typed in the editor.
    pub(super) fn edited(&mut self, purpose: Purpose, text: &str) {
        let warning = self.shared.warning.take();
        let text = text.trim();
        if warning.is_none() {
            self.shared.ask(purpose, text.to_owned());
            return self.enter();
        }
        // On one line, and not sent before the person has read why that may be wrong.
        let json = serde_json::from_str::<Json>(text);
        self.shared.ask(purpose, json.map_or_else(|_| text.to_owned(), |json| json.to_string()));
        if let Some(prompt) = &mut self.shared.prompt {
            prompt.warning = warning;
        }
    }

    /// Marks what is wrong with the line that is being typed.
    pub(super) fn check(&mut self) {
        let row = self.row();
        self.shared.check(row);
    }

    /// Does what the line says, if it is right.
    fn enter(&mut self) {
        let row = self.row();
        let Some(line) = self.shared.check(row) else { return };
        if let Some(Prompt { purpose, text, .. }) = self.shared.prompt.take() {
            self.history.add(&purpose, &text);
        }
        let shared = &mut self.shared;
        match line {
            Line::Filter(filter) => {
                shared.list.set_filter(filter);
                shared.goes_to = Some(View::Packets);
            }
            Line::Search(text) => match search_expression(&text, &shared.catalog) {
                Ok(condition) => {
                    shared.list.search(Some(condition));
                    shared.find(row, false);
                }
                Err(error) => shared.status = error.message,
            },
            Line::Columns(columns) => shared.columns = columns,
            Line::Sort(by, text) => {
                shared.list.sort(by);
                self.packets.sort = text;
            }
            Line::Series(series) => self.timeline.set_series(shared, series),
            Line::Colors(highlights) => {
                if let Some(kept) = self.packets.set_colors(highlights) {
                    shared.status = kept;
                }
            }
            Line::Sessions(words) => self.sessions.search(shared, words),
            Line::Comment(row, comment) => {
                let note = shared.list.snapshot().annotation(row).cloned().unwrap_or_default();
                shared.store.annotate(row, Annotation { comment, ..note });
                shared.details = None;
                self.advance();
            }
            Line::GoTo(goal) => {
                shared.going = Some(goal);
                self.advance();
            }
            Line::Command(purpose, text) => self.command(purpose, text),
            Line::Nothing => {}
        }
        self.go_on();
    }
}

impl Shared {
    /// Marks what is wrong with the line that is being typed while a row is selected. Returns what it says.
    fn check(&mut self, row: Option<u64>) -> Option<Line> {
        let prompt = self.prompt.as_mut()?;
        let parsed = match prompt.purpose {
            Purpose::GoTo if prompt.text.trim().is_empty() => Ok(Line::Nothing),
            Purpose::GoTo => {
                let goal =
                    GoTo::new(&prompt.text, &self.list, row.or_else(|| self.cursor.selected()), 0);
                goal.map(Line::GoTo).map_err(|error| (0, error.to_string()))
            }
            _ => Line::parse(&prompt.purpose, &prompt.text, &self.catalog),
        };
        let (line, error) = parsed.map_or_else(|error| (None, Some(error)), |it| (Some(it), None));
        prompt.error = error;
        line
    }
}

impl Line {
    /// Parses a line.
    ///
    /// # Errors
    /// The place that is wrong, and why.
    fn parse(purpose: &Purpose, text: &str, catalog: &Catalog) -> Result<Self, Mistake> {
        let line = text.to_owned();
        Ok(match purpose {
            Purpose::Filter => Self::Filter(condition(text, catalog)?),
            Purpose::Search => Self::Search(line),
            Purpose::Columns => Self::Columns(Column::parse(text, catalog)?),
            Purpose::Sort => Self::Sort(order(text, catalog)?, line),
            Purpose::Series => Self::Series(series(text, catalog)?),
            Purpose::Colors => Self::Colors(colors(text, catalog)?),
            Purpose::Sessions => Self::Sessions(line),
            Purpose::Comment(row) => Self::Comment(*row, text.trim().to_owned()),
            Purpose::Break => {
                condition(text, catalog)?;
                Self::Command(Purpose::Break, line)
            }
            Purpose::Kick(_) | Purpose::Edit(_) | Purpose::Send(_) => {
                Self::Command(purpose.clone(), line)
            }
            // Enter runs the chosen action; where to go depends on what is selected.
            Purpose::Palette | Purpose::GoTo => Self::Nothing,
        })
    }
}

/// Returns the condition that a line is; `None` if it is empty.
fn condition(text: &str, catalog: &Catalog) -> Result<Option<Expr>, Mistake> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let parsed = Expr::parse(text, catalog);
    parsed.map(|(expr, _)| Some(expr)).map_err(|error| placed(0, error))
}

/// Returns what a line says about the order: a column, with `-` before it for the greatest first.
///
/// # Errors
/// The place that is wrong, and why.
pub(super) fn order(text: &str, catalog: &Catalog) -> Result<Option<(SortKey, bool)>, Mistake> {
    let text = text.trim();
    let by = text.strip_prefix('-').unwrap_or(text);
    if by.is_empty() {
        return Ok(None);
    }
    let key = SortKey::parse(by, &Vocabulary::new(catalog));
    let key = key.map_err(|error| (text.len() - by.len() + error.span.start, error.message))?;
    Ok(Some((key, by.len() < text.len())))
}

/// Returns the series of the timeline that a line names.
fn series(text: &str, catalog: &Catalog) -> Result<Vec<Expr>, Mistake> {
    let parts = parts(text);
    if let Some((at, _)) = parts.get(Chart::MAX) {
        return Err((*at, format!("there can be at most {} series", Chart::MAX)));
    }
    let parsed = parts.into_iter().map(|(at, part)| match Expr::parse(part, catalog) {
        Ok((expr, _)) => Ok(expr),
        Err(error) => Err(placed(at, error)),
    });
    parsed.collect()
}

/// Returns the colours that a line names, the first of which has precedence.
///
/// # Errors
/// The place that is wrong, and why.
pub(super) fn colors(text: &str, catalog: &Catalog) -> Result<Highlights, Mistake> {
    let parsed = parts(text).into_iter().map(|(at, part)| {
        Highlight::parse(part, catalog).map_err(|error| match error {
            HighlightError::Condition(error) => {
                let condition = part.split_once(':').map_or(part, |(_, it)| it.trim_start());
                placed(at + part.len() - condition.len(), error)
            }
            error => (at, error.to_string()),
        })
    });
    let all = parsed.collect::<Result<_, _>>()?;
    Highlights::new(all, catalog).map_err(|(_, error)| placed(0, error))
}

/// Returns where in a line the mistake of a part is that begins at `at`, and what it is.
pub(super) fn placed(at: usize, error: ExprError) -> Mistake {
    let hint = error.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
    (at + error.span.start, format!("{}{hint}", error.message))
}

/// Returns the parts of a line between its semicolons, with their places.
fn parts(text: &str) -> Vec<(usize, &str)> {
    split(text, ';').filter(|(_, part)| !part.is_empty()).collect()
}

/// The place in a line that is wrong, in bytes, and why.
type Mistake = (usize, String);
