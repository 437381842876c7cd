use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A part of a packet's bytes in the file of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyPlace {
    /// The offset in the file of its first byte, or of the first character of its text.
    pub at: u64,
    /// Its length in bytes of the packet.
    pub length: u32,
    /// `true` if it is base64, with padding.
    pub base64: bool,
}

/// Shared with the [`Sink`](super::Sink) of a capture, which notes where in its file the bytes of the
/// packet are that it was given last. They can be preceded by a length prefix, and are in several parts
/// if a format has a limit.
#[derive(Debug, Clone, Default)]
pub struct BodyPlaces(Arc<Shared>);

/// The places of a packet. Nearly every packet has one, which is shared without a lock.
#[derive(Debug, Default)]
struct Shared {
    /// The offset of the only place.
    at: AtomicU64,
    /// [`NONE`], [`SEVERAL`], or [`ONE`] and twice the length of the only place, and 1 if it is base64.
    rest: AtomicU64,
    several: Mutex<Vec<BodyPlace>>,
}

impl BodyPlaces {
    /// Appends the places of the bytes of the last packet to `to`, and forgets them; none if the capture
    /// does not have it.
    pub fn take(&self, to: &mut Vec<BodyPlace>) {
        match self.0.rest.load(Ordering::Acquire) {
            NONE => return,
            SEVERAL => to.append(&mut self.several()),
            rest => {
                let (at, rest) = (self.0.at.load(Ordering::Relaxed), rest - ONE);
                to.push(BodyPlace { at, length: (rest / 2) as u32, base64: rest % 2 == 1 });
            }
        }
        self.0.rest.store(NONE, Ordering::Release);
    }

    /// Replaces the places by those of the next packet.
    fn share(&self, places: &mut Vec<BodyPlace>) {
        let rest = match places[..] {
            [] => NONE,
            [BodyPlace { at, length, base64 }] => {
                self.0.at.store(at, Ordering::Relaxed);
                ONE + 2 * u64::from(length) + u64::from(base64)
            }
            _ => {
                std::mem::swap(places, &mut self.several());
                SEVERAL
            }
        };
        self.0.rest.store(rest, Ordering::Release);
    }

    fn several(&self) -> MutexGuard<'_, Vec<BodyPlace>> {
        self.0.several.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const NONE: u64 = 0;
const SEVERAL: u64 = 1;
const ONE: u64 = 2;

/// The places of a packet that is being written.
#[derive(Debug, Default)]
pub(super) struct NotedPlaces {
    places: Vec<BodyPlace>,
    shared: BodyPlaces,
}

impl NotedPlaces {
    pub(super) fn shared(&self) -> &BodyPlaces {
        &self.shared
    }

    /// Forgets what was noted of the packet before.
    pub(super) fn clear(&mut self) {
        self.places.clear();
    }

    /// Shares what was noted.
    pub(super) fn share(&mut self) {
        self.shared.share(&mut self.places);
    }

    /// Notes the part of a packet that ends at `end`: `length` bytes of it, or what is left of all of
    /// its bytes.
    pub(super) fn note(&mut self, end: u64, length: PartLength) {
        let length = match length {
            PartLength::Part(length) => length,
            PartLength::LastOf(all) => {
                all - self.places.iter().map(|place| place.length as usize).sum::<usize>().min(all)
            }
        };
        // A packet has less than 2 GiB.
        let (at, length) = (end - length as u64, length as u32);
        self.places.push(BodyPlace { at, length, base64: false });
    }

    /// Notes the bytes of a packet that are the last text in `json`, which ends at `end`. `size` is that of
    /// the packet's body; if it has none, the bytes are others.
    pub(super) fn note_text(&mut self, end: u64, json: &[u8], size: Option<usize>) {
        let Some(text) = json.strip_suffix(b"\"}") else { return };
        let before = size.and_then(|size| text.len().checked_sub(1 + size.div_ceil(3) * 4));
        // A search takes long in a large body.
        let quote = match before.filter(|before| text[*before] == b'"') {
            None => text.iter().rposition(|byte| *byte == b'"'),
            before => before,
        };
        let Some(quote) = quote else { return };
        let text = &text[quote + 1..];
        debug_assert!(!text.contains(&b'"'));
        let padding = text.iter().rev().take_while(|byte| **byte == b'=').count();
        let length = text.len() / 4 * 3 - padding.min(2);
        let at = end - 2 - text.len() as u64;
        self.places.push(BodyPlace { at, length: length as u32, base64: true });
    }
}

/// The length of a part of a packet.
#[derive(Debug, Clone, Copy)]
pub(super) enum PartLength {
    Part(usize),
    /// The last part of a packet with so many bytes.
    LastOf(usize),
}
