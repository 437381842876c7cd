use std::time::Duration;

use anyhow::{Context as _, anyhow};
use clap::Args;
use mitmcraft::proxy::{Notices, PipeCommand, PipeHandle};
use mitmcraft_engine::lang::amount::Period;
use mitmcraft_engine::link::{Asking, Otherwise};
use mitmcraft_protocol::schema::Catalog;

use super::{Choice, compile, one_of};
use crate::cli::output::Output;

/// `--pipe`, a program that decides on packets.
#[derive(Debug, Args)]
pub(crate) struct Pipe {
    /// Let this program decide on the packets that `--pipe-where` selects, before rules and scripts
    /// see them: it reads packets as lines of JSON and answers each with a line. No shell reads the
    /// command; words with spaces are quoted
    #[arg(long, value_name = "COMMAND")]
    pipe: Option<String>,

    /// The packets on which the program decides. They and all later packets of their direction wait
    /// for its answer
    #[arg(long, value_name = "EXPR")]
    pipe_where: Option<String>,

    /// Time that the program may take for a packet, at most 20s
    #[arg(
        long,
        value_name = "DURATION",
        default_value_t = Period(Duration::from_secs(1)),
        value_parser = time
    )]
    pipe_timeout: Period,

    /// What to do with packets on which the program does not decide, because it fails or takes too
    /// long
    #[arg(long, value_name = "ACTION", default_value = "pass", value_parser = one_of(ON_PIPE_ERROR))]
    on_pipe_error: Otherwise,
}

/// What to do with packets on which the program does not decide.
const ON_PIPE_ERROR: &[Choice<Otherwise>] = &[
    ("pass", "Forward them", Otherwise::Pass),
    ("close", "Drop them, and close their sessions", Otherwise::Close),
];

impl Pipe {
    /// Returns the program and the packets on which it decides; `None` if the option was not given. Warnings
    /// of the condition are printed.
    ///
    /// # Errors
    /// If the condition is missing or not an expression, or the command has no program.
    pub(crate) fn check(
        &self,
        catalog: &Catalog,
        output: &Output,
    ) -> anyhow::Result<Option<(PipeCommand, Asking)>> {
        let Some(text) = &self.pipe else { return Ok(None) };
        let words = words(text).map_err(|why| anyhow!("`--pipe`: {why}: `{text}`"))?;
        let mut words = words.into_iter();
        let program = words.next().filter(|it| !it.is_empty());
        let program = program.context("`--pipe` names no program")?;
        let command = PipeCommand { program, arguments: words.collect() };
        let condition = compile(self.pipe_where.as_deref(), "--pipe-where", catalog, output)?;
        let condition = condition.context(
            "`--pipe` needs `--pipe-where`: the packets on which the program decides, such as \
             'serverbound and role.chat'",
        )?;
        Ok(Some((command, Asking { condition, otherwise: self.on_pipe_error })))
    }

    /// Starts the program.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(crate) fn start(
        &self,
        command: PipeCommand,
        notices: &Notices,
    ) -> anyhow::Result<PipeHandle> {
        let program = command.program.clone();
        PipeHandle::start(command, self.pipe_timeout.0, notices.clone())
            .with_context(|| format!("cannot start `{program}`, see `--pipe`"))
    }
}

/// Parses the time that the program may take: the peers of a packet that stops the keep-alives wait for 30
/// seconds.
fn time(text: &str) -> Result<Period, String> {
    let period = Period::positive(text).map_err(|error| error.to_string())?;
    if period.0 > Duration::from_secs(20) {
        return Err(format!("`{text}` is too long: at most 20s, since the game waits for 30 s"));
    }
    Ok(period)
}

/// Splits a command into words at spaces. Words in quotes keep theirs; no other character is special.
fn words(text: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for char in text.chars() {
        match (quote, char) {
            (Some(end), _) if char == end => quote = None,
            (None, '"' | '\'') => {
                quote = Some(char);
                word.get_or_insert_default();
            }
            (None, _) if char.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(char),
        }
    }
    if quote.is_some() {
        return Err("a quote is not closed");
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_split_at_spaces_outside_quotes() {
        for (text, wanted) in [
            ("python3 x.py", &["python3", "x.py"][..]),
            ("  a\tb ", &["a", "b"]),
            (
                r#""C:\Program Files\a.exe" -x 'a "b"' c"d e"f """#,
                &[r"C:\Program Files\a.exe", "-x", "a \"b\"", "cd ef", ""],
            ),
            ("a $(b) ; c", &["a", "$(b)", ";", "c"]),
            ("", &[]),
        ] {
            assert_eq!(words(text).unwrap(), wanted, "{text}");
        }
        assert!(words("a 'b").is_err());
    }

    #[test]
    fn the_time_is_bounded() {
        assert_eq!(time("200ms").unwrap().0, Duration::from_millis(200));
        assert!(time("20s").is_ok());
        assert!(time("21s").unwrap_err().contains("at most 20s"));
        assert!(time("0").is_err() && time("soon").is_err());
    }
}
