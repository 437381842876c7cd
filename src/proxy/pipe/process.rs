use std::io;
use std::process::Stdio;
use std::time::Duration;

use futures_util::future::OptionFuture;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// A program with its arguments. No shell reads them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PipeCommand {
    /// The program: a path, or a name that is looked up as a shell would.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// The running program.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    /// Its process group, which outlives it as long as programs that it has started run.
    #[cfg(unix)]
    group: Option<rustix::process::Pid>,
    /// Closed if `None`: nothing more comes.
    pub(super) stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    output: Box<[u8]>,
    errors: Box<[u8]>,
}

/// Something that a process did.
#[derive(Debug)]
pub(super) enum Event<'p> {
    /// It has taken this many bytes.
    Took(usize),
    /// It takes no more bytes, or writes no more.
    Closed,
    /// It has written to stdout.
    Output(&'p [u8]),
    /// It has written to stderr.
    Errors(&'p [u8]),
    /// It has ended in this way: `exit status: 1`, `signal: 9 (SIGKILL)`.
    Ended { how: String, output: Vec<u8>, errors: Vec<u8> },
}

impl Process {
    /// Starts the program, in a process group of its own: Ctrl-C ends the sessions first, and the program
    /// with them.
    pub(super) fn start(command: &PipeCommand) -> io::Result<Self> {
        let mut process = Command::new(&command.program);
        process.args(&command.arguments).kill_on_drop(true);
        process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        process.process_group(0);
        #[cfg(windows)]
        process.creation_flags(CREATE_NEW_PROCESS_GROUP);
        let mut child = process.spawn()?;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let [output, errors] = [64 << 10, 4 << 10].map(|size| vec![0; size].into_boxed_slice());
        #[cfg(unix)]
        let group =
            child.id().and_then(|id| rustix::process::Pid::from_raw(i32::try_from(id).ok()?));
        Ok(Self {
            child,
            #[cfg(unix)]
            group,
            stdin,
            stdout,
            stderr,
            output,
            errors,
        })
    }

    /// Waits until it takes some of `pending`, writes, or ends: then the programs that it has started end, too.
    pub(super) async fn next(&mut self, pending: &[u8]) -> Event<'_> {
        let Self { child, stdin, stdout, stderr, output, errors, .. } = self;
        let write = stdin.as_mut().filter(|_| !pending.is_empty()).map(|it| it.write(pending));
        tokio::select! {
            Some(took) = OptionFuture::from(write) => match took {
                Ok(count) => Event::Took(count),
                // If it has ended, that is reported; else its time runs out.
                Err(_) => {
                    *stdin = None;
                    Event::Closed
                }
            },
            Some(read) = OptionFuture::from(stdout.as_mut().map(|it| it.read(output))) => match read {
                Ok(0) | Err(_) => {
                    *stdout = None;
                    Event::Closed
                }
                Ok(count) => Event::Output(&output[..count]),
            },
            Some(read) = OptionFuture::from(stderr.as_mut().map(|it| it.read(errors))) => match read {
                Ok(0) | Err(_) => {
                    *stderr = None;
                    Event::Closed
                }
                Ok(count) => Event::Errors(&errors[..count]),
            },
            status = child.wait() => {
                let how = status.map_or_else(|error| error.to_string(), |it| it.to_string());
                #[cfg(unix)]
                kill_group(self.group.take());
                let (output, errors) = tokio::join!(rest(stdout), rest(stderr));
                Event::Ended { how, output, errors }
            }
        }
    }

    /// Kills it with the programs that it has started.
    pub(super) fn kill(mut self) {
        #[cfg(unix)]
        kill_group(self.group.take());
        let _ = self.child.start_kill();
        tokio::spawn(async move {
            let _ = self.child.wait().await;
        });
    }
}

/// Kills what is left of a process group. Nobody else has its number so soon after its leader has ended.
#[cfg(unix)]
fn kill_group(group: Option<rustix::process::Pid>) {
    if let Some(group) = group {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

/// Reads what a program that has ended has written. Programs that it has started may still hold the pipe.
async fn rest(from: &mut Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        let _ = timeout(REST, from.take(MAX_REST).read_to_end(&mut bytes)).await;
    }
    bytes
}

/// Time that a program gets to end once its stdin is closed.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// Time for reading what a program that has ended has written.
const REST: Duration = Duration::from_millis(200);

/// Most bytes that are read of it.
const MAX_REST: u64 = 1 << 20;

/// Keeps Ctrl-C from the program.
#[cfg(windows)]
const CREATE_NEW_PROCESS_GROUP: u32 = 0x0000_0200;
