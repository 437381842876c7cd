use super::View;
use super::field::Field;
use super::slot::Slot;

/// What an evaluation has at hand.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) view: &'a dyn View,
    pub(super) fields: &'a [Field],
    /// What was found of each field.
    pub(super) slots: &'a [Slot],
    /// None: not asked for, or none there.
    pub(super) body: Option<&'a [u8]>,
}

impl<'a> Context<'a> {
    /// One in which no field is there.
    pub(super) fn without_fields(view: &'a dyn View) -> Self {
        Self { view, fields: &[], slots: &[], body: None }
    }
}
