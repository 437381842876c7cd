use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

/// The multicast address at which games listen for worlds that are open to the local network.
pub const LAN_GROUP: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(224, 0, 2, 60), 4445);

/// Time between two announcements, as in the game.
pub const LAN_INTERVAL: Duration = Duration::from_millis(1500);

/// Returns the datagram that announces a server of the local network: games list it as `motd`, and
/// connect to `port` of the address that it comes from.
///
/// `[MOTD]` and `[/MOTD]` are left out of `motd`: the game would end the text there.
///
/// Source: the game since 1.3, "Open to LAN"; no document of the project describes it.
#[must_use]
pub fn lan_announcement(motd: &str, port: u16) -> Vec<u8> {
    let motd = motd.replace("[MOTD]", "").replace("[/MOTD]", "");
    format!("[MOTD]{motd}[/MOTD][AD]{port}[/AD]").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_announcement_has_the_text_and_the_port_and_no_end_within_the_text() {
        assert_eq!(
            lan_announcement("a §bworld", 25566),
            "[MOTD]a §bworld[/MOTD][AD]25566[/AD]".as_bytes()
        );
        assert_eq!(
            lan_announcement("x[/MOTD][AD]1[/AD]", 2),
            b"[MOTD]x[AD]1[/AD][/MOTD][AD]2[/AD]"
        );
    }
}
