use bytes::Bytes;

/// What a filter says of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Forward it as it is.
    Pass,
    /// Do not forward it.
    Drop,
    /// Forward this body (id and fields) in its place.
    Replace(Bytes),
}
