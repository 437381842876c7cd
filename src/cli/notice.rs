use mitmcraft::link::Notice;

/// The words for a session's notice.
pub(crate) fn notice_text(notice: &Notice) -> String {
    match notice {
        Notice::WantsAccount { upstream } => format!(
            "{upstream} asks for encryption, as servers in online mode do. If it verifies accounts, \
             it will refuse this login, because the player has not joined it through an account of \
             the proxy: use `--auth account` (see `mitmcraft login`)"
        ),
        Notice::NotVerified { upstream, player } => format!(
            "{upstream} asks for no account: it is in offline mode, and accepts `{player}` unverified"
        ),
        Notice::NotAdmitted { player, account } => format!(
            "`{}` is verified, but the account is `{}`: play as that, or let others play as it with \
             `--as-account`",
            player.name, account.name
        ),
        Notice::GuessedVersion { version, used, name } => format!(
            "protocol {version} is unknown: its packets are decoded with the tables of {used} \
             ({name}), and every decoded field is a guess; `--protocol {version}.json` adds its own"
        ),
        Notice::TimedOut { session, reason } => format!("session {session} is closed: {reason}"),
        _ => format!("{notice:?}"),
    }
}
