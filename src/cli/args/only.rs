use clap::ValueEnum;

/// The kind of entries that are shown or written, without the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Only {
    /// No events
    Packets,
    /// No packets: only when sessions open, change their state and close
    Events,
}

impl Only {
    /// Returns whether packets are among the entries that `only` selects.
    pub(crate) fn packets(only: Option<Self>) -> bool {
        only != Some(Self::Events)
    }

    /// Returns whether events are among the entries that `only` selects.
    pub(crate) fn events(only: Option<Self>) -> bool {
        only != Some(Self::Packets)
    }
}
