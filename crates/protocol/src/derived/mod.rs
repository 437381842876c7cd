//! Versions that came out after this program: their descriptions, derived from the reports of the game's data
//! generator and the layouts of an earlier version, and the proof of layouts by packets.

mod import;
mod lists;
mod proof;
mod reports;
#[cfg(test)]
mod tests;

pub use import::{Basis, ChangedNames, Import, ImportedPacket, import, nearest};
pub use lists::ChangedList;
pub use proof::{Misfit, Proof, ProvenPacket, Standing};
pub use reports::{ReportError, Reports};
