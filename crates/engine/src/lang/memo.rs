use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::Hash;

/// Results of a computation, kept by what they were computed from.
pub(super) struct Memo<K, V>(RefCell<HashMap<K, V>>);

impl<K: Clone + Eq + Hash, V: Clone> Memo<K, V> {
    /// Returns the result for `key`, which `compute` computes unless it is known.
    pub(super) fn get(&self, key: &K, compute: impl FnOnce() -> V) -> V {
        if let Some(known) = self.0.borrow().get(key) {
            return known.clone();
        }
        let result = compute();
        self.0.borrow_mut().insert(key.clone(), result.clone());
        result
    }
}

impl<K, V> Default for Memo<K, V> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}
