/// What people noted about a packet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Annotation {
    /// `true` if it is marked.
    pub marked: bool,
    /// Their comment; empty if there is none.
    pub comment: String,
}

impl Annotation {
    /// Returns a packet's comment, followed by what people noted.
    pub(super) fn joined(&self, comment: Option<String>) -> Option<String> {
        let mark = self.marked.then_some(Self::MARK).filter(|mark| {
            let words = comment.as_deref().unwrap_or_default().split("; ");
            !words.into_iter().any(|word| word == *mark)
        });
        let own = Some(self.comment.as_str()).filter(|it| !it.is_empty());
        let parts = [comment.as_deref(), own, mark];
        let parts: Vec<&str> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// Returns the rest of a comment that has the mark.
    pub(super) fn without_mark(comment: &str) -> Option<Option<String>> {
        let words = || comment.split("; ");
        words().any(|word| word == Self::MARK).then(|| {
            let rest: Vec<&str> = words().filter(|word| *word != Self::MARK).collect();
            (!rest.is_empty()).then(|| rest.join("; "))
        })
    }

    /// The tag of a marked packet in the comments of captures.
    pub const MARK: &str = mitmcraft_engine::lang::MARK;

    /// Most characters of a comment.
    pub const MAX: usize = 2000;
}
