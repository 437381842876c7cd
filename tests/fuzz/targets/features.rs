use std::hash::{DefaultHasher, Hash, Hasher as _};

/// The things that an input has led to, as hashes. An input that leads to a new one is worth
/// mutating.
#[derive(Debug, Default)]
pub struct Features(pub Vec<u64>);

impl Features {
    /// Adds something that has happened.
    pub fn see(&mut self, what: impl Hash) {
        let mut hasher = DefaultHasher::new();
        what.hash(&mut hasher);
        self.0.push(hasher.finish());
    }

    /// Adds a message: its first words, without numbers and quoted texts.
    pub fn say(&mut self, message: impl ToString) {
        let message = message.to_string();
        let plain: String = message.split('`').step_by(2).collect();
        let words = plain.split_ascii_whitespace();
        let words = words.filter(|word| word.bytes().all(|it| it.is_ascii_lowercase()));
        self.see(words.take(6).collect::<Vec<_>>());
    }
}
