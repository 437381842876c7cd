use std::fmt;
use std::io::{self, Write as _};
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use tempfile::NamedTempFile;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::store::Store;
use crate::view::protocol::{Failure, Request};
use mitmcraft_engine::lang::amount::Size;

/// Opens captures that pages send, one at a time. Their bytes are kept in a temporary file that only its owner can
/// read. The page names no path.
#[derive(Clone)]
pub struct Opener {
    open: Arc<Open>,
    /// Most bytes of a capture.
    limit: u64,
    place: Arc<Semaphore>,
}

/// Opens the capture in a file, which has a name for people. Returns the store into which it is being read, or the
/// failure that the page is told.
type Open = dyn Fn(NamedTempFile, &str) -> Result<Arc<Store>, Failure> + Send + Sync;

/// A capture of which a page has sent a part.
pub(super) struct Upload {
    file: NamedTempFile,
    name: String,
    size: u64,
    received: u64,
    _place: OwnedSemaphorePermit,
}

/// What has become of a capture after a request.
pub(super) enum Sent {
    /// There is more to come.
    Part(Upload),
    /// It is opened, and its packets are in this store.
    All(Arc<Store>),
}

impl Opener {
    /// Creates an opener for captures of at most `limit` bytes.
    pub fn new(
        limit: u64,
        open: impl Fn(NamedTempFile, &str) -> Result<Arc<Store>, Failure> + Send + Sync + 'static,
    ) -> Self {
        Self { open: Arc::new(open), limit, place: Arc::new(Semaphore::new(1)) }
    }

    /// The most bytes of a capture.
    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    /// Returns whether a request is about a capture that a page sends.
    pub(super) fn answers(request: &Request) -> bool {
        matches!(request, Request::Open { .. } | Request::OpenMore { .. })
    }

    /// Takes the beginning of a capture, or more of one. Waits for the disk.
    ///
    /// # Errors
    /// If it cannot be taken or opened. What was sent of it is deleted.
    pub(super) fn take(&self, sent: Option<Upload>, request: Request) -> Result<Sent, Failure> {
        match (request, sent) {
            // That of the page itself makes room.
            (Request::Open { name, size }, sent) => {
                drop(sent);
                self.begin(&name, size).map(Sent::Part)
            }
            (Request::OpenMore { bytes }, Some(upload)) => self.go_on(upload, &bytes),
            _ => Err(Failure::new("`open` must come first")),
        }
    }

    fn begin(&self, name: &str, size: u64) -> Result<Upload, Failure> {
        let name: String = name.chars().filter(|it| !it.is_control()).take(MAX_NAME).collect();
        if size == 0 {
            return Err(Failure::new(format!("`{name}` is empty")));
        }
        if size > self.limit {
            let limit = Size(self.limit);
            let why = format!("`{name}` is too large: {size} bytes, of at most {limit}");
            return Err(Failure::new(format!("{why}; name it on the command line to view it")));
        }
        let place = Arc::clone(&self.place).try_acquire_owned();
        let _place = place.map_err(|_| Failure::new("another page is opening a capture"))?;
        let file = tempfile::Builder::new().prefix("mitmcraft-").tempfile();
        let file = file.map_err(|error| not_kept(&name, &error))?;
        Ok(Upload { file, name, size, received: 0, _place })
    }

    fn go_on(&self, mut upload: Upload, bytes: &str) -> Result<Sent, Failure> {
        let bytes = BASE64_STANDARD.decode(bytes);
        let bytes = bytes.map_err(|error| Failure::new(format!("`bytes`: {error}")))?;
        upload.received += bytes.len() as u64;
        if bytes.is_empty() || upload.received > upload.size {
            let why = format!("`{}` has changed while it was sent: try again", upload.name);
            return Err(Failure::new(why));
        }
        let written = upload.file.write_all(&bytes);
        written.map_err(|error| not_kept(&upload.name, &error))?;
        if upload.received < upload.size {
            return Ok(Sent::Part(upload));
        }
        (self.open)(upload.file, &upload.name).map(Sent::All)
    }
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opener").field("limit", &self.limit).finish_non_exhaustive()
    }
}

fn not_kept(name: &str, error: &io::Error) -> Failure {
    Failure::new(format!("cannot keep `{name}` in a temporary file: {error}"))
}

/// Most characters of a file's name.
const MAX_NAME: usize = 255;
