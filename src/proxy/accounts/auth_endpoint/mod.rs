//! The web services of the game, for games on this machine: requests are passed on unchanged to the real
//! services, and each login that the session service accepts is remembered for a session of the proxy.

mod problem;
mod rate;
mod server;
#[cfg(test)]
mod tests;

pub use server::AuthEndpoint;
