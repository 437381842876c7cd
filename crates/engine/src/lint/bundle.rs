use crate::capture::Record;

/// The bundle that a session is in.
#[derive(Debug, Default)]
pub(super) struct Bundle {
    /// The delimiter that began it; `None` outside of bundles.
    pub(super) begin: Option<Record>,
    /// The number of packets in it.
    packets: usize,
}

impl Bundle {
    /// Takes the next packet of the server. Returns whether it is one too many for the bundle.
    pub(super) fn take(&mut self, record: &Record) -> bool {
        let is_delimiter =
            record.packet.kind().is_some_and(|kind| &**kind.name() == "bundle_delimiter");
        if is_delimiter {
            self.begin = self.begin.is_none().then(|| record.clone());
            self.packets = 0;
            return false;
        }
        if self.begin.is_some() {
            self.packets += 1;
        }
        self.packets == MAX + 1
    }
}

/// The most packets that the game collects in a bundle.
pub(super) const MAX: usize = 4096;
