use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use thiserror::Error;

use super::private_file::{make_folder, replace};
use crate::view::{Highlight, Highlights};
use mitmcraft_protocol::schema::Catalog;

/// The colours with which all screens begin, and the file that keeps those that people save.
#[derive(Debug, Clone)]
pub struct ColorStore {
    /// Locked while the file is written, so that the last ones are those of the file.
    colors: Arc<Mutex<Arc<Highlights>>>,
    /// `None` if nothing is kept.
    path: Option<PathBuf>,
}

/// The reason why colours cannot be read or kept.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ColorsError {
    /// The file cannot be read or written.
    #[error("cannot use `{}`: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        cause: io::Error,
    },
    /// The file has something else.
    #[error("`{}` has no colours: {cause}; delete it, or save colours again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The syntax error, or the first value that is not a colour, with line and column.
        cause: serde_json::Error,
    },
    /// An expression of the file does not compile.
    #[error("`{}`: the colour of `{condition}` is left out: {message}", path.display())]
    Condition {
        /// The file.
        path: PathBuf,
        /// The expression.
        condition: String,
        /// Why the expression does not compile, as a message for the user.
        message: String,
    },
}

impl ColorStore {
    /// Creates a store of colours that are kept nowhere.
    #[must_use]
    pub fn new(colors: Highlights) -> Self {
        Self { colors: Arc::new(Mutex::new(Arc::new(colors))), path: None }
    }

    /// Reads the colours of a file, and keeps there what is saved. If it does not exist or cannot be used, the
    /// colours are the usual ones. Also returns what is wrong with the file.
    #[must_use]
    pub fn open(path: PathBuf, catalog: &Catalog) -> (Self, Vec<ColorsError>) {
        let (colors, faults) = match read(&path) {
            Ok(Some(all)) => compile(&path, all, catalog),
            Ok(None) => (Highlights::usual(catalog), Vec::new()),
            Err(error) => (Highlights::usual(catalog), vec![error]),
        };
        (Self { path: Some(path), ..Self::new(colors) }, faults)
    }

    /// Returns a store that begins with the same colours and keeps nothing.
    #[must_use]
    pub fn unkept(&self) -> Self {
        Self { colors: Arc::new(Mutex::new(self.now())), path: None }
    }

    /// Returns the file that keeps colours.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns the colours with which a screen begins now. Waits while others are written to the file.
    #[must_use]
    pub fn now(&self) -> Arc<Highlights> {
        Arc::clone(&self.colors.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Keeps colours for all screens, from now on and in later runs. Does nothing if no file keeps them.
    ///
    /// # Errors
    /// If the file cannot be written. It is then unchanged.
    pub fn save(&self, colors: &Arc<Highlights>) -> Result<(), ColorsError> {
        let Some(path) = self.path() else { return Ok(()) };
        let mut now = self.colors.lock().unwrap_or_else(PoisonError::into_inner);
        write(path, colors).map_err(|cause| ColorsError::Io { path: path.to_owned(), cause })?;
        now.clone_from(colors);
        Ok(())
    }
}

fn read(path: &Path) -> Result<Option<Vec<Highlight>>, ColorsError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(ColorsError::Io { path: path.to_owned(), cause }),
    };
    let parsed = serde_json::from_str(&text);
    parsed.map(Some).map_err(|cause| ColorsError::Damaged { path: path.to_owned(), cause })
}

/// Compiles colours. What another version or other packets of `--protocol` had is left out.
fn compile(path: &Path, all: Vec<Highlight>, catalog: &Catalog) -> (Highlights, Vec<ColorsError>) {
    let (mut right, mut faults) = (Vec::new(), Vec::new());
    for it in all {
        match Highlights::new(vec![it.clone()], catalog) {
            Ok(_) => right.push(it),
            Err((_, error)) => faults.push(ColorsError::Condition {
                path: path.to_owned(),
                condition: it.condition,
                message: error.message,
            }),
        }
    }
    (Highlights::new(right, catalog).unwrap_or_default(), faults)
}

fn write(path: &Path, colors: &Highlights) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    let mut text = serde_json::to_string_pretty(&colors.iter().collect::<Vec<_>>())?;
    text.push('\n');
    replace(path, &path.with_extension(std::process::id().to_string()), text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::HighlightColor;

    fn highlights(all: &[(HighlightColor, &str)]) -> Arc<Highlights> {
        let all = all.iter().map(|(color, condition)| Highlight {
            color: *color,
            condition: (*condition).to_owned(),
        });
        Arc::new(Highlights::new(all.collect(), Catalog::embedded()).unwrap())
    }

    fn conditions(colors: &Highlights) -> Vec<String> {
        colors.iter().map(|it| format!("{}: {}", it.color.name(), it.condition)).collect()
    }

    #[test]
    fn saved_colours_are_those_of_the_next_run_and_only_their_owner_can_read_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mitmcraft/colors.json");
        let catalog = Catalog::embedded();
        let (store, faults) = ColorStore::open(path.clone(), catalog);
        assert!(faults.is_empty() && !path.exists());
        assert_eq!(conditions(&store.now()), conditions(&Highlights::usual(catalog)));
        let chosen = [
            (HighlightColor::Blue, "chat and message == \"a\\n\u{7f}\""),
            (HighlightColor::Red, "pkt.error"),
        ];
        store.save(&highlights(&chosen)).unwrap();
        assert_eq!(conditions(&store.now()), conditions(&highlights(&chosen)));
        let (other, faults) = ColorStore::open(path.clone(), catalog);
        assert!(faults.is_empty(), "{faults:?}");
        assert_eq!(conditions(&other.now()), conditions(&highlights(&chosen)));
        assert_eq!(
            fs::read_dir(path.parent().unwrap()).unwrap().count(),
            1,
            "nothing is beside it"
        );
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        }
        // None at all is a choice, too.
        other.save(&highlights(&[])).unwrap();
        assert!(conditions(&ColorStore::open(path, catalog).0.now()).is_empty());
    }

    #[test]
    fn a_wrong_file_is_told_and_what_is_right_in_it_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("colors.json");
        let catalog = Catalog::embedded();
        let open = |text: &str| {
            fs::write(&path, text).unwrap();
            let (store, faults) = ColorStore::open(path.clone(), catalog);
            let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
            (conditions(&store.now()), faults.join("\n"))
        };
        let name = path.display();
        let (colors, faults) = open(
            r#"[{"color":"red","where":"no_such_packet"},{"color":"gray","where":"map_chunk"}]"#,
        );
        assert_eq!(colors, ["gray: map_chunk"]);
        let left_out = "the colour of `no_such_packet` is left out: no packet `no_such_packet`";
        assert_eq!(faults, format!("`{name}`: {left_out}"));
        for text in ["red", r#"[{"color":"pink","where":"chat"}]"#, r#"{"color":"red"}"#] {
            let (colors, faults) = open(text);
            assert_eq!(colors, conditions(&Highlights::usual(catalog)), "{text}");
            assert!(faults.starts_with(&format!("`{name}` has no colours: ")), "{faults}");
        }
    }

    #[test]
    fn colours_that_cannot_be_kept_change_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file/colors.json");
        fs::write(folder.path().join("file"), "is no folder").unwrap();
        let (store, _) = ColorStore::open(path.clone(), Catalog::embedded());
        let before = conditions(&store.now());
        let error = store.save(&highlights(&[])).unwrap_err().to_string();
        assert!(error.starts_with(&format!("cannot use `{}`: ", path.display())), "{error}");
        assert_eq!(conditions(&store.now()), before);
        let unkept = store.unkept();
        unkept.save(&highlights(&[])).unwrap();
        assert_eq!((conditions(&unkept.now()), unkept.path()), (before, None));
    }
}
