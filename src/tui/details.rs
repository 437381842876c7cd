use std::ops::Range;

use crate::store::{Details, Snapshot};
use crate::view::Comparison;
use mitmcraft_protocol::packet::Outcome;

/// Fields and bytes of one packet, linked: the bytes of the selected field are marked.
#[derive(Debug)]
pub(super) struct DetailsPane {
    pub(super) row: u64,
    pub(super) details: Details,
    /// The place of the selected field.
    pub(super) field: usize,
    /// The fields of what came and of what was sent in its place, if the packet is one of the two.
    pub(super) pair: Option<Comparison>,
    /// The bytes that the other packet of the two does not have.
    pub(super) differing: Range<usize>,
}

impl DetailsPane {
    /// Reads the packet of a row.
    pub(super) fn of(snapshot: &Snapshot, row: u64) -> Option<Self> {
        let details = snapshot.details(row)?;
        let other = snapshot.counterpart(row).and_then(|row| snapshot.details(row));
        let pair = other.as_ref().map(|other| match details.record.outcome {
            Outcome::Rewrite => Comparison::new(&details, other),
            _ => Comparison::new(other, &details),
        });
        let side = usize::from(details.record.outcome != Outcome::Rewrite);
        let differing = pair.as_ref().map_or(0..0, |pair| pair.differing[side].clone());
        Some(Self { row, details, field: 0, pair, differing })
    }

    /// Returns the line of the selected field.
    pub(super) fn line(&self) -> usize {
        let selected = self.details.fields.get(self.field);
        match self.pair.as_ref().zip(selected) {
            Some((pair, selected)) => {
                let place = pair.fields.iter().position(|it| it.path == selected.path);
                place.unwrap_or_default()
            }
            None => self.field,
        }
    }

    /// Selects the field of a line.
    pub(super) fn select_line(&mut self, line: usize) {
        match &self.pair {
            Some(pair) => {
                let path = pair.fields.get(line).map(|it| &it.path);
                let place = self.details.fields.iter().position(|it| Some(&it.path) == path);
                self.field = place.unwrap_or(self.field);
            }
            None => self.field = line.min(self.details.fields.len().saturating_sub(1)),
        }
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
    pub(super) fn marked(&self) -> Range<usize> {
        self.details.fields.get(self.field).map_or(0..0, |field| field.bytes.clone())
    }
}
