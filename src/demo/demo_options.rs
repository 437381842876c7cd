use std::time::Duration;

/// Options of the demo; [`Default`] has those of `mitmcraft demo`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DemoOptions {
    /// Server: body length from which a packet is compressed, bytes. `None`: no compression.
    pub threshold: Option<usize>,
    /// Server: asks for encryption, but not for authentication by Mojang's session server.
    pub encrypt: bool,
    /// Server: time between two keep-alives.
    pub keep_alive: Duration,
    /// Both: time between two steps of the game.
    pub tick: Duration,
    /// Client: how long it plays before it says [`DemoOptions::farewell`]. What it does and what
    /// the server shows is spread over the ticks of that time.
    pub duration: Duration,
    /// Client and server: longest silence of the peer, and longest wait for a reply.
    pub timeout: Duration,
    /// Client: the player's name, 1 to 16 characters.
    pub username: String,
    /// Client: the chat message that makes the server kick it. `/bye` for a
    /// [`DemoServer`](super::DemoServer).
    pub farewell: String,
    /// Both: decides everything random that is sent, except keys and secrets.
    pub seed: u64,
}

impl DemoOptions {
    /// Ticks of [`DemoOptions::duration`], at least 1.
    pub(super) fn ticks(&self) -> u32 {
        let ticks = self.duration.as_nanos() / self.step().as_nanos();
        u32::try_from(ticks).unwrap_or(u32::MAX).max(1)
    }

    /// [`DemoOptions::tick`], but at least 1 ms, so that there is time for something else.
    pub(super) fn step(&self) -> Duration {
        self.tick.max(Duration::from_millis(1))
    }
}

impl Default for DemoOptions {
    fn default() -> Self {
        Self {
            threshold: Some(256),
            encrypt: true,
            keep_alive: Duration::from_millis(500),
            tick: Duration::from_millis(50),
            duration: Duration::from_secs(3),
            timeout: Duration::from_secs(10),
            username: "Steve".into(),
            farewell: "/bye".into(),
            seed: 1,
        }
    }
}
