use std::fs::File;
use std::io::{self, Read, Seek as _, Write as _};

/// Keeps what `reader` has for later, compressed, in a file that the system deletes when it is closed. What fails ends
/// it, and is returned beside a reader of what came before.
///
/// # Errors
/// [`io::Error`] if the file cannot be written.
pub(in crate::capture) fn spool(
    reader: &mut dyn Read,
) -> io::Result<(impl Read + Send + use<>, Option<io::Error>)> {
    let mut writer = zstd::stream::write::Encoder::new(tempfile::tempfile()?, LEVEL)?;
    let mut chunk = vec![0; CHUNK];
    let fault = loop {
        match reader.read(&mut chunk) {
            Ok(0) => break None,
            Ok(count) => writer.write_all(chunk.get(..count).unwrap_or_default())?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => break Some(error),
        }
    };
    let mut file: File = writer.finish()?;
    file.rewind()?;
    Ok((zstd::stream::read::Decoder::new(file)?, fault))
}

/// The compression level, the fastest.
const LEVEL: i32 = 1;

/// Bytes read at a time.
const CHUNK: usize = 64 << 10;
