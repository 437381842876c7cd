use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Weak};

use bytes::Bytes;

use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, Context, Packet, SentRegistries, Timestamp};
use mitmcraft_protocol::schema::{Direction, State};

/// A region of 32 × 32 chunks: the place of its dimension, and its coordinates.
pub(super) type RegionKey = (usize, i32, i32);

/// The packets about blocks, by region, in the order in which they came.
///
/// Those of a region are collected in memory, and written compressed to the spool when they are many, or those of all
/// regions together.
#[derive(Debug)]
pub(super) struct Log<S> {
    spool: S,
    /// The length of the spool.
    end: u64,
    regions: BTreeMap<RegionKey, Pages>,
    /// The number of bytes in memory.
    buffered: usize,
    contexts: Vec<Arc<Context>>,
    /// The registries of sessions' last packets, and the places of their contexts.
    places: HashMap<u64, (Weak<SentRegistries>, usize)>,
}

#[derive(Debug, Default)]
struct Pages {
    written: VecDeque<Page>,
    buffer: Vec<u8>,
}

/// Bytes in the spool.
#[derive(Debug)]
struct Page {
    at: u64,
    packed: usize,
    length: usize,
}

/// A limit was reached: the packet is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Full;

impl<S: Read + Write + Seek> Log<S> {
    pub(super) fn new(spool: S) -> Self {
        let (regions, contexts, places) = (BTreeMap::new(), Vec::new(), HashMap::new());
        Self { spool, end: 0, regions, buffered: 0, contexts, places }
    }

    /// Appends a packet to those of a region.
    ///
    /// # Errors
    /// [`io::Error`] if the spool cannot be written.
    pub(super) fn append(
        &mut self,
        region: RegionKey,
        packet: &Packet,
    ) -> io::Result<Result<(), Full>> {
        let Ok(body) = packet.body() else { return Ok(Ok(())) };
        let Some(context) = self.context(packet.context()) else { return Ok(Err(Full)) };
        if self.regions.len() >= MAX_REGIONS && !self.regions.contains_key(&region) {
            return Ok(Err(Full));
        }
        let (Ok(length), Ok(context)) = (u32::try_from(body.len()), u32::try_from(context)) else {
            return Ok(Err(Full));
        };
        let buffer = &mut self.regions.entry(region).or_default().buffer;
        let before = buffer.len();
        buffer.extend_from_slice(&context.to_le_bytes());
        buffer.extend_from_slice(&packet.at().0.to_le_bytes());
        buffer.extend_from_slice(&length.to_le_bytes());
        buffer.extend_from_slice(&body);
        let size = buffer.len();
        self.buffered += size - before;
        if size >= PAGE {
            self.write(region)?;
        } else if self.buffered >= MAX_BUFFERED {
            for region in self.regions.keys().copied().collect::<Vec<_>>() {
                self.write(region)?;
            }
        }
        Ok(Ok(()))
    }

    /// Takes the first region out of the log, and calls `put` for each of its packets in the order in which they came.
    /// Returns the region, or `None` if there is none left.
    ///
    /// # Errors
    /// [`io::Error`] if the spool cannot be read.
    pub(super) fn take_region(
        &mut self,
        mut put: impl FnMut(RegionKey, Packet),
    ) -> io::Result<Option<RegionKey>> {
        let Some((region, mut pages)) = self.regions.pop_first() else { return Ok(None) };
        while let Some(page) = pages.written.pop_front() {
            let mut packed = vec![0; page.packed];
            self.spool.seek(SeekFrom::Start(page.at))?;
            self.spool.read_exact(&mut packed)?;
            let bytes = zstd::bulk::decompress(&packed, page.length)?;
            self.packets(&bytes, |packet| put(region, packet));
        }
        self.buffered -= pages.buffer.len();
        self.packets(&pages.buffer, |packet| put(region, packet));
        Ok(Some(region))
    }

    fn packets(&self, mut bytes: &[u8], mut put: impl FnMut(Packet)) {
        while let Some((head, rest)) = bytes.split_first_chunk::<HEAD>() {
            let [c0, c1, c2, c3, at @ .., l0, l1, l2, l3] = *head;
            let [context, length] =
                [[c0, c1, c2, c3], [l0, l1, l2, l3]].map(|it| u32::from_le_bytes(it) as usize);
            let (body, rest) = rest.split_at(length.min(rest.len()));
            bytes = rest;
            let Some(context) = self.contexts.get(context) else { continue };
            let content = Content::Frame(Frame::from_body(Bytes::copy_from_slice(body)));
            let (context, at) = (Arc::clone(context), Timestamp(u64::from_le_bytes(at)));
            put(Packet::new(context, 0, at, Direction::Clientbound, State::Play, content));
        }
    }

    /// Returns the index of a context in which packets mean the same; `None` if there are too many contexts.
    fn context(&mut self, context: &Arc<Context>) -> Option<usize> {
        let has_protocol = |it: &Arc<Context>| Arc::ptr_eq(&it.protocol, &context.protocol);
        // Registries are compared once, not for every packet of sessions that take turns.
        if let Some((registries, place)) = self.places.get(&context.session)
            && std::ptr::eq(registries.as_ptr(), &raw const *context.registries)
            && self.contexts.get(*place).is_some_and(has_protocol)
        {
            return Some(*place);
        }
        let is_same = |it: &Arc<Context>| {
            has_protocol(it)
                && (Arc::ptr_eq(&it.registries, &context.registries)
                    || it.registries.is_same(&context.registries))
        };
        let place = match self.contexts.iter().rposition(is_same) {
            Some(place) => place,
            None if self.contexts.len() >= MAX_CONTEXTS => return None,
            None => {
                self.contexts.push(Arc::clone(context));
                self.contexts.len() - 1
            }
        };
        if self.places.len() >= MAX_SESSIONS {
            self.places.clear();
        }
        self.places.insert(context.session, (Arc::downgrade(&context.registries), place));
        Some(place)
    }

    /// Writes the packets of a region that are in memory to the spool.
    fn write(&mut self, region: RegionKey) -> io::Result<()> {
        let Some(pages) = self.regions.get_mut(&region) else { return Ok(()) };
        let length = pages.buffer.len();
        if length == 0 {
            return Ok(());
        }
        let packed = zstd::bulk::compress(&pages.buffer, LEVEL)?;
        self.spool.seek(SeekFrom::Start(self.end))?;
        self.spool.write_all(&packed)?;
        pages.written.push_back(Page { at: self.end, packed: packed.len(), length });
        pages.buffer = Vec::new();
        self.end += packed.len() as u64;
        self.buffered -= length;
        Ok(())
    }
}

/// Bytes before the body of a packet: its context, its time and its length.
const HEAD: usize = 4 + 8 + 4;

/// The bytes of a region at which they are written to the spool.
const PAGE: usize = 256 << 10;

/// The bytes of all regions at which they are written to the spool.
const MAX_BUFFERED: usize = 32 << 20;

/// The most regions: 67 million chunks.
const MAX_REGIONS: usize = 1 << 16;

/// The most versions and sets of registries, of at most 2 MiB each.
const MAX_CONTEXTS: usize = 64;

/// The most sessions whose context is remembered.
const MAX_SESSIONS: usize = 1 << 12;

/// The compression level of the spool, the fastest.
const LEVEL: i32 = 1;

#[cfg(test)]
mod tests {
    use super::*;
    use mitmcraft_protocol::schema::Catalog;

    #[test]
    fn registries_of_sessions_that_take_turns_are_compared_once() {
        let protocol = Catalog::embedded().find(765).unwrap().protocol;
        let client = "192.0.2.1:50000".parse().unwrap();
        let context = |session, registries: &SentRegistries| {
            let mut context = Context::new(session, Timestamp(0), client, Arc::clone(&protocol));
            context.registries = Arc::new(registries.clone());
            Arc::new(context)
        };
        let mut log = Log::new(io::Cursor::new(Vec::new()));
        let none = SentRegistries::default();
        let [one, other] = [1, 2].map(|session| context(session, &none));
        assert!(!Arc::ptr_eq(&one.registries, &other.registries));
        assert_eq!([&one, &other].map(|it| log.context(it)), [Some(0); 2]);
        assert_eq!(log.contexts.len(), 1);
        // Without what they were compared with, both are still found.
        let frame = Content::Frame(Frame::from_body(vec![7, 0].into()));
        let (direction, state) = (Direction::Clientbound, State::Configuration);
        let sent = Packet::new(Arc::clone(&one), 1, Timestamp(0), direction, state, frame);
        log.contexts[0] = context(3, &none.with(&sent));
        assert_eq!([&one, &other, &one].map(|it| log.context(it)), [Some(0); 3]);
        assert_eq!(log.contexts.len(), 1);
        // Those of a session can change.
        assert_eq!(log.context(&context(1, &none)), Some(1));
    }
}
