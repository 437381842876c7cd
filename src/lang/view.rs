use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;

use crate::schema::{Direction, PacketType, Protocol, State};

/// What an expression can ask of a packet.
///
/// Everything is cheap but [`packet`](Self::packet), which may inflate a few bytes,
/// [`body`](Self::body), which may inflate all, and [`error`](Self::error), which decodes; an
/// expression that does not need those does not call them.
pub trait View {
    /// The protocol of its session at this moment.
    fn protocol(&self) -> &Arc<Protocol>;

    /// The protocol number that the client said: not the one of [`protocol`](Self::protocol) when
    /// that is the nearest that is known.
    fn version(&self) -> i32 {
        self.protocol().version()
    }

    /// In which state it was sent.
    fn state(&self) -> State;

    /// Which way it travels.
    fn direction(&self) -> Direction;

    /// What its id means: an entry of [`protocol`](Self::protocol) for this state and direction.
    fn kind(&self) -> Option<&PacketType>;

    /// The id, also when it means nothing.
    fn id(&self) -> Option<i32>;

    /// Bytes of the body: id and fields, inflated.
    fn size(&self) -> usize;

    /// Bytes on the wire.
    fn wire(&self) -> usize;

    /// Seconds since the session began.
    fn time(&self) -> f64;

    /// The packet's number in its session.
    fn number(&self) -> u64;

    /// `client`, `server` or `proxy`.
    fn origin(&self) -> &str;

    /// `pass`, `drop`, `rewrite` or `send`.
    fn verdict(&self) -> &str;

    /// Why it does not decode.
    fn error(&self) -> Option<Cow<'_, str>>;

    /// The body: id and fields. None when it does not inflate, or is no frame at all.
    fn body(&self) -> Option<Bytes>;

    /// Offset of the first field in the body.
    fn fields_at(&self) -> usize;

    /// The session's id.
    fn session(&self) -> u64;

    /// The player's name, once it is known.
    fn player(&self) -> Option<&str>;

    /// The client's address.
    fn client(&self) -> Cow<'_, str>;

    /// The server's address, as the user named it.
    fn server(&self) -> Cow<'_, str>;
}
