//! Accounts and the services that verify them, sans-IO: which requests to send, and what the
//! responses mean. The caller sends them and waits.
//!
//! A session service knows which player has just joined which server. The client reports it
//! ([`SessionService::join`]) with the account's access token and the [`server_hash`]; the server asks
//! ([`SessionService::has_joined`]) with the same hash, which it can only compute if it shares a
//! secret with that client. A [`Chain`] obtains the access token.

mod account;
mod chain;
mod endpoints;
mod error;
mod game_services;
mod http;
mod join_memory;
mod lent_account;
mod profile;
mod request_error;
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
pub use game_services::{GameRefusal, GameRequest, GameRoute, GameServices};
pub use http::service_of;
pub use http::{Body, Method, Request, Response};
pub use join_memory::JoinMemory;
pub use lent_account::LentAccount;
pub use profile::{Profile, Wanted, WantedError, read_profile};
pub use request_error::RequestError;
pub use retry::Retry;
pub use secret::Secret;
pub use server_hash::server_hash;
pub use session_service::{SessionService, UrlError};
pub use store::{Accounts, StoreError};
pub use xsts::XboxError;
