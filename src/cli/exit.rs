use std::io;
use std::process::ExitCode;

use super::output::Output;

/// How a verb ended, short of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Done {
    /// It is done: 0.
    Yes,
    /// The answer is no: 1.
    No,
}

/// A command line that is not understood: 2; help and version, which clap treats alike: 0.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    // Nothing can be done about a terminal that is gone.
    let _ = error.print();
    ExitCode::from(if error.use_stderr() { ERROR } else { 0 })
}

/// The exit code of a verb; an error is told in one line.
pub(crate) fn code(ended: anyhow::Result<Done>, output: &Output) -> ExitCode {
    match ended {
        Ok(Done::Yes) => ExitCode::SUCCESS,
        Ok(Done::No) => ExitCode::from(1),
        // Whoever read our output has seen enough.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output.error(&format!("{error:#}"));
            ExitCode::from(ERROR)
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |cause: &io::Error| cause.kind() == io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref::<io::Error>().is_some_and(broken))
}

const ERROR: u8 = 2;
