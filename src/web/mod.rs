//! The interface in a browser: a page of static files, and a WebSocket over which it speaks the
//! [protocol](crate::view::protocol) of user interfaces. Programs speak it without the page. A [`Viewer`] answers what
//! is about stored packets.

mod access;
mod client;
mod export;
mod files;
mod opener;
mod packet_form;
mod packet_requests;
mod rules;
mod session_requests;
#[cfg(test)]
mod tests;
mod viewer;
mod web_server;

use access::Access;
pub use access::Audience;
use client::Client;
use export::Export;
pub use opener::Opener;
pub use viewer::Viewer;
pub use web_server::{WebOptions, WebServer};
