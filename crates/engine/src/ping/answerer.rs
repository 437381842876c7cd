use mitmcraft_protocol::codec::{Decoder, Limits};
use mitmcraft_protocol::schema::Direction::{Clientbound, Serverbound};
use mitmcraft_protocol::schema::{Role, State, Value};

use super::legacy::{RequestForm, request_form};
use super::modern::Received;
use super::{Form, Status, legacy, modern};

/// The server side of one connection that may be a Server List Ping of any form; sans-IO.
///
/// The older forms differ only in the bytes after the first, which may arrive later: call
/// [`handle_quiet`](Self::handle_quiet) if nothing arrives for a moment.
#[derive(Debug)]
pub struct Answerer {
    status: Status,
    phase: Phase,
}

/// An instruction for the connection of an [`Answerer`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Wait for more bytes.
    Wait,
    /// Send these bytes and continue.
    Send(Vec<u8>),
    /// Send these bytes, then close the connection.
    Close(Vec<u8>),
    /// The connection is not a ping. Holds all bytes received so far, for another server.
    Other(Vec<u8>),
}

#[derive(Debug)]
enum Phase {
    /// The bytes received while the form is still unknown.
    Detect(Vec<u8>),
    /// A client since 1.7 whose handshake is not complete; with all bytes received.
    Handshake(Decoder, Vec<u8>),
    /// A client since 1.7 in the status state.
    Status(Decoder),
    Done,
}

impl Answerer {
    /// Creates an answerer that sends `status`.
    #[must_use]
    pub fn new(status: Status) -> Self {
        Self { status, phase: Phase::Detect(Vec::new()) }
    }

    /// Handles bytes from the client.
    pub fn handle_received(&mut self, bytes: &[u8]) -> Reply {
        match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Detect(mut held) => {
                held.extend_from_slice(bytes);
                match request_form(&held) {
                    RequestForm::Form(form) => self.answer(form),
                    RequestForm::Other => {
                        let mut decoder = Decoder::new(Limits::default());
                        decoder.receive(&held);
                        self.handshake(decoder, held)
                    }
                    RequestForm::Perhaps(_) | RequestForm::Unsure if held.len() < MAX_REQUEST => {
                        self.phase = Phase::Detect(held);
                        Reply::Wait
                    }
                    RequestForm::Perhaps(_) | RequestForm::Unsure => Reply::Close(Vec::new()),
                }
            }
            Phase::Handshake(mut decoder, mut held) => {
                decoder.receive(bytes);
                held.extend_from_slice(bytes);
                self.handshake(decoder, held)
            }
            Phase::Status(mut decoder) => {
                decoder.receive(bytes);
                self.packets(decoder)
            }
            Phase::Done => Reply::Wait,
        }
    }

    /// Handles a pause or the end of the client's bytes: what was received is the whole request.
    pub fn handle_quiet(&mut self) -> Reply {
        match &self.phase {
            Phase::Detect(held) => match request_form(held) {
                RequestForm::Perhaps(form) => self.answer(form),
                RequestForm::Form(_) | RequestForm::Unsure | RequestForm::Other => Reply::Wait,
            },
            Phase::Handshake(..) | Phase::Status(_) | Phase::Done => Reply::Wait,
        }
    }

    fn answer(&mut self, form: Form) -> Reply {
        self.phase = Phase::Done;
        Reply::Close(legacy::answer(&self.status.to_kick(form)).unwrap_or_default())
    }

    fn handshake(&mut self, mut decoder: Decoder, held: Vec<u8>) -> Reply {
        match modern::next(&mut decoder, State::Handshaking, Serverbound) {
            Ok(None) if held.len() < MAX_REQUEST => {
                self.phase = Phase::Handshake(decoder, held);
                Reply::Wait
            }
            Ok(Some(Received { role: Some(Role::Handshake), value, .. }))
                if value.get("nextState").and_then(Value::as_int) == Some(1) =>
            {
                self.packets(decoder)
            }
            Ok(_) | Err(_) => Reply::Other(held),
        }
    }

    fn packets(&mut self, mut decoder: Decoder) -> Reply {
        let mut out = Vec::new();
        loop {
            match modern::next(&mut decoder, State::Status, Serverbound) {
                Ok(Some(Received { role: Some(Role::StatusRequest), .. })) => {
                    let json = Value::from(self.status.to_json().as_str());
                    let value = Value::map([("response", json)]);
                    match modern::frame(State::Status, Clientbound, Role::StatusResponse, &value) {
                        Ok(bytes) => out.extend(bytes),
                        Err(_) => return Reply::Close(out),
                    }
                }
                Ok(Some(Received { role: Some(Role::Ping), value, .. })) => {
                    let answer = modern::frame(State::Status, Clientbound, Role::Ping, &value);
                    out.extend(answer.unwrap_or_default());
                    return Reply::Close(out);
                }
                Ok(None) => {
                    self.phase = Phase::Status(decoder);
                    return if out.is_empty() { Reply::Wait } else { Reply::Send(out) };
                }
                Ok(Some(_)) | Err(_) => return Reply::Close(out),
            }
        }
    }
}

/// Longest request: that of a 1.6 client with a long host name.
const MAX_REQUEST: usize = 4096;

#[cfg(test)]
mod tests {
    use hex_literal::hex;

    use super::*;

    fn answerer() -> Answerer {
        Answerer::new(Status::new(Form::V1_7, "hi"))
    }

    #[test]
    fn an_older_form_is_answered_after_a_pause() {
        let mut answerer = answerer();
        assert_eq!(answerer.handle_received(&hex!("fe")), Reply::Wait);
        let Reply::Close(beta) = answerer.handle_quiet() else { panic!() };
        assert_eq!(beta, hex!("ff 0006 0068 0069 00a7 0030 00a7 0030"));
        assert_eq!(answerer.handle_quiet(), Reply::Wait);
    }

    #[test]
    fn mcstatus_asks_with_three_bytes() {
        let mut answerer = answerer();
        assert_eq!(answerer.handle_received(&hex!("fe01fa")), Reply::Wait);
        assert!(matches!(answerer.handle_quiet(), Reply::Close(_)));
    }

    #[test]
    fn bytes_that_are_not_a_ping_are_handed_back() {
        let login = hex!("0f 00 2f 09 6c6f63616c686f7374 63dd 02");
        let mut answerer = answerer();
        assert_eq!(answerer.handle_received(&login[..5]), Reply::Wait);
        assert_eq!(answerer.handle_received(&login[5..]), Reply::Other(login.to_vec()));
    }

    #[test]
    fn a_request_without_end_is_closed() {
        let mut answerer = answerer();
        assert_eq!(answerer.handle_received(&hex!("fe01fa 000b")), Reply::Wait);
        assert_eq!(answerer.handle_received(&[0xff; 5000]), Reply::Close(Vec::new()));
    }
}
