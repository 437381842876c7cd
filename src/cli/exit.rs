use std::io;
use std::process::ExitCode;

use thiserror::Error;

use super::output::{Level, Output};

/// The result of a verb that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Done {
    /// It did what was asked: exit code 0.
    Yes,
    /// The answer is no: exit code 1.
    No,
}

impl Done {
    /// Returns [`Done::Yes`] if both are.
    pub(crate) fn and(self, other: Self) -> Self {
        if self == Self::Yes { other } else { Self::No }
    }
}

/// An error that shows lines of what the user wrote, each escaped.
#[derive(Debug, Error)]
#[error("{0}")]
pub(crate) struct Rendered(pub(crate) String);

/// Returns the exit code of a verb, and prints its error or what clap has to say: 2 for a usage error, 0
/// for help and version.
pub(crate) fn code(ended: anyhow::Result<Done>, output: &Output) -> ExitCode {
    match ended {
        Ok(Done::Yes) => ExitCode::SUCCESS,
        Ok(Done::No) => ExitCode::from(1),
        // The reader of the output, such as `head`, wants no more.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            match error.downcast_ref::<clap::Error>() {
                Some(said) if !said.use_stderr() || !output.logs_json() => {
                    // Nothing can be done about a terminal that is gone.
                    let _ = said.print();
                    return ExitCode::from(if said.use_stderr() { ERROR } else { 0 });
                }
                Some(wrong) => {
                    let text = wrong.render().to_string();
                    output.error(text.strip_prefix("error: ").unwrap_or(&text).trim_end());
                }
                None if error.chain().any(|cause| cause.is::<Rendered>()) => {
                    output.message_lines(Level::Error, &chain(&error));
                }
                None => output.error(&chain(&error)),
            }
            ExitCode::from(ERROR)
        }
    }
}

/// Returns the last error, which ends the verb, and prints the others.
pub(crate) fn last_error(mut errors: Vec<anyhow::Error>, output: &Output) -> Option<anyhow::Error> {
    let last = errors.pop();
    errors.iter().for_each(|error| output.error(&chain(error)));
    last
}

/// Returns an error and its causes, except causes that the text before them already says.
pub(crate) fn chain(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |cause: &io::Error| cause.kind() == io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref::<io::Error>().is_some_and(broken))
}

const ERROR: u8 = 2;

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn a_cause_that_its_error_already_names_is_left_out() {
        let error = anyhow!("it is full").context("cannot write: it is full").context("`a`");
        assert_eq!(chain(&error), "`a`: cannot write: it is full");
        let error = anyhow!("it is full").context("cannot write").context("`a`");
        assert_eq!(chain(&error), "`a`: cannot write: it is full");
    }
}
