//! The program that decides on packets: its process, its pipes, and the channels to the sessions of a run.

mod pipe_handle;
mod process;
mod session_pipe;

pub use pipe_handle::PipeHandle;
pub use process::PipeCommand;
pub(super) use session_pipe::SessionPipe;
