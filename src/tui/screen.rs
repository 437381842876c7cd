use std::io::{self, IsTerminal as _, Stdout, Write as _};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ratatui_core::layout::Rect;
use ratatui_core::terminal::Terminal;
use ratatui_crossterm::CrosstermBackend;
use ratatui_crossterm::crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture, Event,
    KeyEventKind, poll, read,
};
use ratatui_crossterm::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui_crossterm::crossterm::{cursor, execute};

use super::{App, Painter};
use crate::view::protocol::Request;
use mitmcraft_engine::capture::catches_panic;

/// The terminal, taken over until this is dropped. A panic gives it back first.
#[derive(Debug)]
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    /// `true` if keys come from stdin; otherwise from the terminal that controls the process.
    reads_stdin: bool,
    /// `true` if the locale has no characters but ASCII.
    ascii: bool,
}

/// Why a [`Screen`] ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScreenEnd {
    /// The person leaves, or the terminal is gone.
    Left,
    /// It was told to.
    Stopped,
    /// A task of the program panicked.
    Panicked,
}

impl Screen {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// If stdout is not a terminal that can be controlled.
    pub fn open() -> io::Result<Self> {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if TAKEN.load(Ordering::SeqCst) && !catches_panic() {
                PANICKED.store(true, Ordering::SeqCst);
                give_back();
            }
            hook(panic);
        }));
        take()?;
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()));
        match terminal {
            Ok(terminal) => {
                let reads_stdin = io::stdin().is_terminal();
                Ok(Self { terminal, reads_stdin, ascii: is_ascii(|name| std::env::var(name).ok()) })
            }
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    /// Runs `app` until the person leaves or `stopped` returns `true`. Its requests go to `send`.
    ///
    /// # Errors
    /// If the terminal cannot be read or written.
    pub fn run(
        mut self,
        app: &mut App,
        mut send: impl FnMut(u64, Request),
        stopped: impl Fn() -> bool,
    ) -> io::Result<ScreenEnd> {
        loop {
            let busy = app.advance();
            if PANICKED.load(Ordering::SeqCst) {
                return Ok(ScreenEnd::Panicked);
            }
            let ascii = self.ascii;
            self.terminal.draw(|frame| {
                if let Some(at) = Painter::new(frame.buffer_mut()).ascii(ascii).draw(app) {
                    frame.set_cursor_position(at);
                }
            })?;
            let mut wait = if busy { Duration::ZERO } else { FRAME };
            if self.reads_stdin {
                if !wait_for_keys(wait)? {
                    return Ok(ScreenEnd::Left);
                }
                wait = Duration::ZERO;
            }
            // All that has come is handled before the next frame.
            while poll(wait)? {
                wait = Duration::ZERO;
                self.on_event(app, &read()?)?;
            }
            while let Some((id, request)) = app.poll_request() {
                send(id, request);
            }
            if let Some((purpose, text)) = app.shared.in_editor.take() {
                match self.edit(&text) {
                    Ok(text) => app.edited(purpose, &text),
                    Err(error) => app.shared.status = format!("cannot run the editor: {error}"),
                }
            }
            if let Some(text) = app.shared.copied.take() {
                // The terminal puts it into the clipboard, also that of another machine (OSC 52).
                let mut out = io::stdout();
                write!(out, "\x1b]52;c;{}\x07", BASE64_STANDARD.encode(text))?;
                out.flush()?;
            }
            if app.quits() {
                return Ok(ScreenEnd::Left);
            }
            if std::mem::take(&mut app.suspends) {
                self.suspend()?;
            }
            if stopped() {
                return Ok(ScreenEnd::Stopped);
            }
        }
    }

    fn on_event(&self, app: &mut App, event: &Event) -> io::Result<()> {
        match event {
            Event::Paste(text) => app.on_paste(text),
            Event::Key(key) if key.kind != KeyEventKind::Release => app.on_key(*key),
            Event::Mouse(mouse) => {
                let size = self.terminal.size()?;
                app.on_mouse(*mouse, Rect::new(0, 0, size.width, size.height));
            }
            _ => {}
        }
        Ok(())
    }

    /// Stops the program as a job of the shell, until that lets it go on.
    fn suspend(&mut self) -> io::Result<()> {
        #[cfg(unix)]
        {
            use rustix::process::{Signal, getpid, kill_process};
            give_back();
            let stopped = kill_process(getpid(), Signal::TSTP);
            self.take_again()?;
            stopped?;
        }
        Ok(())
    }

    /// Takes the terminal over again, after another program had it.
    fn take_again(&mut self) -> io::Result<()> {
        take()?;
        // The screen is empty. `Terminal::clear` would ask for the cursor, and not every terminal answers.
        execute!(io::stdout(), Clear(ClearType::All))?;
        self.terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        Ok(())
    }

    /// Gives the text to the person's editor, and returns what becomes of it.
    fn edit(&mut self, text: &str) -> io::Result<String> {
        let mut file = tempfile::Builder::new().prefix("mitmcraft-").suffix(".json").tempfile()?;
        file.write_all(text.as_bytes())?;
        file.flush()?;
        let editor = std::env::var("VISUAL").or_else(|_| std::env::var("EDITOR"));
        let editor = editor.unwrap_or_else(|_| EDITOR.to_owned());
        let mut words = editor.split_whitespace();
        let program = words.next().unwrap_or(EDITOR);
        give_back();
        let status = Command::new(program).args(words).arg(file.path()).status();
        self.take_again()?;
        if !status?.success() {
            return Err(io::Error::other(format!("`{editor}` failed")));
        }
        std::fs::read_to_string(file.path())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn take() -> io::Result<()> {
    enable_raw_mode()?;
    TAKEN.store(true, Ordering::SeqCst);
    execute!(io::stdout(), EnterAlternateScreen, EnableMouseCapture)?;
    // Old consoles of Windows cannot tell what is pasted.
    let _ = execute!(io::stdout(), EnableBracketedPaste);
    Ok(())
}

/// Waits until there is something to read, or the time is over. Returns `false` if the terminal is gone:
/// asking crossterm for events would then never return.
#[cfg(unix)]
fn wait_for_keys(wait: Duration) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdin = io::stdin();
    let mut stdin = [PollFd::new(&stdin, PollFlags::IN)];
    let wait = Timespec::try_from(wait).map_err(io::Error::other)?;
    match poll(&mut stdin, Some(&wait)) {
        Ok(_) => Ok(!stdin[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)),
        // A signal, such as that of another size.
        Err(rustix::io::Errno::INTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(unix))]
fn wait_for_keys(wait: Duration) -> io::Result<bool> {
    poll(wait).map(|_| true)
}

/// Returns whether the locale that is set has no characters but ASCII.
fn is_ascii(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(variable);
    let locale = set.filter(|it| !it.is_empty()).map(|it| it.to_lowercase()).next();
    // Without any, nothing is known of the terminal.
    locale.is_some_and(|it| !it.contains("utf-8") && !it.contains("utf8"))
}

/// Gives the terminal back as it was.
fn give_back() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    // A terminal that is gone needs nothing back.
    let _ = execute!(io::stdout(), DisableBracketedPaste);
    let _ = execute!(io::stdout(), DisableMouseCapture, LeaveAlternateScreen, cursor::Show);
    let _ = disable_raw_mode();
}

/// The editor if the environment names none.
const EDITOR: &str = if cfg!(windows) { "notepad" } else { "vi" };

/// Whether the terminal is taken over: a panic of any thread has to give it back.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Whether a thread panicked meanwhile.
static PANICKED: AtomicBool = AtomicBool::new(false);

/// Time between two frames while nothing is typed.
const FRAME: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::is_ascii;

    #[test]
    fn the_first_variable_that_is_set_tells_the_characters_of_the_terminal() {
        let locale = |set: &'static [(&str, &str)]| {
            is_ascii(|name| set.iter().find(|it| it.0 == name).map(|it| it.1.to_owned()))
        };
        assert!(locale(&[("LC_ALL", "C")]) && locale(&[("LANG", "POSIX")]));
        assert!(locale(&[("LC_ALL", "de_DE.ISO-8859-1"), ("LANG", "C.UTF-8")]));
        assert!(!locale(&[("LC_ALL", ""), ("LC_CTYPE", "C.utf8"), ("LANG", "C")]));
        assert!(!locale(&[("LANG", "en_US.UTF-8")]) && !locale(&[]));
    }
}
