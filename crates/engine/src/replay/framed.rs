use bytes::Bytes;

use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::schema::{Family, Protocol};

/// A body as that protocol puts it on the wire, uncompressed.
pub(super) fn framed(protocol: &Protocol, body: Bytes) -> Frame {
    match protocol.family() {
        Family::Java => Frame::from_body(body),
        Family::Alpha | Family::Legacy | Family::LegacyPing | Family::Query => Frame::bare(body),
    }
}
