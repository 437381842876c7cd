//! The packets, and what is done and seen.

use super::Step;
use super::Step::{
    Conversation, Filter, Hide, Next, Previous, Rows, Search, Select, Session, ShowHidden,
};
use mitmcraft_protocol::schema::Direction::{self, Clientbound, Serverbound};

/// The session, direction, name and text of each packet, by its row.
pub(super) const PACKETS: &[(usize, Direction, &str, &str)] = &[
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
        "the conversation has chat and commands of all versions, whatever the filter",
        &[
            Filter("update_health"),
            Conversation(&[
                "hello server",
                "hello Steve",
                "/say hello",
                "/help",
                "welcome",
                "hello again",
            ]),
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
