use thiserror::Error;

/// The reason why the decoder ends a session that its peers have not ended.
#[derive(Debug, Clone, Copy, Error)]
pub(super) enum EndReason {
    #[error("the recording ends")]
    Recording,
    #[error("the port was reused")]
    PortReused,
    #[error("made room for another connection")]
    Crowded,
}
