use std::io::{self, ErrorKind, Write};

/// Writes `pending` to `writer` and removes the bytes that were written from its front.
///
/// # Errors
/// The writer's. The bytes that it did not accept stay in `pending`, so that calling again loses
/// and repeats none.
pub(super) fn drain(writer: &mut impl Write, pending: &mut Vec<u8>) -> io::Result<()> {
    let mut written = 0;
    let result = loop {
        if written == pending.len() {
            break Ok(());
        }
        match writer.write(&pending[written..]) {
            Ok(0) => break Err(ErrorKind::WriteZero.into()),
            Ok(count) => written += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => break Err(error),
        }
    };
    pending.drain(..written);
    result
}
