use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use socket2::SockRef;

use super::script::Step;

/// The bytes that an end received, and how they ended.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Got {
    pub(super) bytes: Vec<u8>,
    pub(super) ending: Ending,
    /// `true` if the other end closed its side before this one did, for an end that waits for that.
    closed_first: bool,
}

/// How what an end receives has ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Ending {
    #[default]
    Open,
    Closed,
    Reset,
}

/// Does the steps of an end, then reads until nothing more comes.
pub(super) fn run(mut socket: TcpStream, steps: &[Step]) -> Got {
    let mut got = Got::default();
    let mut waited = false;
    for step in steps {
        got.drain(&mut socket);
        match step {
            // After a reset there is nothing left to do.
            Step::Send(bytes) => drop(socket.write_all(bytes)),
            Step::Pause(milliseconds) => std::thread::sleep(Duration::from_millis(*milliseconds)),
            Step::Read(count) => {
                while got.bytes.len() < *count && got.ending == Ending::Open {
                    assert!(got.read(&mut socket), "nothing more, after {got:?}");
                }
            }
            Step::Wait => {
                got.finish(&mut socket);
                waited = true;
            }
            Step::Close => {
                let _ = socket.shutdown(Shutdown::Write);
                got.closed_first = waited && got.ending == Ending::Closed;
            }
            Step::Reset => {
                SockRef::from(&socket).set_linger(Some(Duration::ZERO)).unwrap();
                return got;
            }
        }
    }
    got.finish(&mut socket);
    got
}

impl Got {
    /// Returns `true` if the proxy has told the client, of whatever version, that there is no
    /// server.
    pub(super) fn is_refusal(&self) -> bool {
        let text: Vec<u8> = self.bytes.iter().copied().filter(|byte| *byte != 0).collect();
        String::from_utf8_lossy(&text).contains("mitmcraft: cannot reach ")
    }

    /// Reads what is there.
    fn drain(&mut self, socket: &mut TcpStream) {
        socket.set_nonblocking(true).unwrap();
        while self.ending == Ending::Open && self.read(socket) {}
        socket.set_nonblocking(false).unwrap();
    }

    /// Reads until nothing more comes.
    fn finish(&mut self, socket: &mut TcpStream) {
        while self.ending == Ending::Open {
            assert!(self.read(socket), "nothing more, after {} bytes", self.bytes.len());
        }
    }

    /// Reads once. Returns `false` if nothing is there.
    fn read(&mut self, socket: &mut TcpStream) -> bool {
        let mut bytes = [0; 8192];
        match socket.read(&mut bytes) {
            Ok(0) => self.ending = Ending::Closed,
            Ok(count) => self.bytes.extend_from_slice(&bytes[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
            Err(_) => self.ending = Ending::Reset,
        }
        true
    }
}
