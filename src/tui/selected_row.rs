use super::Shared;
use super::pane::Input;

/// The selected row of a list of which every row has a number, in their order. It stays selected while others come and
/// go; once it is gone itself, the next one is.
#[derive(Debug, Default)]
pub(super) struct SelectedRow {
    number: Option<u64>,
    /// The index of the row.
    place: usize,
}

impl SelectedRow {
    /// Finds the row again among the numbers of all rows.
    pub(super) fn settle(&mut self, numbers: &[u64]) {
        let selected = self.number.unwrap_or_default();
        self.select(numbers, numbers.partition_point(|number| *number < selected));
    }

    /// Selects the row to which a key moves, or on which a click is. Returns `false` for other inputs.
    pub(super) fn act(&mut self, numbers: &[u64], shared: &Shared, input: Input) -> bool {
        match input {
            Input::Move(rows) => {
                let rows = isize::try_from(rows).unwrap_or_default();
                self.select(numbers, self.place.saturating_add_signed(rows));
            }
            Input::Click(at) => {
                let row = at.y.checked_sub(FIRST_ROW).map(usize::from);
                let place =
                    row.filter(|row| *row < shared.height).map(|row| self.top(shared) + row);
                if let Some(place) = place.filter(|place| *place < numbers.len()) {
                    self.select(numbers, place);
                }
            }
            Input::Do(_) => return false,
        }
        true
    }

    /// The number of the row.
    pub(super) fn number(&self) -> Option<u64> {
        self.number
    }

    /// The index of the row.
    pub(super) fn place(&self) -> usize {
        self.place
    }

    /// Returns the index of the first row on the screen: the selected one is on it.
    pub(super) fn top(&self, shared: &Shared) -> usize {
        (self.place + 1).saturating_sub(shared.height)
    }

    fn select(&mut self, numbers: &[u64], place: usize) {
        self.place = place.min(numbers.len().saturating_sub(1));
        self.number = numbers.get(self.place).copied();
    }
}

/// The row of the screen with the first row of a list, below its heads.
pub(super) const FIRST_ROW: u16 = 2;
