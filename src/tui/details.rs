use crate::store::Details;

/// Fields and bytes of one packet, linked: the bytes of the selected field are marked.
#[derive(Debug)]
pub(super) struct DetailsPane {
    pub(super) row: u64,
    pub(super) details: Details,
    /// The place of the selected field.
    pub(super) field: usize,
}

impl DetailsPane {
    pub(super) fn new(row: u64, details: Details) -> Self {
        Self { row, details, field: 0 }
    }

    pub(super) fn move_by(&mut self, rows: isize) {
        let last = self.details.fields.len().saturating_sub(1);
        self.field = self.field.saturating_add_signed(rows).min(last);
    }

    /// Selects the innermost field that has the byte at `offset`.
    pub(super) fn select_byte(&mut self, offset: usize) {
        let fields = self.details.fields.iter().enumerate();
        let holders = fields.filter(|(_, field)| field.bytes.contains(&offset));
        if let Some((place, _)) = holders.max_by_key(|(_, field)| field.depth) {
            self.field = place;
        }
    }

    /// Returns the bytes of the selected field.
    pub(super) fn marked(&self) -> std::ops::Range<usize> {
        self.details.fields.get(self.field).map_or(0..0, |field| field.bytes.clone())
    }
}
