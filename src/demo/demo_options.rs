use std::time::Duration;

/// What a demo is like; [`Default`] is the one that `mitmcraft demo` shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoOptions {
    /// Server: bodies of at least so many bytes are compressed. `None`: no compression.
    pub threshold: Option<usize>,
    /// Server: asks for encryption. Nobody asks Mojang's session server.
    pub encrypt: bool,
    /// Server: time between two keep-alives.
    pub keep_alive: Duration,
    /// Both: time between two steps of the game.
    pub tick: Duration,
    /// Client: how long it plays before it says [`DemoOptions::farewell`]. What it does and what
    /// the server shows is spread over the ticks of that time.
    pub duration: Duration,
    /// Both: how long the other one may be silent, or owe an answer.
    pub timeout: Duration,
    /// Client: the player's name, 1 to 16 characters.
    pub username: String,
    /// Client: the chat message that makes the server kick it. `/bye` for a
    /// [`DemoServer`](super::DemoServer).
    pub farewell: String,
    /// Both: decides all that is said and shown.
    pub seed: u64,
    /// Both: makes keys, secrets, tokens and padding repeatable, which is for tests only. `None`:
    /// the operating system gives them.
    pub key_seed: Option<u64>,
    /// Both: keeps every body for the report.
    pub record: bool,
}

impl DemoOptions {
    /// Ticks of [`DemoOptions::duration`], at least 1.
    pub(super) fn ticks(&self) -> u32 {
        let ticks = self.duration.as_nanos() / self.step().as_nanos();
        u32::try_from(ticks).unwrap_or(u32::MAX).max(1)
    }

    /// [`DemoOptions::tick`], so long that there is time for something else.
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
            key_seed: None,
            record: false,
        }
    }
}
