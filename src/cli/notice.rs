//! The words for what the library reports, with the options that help.

use std::io;
use std::path::Path;
use std::time::Duration;

use anyhow::anyhow;
use mitmcraft::proxy::{IncidentNotice, LakeNotice, OnFull, RefusalError, RunNotice};
use mitmcraft_engine::auth::AuthError;
use mitmcraft_engine::capture::{
    ClaimError, CreateError, EntryError, FileType, McprError, ReadError,
};
use mitmcraft_engine::decode::{DecodeNotice, DecodedConnection};
use mitmcraft_engine::filter::Message;
use mitmcraft_engine::link::Notice;
use mitmcraft_engine::pipe::Fault;
use mitmcraft_engine::replay::HiddenEffect;
use mitmcraft_protocol::packet::RawReason;
use mitmcraft_protocol::schema::Catalog;

use super::plural::count;

/// Returns the text of a notice.
pub(super) fn run_notice(notice: &RunNotice<'_>) -> String {
    match notice {
        RunNotice::Session(notice) => session_notice(notice),
        RunNotice::Refused { session, reason } => format!("session {session} is refused: {reason}"),
        RunNotice::TurnedAway { clients, reason } => turned_away(*clients, reason),
        RunNotice::GameJoinFails(error) => format!("a game cannot join a server: {error}"),
        RunNotice::KeyLog(error) => format!("cannot append to the key log: {error}"),
        RunNotice::LanFails(error) => {
            format!("cannot announce the proxy to the local network: {error}; see `--lan`")
        }
        RunNotice::SinkFails { sink, cause } => {
            format!("cannot write `{sink}`: {cause}; entries are left out until it can be written")
        }
        RunNotice::SinkLacks { sink, missing } => {
            format!("`{sink}` still lacks entries: {} missing from it so far", entries(*missing))
        }
        RunNotice::SinkRecovered { sink, missing } => {
            format!("`{sink}` can be written again; {} missing from it", entries(*missing))
        }
        RunNotice::SessionUnrecorded { session, more, cause } => {
            let more = if *more > 0 { format!(" (nor of {more} more)") } else { String::new() };
            format!(
                "cannot create the capture of session {session}{more}: {cause}; it is not recorded"
            )
        }
        RunNotice::CaptureDeleted { path } => format!(
            "`{}` was deleted while it was written: its contents and all later entries are lost",
            path.display()
        ),
        RunNotice::InflatesTooMuch { session } => inflates_too_much(*session),
        RunNotice::OtherVersion(mismatch) => mismatch.to_string(),
        RunNotice::Stuck(stuck) => stuck.to_string(),
        RunNotice::Finding(finding) => finding.to_string(),
        RunNotice::ManyFindings => {
            "more kinds of findings are not shown; captures have all, as comments".to_owned()
        }
        RunNotice::SinkStalls { sink, on_full } => {
            let meanwhile = match on_full {
                OnFull::Drop => "entries are left out until it goes on",
                _ => "sessions wait for it; with `--on-full drop`, entries are left out instead",
            };
            format!(
                "`{sink}` has taken nothing for some seconds: its disk or its reader is too slow; {meanwhile}"
            )
        }
        RunNotice::PipeSays(line) => format!("the program of `--pipe`: {line}"),
        RunNotice::PipeFails { fault, last, undecided, pause } => {
            pipe_fails(fault, *last, *undecided, *pause)
        }
        RunNotice::SinkContinues => "the log goes on".to_owned(),
        RunNotice::SinkIncomplete { sink, missing } => {
            format!("`{sink}` is incomplete: {} missing from it", entries(*missing))
        }
        _ => format!("{notice:?}"),
    }
}

/// Says that the program of `--pipe` has failed, and what follows.
fn pipe_fails(fault: &Fault, last: Option<&str>, undecided: usize, pause: Duration) -> String {
    let last = last.map(|line| format!(" (the last line of its stderr: `{line}`)"));
    let left = match undecided {
        0 => String::new(),
        undecided => {
            format!("; {} undecided, see `--on-pipe-error`", count(undecided as u64, "packet"))
        }
    };
    format!(
        "the program of `--pipe` {fault}{}{left}; it is started again in {} s",
        last.unwrap_or_default(),
        pause.as_secs_f64()
    )
}

fn turned_away(clients: u64, reason: &RefusalError) -> String {
    let hint = match reason {
        RefusalError::NoDescriptors => {
            "; each session needs two, and each file one: raise the limit with `ulimit -n`"
        }
        RefusalError::Full { .. } => "; see `--max-sessions`",
        _ => "",
    };
    format!("turned away {}: {reason}{hint}", count(clients, "client"))
}

/// Says that packets of a session exceed the budget of `--max-inflate`.
pub(super) fn inflates_too_much(session: u64) -> String {
    format!(
        "packets of session {session} inflate to more than `--max-inflate` allows in a second: \
         they are recorded compressed"
    )
}

/// Returns an error of accounts with the option or verb that solves it.
pub(super) fn auth_error(error: AuthError) -> anyhow::Error {
    match error {
        AuthError::Token => {
            anyhow!("{error}: run `mitmcraft login`, or see `--access-token-file`")
        }
        AuthError::CodeExpired | AuthError::LoginExpired => {
            anyhow!("{error}: run `mitmcraft login` again")
        }
        AuthError::UnknownClient | AuthError::UnapprovedClient => {
            anyhow!("{error}; see `--client-id`")
        }
        AuthError::NotJoined { .. } => anyhow!("{error}; see `--session-server`"),
        error => error.into(),
    }
}

/// Returns the text of an error of reading a capture.
pub(super) fn read_error(error: &ReadError) -> String {
    match error {
        ReadError::Entry(_, EntryError::NoBody | EntryError::Encode(_)) => {
            format!("{error} (recorded with `--no-body`)")
        }
        ReadError::Entry(_, EntryError::Sessions { .. }) => {
            format!("{error}; `--max-memory` raises the limit")
        }
        ReadError::Entry(_, EntryError::NoTable { .. }) => {
            format!("{error}: name it with `--protocol`")
        }
        ReadError::Foreign | ReadError::ClassicPcap => {
            format!("{error}; `mitmcraft decode` reads recordings of tcpdump and Wireshark")
        }
        ReadError::NoFooter(_) => {
            format!("{error}: copy it again, or make it anew with `mitmcraft convert`")
        }
        ReadError::ForeignTable { .. } => {
            format!("{error}; `mitmcraft convert IN OUT.parquet` makes one")
        }
        _ => error.to_string(),
    }
}

/// Returns an error of writing a capture with the option that solves it.
pub(super) fn write_error(error: io::Error) -> anyhow::Error {
    match error.get_ref().and_then(|cause| cause.downcast_ref()) {
        Some(McprError::SeveralSessions { .. }) => {
            anyhow!("{error}: choose one with `--session`")
        }
        _ => error.into(),
    }
}

/// Returns an error of creating a file with the option that solves it.
pub(super) fn claim_error(error: io::Error, path: &Path) -> anyhow::Error {
    let named = anyhow!("cannot write `{}`: {error}", path.display());
    match error.get_ref().and_then(|cause| cause.downcast_ref()) {
        Some(ClaimError::NotEmpty) => anyhow!("{named}; `--overwrite` replaces it"),
        None if error.kind() == io::ErrorKind::NotFound => {
            match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                Some(folder) => anyhow!(
                    "cannot write `{}`: there is no folder `{}`",
                    path.display(),
                    folder.display()
                ),
                None => named,
            }
        }
        _ => named,
    }
}

/// Returns an error of creating a capture with the option that solves it.
pub(super) fn create_error(error: CreateError) -> anyhow::Error {
    match error {
        CreateError::Ending(path) if path.extension().is_some_and(|it| it == "csv") => {
            anyhow!(
                "`{}` is not a capture: `show --fields .. --csv` prints a table",
                path.display()
            )
        }
        CreateError::Ending(path) if path.extension().is_some_and(|it| it == "json") => {
            let meant = path.with_extension("jsonl");
            anyhow!("{}: did you mean `{}`?", CreateError::Ending(path), meant.display())
        }
        CreateError::Io { path, source } => {
            let cause = source.get_ref().and_then(|cause| cause.downcast_ref());
            let exists = matches!(cause, Some(ClaimError::NotEmpty));
            let error = claim_error(source, &path);
            match path.file_name().and_then(|it| it.to_str()).and_then(FileType::split_name) {
                Some((stem, ending)) if exists => {
                    let each = path.with_file_name(format!("{stem}-{{time}}{ending}"));
                    anyhow!("{error}, `-w '{}'` writes one per session", each.display())
                }
                _ => error,
            }
        }
        CreateError::Parquet(_) => {
            anyhow!(
                "{error}: write `.jsonl` and convert it with `mitmcraft convert`, or use `--lake`"
            )
        }
        error => error.into(),
    }
}

/// Returns the text of a notice about incident files.
pub(super) fn incident_notice(notice: &IncidentNotice<'_>) -> String {
    match notice {
        IncidentNotice::Written { path, trigger } => {
            format!("wrote `{}` ({}): `mitmcraft explain` reads it", path.display(), trigger.name())
        }
        IncidentNotice::Fails(cause) => format!("cannot write an incident file: {cause}"),
        IncidentNotice::OldStays(cause) => format!("an old incident file is not deleted: {cause}"),
        _ => format!("{notice:?}"),
    }
}

/// Returns the text of a notice about a lake.
pub(super) fn lake_notice(notice: &LakeNotice<'_>) -> String {
    match notice {
        LakeNotice::Recovered { parts } => {
            format!(
                "added {} that an earlier run had left to the lake",
                count(*parts as u64, "part")
            )
        }
        LakeNotice::Fails { part, cause } => format!(
            "cannot add `{}` to the lake: {cause}; it is kept and tried again",
            part.display()
        ),
        LakeNotice::Damaged { kept, fault } => format!(
            "not all of a part can be read ({fault}): the lake has the rest, and the part is kept as `{}`",
            kept.display()
        ),
        _ => format!("{notice:?}"),
    }
}

/// Returns the text of what a rule did to a packet that its line does not show.
pub(super) fn hidden_effect(effect: &HiddenEffect) -> String {
    match effect {
        HiddenEffect::Delayed(by) => format!("delayed by {by:?}"),
        HiddenEffect::Hidden => "hidden from the log".to_owned(),
        HiddenEffect::Closed => "the rest of the session left out".to_owned(),
        other => format!("{other:?}"),
    }
}

/// Returns the text of a limitation of a recording.
pub(super) fn decode_notice(notice: &DecodeNotice) -> String {
    let of = |DecodedConnection { session, client, server, .. }: &_| {
        format!("session {session}, {client} to {server}")
    };
    match notice {
        DecodeNotice::LinkType(number) => format!(
            "skipping packets of link type {number}: only Ethernet, IP, Linux cooked and loopback are \
             supported"
        ),
        DecodeNotice::CutPackets => "packets were not recorded completely, so streams have gaps: \
                                     record with `tcpdump -s 0`"
            .to_owned(),
        DecodeNotice::Gap { connection, from, bytes } => format!(
            "{}: {bytes} bytes from the {} are missing in the recording: the rest of this \
             direction is kept as bytes",
            of(connection),
            from.name()
        ),
        DecodeNotice::Opaque { connection, reason: RawReason::Opaque(why) } => {
            format!("{}: {why}", of(connection))
        }
        DecodeNotice::Opaque { connection, reason } => format!("{}: {reason}", of(connection)),
        DecodeNotice::Crowded { limit } => {
            format!("more than {limit} connections at a time: the longest idle ones were ended")
        }
        _ => format!("{notice:?}"),
    }
}

/// Returns the text of a notice of a session.
pub(super) fn session_notice(notice: &Notice) -> String {
    match notice {
        Notice::WantsAccount { upstream } => format!(
            "{upstream} asks for encryption, as servers in online mode do. If it verifies accounts, \
             it will refuse this login, because the player has not joined it through an account of \
             the proxy: use `--auth client` (see `mitmcraft jvm-args`), or `--auth account` (see \
             `mitmcraft login`)"
        ),
        Notice::NotVerified { upstream, player } => format!(
            "{upstream} asks for no account: it is in offline mode, and accepts `{player}` unverified"
        ),
        Notice::NotAdmitted { player, account } => format!(
            "`{}` is verified, but the account is `{}`: play as that, or let others play as it with \
             `--as-account`",
            player.name, account.name
        ),
        Notice::NotLent => "a player's game has not lent its account, so it cannot join a server \
                            in online mode: give it these JVM arguments (before 1.16 those of \
                            `mitmcraft jvm-args --authlib-injector JAR`), or restart it if it was \
                            started with them before"
            .to_owned(),
        Notice::GuessedVersion { version, used, name } => {
            let own = match Catalog::newest_name(*version) {
                Some(own) => format!("protocol {version} ({own}) has no tables"),
                None => format!("protocol {version} is unknown"),
            };
            format!(
                "{own}: its packets are decoded with the tables of {used} ({name}), and every \
                 decoded field is a guess; `--protocol {version}.json` adds its own"
            )
        }
        Notice::UnaskedPreamble { session, version, source } => format!(
            "session {session} begins with a PROXY header ({version}) of {source}, which is passed on; \
             with `--proxy-protocol in`, its addresses are used"
        ),
        Notice::Filter(Message { session, file, text, is_error: true }) => {
            let place = if text.starts_with(&**file) { String::new() } else { format!("{file}: ") };
            format!("script error in session {session}: {place}{text}")
        }
        Notice::Filter(Message { session, file, text, is_error: false }) => {
            format!("{file}, session {session}: {text}")
        }
        Notice::Unapplied { reason } => {
            format!("an answer of the program of `--pipe` cannot be carried out: {reason}")
        }
        Notice::TimedOut { session, reason } => format!("session {session} is closed: {reason}"),
        _ => format!("{notice:?}"),
    }
}

/// Returns the number of entries as the subject of a sentence: `1 entry is`, `2 entries are`.
pub(super) fn entries(count: u64) -> String {
    if count == 1 { "1 entry is".to_owned() } else { format!("{count} entries are") }
}
