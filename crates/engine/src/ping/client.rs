use mitmcraft_protocol::codec::{Decoder, Limits};
use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::Direction::{Clientbound, Serverbound};
use mitmcraft_protocol::schema::{Role, State, Value};

use super::modern::Received;
use super::{Form, PingError, Status, legacy, modern};

/// The client side of one Server List Ping, for one form and one connection; sans-IO.
///
/// Send the bytes from [`take_output`](Self::take_output) and pass on what the server sends, until
/// there is a [`Status`] or an error.
#[derive(Debug)]
pub struct Ping {
    form: Form,
    output: Vec<u8>,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    /// Waits for the rest of a response before 1.7.
    Kick { asked: Timestamp, bytes: Vec<u8> },
    /// Waits for the status response.
    Status(Decoder),
    /// Has the status and waits for the answer to its ping.
    Pong { status: Box<Status>, asked: Timestamp, decoder: Decoder },
    /// Has returned a status or an error.
    Done,
}

impl Ping {
    /// Starts a ping of the server `host`, over a connection established at `at`.
    ///
    /// # Errors
    /// [`PingError::Host`] if the host name does not fit into a request.
    pub fn new(at: Timestamp, form: Form, host: &str, port: u16) -> Result<Self, PingError> {
        let (output, phase) = match form {
            Form::V1_7 => {
                let handshake = Value::map([
                    ("protocolVersion", Value::from(modern::VERSION)),
                    ("serverHost", Value::from(host)),
                    ("serverPort", Value::Int(port.into())),
                    ("nextState", Value::Int(1)),
                ]);
                let mut output =
                    modern::frame(State::Handshaking, Serverbound, Role::Handshake, &handshake)?;
                output.extend(modern::frame(
                    State::Status,
                    Serverbound,
                    Role::StatusRequest,
                    &Value::map([]),
                )?);
                (output, Phase::Status(Decoder::new(Limits::default())))
            }
            Form::V1_6 | Form::V1_4 | Form::Beta => {
                let request = legacy::request(form, PROTOCOL_1_6_4, host, port)?;
                (request, Phase::Kick { asked: at, bytes: Vec::new() })
            }
        };
        Ok(Self { form, output, phase })
    }

    /// Removes and returns the bytes to be sent.
    pub fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    /// Handles bytes from the server. Returns the status once it is complete.
    ///
    /// # Errors
    /// [`PingError`] if they are not a valid response. The ping is then over.
    pub fn handle_received(
        &mut self,
        at: Timestamp,
        bytes: &[u8],
    ) -> Result<Option<Status>, PingError> {
        let (next, status) = match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Done => return Ok(None),
            Phase::Kick { asked, bytes: mut held } => {
                held.extend_from_slice(bytes);
                match legacy::read_answer(&held)? {
                    Some(text) => {
                        let status = Status::from_kick(self.form, &text)?;
                        let latency = Some(at.since(asked));
                        (Phase::Done, Some(Status { latency, ..status }))
                    }
                    None => (Phase::Kick { asked, bytes: held }, None),
                }
            }
            Phase::Status(mut decoder) => {
                decoder.receive(bytes);
                self.on_status(at, decoder)?
            }
            Phase::Pong { status, asked, mut decoder } => {
                decoder.receive(bytes);
                on_pong(at, status, asked, decoder)
            }
        };
        self.phase = next;
        Ok(status)
    }

    /// Handles the end of the server's bytes. Returns the status if nothing but the answer to the
    /// ping is missing.
    ///
    /// # Errors
    /// [`PingError::Closed`] or [`PingError::CutOff`].
    pub fn handle_closed(&mut self) -> Result<Status, PingError> {
        match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Pong { status, .. } => Ok(*status),
            Phase::Kick { bytes, .. } if !bytes.is_empty() => Err(PingError::CutOff(bytes.len())),
            Phase::Status(decoder) if decoder.buffered() > 0 => {
                Err(PingError::CutOff(decoder.buffered()))
            }
            Phase::Kick { .. } | Phase::Status(_) | Phase::Done => Err(PingError::Closed),
        }
    }

    /// Handles a timeout. Returns the status if nothing but the answer to the ping is missing.
    ///
    /// # Errors
    /// [`PingError::Timeout`].
    pub fn handle_timeout(&mut self) -> Result<Status, PingError> {
        match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Pong { status, .. } => Ok(*status),
            Phase::Kick { .. } | Phase::Status(_) | Phase::Done => Err(PingError::Timeout),
        }
    }

    fn on_status(
        &mut self,
        at: Timestamp,
        mut decoder: Decoder,
    ) -> Result<(Phase, Option<Status>), PingError> {
        let Some(Received { role, name, value, left }) =
            modern::next(&mut decoder, State::Status, Clientbound)?
        else {
            return Ok((Phase::Status(decoder), None));
        };
        if role != Some(Role::StatusResponse) {
            return Err(PingError::Unexpected(name));
        }
        let response = value.get("response").and_then(Value::as_text).unwrap_or("");
        let status = Box::new(Status { left, ..Status::from_json(response)? });
        self.output.extend(modern::frame(State::Status, Serverbound, Role::Ping, &pong(at))?);
        Ok((Phase::Pong { status, asked: at, decoder }, None))
    }
}

/// Handles bytes after the status. A wrong answer to the ping does not invalidate the status.
fn on_pong(
    at: Timestamp,
    mut status: Box<Status>,
    asked: Timestamp,
    mut decoder: Decoder,
) -> (Phase, Option<Status>) {
    match modern::next(&mut decoder, State::Status, Clientbound) {
        Ok(None) => return (Phase::Pong { status, asked, decoder }, None),
        Ok(Some(Received { role: Some(Role::Ping), value, .. })) if value == pong(asked) => {
            status.latency = Some(at.since(asked));
        }
        Ok(Some(_)) | Err(_) => {}
    }
    (Phase::Done, Some(*status))
}

/// Returns the body of a ping: the time in milliseconds, as the game sends it.
fn pong(asked: Timestamp) -> Value {
    let millis = i64::try_from(asked.0 / 1_000_000).unwrap_or(i64::MAX);
    Value::map([("time", Value::Int(millis))])
}

/// Protocol number of 1.6.4, the last version that sends this form.
const PROTOCOL_1_6_4: u8 = 78;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hex_literal::hex;

    use super::super::{Answerer, Reply};
    use super::*;

    const AT: Timestamp = Timestamp(1_400_000_000_000_000_000);

    fn later(millis: u64) -> Timestamp {
        AT.plus(Duration::from_millis(millis))
    }

    fn server() -> Status {
        let mut status = Status::new(Form::V1_7, r#"{"text":"Zoë","color":"red"}"#);
        status.version = Some("1.8.9".into());
        (status.protocol, status.online, status.max) = (Some(47), Some(3), Some(20));
        status
    }

    /// Lets the two talk, some bytes at a time; what the client has in the end.
    fn talk(form: Form, chunk: usize) -> Status {
        let mut ping = Ping::new(AT, form, "mc.example.org", 25565).unwrap();
        let mut answerer = Answerer::new(server());
        loop {
            let mut output = Vec::new();
            let mut closed = false;
            for bytes in ping.take_output().chunks(chunk) {
                match answerer.handle_received(bytes) {
                    Reply::Wait => {}
                    Reply::Send(bytes) => output.extend(bytes),
                    Reply::Close(bytes) => (output, closed) = ([output, bytes].concat(), true),
                    Reply::Other(_) => panic!("the answerer knows every form"),
                }
            }
            if !closed && output.is_empty() {
                let Reply::Close(bytes) = answerer.handle_quiet() else { panic!("no answer") };
                output = bytes;
            }
            for bytes in output.chunks(chunk) {
                if let Some(status) = ping.handle_received(later(42), bytes).unwrap() {
                    return status;
                }
            }
        }
    }

    #[test]
    fn asks_in_every_form_however_tcp_cuts_it() {
        for form in Form::ALL {
            for chunk in [1, 2, 7, 10_000] {
                let status = talk(form, chunk);
                assert_eq!(status.form, form);
                assert_eq!(status.motd().plain(), "Zoë", "{form} {chunk}");
                assert_eq!((status.online, status.max), (Some(3), Some(20)), "{form} {chunk}");
                let version = (form != Form::Beta).then_some("1.8.9");
                assert_eq!(status.version.as_deref(), version, "{form} {chunk}");
                let latency = if form == Form::V1_7 { 0 } else { 42 };
                assert_eq!(status.latency, Some(Duration::from_millis(latency)), "{form}");
            }
        }
    }

    #[test]
    fn sends_the_bytes_of_the_documents() {
        let ask = |form| Ping::new(AT, form, "localhost", 25565).unwrap().take_output();
        let modern = hex!("0f 00 2f 09 6c6f63616c686f7374 63dd 01  01 00");
        assert_eq!(ask(Form::V1_7), modern);
        assert_eq!(
            ask(Form::V1_6),
            hex!(
                "fe 01 fa 000b 004d0043007c00500069006e00670048006f00730074
                 0019 4e 0009 006c006f00630061006c0068006f00730074 000063dd"
            )
        );
        assert_eq!(ask(Form::V1_4), hex!("fe01"));
        assert_eq!(ask(Form::Beta), hex!("fe"));
    }

    #[test]
    fn a_status_without_a_pong_is_complete() {
        let mut ping = Ping::new(AT, Form::V1_7, "localhost", 25565).unwrap();
        ping.take_output();
        assert_eq!(ping.handle_received(AT, &hex!("04 00 02 7b7d")), Ok(None));
        assert_eq!(ping.take_output(), hex!("09 01 00000145f680b000"));
        assert_eq!(ping.handle_closed().unwrap().latency, None);
    }

    #[test]
    fn bytes_behind_a_status_are_counted() {
        let mut ping = Ping::new(AT, Form::V1_7, "localhost", 25565).unwrap();
        ping.handle_received(AT, &hex!("07 00 02 7b7d 01 00 02")).unwrap();
        assert_eq!(ping.handle_closed().unwrap().left, 3);
    }

    #[test]
    fn errors_name_the_cause() {
        let ask = |form, bytes: &[u8]| {
            let mut ping = Ping::new(AT, form, "localhost", 25565).unwrap();
            let received = ping.handle_received(AT, bytes);
            received.and_then(|_| ping.handle_closed()).unwrap_err().to_string()
        };
        for (form, bytes, error) in [
            (Form::V1_7, &b""[..], "the server closed the connection without an answer"),
            (Form::V1_7, &hex!("07 00"), "the answer ends after 2 bytes"),
            (Form::V1_7, &hex!("03 00 01 7b"), "the status is not a JSON object"),
            (Form::V1_7, &hex!("01 05"), "no clientbound packet 0x05 in state status"),
            (Form::V1_7, &hex!("09 01 0000000000000000"), "the server answered with `ping`"),
            (Form::V1_7, &hex!("ffffffff 7f"), "the answer is not a packet"),
            (Form::V1_7, &hex!("8080 8002"), "which is too long"),
            (Form::Beta, b"HTTP/1.1 400", "the answer begins with 0x48, not with 0xff"),
            (Form::V1_4, &hex!("ff 0002 0061"), "the answer ends after 5 bytes"),
            (Form::V1_4, &hex!("ff 0002 00680069"), "the server says: hi"),
        ] {
            let output = ask(form, bytes);
            assert!(output.contains(error), "{form}: {output}");
        }
        let mut ping = Ping::new(AT, Form::V1_7, "localhost", 25565).unwrap();
        assert_eq!(ping.handle_timeout(), Err(PingError::Timeout));
    }
}
