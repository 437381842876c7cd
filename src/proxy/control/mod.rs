//! The channels between user interfaces, the controller and the sessions of a run.

mod attachment;
mod control_handle;
mod session_control;
#[cfg(test)]
mod tests;

pub use attachment::Attachment;
use control_handle::ToController;
pub use control_handle::{ControlHandle, HeldNews};
pub(super) use session_control::SessionControl;
