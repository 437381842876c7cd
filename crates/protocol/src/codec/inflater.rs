use std::cell::RefCell;

use bytes::Bytes;
use flate2::{Decompress, FlushDecompress, Status};

use super::CodecError;

/// A reusable zlib decompressor of about 48 KiB.
///
/// [`Inflater::with`] lends the one of the current thread: there are many sessions and few threads,
/// and a frame may be inflated on another thread than the one that received it.
#[derive(Debug)]
pub struct Inflater {
    state: Decompress,
}

impl Inflater {
    /// Creates a decompressor that is not shared.
    #[must_use]
    pub fn new() -> Self {
        Self { state: Decompress::new(true) }
    }

    /// Lends the thread's decompressor to `run`, or a new one if it is already lent.
    pub fn with<T>(run: impl FnOnce(&mut Self) -> T) -> T {
        thread_local! {
            static INFLATER: RefCell<Inflater> = RefCell::new(Inflater::new());
        }
        INFLATER.with(|inflater| match inflater.try_borrow_mut() {
            Ok(mut inflater) => run(&mut inflater),
            Err(_) => run(&mut Self::new()),
        })
    }

    /// Inflates a `stream` that must give exactly `size` bytes.
    ///
    /// Like the game, ignores bytes after the end of the stream, and accepts a stream that is cut
    /// off after the last byte of the body.
    pub(super) fn body(&mut self, stream: &[u8], size: usize) -> Result<Bytes, CodecError> {
        self.state.reset(true);
        let mut body = Vec::with_capacity(size.min(stream.len().saturating_mul(MAX_RATIO)));
        let done = self
            .state
            .decompress_vec(stream, &mut body, FlushDecompress::Finish)
            .map_err(|_| self.corrupt(stream))?
            == Status::StreamEnd;
        if body.len() < size {
            return Err(CodecError::InflatedShort { inflated: body.len(), declared: size });
        }
        if body.len() > size || (!done && self.has_more(stream)?) {
            return Err(CodecError::InflatedLong { declared: size });
        }
        Ok(Bytes::from(body))
    }

    /// Inflates a whole zlib `stream` of unknown size, up to `limit` bytes.
    ///
    /// # Errors
    /// [`CodecError::Zlib`] if the stream is corrupt or cut off, [`CodecError::InflatedLong`] if it
    /// inflates to more than `limit` bytes.
    pub fn whole(&mut self, stream: &[u8], limit: usize) -> Result<Bytes, CodecError> {
        self.state.reset(true);
        let mut body = Vec::with_capacity(stream.len().saturating_mul(4).min(limit));
        loop {
            let before = (self.taken(), body.len());
            body.reserve(GROWTH);
            let status = self
                .state
                .decompress_vec(&stream[before.0..], &mut body, FlushDecompress::None)
                .map_err(|_| self.corrupt(stream))?;
            if body.len() > limit {
                return Err(CodecError::InflatedLong { declared: limit });
            }
            if status == Status::StreamEnd {
                return Ok(Bytes::from(body));
            }
            if before == (self.taken(), body.len()) {
                return Err(self.corrupt(stream));
            }
        }
    }

    /// Fills `out` with the first bytes that `stream` inflates to, and stops there.
    pub(super) fn head(&mut self, stream: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
        self.state.reset(true);
        self.state
            .decompress(stream, out, FlushDecompress::None)
            .map_err(|_| self.corrupt(stream))?;
        let inflated = self.written();
        if inflated < out.len() {
            return Err(CodecError::InflatedShort { inflated, declared: out.len() });
        }
        Ok(())
    }

    /// Returns whether the stream inflates to more than what it has given so far.
    fn has_more(&mut self, stream: &[u8]) -> Result<bool, CodecError> {
        let written = self.written();
        let rest = &stream[self.taken()..];
        self.state
            .decompress(rest, &mut [0], FlushDecompress::Finish)
            .map_err(|_| self.corrupt(stream))?;
        Ok(self.written() > written)
    }

    fn corrupt(&self, stream: &[u8]) -> CodecError {
        CodecError::Zlib { at: self.taken(), length: stream.len() }
    }

    /// Returns the number of bytes consumed from the stream.
    fn taken(&self) -> usize {
        usize::try_from(self.state.total_in()).unwrap_or(usize::MAX)
    }

    /// Returns the number of inflated bytes.
    fn written(&self) -> usize {
        usize::try_from(self.state.total_out()).unwrap_or(usize::MAX)
    }
}

impl Default for Inflater {
    fn default() -> Self {
        Self::new()
    }
}

/// Room reserved at a time for the output of a stream of unknown size.
const GROWTH: usize = 16 << 10;

/// Deflate makes at most 258 bytes out of 2 bits. A body that declares more than its stream can
/// give gets no more memory than the stream can fill.
const MAX_RATIO: usize = 1032;

#[cfg(test)]
mod tests {
    use flate2::{Compress, Compression, FlushCompress};

    use super::*;

    fn deflated(body: &[u8], flush: FlushCompress) -> Vec<u8> {
        let mut stream = Vec::with_capacity(body.len() + 100);
        Compress::new(Compression::best(), true).compress_vec(body, &mut stream, flush).unwrap();
        stream
    }

    #[test]
    fn inflates_only_bodies_of_the_declared_size() {
        let stream = deflated(b"seventeen letters", FlushCompress::Finish);
        let mut inflater = Inflater::new();
        assert_eq!(inflater.body(&stream, 17).unwrap(), "seventeen letters");
        let short = CodecError::InflatedShort { inflated: 17, declared: 18 };
        assert_eq!(inflater.body(&stream, 18), Err(short));
        let long = CodecError::InflatedLong { declared: 16 };
        assert_eq!(inflater.body(&stream, 16), Err(long));
        assert_eq!(inflater.body(&stream, 17).unwrap(), "seventeen letters");
    }

    #[test]
    fn a_corrupt_stream_is_an_error_that_says_where() {
        let mut stream = deflated(&b"corrupt ".repeat(100), FlushCompress::Finish);
        let length = stream.len();
        let mut inflater = Inflater::new();
        let at = |error| match error {
            CodecError::Zlib { at, length: whole } if whole == length => at,
            other => panic!("{other}"),
        };
        stream[length - 1] ^= 1;
        assert_eq!(at(inflater.body(&stream, 800).unwrap_err()), length);
        stream[0] = 0;
        assert_eq!(at(inflater.body(&stream, 800).unwrap_err()), 2);
        assert_eq!(at(inflater.head(&stream, &mut [0; 8]).unwrap_err()), 2);
    }

    #[test]
    fn accepts_a_flushed_unfinished_stream_like_the_game() {
        let stream = deflated(b"flushed", FlushCompress::Sync);
        let mut inflater = Inflater::new();
        assert_eq!(inflater.body(&stream, 7).unwrap(), "flushed");
        let stream = [deflated(b"finished", FlushCompress::Finish), vec![1, 2, 3]].concat();
        assert_eq!(inflater.body(&stream, 8).unwrap(), "finished");
    }

    #[test]
    fn the_densest_stream_still_inflates() {
        let body = vec![0; 8 << 20];
        let stream = deflated(&body, FlushCompress::Finish);
        assert!(stream.len() * 1000 < body.len());
        assert_eq!(Inflater::new().body(&stream, body.len()).unwrap(), body);
    }

    #[test]
    fn a_stream_gets_no_more_memory_than_it_can_fill() {
        let stream = deflated(b"ten bytes.", FlushCompress::Finish);
        let short = CodecError::InflatedShort { inflated: 10, declared: usize::MAX };
        assert_eq!(Inflater::new().body(&stream, usize::MAX), Err(short));
        let none = CodecError::InflatedShort { inflated: 0, declared: 5 };
        assert_eq!(Inflater::new().body(&[], 5), Err(none.clone()));
        assert_eq!(Inflater::new().head(&[], &mut [0; 5]), Err(none));
    }

    #[test]
    fn lends_a_new_inflater_while_the_threads_own_is_in_use() {
        let stream = deflated(b"twice", FlushCompress::Finish);
        let body = Inflater::with(|outer| {
            outer.head(&stream, &mut [0; 2]).unwrap();
            Inflater::with(|inner| inner.body(&stream, 5))
        });
        assert_eq!(body.unwrap(), "twice");
    }
}
