use serde::Serialize;

use Action::*;
use Group::{Field, List, Moving, Packet, Traffic, Views};

/// What a person does with a key. A key does the same in all interfaces; see [`Action::TABLE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the table has a text for each")]
pub enum Action {
    Packets,
    Sessions,
    Conversation,
    Statistics,
    Timeline,
    Map,
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
    GoTo,
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
    Answer,
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
    FieldRule,
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
    Explain,
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
    /// Other words by which people look for it.
    pub words: &'static str,
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
    pub const TABLE: &[Binding] = TABLE;

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

    /// Returns the actions whose name, text, group and other words have all words of `text`, in any letter case: first
    /// those with a name that begins with `text`. Without `live`, those that need a running proxy are left out.
    #[must_use]
    pub fn find(self, text: &str, live: bool) -> Vec<&'static Binding> {
        let text = text.trim().to_lowercase();
        let bindings = self.bindings().filter(|it| it.action != Palette);
        let mut found: Vec<_> = bindings.filter(|it| live || !it.needs_proxy()).collect();
        found.retain(|it| {
            let name = it.name.replace('_', " ");
            let all = format!("{name} {} {} {}", it.help, it.group.title(), it.words);
            let all = all.to_lowercase();
            text.split_whitespace().all(|word| all.contains(word))
        });
        // Stable: otherwise in the order of the table.
        found.sort_by_key(|it| !it.name.replace('_', " ").starts_with(&text));
        found
    }
}

impl Binding {
    const fn on(self, on: &'static [Thing]) -> Self {
        Self { on, ..self }
    }

    const fn words(self, words: &'static str) -> Self {
        Self { words, ..self }
    }

    /// Returns the line of an action.
    #[must_use]
    pub fn of(action: Action) -> Option<&'static Self> {
        Action::TABLE.iter().find(|it| it.action == action)
    }

    /// Returns whether it does something only while a proxy runs.
    #[must_use]
    pub fn needs_proxy(&self) -> bool {
        self.group == Traffic || matches!(self.action, Held | Rules | Rule | FieldRule)
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
            "Control+g" => "Ctrl-G",
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

/// [`Action::TABLE`].
const TABLE: &[Binding] = &[
    both(Packets, "packets", &["1"], "packets", Views),
    both(Sessions, "sessions", &["2"], "sessions", Views),
    both(Conversation, "conversation", &["3"], "conversation", Views),
    both(Statistics, "statistics", &["4"], "statistics", Views),
    both(Timeline, "timeline", &["5"], "timeline", Views),
    page(Map, "map", &["9"], "map of the world that the server has sent", Views),
    both(Held, "held", &["6"], "what a running proxy holds", Views),
    page(Rules, "rules", &["7"], "filter files of a running proxy", Views),
    both(Sent, "sent", &["8"], "packets sent by hand, and the replies", Views),
    both(Keys, "keys", &["?"], "all keys", Views),
    both(
        Palette,
        "palette",
        &["Control+k"],
        "find an action by its description, and run it",
        Views,
    ),
    page(Menu, "menu", &["."], "the menu of the selection, as with a right click", Views),
    both(Back, "back", &["Escape"], "back to the list", Views),
    terminal(Quit, "quit", &["q"], "leave, which ends the run", Views).words("exit"),
    both(Next, "next", &["j", "ArrowDown"], "next packet, or line", Moving),
    both(Previous, "previous", &["k", "ArrowUp"], "previous packet, or line", Moving),
    both(PageDown, "page_down", &["PageDown"], "a screen down", Moving),
    both(PageUp, "page_up", &["PageUp"], "a screen up", Moving),
    both(First, "first", &["g", "Home"], "first", Moving),
    both(Last, "last", &["G", "End"], "last", Moving),
    both(GoTo, "go_to", &["Control+g", ":"], "go to a packet by its number, or to a time", Moving)
        .words("jump line row"),
    both(Follow, "follow", &["f"], "follow the newest packet, or pause", Moving),
    both(Open, "open", &["Enter"], "the packet's fields; what is selected", Moving)
        .words("expand details"),
    terminal(NextPane, "next_pane", &["Tab"], "to the fields and back", Moving),
    both(Filter, "filter", &["/"], "filter the list; Tab completes, ↑ ↓ recall", List),
    both(Search, "search", &["s"], "search text, or bytes such as 0a:1b", List),
    both(NextMatch, "next_match", &["n"], "next match", List),
    both(PreviousMatch, "previous_match", &["N"], "previous match", List),
    both(HideType, "hide_type", &["h"], "hide packets of this type", List).on(&[Thing::Packet]),
    both(OnlyType, "only_type", &["o"], "list only packets of this type", List)
        .on(&[Thing::Packet]),
    both(Hide, "hide", &["H"], "hide the packet", List).on(&[Thing::Packet]),
    both(ShowHidden, "show_hidden", &["U"], "show hidden packets again", List)
        .words("reset restore unhide"),
    both(
        Times,
        "times",
        &["t"],
        "times of the day, since the session began, or since the row before",
        List,
    ),
    both(Columns, "columns", &["c"], "choose columns", List),
    both(Colors, "colors", &["p"], "choose the colours of packets", List)
        .words("colors theme highlight"),
    both(Series, "series", &["a"], "choose the expressions of the timeline", List),
    both(
        Sort,
        "sort",
        &["z"],
        "sort the list by a column, or a value of the filter language",
        List,
    ),
    both(
        Clear,
        "clear",
        &["L"],
        "clear the list, and sessions that have ended; U shows them again",
        List,
    ),
    both(Select, "select", &[" "], "add the packet to the selection, or remove it", List)
        .on(&[Thing::Packet]),
    both(Mark, "mark", &["m"], "mark the packet, or unmark it", Packet).on(&[Thing::Packet]),
    both(NextMark, "next_mark", &["]"], "next marked packet", Packet),
    both(PreviousMark, "previous_mark", &["["], "previous marked packet", Packet),
    both(Answer, "answer", &["l"], "show the answer, or what the packet answers", Packet)
        .words("response request reply round trip")
        .on(&[Thing::Packet]),
    both(Comment, "comment", &[";"], "comment on the packet", Packet)
        .words("note")
        .on(&[Thing::Packet]),
    both(Explain, "explain", &["W"], "say why the session ended, or what it waits for", Packet)
        .on(&[Thing::Session, Thing::Packet]),
    both(Save, "save", &["w"], "keep marks and comments in the capture", Packet),
    both(Compare, "compare", &["x"], "compare with the packet marked last", Packet)
        .on(&[Thing::Packet]),
    page(Export, "export", &["e"], "export packets", Packet)
        .words("save download")
        .on(&[Thing::Packet]),
    page(Rule, "rule", &["R"], "a rule for packets like this", Packet).on(&[Thing::Packet]),
    field(FieldFilter, "field_filter", &["="], "list only packets with this value"),
    field(FieldAnd, "field_and", &["&"], "narrow the filter to this value"),
    field(FieldOr, "field_or", &["|"], "widen the filter by this value"),
    field(FieldNot, "field_not", &["!"], "leave packets with this value out"),
    field(FieldColumn, "field_column", &["C"], "add or remove this field as a column"),
    page(
        FieldRule,
        "field_rule",
        &["M"],
        "a rule that sets this field in packets like this",
        Field,
    )
    .words("edit change modify rewrite replace")
    .on(&[Thing::Field]),
    field(CopyValue, "copy_value", &["y"], "copy the value"),
    field(CopyPath, "copy_path", &["Y"], "copy the name, as filters have it"),
    field(CopyBytes, "copy_bytes", &["B"], "copy the bytes in hex"),
    field(CopyJson, "copy_json", &["J"], "copy the value as JSON"),
    both(Resend, "resend", &["r"], "send the packet again", Traffic).on(&[Thing::Packet]),
    both(Edit, "edit", &["E"], "edit the packet and send it, in place of a held one", Traffic)
        .on(&[Thing::Packet, Thing::Held]),
    terminal(
        EditInEditor,
        "edit_in_editor",
        &["v"],
        "edit the packet in $EDITOR and send it",
        Traffic,
    ),
    both(Send, "send", &["S"], "send another packet", Traffic),
    both(Stop, "stop", &["X"], "stop repeated sending", Traffic),
    both(
        Hold,
        "hold",
        &["i"],
        "hold packets that match a condition; an empty one holds none",
        Traffic,
    )
    .words("intercept breakpoint"),
    both(
        Overtake,
        "overtake",
        &["O"],
        "let later packets overtake held ones, or stop that",
        Traffic,
    ),
    both(Forward, "forward", &["F"], "forward the held packet", Traffic).on(&[Thing::Held]),
    both(Drop, "drop", &["D"], "drop the held packet", Traffic).on(&[Thing::Held]),
    both(ForwardAll, "forward_all", &["A"], "forward all held packets", Traffic).on(&[Thing::Held]),
    both(Kick, "kick", &["K"], "end the session", Traffic)
        .words("disconnect")
        .on(&[Thing::Session]),
];

const fn both(action: Action, name: Text, keys: KeyNames, help: Text, group: Group) -> Binding {
    Binding { action, name, keys, help, words: "", group, only: None, on: &[] }
}

const fn field(action: Action, name: Text, keys: KeyNames, help: Text) -> Binding {
    both(action, name, keys, help, Field).on(&[Thing::Field])
}

const fn terminal(action: Action, name: Text, keys: KeyNames, help: Text, group: Group) -> Binding {
    Binding { only: Some(Interface::Terminal), ..both(action, name, keys, help, group) }
}

const fn page(action: Action, name: Text, keys: KeyNames, help: Text, group: Group) -> Binding {
    Binding { only: Some(Interface::Page), ..both(action, name, keys, help, group) }
}

type Text = &'static str;
type KeyNames = &'static [Text];
