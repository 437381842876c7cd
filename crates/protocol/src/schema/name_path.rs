use super::Name;

/// The path of a value in a walk: the names of fields, without the places of elements. A
/// [`Visitor`](super::Visitor) calls the method of each of its own.
#[derive(Debug, Default)]
pub struct NamePath {
    path: String,
    open: Vec<Open>,
}

/// An open container or list.
#[derive(Debug)]
struct Open {
    /// The length of its own path.
    path: usize,
    /// The number of elements so far.
    elements: usize,
}

impl NamePath {
    /// Takes the name of the next field.
    pub fn field(&mut self, name: &str) {
        self.path.truncate(self.open.last().map_or(0, |open| open.path));
        if !self.path.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(name);
    }

    /// Takes a value that is no container and no list.
    pub fn leaf(&mut self) {
        if let Some(open) = self.open.last_mut() {
            open.elements += 1;
        }
    }

    /// Takes the start of a container or a list.
    pub fn open(&mut self) {
        self.leaf();
        self.open.push(Open { path: self.path.len(), elements: 0 });
    }

    /// Takes the end of a container or a list, whose path is now this one. Returns the number of its fields
    /// or elements.
    pub fn close(&mut self) -> usize {
        let Some(open) = self.open.pop() else { return 0 };
        self.path.truncate(open.path);
        open.elements
    }

    /// Returns the path of the last value, or of the one that comes after a name: `items.itemId`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.path
    }

    /// Returns the name of a field that is in no container but the packet.
    #[must_use]
    pub fn outermost(&self) -> Option<Name> {
        (self.open.len() == 1 && !self.path.is_empty()).then(|| Name::from(&*self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_have_the_path_of_their_list() {
        let mut path = NamePath::default();
        path.open();
        path.field("a");
        path.leaf();
        assert_eq!((path.as_str(), path.outermost().as_deref()), ("a", Some("a")));
        path.field("items");
        path.open();
        for _ in 0..2 {
            path.open();
            path.field("id");
            path.leaf();
            assert_eq!((path.as_str(), path.outermost()), ("items.id", None));
            path.field("count");
            assert_eq!(path.as_str(), "items.count");
            assert_eq!(path.close(), 1);
            assert_eq!(path.as_str(), "items");
        }
        assert_eq!((path.close(), path.as_str()), (2, "items"));
        path.field("b");
        assert_eq!(path.as_str(), "b");
    }
}
