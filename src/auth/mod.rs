//! Accounts and those who vouch for them, sans-IO: what is to be asked of whom, and what the answers
//! mean. Sending and waiting is somebody else's.
//!
//! A session service knows who has just joined which server. A client tells it
//! ([`SessionService::join`]) with the account's token and the [`server_hash`]; the server asks
//! ([`SessionService::has_joined`]) with the same hash, which it can only know if it shares the
//! secret with that very client. Where the token comes from is the [`Chain`]'s business.

mod account;
mod chain;
mod endpoints;
mod error;
mod http;
mod profile;
mod retry;
mod secret;
mod server_hash;
mod session_service;
mod store;
mod xsts;

pub use account::Account;
pub use chain::{Chain, DeviceCode, Step};
pub use endpoints::{Endpoints, EndpointsError};
pub use error::AuthError;
pub use http::{Body, Method, Request, Response};
pub use profile::{Profile, Wanted, read_profile};
pub use retry::Retry;
pub use secret::Secret;
pub use server_hash::server_hash;
pub use session_service::{SessionService, UrlError};
pub use store::{Accounts, StoreError};
