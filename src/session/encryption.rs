use super::key_exchange::{KeyExchange, Request, Secrets};
use super::login::encode;
use super::phase::Phase;
use super::{KeyMaterial, Output, Session, Side};
use crate::codec::KeyLogLine;
use crate::filter::{Packet, RawReason};

/// How both legs come to be encrypted.
impl Session {
    /// The server wants encryption: the client is to encrypt for us, so it needs a key of ours.
    pub(super) fn on_encryption_request(&mut self, packet: Packet) {
        if self.keys.is_some() {
            return self.watch_request(packet);
        }
        let Some(request) = packet.value().ok().and_then(Request::of) else {
            // Both sides will encrypt, for each other and not for us.
            self.forward(packet);
            return self.relay(sealed());
        };
        self.phase = Phase::AwaitKey(Box::new((packet, request)));
        self.outputs.push_back(Output::GenerateKey);
    }

    pub(super) fn on_key(&mut self, material: KeyMaterial) {
        let (packet, request) = match std::mem::replace(&mut self.phase, Phase::Frames) {
            Phase::AwaitKey(waiting) => *waiting,
            phase => {
                self.phase = phase;
                return;
            }
        };
        let ours = request.ours(material, self.signs);
        let ours = ours.and_then(|(value, exchange)| Some((encode(&packet, &value)?, exchange)));
        let Some((body, exchange)) = ours else {
            self.forward(packet);
            return self.relay(sealed());
        };
        self.replace(packet, &body, Some("key and token are the proxy's"));
        self.phase = Phase::AwaitSecret(Box::new(exchange));
    }

    pub(super) fn on_encryption_response(&mut self, packet: Packet) {
        if let Phase::AwaitResponse(challenge) = self.phase {
            self.judge_and_forward(packet);
            return self.on_encryption(challenge);
        }
        let exchange = match std::mem::replace(&mut self.phase, Phase::Frames) {
            Phase::AwaitSecret(exchange) => *exchange,
            phase => {
                self.phase = phase;
                return self.judge_and_forward(packet);
            }
        };
        let Some((body, secrets)) = answer(&exchange, &packet) else {
            return self.turn_away(packet, BAD_RESPONSE);
        };
        self.replace(packet, &body, Some("secret and token are the proxy's"));
        self.set_key(Side::Client, secrets.client);
        self.set_key(Side::Server, secrets.server);
        self.state_event();
    }

    fn set_key(&mut self, side: Side, key: KeyLogLine) {
        self.set_cipher(side, &key.secret);
        self.outputs.push_back(Output::LogKey(key));
    }
}

fn answer(exchange: &KeyExchange, packet: &Packet) -> Option<(Vec<u8>, Secrets)> {
    let response = packet.value().ok()?;
    let secret = exchange.client_secret(&response)?;
    let (value, secrets) = exchange.ours(secret, &response)?;
    Some((encode(packet, &value)?, secrets))
}

pub(super) fn sealed() -> RawReason {
    RawReason::Opaque("the server's Encryption Request holds no key that can be used".into())
}

const BAD_RESPONSE: &str = "the client's Encryption Response does not fit the request";
