//! Accounts and keys: their file, the session services, and the endpoint at which others log in.

mod account_store;
mod auth_endpoint;
mod authority;
mod http;
mod keys;
mod lent_joins;

pub use account_store::{AccountStore, AccountsError, Keeper, walk};
pub use auth_endpoint::AuthEndpoint;
pub use authority::{Authority, Tokens};
pub(super) use http::{ForwardedRequest, ForwardedResponse};
pub use http::{Http, HttpError};
pub(crate) use keys::random_key;
pub(super) use keys::{KeyPool, seed};
pub use lent_joins::LentJoins;
