/// A page of the documentation.
#[derive(Debug)]
pub(in crate::cli) struct Topic {
    /// Its name in `help NAME`.
    pub(in crate::cli) name: &'static str,
    /// The subject, in a few words.
    pub(in crate::cli) about: &'static str,
    /// Section of the manual: 5 for formats, 7 for everything else.
    pub(in crate::cli) section: &'static str,
    /// The page, in Markdown.
    pub(in crate::cli) text: &'static str,
}

/// The topics of `help`, in the order in which they are listed.
pub(in crate::cli) const TOPICS: [Topic; 2] = [
    Topic {
        name: "filters",
        about: "The filter language, and files of rules",
        section: "7",
        text: include_str!("../../../docs/filters.md"),
    },
    Topic {
        name: "captures",
        about: "The formats of captures, key by key",
        section: "5",
        text: include_str!("../../../docs/captures.md"),
    },
];
