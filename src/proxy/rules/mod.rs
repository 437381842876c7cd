//! Filter files: read, watched, and saved by the rule editor.

mod reload;
mod rule_editor;

pub use reload::{
    FileFault, FileFaultKind, FilterFiles, LoadError, Loaded, Watch, check_filters, factory,
};
pub use rule_editor::{RuleEditor, SaveError};
