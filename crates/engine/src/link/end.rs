use std::sync::Arc;

use super::Emission;
use mitmcraft_protocol::codec::{Bare, Frame, Leg, Limits, Reservation};
use mitmcraft_protocol::schema::{Direction, Protocol, State};

/// The proxy's end of the connection to one peer: the leg's cipher and compression.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) leg: Leg,
    pub(crate) threshold: Option<usize>,
    pub(crate) encrypted: bool,
    /// Bytes at the front of the next emission that the peer was sent early.
    pub(crate) ahead: usize,
    /// Bytes of packets of the proxy's own that are still to be written, if those are written first.
    own: usize,
}

impl End {
    /// Creates the end of a new connection, without cipher and without compression.
    pub(crate) fn new(limits: Limits) -> Self {
        Self { leg: Leg::new(limits), threshold: None, encrypted: false, ahead: 0, own: 0 }
    }

    /// Writes the front of an emission that is not complete yet.
    pub(crate) fn send_ahead(&mut self, bytes: &[u8]) {
        self.leg.encoder.put(bytes);
        self.ahead += bytes.len();
    }

    /// Writes an emission, less the bytes that were sent early. Returns the frame that was made for
    /// a body.
    pub(crate) fn write(&mut self, emission: Emission) -> Option<Frame> {
        if self.ahead > 0 {
            self.write_rest(emission.bytes());
            return None;
        }
        match emission {
            Emission::Frame(frame) => self.leg.encoder.forward(&frame),
            Emission::Body(body) => return Some(self.leg.encoder.send(&body)),
            Emission::Bytes(bytes) => self.leg.encoder.put(&bytes),
        }
        None
    }

    /// Writes a frame as it came, reframed only if this leg's compression asks for it.
    #[inline]
    pub(crate) fn forward(&mut self, frame: &Frame) {
        if self.ahead > 0 {
            return self.write_rest(frame.wire());
        }
        self.leg.encoder.forward(frame);
    }

    /// Counts the first `count` pending bytes as written.
    pub(crate) fn advance(&mut self, count: usize) {
        self.leg.encoder.advance(count);
        self.own = self.own.saturating_sub(count);
    }

    /// Counts a packet of the proxy's own as written.
    pub(crate) fn count_own(&mut self, bytes: usize) {
        self.own += bytes;
    }

    /// The connection is lost: nothing that is written arrives.
    pub(crate) fn lose(&mut self) {
        self.leg.encoder.close();
        self.own = 0;
    }

    /// Returns whether more than `most` bytes wait for the peer to read them, or more than memory allows.
    pub(crate) fn is_full(&self, most: usize) -> bool {
        self.exceeds(self.leg.encoder.pending().len(), most)
    }

    /// Returns whether packets of the proxy's own are that much of what waits.
    pub(crate) fn is_full_of_own(&self, most: usize) -> bool {
        self.exceeds(self.own, most)
    }

    fn exceeds(&self, bytes: usize, most: usize) -> bool {
        bytes > most || bytes > Reservation::FREE && self.leg.encoder.is_pressed()
    }

    fn write_rest(&mut self, bytes: &[u8]) {
        let written = self.ahead.min(bytes.len());
        self.leg.encoder.put(&bytes[written..]);
        self.ahead -= written;
    }

    pub(crate) fn set_compression(&mut self, threshold: Option<usize>) {
        self.leg.set_compression(threshold);
        self.threshold = threshold;
    }

    pub(crate) fn set_cipher(&mut self, secret: &[u8; 16]) {
        self.leg.set_cipher(secret);
        self.encrypted = true;
    }

    /// Finds the ends of the packets received from now on by measuring them against `protocol`.
    pub(crate) fn measure(&mut self, protocol: &Arc<Protocol>, state: State, from: Direction) {
        self.leg.decoder.set_bare(Bare::new(Arc::clone(protocol), state, from));
    }
}

/// A side is not read while more than this waits to be written to the other: enough to keep a fast link busy,
/// little enough for many slow clients. Nor is it read while that much waits for itself that rules, scripts,
/// programs and people have sent.
pub(crate) const MAX_PENDING: usize = 256 << 10;

/// The most bytes that may wait before further packets of the same read are handled, since a packet can cause
/// many times its own size. One packet causes at most as much again.
pub(crate) const MAX_BURST: usize = 4 << 20;
