//! The man in the middle, sans-IO.
//!
//! A [`Session`] owns both legs, the state and the pipeline. It is an
//! [`Engine`](crate::link::Engine): `handle` takes what happened; `poll_output`, `pending` and
//! `wants_read` yield what to do. Sockets, clocks and random numbers are the caller's.
//!
//! ```text
//!            connected           handshake            EncryptionRequest
//!  Connect ─────────────> Detect ──────────> Frames ───────────────────> AwaitKey
//!     │                     │  │               ^                            │ key
//!     │ failed              │  │ old ping      │ EncryptionResponse         v
//!     v                     │  └─> LegacyPing  └───────────────────── AwaitSecret
//!  Refused                  │ not Minecraft
//!                           └─────> Relay
//! ```
//!
//! With an account ([`AuthMode`]) two phases follow an Encryption Response:
//! `AwaitVerified` (who is the client?) and `AwaitJoined` (does the session service know that the
//! account joins?). Before them, `AwaitPolicy` follows a Login Start with the player's key: does the server
//! insist on signed chat?
//!
//! Three things are beside the phases, each a type of its own: `Identity` (may anything of the client go to the
//! server?), `Control` (what people hold), and `Closing` (how far each direction and the session have
//! ended). One loop in `handle` polls packets until none can be handled, and then takes one step of the closing.
//!
//! A session can also be observed ([`Session::observe`]): the same detection, login, states and
//! compression, applied to recorded bytes. Then an Encryption Request leads to `AwaitResponse`, and
//! the response, if the key log knows the session, through `ChooseSecret` back to `Frames`.

mod auth_mode;
mod closing;
mod command;
mod config;
mod control;
mod detection;
mod encryption;
mod ends;
mod hold;
mod identity;
mod incoming;
mod keep_alives;
mod legacy_ping;
mod login;
mod neighbors;
mod observe;
mod phase;
mod refused;
mod role_limits;
mod ruling;
mod runs;
#[expect(clippy::module_inception, reason = "one type per file, named after it")]
mod session;
#[cfg(test)]
pub(crate) mod tests;
mod timeouts;
mod timers;
mod transfer;
mod unframed;
mod verification;

pub use auth_mode::{Admitted, AuthMode, ClientLeg};
pub use config::{Config, Start};
pub use session::Session;
pub use timeouts::Timeouts;
pub use transfer::Arrival;
