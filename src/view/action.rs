use serde::Serialize;

/// What a person does with a key. A key does the same in all interfaces; see [`Action::TABLE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the table has a text for each")]
pub enum Action {
    Packets,
    Sessions,
    Conversation,
    Statistics,
    Timeline,
    Held,
    Rules,
    Sent,
    Keys,
    Palette,
    Menu,
    Back,
    Quit,
    Next,
    Previous,
    PageDown,
    PageUp,
    First,
    Last,
    Follow,
    Open,
    NextPane,
    Filter,
    Search,
    NextMatch,
    PreviousMatch,
    HideType,
    OnlyType,
    Hide,
    ShowHidden,
    Times,
    Columns,
    Colors,
    Series,
    Sort,
    Clear,
    Select,
    Mark,
    NextMark,
    PreviousMark,
    Comment,
    Save,
    Compare,
    Export,
    Resend,
    Edit,
    EditInEditor,
    Rule,
    FieldFilter,
    FieldAnd,
    FieldOr,
    FieldNot,
    FieldColumn,
    CopyValue,
    CopyPath,
    CopyBytes,
    CopyJson,
    Hold,
    Overtake,
    Forward,
    Drop,
    ForwardAll,
    Send,
    Stop,
    Kick,
}

/// A line of [`Action::TABLE`].
#[derive(Debug, Clone, Copy)]
pub struct Binding {
    /// What the keys do.
    pub action: Action,
    /// The action's name in messages.
    pub name: &'static str,
    /// Its keys, as browsers name them: `j`, `ArrowDown`, `Control+k`.
    pub keys: &'static [&'static str],
    /// What it does, for people.
    pub help: &'static str,
    /// What it is about.
    pub group: Group,
    /// The interface that has it, unless all have it. No other one uses its keys.
    pub only: Option<Interface>,
    /// The things that it does something to: it is in their context menus.
    pub on: &'static [Thing],
}

/// A thing with a context menu.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum Thing {
    /// A packet of the list.
    Packet,
    /// A field of the selected packet.
    Field,
    /// A packet that is held.
    Held,
    /// A session.
    Session,
}

/// What actions are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// What is shown.
    Views,
    /// Moving within what is shown.
    Moving,
    /// Which packets are listed, and how.
    List,
    /// The selected packet.
    Packet,
    /// The selected field.
    Field,
    /// The traffic of a running proxy.
    Traffic,
}

/// A user interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interface {
    /// That in the terminal.
    Terminal,
    /// That in a browser.
    Page,
}

impl Action {
    /// All actions, in the order in which people read them.
    pub const TABLE: &[Binding] = &[
        both(Self::Packets, "packets", &["1"], "packets", Group::Views),
        both(Self::Sessions, "sessions", &["2"], "sessions", Group::Views),
        both(Self::Conversation, "conversation", &["3"], "conversation", Group::Views),
        both(Self::Statistics, "statistics", &["4"], "statistics", Group::Views),
        both(Self::Timeline, "timeline", &["5"], "timeline", Group::Views),
        both(Self::Held, "held", &["6"], "what a running proxy holds", Group::Views),
        page(Self::Rules, "rules", &["7"], "filter files of a running proxy", Group::Views),
        both(Self::Sent, "sent", &["8"], "what people have sent, and what came back", Group::Views),
        both(Self::Keys, "keys", &["?"], "all keys", Group::Views),
        both(
            Self::Palette,
            "palette",
            &["Control+k"],
            "find an action by what it does, and run it",
            Group::Views,
        ),
        page(
            Self::Menu,
            "menu",
            &["."],
            "the menu of what is selected, as a right click shows it",
            Group::Views,
        ),
        both(Self::Back, "back", &["Escape"], "back to the list", Group::Views),
        terminal(Self::Quit, "quit", &["q"], "leave, which ends the run", Group::Views),
        both(Self::Next, "next", &["j", "ArrowDown"], "next packet, or line", Group::Moving),
        both(
            Self::Previous,
            "previous",
            &["k", "ArrowUp"],
            "previous packet, or line",
            Group::Moving,
        ),
        both(Self::PageDown, "page_down", &["PageDown"], "a screen down", Group::Moving),
        both(Self::PageUp, "page_up", &["PageUp"], "a screen up", Group::Moving),
        both(Self::First, "first", &["g", "Home"], "first", Group::Moving),
        both(Self::Last, "last", &["G", "End"], "last", Group::Moving),
        both(Self::Follow, "follow", &["f"], "follow the newest packet, or pause", Group::Moving),
        both(
            Self::Open,
            "open",
            &["Enter"],
            "the packet's fields; what is selected",
            Group::Moving,
        ),
        terminal(Self::NextPane, "next_pane", &["Tab"], "to the fields and back", Group::Moving),
        both(
            Self::Filter,
            "filter",
            &["/"],
            "filter the list; Tab completes, ↑ ↓ recall",
            Group::List,
        ),
        both(Self::Search, "search", &["s"], "search text, or bytes such as 0a:1b", Group::List),
        both(Self::NextMatch, "next_match", &["n"], "next match", Group::List),
        both(Self::PreviousMatch, "previous_match", &["N"], "previous match", Group::List),
        both(Self::HideType, "hide_type", &["h"], "hide packets of this type", Group::List)
            .on(&[Thing::Packet]),
        both(Self::OnlyType, "only_type", &["o"], "list only packets of this type", Group::List)
            .on(&[Thing::Packet]),
        both(Self::Hide, "hide", &["H"], "hide the packet", Group::List).on(&[Thing::Packet]),
        both(Self::ShowHidden, "show_hidden", &["U"], "show hidden packets again", Group::List),
        both(
            Self::Times,
            "times",
            &["t"],
            "times of the day, since the session began, or since the row before",
            Group::List,
        ),
        both(Self::Columns, "columns", &["c"], "choose columns", Group::List),
        both(Self::Colors, "colors", &["p"], "choose the colours of packets", Group::List),
        both(Self::Series, "series", &["a"], "choose the expressions of the timeline", Group::List),
        both(
            Self::Sort,
            "sort",
            &["z"],
            "sort the list by a column, or a value of the filter language",
            Group::List,
        ),
        both(
            Self::Clear,
            "clear",
            &["L"],
            "clear the list, and sessions that have ended; U shows them again",
            Group::List,
        ),
        both(
            Self::Select,
            "select",
            &[" "],
            "select the packet besides others, or no longer",
            Group::List,
        )
        .on(&[Thing::Packet]),
        both(Self::Mark, "mark", &["m"], "mark the packet, or unmark it", Group::Packet)
            .on(&[Thing::Packet]),
        both(Self::NextMark, "next_mark", &["]"], "next marked packet", Group::Packet),
        both(Self::PreviousMark, "previous_mark", &["["], "previous marked packet", Group::Packet),
        both(Self::Comment, "comment", &[";"], "comment on the packet", Group::Packet)
            .on(&[Thing::Packet]),
        both(Self::Save, "save", &["w"], "keep marks and comments in the capture", Group::Packet),
        both(
            Self::Compare,
            "compare",
            &["x"],
            "compare the packet marked last with the selected one",
            Group::Packet,
        )
        .on(&[Thing::Packet]),
        page(Self::Export, "export", &["e"], "export packets", Group::Packet).on(&[Thing::Packet]),
        page(Self::Rule, "rule", &["R"], "a rule for packets like this", Group::Packet)
            .on(&[Thing::Packet]),
        field(Self::FieldFilter, "field_filter", &["="], "list only packets with this value"),
        field(Self::FieldAnd, "field_and", &["&"], "filter: and this value"),
        field(Self::FieldOr, "field_or", &["|"], "filter: or this value"),
        field(Self::FieldNot, "field_not", &["!"], "filter: and not this value"),
        field(
            Self::FieldColumn,
            "field_column",
            &["C"],
            "list this field as a column, or no longer",
        ),
        field(Self::CopyValue, "copy_value", &["y"], "copy the value"),
        field(Self::CopyPath, "copy_path", &["Y"], "copy the name, as filters have it"),
        field(Self::CopyBytes, "copy_bytes", &["B"], "copy the bytes in hex"),
        field(Self::CopyJson, "copy_json", &["J"], "copy the value as JSON"),
        both(Self::Resend, "resend", &["r"], "send the packet again", Group::Traffic)
            .on(&[Thing::Packet]),
        both(
            Self::Edit,
            "edit",
            &["E"],
            "edit the packet and send it; one that is held, instead of it",
            Group::Traffic,
        )
        .on(&[Thing::Packet, Thing::Held]),
        terminal(
            Self::EditInEditor,
            "edit_in_editor",
            &["v"],
            "the same in $EDITOR",
            Group::Traffic,
        ),
        both(Self::Send, "send", &["S"], "send another packet", Group::Traffic),
        both(Self::Stop, "stop", &["X"], "send no more of what is sent repeatedly", Group::Traffic),
        both(
            Self::Hold,
            "hold",
            &["i"],
            "hold packets that match, before they are forwarded; none if empty",
            Group::Traffic,
        ),
        both(
            Self::Overtake,
            "overtake",
            &["O"],
            "let later packets overtake held ones, or not",
            Group::Traffic,
        ),
        both(Self::Forward, "forward", &["F"], "forward the held packet", Group::Traffic)
            .on(&[Thing::Held]),
        both(Self::Drop, "drop", &["D"], "drop the held packet", Group::Traffic).on(&[Thing::Held]),
        both(Self::ForwardAll, "forward_all", &["A"], "forward all held packets", Group::Traffic)
            .on(&[Thing::Held]),
        both(Self::Kick, "kick", &["K"], "end the session", Group::Traffic).on(&[Thing::Session]),
    ];

    /// Returns what a key does in an interface, by the name that browsers give it.
    #[must_use]
    pub fn of(key: &str, interface: Interface) -> Option<Self> {
        let mut bindings = interface.bindings();
        bindings.find(|it| it.keys.contains(&key)).map(|it| it.action)
    }
}

impl Interface {
    /// Iterates over the actions that the interface has.
    pub fn bindings(self) -> impl Iterator<Item = &'static Binding> {
        Action::TABLE.iter().filter(move |it| it.only.is_none_or(|only| only == self))
    }

    /// Returns the actions whose name, text or group has all words of `text`, in any letter case: first those with a
    /// name that begins with `text`. Without `live`, those that need a running proxy are left out.
    #[must_use]
    pub fn find(self, text: &str, live: bool) -> Vec<&'static Binding> {
        let text = text.trim().to_lowercase();
        let bindings = self.bindings().filter(|it| it.action != Action::Palette);
        let mut found: Vec<_> = bindings.filter(|it| live || !it.needs_proxy()).collect();
        found.retain(|it| {
            let all = format!("{} {} {}", it.name.replace('_', " "), it.help, it.group.title());
            let all = all.to_lowercase();
            text.split_whitespace().all(|word| all.contains(word))
        });
        // Stable: otherwise in the order of the table.
        found.sort_by_key(|it| !it.name.starts_with(&text));
        found
    }
}

impl Binding {
    const fn on(self, on: &'static [Thing]) -> Self {
        Self { on, ..self }
    }

    /// Returns the line of an action.
    #[must_use]
    pub fn of(action: Action) -> Option<&'static Self> {
        Action::TABLE.iter().find(|it| it.action == action)
    }

    /// Returns whether it does something only while a proxy runs.
    #[must_use]
    pub fn needs_proxy(&self) -> bool {
        self.group == Group::Traffic
            || matches!(self.action, Action::Held | Action::Rules | Action::Rule)
    }

    /// Returns the keys as people read them: `j ↓`.
    #[must_use]
    pub fn key_names(&self) -> String {
        let names = self.keys.iter().map(|key| match *key {
            "ArrowDown" => "↓",
            "ArrowUp" => "↑",
            "PageDown" => "PgDn",
            "PageUp" => "PgUp",
            "Escape" => "Esc",
            "Control+k" => "Ctrl-K",
            " " => "Space",
            key => key,
        });
        names.collect::<Vec<_>>().join(" ")
    }
}

impl Group {
    /// All groups, in the order of the table.
    pub const ALL: [Self; 6] =
        [Self::Views, Self::Moving, Self::List, Self::Packet, Self::Field, Self::Traffic];

    /// The heading above the group's actions.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Views => "Views",
            Self::Moving => "Moving",
            Self::List => "The list",
            Self::Packet => "The selected packet",
            Self::Field => "The selected field",
            Self::Traffic => "Traffic of a running proxy",
        }
    }
}

const fn both(
    action: Action,
    name: &'static str,
    keys: &'static [&'static str],
    help: &'static str,
    group: Group,
) -> Binding {
    Binding { action, name, keys, help, group, only: None, on: &[] }
}

const fn field(
    action: Action,
    name: &'static str,
    keys: &'static [&'static str],
    help: &'static str,
) -> Binding {
    both(action, name, keys, help, Group::Field).on(&[Thing::Field])
}

const fn terminal(
    action: Action,
    name: &'static str,
    keys: &'static [&'static str],
    help: &'static str,
    group: Group,
) -> Binding {
    Binding { only: Some(Interface::Terminal), ..both(action, name, keys, help, group) }
}

const fn page(
    action: Action,
    name: &'static str,
    keys: &'static [&'static str],
    help: &'static str,
    group: Group,
) -> Binding {
    Binding { only: Some(Interface::Page), ..both(action, name, keys, help, group) }
}
