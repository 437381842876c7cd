use std::cell::RefCell;

use flate2::{Compress, Compression, FlushCompress, Status};

/// A zlib compressor. It takes about 270 KiB, so there is one per thread and not one per session.
#[derive(Debug)]
pub(super) struct Deflater {
    state: Compress,
}

impl Deflater {
    /// Deflates `body` with the thread's compressor.
    pub(super) fn deflate(body: &[u8]) -> Vec<u8> {
        thread_local! {
            static DEFLATER: RefCell<Deflater> = RefCell::new(Deflater::new());
        }
        DEFLATER.with_borrow_mut(|deflater| deflater.run(body))
    }

    fn new() -> Self {
        Self { state: Compress::new(LEVEL, true) }
    }

    fn run(&mut self, body: &[u8]) -> Vec<u8> {
        self.state.reset();
        let mut out = Vec::with_capacity(body.len() / 2 + 64);
        loop {
            let taken = usize::try_from(self.state.total_in()).unwrap_or(usize::MAX);
            let status = self
                .state
                .compress_vec(&body[taken..], &mut out, FlushCompress::Finish)
                .expect("deflating from memory to memory has no way to fail");
            if status == Status::StreamEnd {
                return out;
            }
            out.reserve(body.len() / 2 + 64);
        }
    }
}

/// On a chunk column, level 3 takes half the time of zlib's default 6, which the game uses, for 18%
/// more bytes.
const LEVEL: Compression = Compression::new(3);
