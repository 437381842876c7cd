//! The packets, and what is done and seen.

use super::HeldStep::{Drop, Forward, ForwardAll, Got, Held, Hold, Say};
use super::Step::{
    Answer, Chart, Clear, ColorOf, Colors, Conversation, Filter, FilterBy, GoTo, Hide, Mark, Next,
    NextMark, Previous, PreviousMark, Replies, Rows, Search, Select, Sent, Series, Session,
    ShowHidden, Sort,
};
use super::{HeldStep, Step};
use crate::view::Combination;
use mitmcraft_protocol::schema::Direction::{self, Clientbound, Serverbound};

/// The session, direction, name and text of a packet.
pub(super) type CasePacket = (usize, Direction, &'static str, &'static str);

/// Packets a millisecond apart, by their rows.
pub(super) const PACKETS: &[CasePacket] = &[
    (1, Serverbound, "settings", "en_GB"),         // 0
    (1, Serverbound, "chat", "hello server"),      // 1
    (1, Clientbound, "chat", "hello Steve"),       // 2
    (2, Serverbound, "chat_command", "say hello"), // 3
    (1, Serverbound, "chat", "/help"),             // 4
    (1, Clientbound, "update_health", ""),         // 5
    (1, Clientbound, "chat", "welcome"),           // 6
    (1, Clientbound, "chat", "hello again"),       // 7
    (2, Clientbound, "update_health", ""),         // 8
    (1, Serverbound, "settings", "hello_GB"),      // 9
];

/// Packets of which some answer others.
pub(super) const TRIP_PACKETS: &[CasePacket] = &[
    (1, Clientbound, "keep_alive", "7"), // 0
    (1, Clientbound, "keep_alive", "8"), // 1
    (2, Serverbound, "keep_alive", "7"), // 2
    (1, Serverbound, "keep_alive", "7"), // 3
    (1, Serverbound, "chat", "hello"),   // 4
    (1, Clientbound, "keep_alive", "7"), // 5
];

pub(super) const TRIP_CASES: &[(&str, &[Step])] = &[(
    "a question and its answer lead to each other, in their session and while the number is theirs",
    &[
        Answer(0, Some(3)),
        Answer(3, Some(0)),
        Answer(1, None),
        Answer(2, None),
        Answer(4, None),
        Answer(5, None),
        // Whatever is listed.
        Filter("serverbound"),
        Answer(3, Some(0)),
    ],
)];

const ALL: [u64; 10] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];

const BUT_FOOD: &str =
    "clientbound and update_health.health == 20.0 and not update_health.food == 20";

const OR_HELLO: &str = "not settings.chatColors or chat.message == \"hello server\"";

const OR_HEALTH: &str = "(chat or update_health) and not chat.message == \"hello server\"";

const AND_FOOD: &str = "(chat or update_health) and update_health.food == 20";

pub(super) const CASES: &[(&str, &[Step])] = &[
    ("all packets are listed", &[Rows(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9])]),
    (
        "a filter selects packets, and an empty one all",
        &[
            Filter("chat and clientbound"),
            Rows(&[2, 6, 7]),
            Filter("chat_command or update_health"),
            Rows(&[3, 5, 8]),
            Filter("  "),
            Rows(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
        ],
    ),
    (
        "a filter that no packet matches leaves none",
        &[Filter("pkt.name == \"map_chunk\""), Rows(&[]), Filter("chat"), Rows(&[1, 2, 4, 6, 7])],
    ),
    (
        "a session is shown, with a filter and without",
        &[
            Session(Some(2)),
            Rows(&[3, 8]),
            Filter("update_health"),
            Rows(&[8]),
            Session(None),
            Rows(&[5, 8]),
            Session(Some(1)),
            Rows(&[5]),
        ],
    ),
    (
        "a search goes to the next and the previous match, in any letter case",
        &[
            Search(0, "HELLO", Some(1)),
            Next(Some(2)),
            Next(Some(3)),
            Next(Some(7)),
            Next(Some(9)),
            Next(None),
            Previous(Some(7)),
            Previous(Some(3)),
            Previous(Some(2)),
            Previous(Some(1)),
            Previous(None),
        ],
    ),
    (
        // The terminal asked of the first match of all whether it is in the list, and gave up as it was not.
        "a search passes matches that the filter leaves out",
        &[
            Filter("settings or (chat and clientbound)"),
            Rows(&[0, 2, 6, 7, 9]),
            Search(0, "hello", Some(2)),
            Next(Some(7)),
            Next(Some(9)),
            Next(None),
            Previous(Some(7)),
            Previous(Some(2)),
            Previous(None),
        ],
    ),
    (
        // Joined as text, `or` would bind otherwise than in the filter alone.
        "a filter and a search of several alternatives both hold",
        &[
            Filter("settings or chat_command"),
            Search(0, "hello", Some(3)),
            Next(Some(9)),
            Next(None),
        ],
    ),
    (
        "a search holds for the filter and the session that come after it",
        &[
            Search(0, "hello", Some(1)),
            Filter("settings"),
            Select(0),
            Next(Some(9)),
            Filter(""),
            Session(Some(2)),
            Rows(&[3, 8]),
            Search(8, "nothing like this", None),
            Session(None),
            Search(4, "hello", Some(7)),
        ],
    ),
    (
        "bytes are found exactly",
        // `hello a`, and the same in capitals.
        &[Search(0, "68:65:6c:6c:6f:20:61", Some(7)), Search(0, "48:45:4c:4c:4f:20:41", None)],
    ),
    (
        "hidden packets are neither listed nor found, whatever the filter, until they are shown again",
        &[
            Hide(2),
            Rows(&[0, 1, 3, 4, 5, 6, 7, 8, 9]),
            Search(1, "hello", Some(3)),
            Filter("chat and clientbound"),
            Rows(&[6, 7]),
            Hide(6),
            Rows(&[7]),
            ShowHidden,
            Rows(&[2, 6, 7]),
            Search(6, "hello", Some(7)),
            Previous(Some(2)),
        ],
    ),
    (
        "a list is sorted by what its rows have, and by values of the packets, which some do not have",
        &[
            Filter("chat or settings"),
            Sort("packet"),
            Rows(&[1, 2, 4, 6, 7, 0, 9]),
            Sort("-time"),
            Rows(&[9, 7, 6, 4, 2, 1, 0]),
            Sort("size"),
            Rows(&[4, 0, 1, 9, 6, 2, 7]),
            Sort("settings.locale"),
            Rows(&[1, 2, 4, 6, 7, 0, 9]),
            Sort("-settings.locale"),
            Rows(&[9, 0, 7, 6, 4, 2, 1]),
            Hide(7),
            Filter("chat"),
            Rows(&[6, 4, 2, 1]),
            Sort(""),
            Rows(&[1, 2, 4, 6]),
        ],
    ),
    (
        "a search goes through a sorted list in its order",
        &[
            Sort("-number"),
            Search(7, "hello", Some(3)),
            Previous(Some(7)),
            Previous(Some(9)),
            Previous(None),
        ],
    ),
    (
        "a person goes to a number, to a time since the session began, and to a time of the day",
        &[
            Select(1),
            GoTo("8", Some(7)),
            // Of another session, if it is only there.
            GoTo("4", Some(3)),
            GoTo("0.0071 s", Some(8)),
            Select(0),
            GoTo("0.0071 s", Some(7)),
            GoTo("00:00:01.0042", Some(4)),
            GoTo("1970-01-01T00:00:01.0058Z", Some(6)),
            GoTo("11", None),
            // A time is that of a listed packet.
            Filter("chat"),
            Select(1),
            GoTo("00:00:01.005", Some(4)),
            GoTo("23:59", Some(7)),
            GoTo("00:00", Some(1)),
        ],
    ),
    (
        "a cleared list has what comes from then on, until hidden packets are shown again",
        &[Filter("chat"), Clear, Rows(&[]), Filter(""), Rows(&[]), ShowHidden, Rows(&ALL)],
    ),
    (
        "marks are found from one to the next, and by the filter language as they come and go",
        &[
            Mark(7),
            Mark(2),
            Select(0),
            NextMark(Some(2)),
            NextMark(Some(7)),
            NextMark(None),
            PreviousMark(Some(2)),
            PreviousMark(None),
            Filter("pkt.marked"),
            Rows(&[2, 7]),
            NextMark(Some(7)),
            Mark(2),
            Rows(&[7]),
            Filter("chat and not pkt.marked"),
            Rows(&[1, 2, 4, 6]),
            Filter("pkt.comment == \"#marked\""),
            Rows(&[7]),
        ],
    ),
    (
        "a field becomes the filter, or a part of it",
        &[
            FilterBy(4, "message", Combination::Only, "chat.message == \"/help\""),
            Rows(&[4]),
            Filter("clientbound"),
            FilterBy(5, "health", Combination::And, "clientbound and update_health.health == 20.0"),
            Rows(&[5, 8]),
            FilterBy(5, "food", Combination::Not, BUT_FOOD),
            Rows(&[]),
            Filter(""),
            FilterBy(0, "chatColors", Combination::Not, "not settings.chatColors"),
            Rows(&[1, 2, 3, 4, 5, 6, 7, 8]),
            FilterBy(1, "message", Combination::Or, OR_HELLO),
            Rows(&[1, 2, 3, 4, 5, 6, 7, 8]),
        ],
    ),
    (
        "a condition that is added to alternatives holds for all of them, however they are written",
        &[
            Filter("chat || update_health"),
            FilterBy(1, "message", Combination::Not, OR_HEALTH),
            Rows(&[2, 4, 5, 6, 7, 8]),
            Filter("chat\tor\tupdate_health"),
            FilterBy(8, "food", Combination::And, AND_FOOD),
            Rows(&[5, 8]),
        ],
    ),
    (
        "the conversation has chat and commands of all versions, of the packets of the list",
        &[
            Conversation(&[
                "hello server",
                "hello Steve",
                "/say hello",
                "/help",
                "welcome",
                "hello again",
            ]),
            Filter("serverbound"),
            Conversation(&["hello server", "/say hello", "/help"]),
            Filter("update_health"),
            Conversation(&[]),
        ],
    ),
    (
        "the conversation is that of the session, without hidden packets",
        &[
            Session(Some(1)),
            Hide(6),
            Conversation(&["hello server", "hello Steve", "/help", "hello again"]),
        ],
    ),
];

/// Packets, each with its milliseconds, and with its comment if a person has sent it.
pub(super) const SENT_PACKETS: &[(u64, CasePacket, Option<&str>)] = &[
    (0, (1, Serverbound, "chat", "typed"), None), // 0
    (100, (1, Serverbound, "chat", "made"), Some("sent by hand")), // 1
    (200, (1, Clientbound, "update_health", ""), None), // 2
    (300, (2, Clientbound, "update_health", ""), None), // 3
    (400, (1, Serverbound, "chat", "of a rule"), Some("rule `greet`")), // 4
    (1100, (1, Clientbound, "chat", "in time"), None), // 5
    (1101, (1, Clientbound, "chat", "too late"), None), // 6
    (5000, (2, Clientbound, "update_health", ""), Some("packet 4 again, sent by hand")), // 7
    (5001, (2, Serverbound, "chat_command", "say hello"), None), // 8
];

/// Cases with [`SENT_PACKETS`].
pub(super) const SENT_CASES: &[(&str, &[Step])] = &[
    (
        "what people have sent is listed, whatever the list shows, with what came back within a second",
        &[
            Sent(&[1, 7]),
            Replies(1, &[2, 5]),
            Replies(7, &[8]),
            Filter("update_health"),
            Session(Some(2)),
            Sent(&[1, 7]),
            Replies(1, &[2, 5]),
            Rows(&[3, 7]),
        ],
    ),
    (
        "the timeline counts both directions, or what is asked for, in the list",
        &[
            Chart(&[("clientbound", 5), ("serverbound", 4)]),
            Session(Some(1)),
            Chart(&[("clientbound", 3), ("serverbound", 3)]),
            Series("chat and serverbound; update_health; chat_command"),
            Chart(&[("chat and serverbound", 3), ("update_health", 1), ("chat_command", 0)]),
            Session(None),
            Hide(3),
            Chart(&[("chat and serverbound", 3), ("update_health", 2), ("chat_command", 1)]),
            Filter("serverbound"),
            Chart(&[("chat and serverbound", 3), ("update_health", 0), ("chat_command", 1)]),
        ],
    ),
    (
        "a packet has the colour of the first expression that it matches",
        &[
            ColorOf(0, Some("green")),
            ColorOf(1, Some("purple")),
            ColorOf(2, None),
            ColorOf(7, Some("purple")),
            ColorOf(8, Some("green")),
            Colors("gray: update_health; blue: clientbound or chat; red: chat"),
            ColorOf(0, Some("blue")),
            ColorOf(2, Some("gray")),
            ColorOf(5, Some("blue")),
            ColorOf(8, None),
            Filter("chat_command or update_health"),
            ColorOf(8, None),
            ColorOf(7, Some("gray")),
            Colors(""),
            ColorOf(7, None),
        ],
    ),
];

/// Cases of holding packets: each is a list of steps that every user interface has to carry out with the same
/// result.
pub(super) const HELD_CASES: &[(&str, &[HeldStep])] = &[
    (
        "held packets of all sessions are listed in the order in which they came",
        &[
            Hold("serverbound and chat"),
            Say(2, "one"),
            Say(1, "two"),
            Say(2, "three"),
            Held(&[(2, "one", ""), (1, "two", ""), (2, "three", "")]),
            Got(1, &[]),
            Got(2, &[]),
        ],
    ),
    (
        "packets are forwarded and dropped one by one",
        &[
            Hold("chat"),
            Say(1, "one"),
            Say(1, "two"),
            Say(2, "three"),
            Drop(0),
            Held(&[(1, "two", ""), (2, "three", "")]),
            Forward(1),
            Got(2, &["three"]),
            Forward(0),
            Got(1, &["two"]),
            Held(&[]),
        ],
    ),
    (
        "a decision on a packet behind another one waits for its turn",
        &[
            Hold("chat"),
            Say(1, "one"),
            Say(1, "two"),
            Forward(1),
            Held(&[(1, "one", ""), (1, "two", "forward")]),
            Got(1, &[]),
            Forward(0),
            Got(1, &["one", "two"]),
        ],
    ),
    (
        "only packets that match are held, and none once the condition is empty",
        &[
            Hold("chat.message contains \"t\""),
            Say(1, "one"),
            Say(2, "two"),
            Got(1, &["one"]),
            Held(&[(2, "two", "")]),
            Hold(""),
            Say(1, "three"),
            Got(1, &["three"]),
            Held(&[(2, "two", "")]),
            ForwardAll,
            Got(2, &["two"]),
            Held(&[]),
        ],
    ),
];
