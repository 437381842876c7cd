use mitmcraft_protocol::wire::named;

named! {
    /// How certain a cause is; the most certain is first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Certainty {
        /// Nothing else explains what happened.
        Certain => "certain",
        /// It explains what happened, and nothing speaks against it.
        Likely => "likely",
        /// It may have had no effect.
        Possible => "possible",
    }

    /// All of them.
    pub const ALL;

    /// Returns `certain`, `likely` or `possible`.
    pub fn name;
}
