use std::cell::RefCell;

use flate2::{Compress, Compression, FlushCompress, Status};

/// Deflates `body` with the thread's compressor: one takes about 270 KiB, and there are fewer threads than
/// sessions.
pub(super) fn deflate(body: &[u8]) -> Vec<u8> {
    thread_local! {
        static COMPRESSOR: RefCell<Compress> = RefCell::new(Compress::new(LEVEL, true));
    }
    COMPRESSOR.with_borrow_mut(|state| {
        state.reset();
        let mut out = Vec::with_capacity(body.len() / 2 + 64);
        loop {
            let taken = usize::try_from(state.total_in()).unwrap_or(usize::MAX);
            let status = state
                .compress_vec(&body[taken..], &mut out, FlushCompress::Finish)
                .expect("deflating from memory to memory has no way to fail");
            if status == Status::StreamEnd {
                return out;
            }
            out.reserve(body.len() / 2 + 64);
        }
    })
}

/// On a chunk column, level 3 takes half the time of zlib's default 6, which the game uses, for 18%
/// more bytes.
const LEVEL: Compression = Compression::new(3);
