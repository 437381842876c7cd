use std::fmt::Write as _;

use super::escape::Escaped;
use super::inside::{inflated, write_nbt, write_nbt_summary};
use super::paint::{Color, Paint};
use super::scalar::{ByteSize, write_hex_dump, write_scalar};
use crate::schema::{Flow, Leaf, Name, Scalar, Visitor};

/// Writes each field on a line of its own, with the content of a container or list indented below.
pub(super) struct FieldTree<'o> {
    out: &'o mut String,
    paint: Paint,
    /// `true` if the content of compressed fields and NBT is shown.
    whole: bool,
    name: Option<Name>,
    /// The open containers, the packet itself first; for a list, the index of its next element.
    open: Vec<Option<usize>>,
}

impl<'o> FieldTree<'o> {
    pub(super) fn new(out: &'o mut String, paint: Paint, whole: bool) -> Self {
        Self { out, paint, whole, name: None, open: Vec::new() }
    }

    /// Writes the indentation, and the name or index.
    fn begin(&mut self) {
        for _ in 0..self.open.len().max(1) {
            self.out.push_str("    ");
        }
        match (self.open.last_mut(), self.name.take()) {
            (Some(Some(index)), _) => {
                self.paint.text(self.out, Color::Dim, &format_args!("[{index}]:"));
                *index += 1;
            }
            (_, Some(name)) => {
                self.paint.text(self.out, Color::Dim, &format_args!("{}:", Escaped(name)));
            }
            (_, None) => {}
        }
    }
}

impl Visitor for FieldTree<'_> {
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow {
        let name = self.name.clone();
        self.begin();
        self.out.push(' ');
        let width = leaf.wire.len();
        let compressed = matches!(leaf.value, Scalar::CompressedNbt(_));
        let nbt = if self.whole || compressed { leaf.value.nbt() } else { None };
        if let Some(nbt) = nbt {
            write_nbt_summary(self.out, &leaf.value, &nbt, width);
            self.out.push('\n');
            if self.whole {
                write_nbt(self.out, &nbt, self.open.len().max(1) + 1, self.paint);
            }
            return Flow::Continue(());
        }
        if let Scalar::CompressedNbt(bytes) = leaf.value {
            let _ = writeln!(self.out, "[{}, no NBT in gzip]", ByteSize(bytes.len() as u64));
            return Flow::Continue(());
        }
        write_scalar(self.out, &leaf.value, name.as_ref(), width, usize::MAX, true);
        if let Scalar::Bytes(bytes) = leaf.value {
            for byte in bytes.iter().take(MAX_BYTES) {
                let _ = write!(self.out, " {byte:02x}");
            }
            if bytes.len() > MAX_BYTES {
                let _ = write!(self.out, " .. {} more", ByteSize((bytes.len() - MAX_BYTES) as u64));
            }
        }
        let inflated = inflated(&leaf.value, name.as_ref());
        if let Some(inflated) = &inflated {
            let _ = write!(self.out, ", inflated {}", ByteSize(inflated.len() as u64));
        }
        self.out.push('\n');
        if let Some(inflated) = inflated.filter(|_| self.whole) {
            write_hex_dump(self.out, &inflated, usize::MAX);
        }
        Flow::Continue(())
    }

    fn field(&mut self, name: &Name) -> Flow {
        self.name = Some(Name::clone(name));
        Flow::Continue(())
    }

    fn open_map(&mut self, _at: usize) -> Flow {
        if !self.open.is_empty() {
            self.begin();
            self.out.push('\n');
        }
        self.open.push(None);
        Flow::Continue(())
    }

    fn close_map(&mut self, _at: usize) -> Flow {
        self.open.pop();
        self.name = None;
        Flow::Continue(())
    }

    fn open_list(&mut self, _at: usize, count: Option<usize>) -> Flow {
        self.begin();
        match count {
            Some(1) => self.out.push_str(" 1 item\n"),
            Some(count) => {
                let _ = writeln!(self.out, " {count} items");
            }
            None => self.out.push('\n'),
        }
        self.open.push(Some(0));
        Flow::Continue(())
    }

    fn close_list(&mut self, _at: usize) -> Flow {
        self.open.pop();
        self.name = None;
        Flow::Continue(())
    }
}

/// Greatest number of bytes shown of a buffer.
const MAX_BYTES: usize = 32;
