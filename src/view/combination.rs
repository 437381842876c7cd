use serde::{Deserialize, Serialize};

use mitmcraft_engine::lang::{Condition, ExprError, Path};

/// The way in which a condition is added to a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum Combination {
    /// In place of the filter.
    Only,
    /// Packets meet both.
    And,
    /// Packets meet one or both. Without a filter, they meet the condition.
    Or,
    /// Packets meet the filter, and not the condition.
    Not,
}

impl Combination {
    /// Adds a condition to the text of a filter, which may be empty.
    ///
    /// # Errors
    /// [`ExprError`] if the filter is not an expression.
    pub fn combine(self, filter: &str, condition: Condition) -> Result<Condition, ExprError> {
        let condition = if self == Self::Not { !condition } else { condition };
        if self == Self::Only || filter.trim().is_empty() {
            return Ok(condition);
        }
        let filter = Condition::parse(filter)?;
        Ok(if self == Self::Or { filter.or(condition) } else { filter.and(condition) })
    }
}

/// Returns the condition that packets have this name.
#[must_use]
pub fn has_name(name: &str) -> Condition {
    Path::words(["pkt", "name"]).equals(name)
}
