use super::maker::Maker;
use crate::schema::gzip;
use crate::wire::{Nbt, Reader};

impl Maker<'_, '_> {
    pub(super) fn nbt(&mut self, named: bool) {
        if self.frugal() || self.choices.chance(60) {
            self.made.bytes.push(0);
            return;
        }
        let kind = if self.choices.chance(200) { 10 } else { 1 + self.choices.below(12) as u8 };
        self.made.bytes.push(kind);
        if named {
            self.nbt_text();
        }
        self.nbt_payload(kind, 0);
    }

    fn nbt_text(&mut self) {
        let length = self.size();
        self.made.bytes.extend_from_slice(&(length as u16).to_be_bytes());
        self.fill(length);
    }

    fn nbt_payload(&mut self, kind: u8, depth: usize) {
        let shallow = if depth < 3 && !self.frugal() { 12 } else { 8 };
        match kind {
            1..=6 => self.fill([1, 2, 4, 8, 4, 8][usize::from(kind) - 1]),
            8 => self.nbt_text(),
            9 => {
                let items = self.size();
                let kind = self.choices.below(1 + shallow) as u8;
                let items = if kind == 0 { 0 } else { items as i32 };
                let negative = items == 0 && self.choices.chance(30);
                let count = if negative { -1 - self.choices.below(9) as i32 } else { items };
                self.made.bytes.push(kind);
                self.made.bytes.extend_from_slice(&count.to_be_bytes());
                for _ in 0..items {
                    self.nbt_payload(kind, depth + 1);
                }
            }
            10 => {
                for _ in 0..self.size() {
                    let kind = 1 + self.choices.below(shallow) as u8;
                    self.made.bytes.push(kind);
                    self.nbt_text();
                    self.nbt_payload(kind, depth + 1);
                }
                self.made.bytes.push(0);
            }
            7 | 11 | 12 => {
                let items = self.size();
                self.made.bytes.extend_from_slice(&(items as i32).to_be_bytes());
                self.fill(items * [1, 4, 8][usize::from(kind.saturating_sub(10))]);
            }
            _ => unreachable!("{kind}"),
        }
    }

    pub(super) fn compressed_nbt(&mut self) {
        if self.frugal() || self.choices.chance(80) {
            let absent = if self.choices.chance(30) { -2i16 } else { -1 };
            self.made.bytes.extend_from_slice(&absent.to_be_bytes());
            return;
        }
        let start = self.made.bytes.len();
        if self.choices.chance(128) {
            self.nbt(true);
        } else {
            let length = self.size();
            self.fill(length);
        }
        let inside = self.made.bytes.split_off(start);
        let nbt = Nbt::read(&mut Reader::new(&inside), true);
        let inside = match nbt {
            Ok(Some(nbt)) => gzip::write_nbt(&nbt),
            _ => inside,
        };
        self.made.bytes.extend_from_slice(&(inside.len() as i16).to_be_bytes());
        self.made.bytes.extend_from_slice(&inside);
    }
}
