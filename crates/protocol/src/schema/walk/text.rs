use super::{Walk, Walked, fault, go};
use crate::schema::scope::{FieldValue, FrameMark};
use crate::schema::text_forms::TextForms;
use crate::schema::types::{Between, Count};
use crate::schema::{Leaf, Scalar, Visitor};
use crate::wire::{Encoding, Reader, WireError};

/// Walks text of all kinds.
impl<'a, V: Visitor + ?Sized> Walk<'a, '_, V> {
    pub(super) fn text(
        &mut self,
        count: &'a Count,
        encoding: Encoding,
        mark: FrameMark,
        at: usize,
    ) -> Walked<FieldValue<'a>> {
        let (units, canonical) = self.count(count, encoding.unit(), mark, at)?;
        let bytes = self.read(at, |reader| reader.take(units * encoding.unit()))?;
        self.text_leaf(bytes, encoding, canonical, at)
    }

    /// Reports the text, then its parts.
    pub(super) fn text_forms(
        &mut self,
        forms: &'a TextForms,
        mark: FrameMark,
        inside: bool,
        at: usize,
    ) -> Walked<()> {
        if !inside {
            self.open_map(at)?;
        }
        self.member(&forms.whole)?;
        let text = self.count(&forms.count, forms.encoding.unit(), mark, at);
        let text = text.and_then(|(units, canonical)| {
            let start = self.reader.position();
            let bytes = self.read(at, |reader| reader.take(units * forms.encoding.unit()))?;
            self.text_leaf(bytes, forms.encoding, canonical, at)?;
            Ok((start, bytes))
        });
        let (start, bytes) = text.map_err(|stop| stop.inside(&forms.whole))?;
        for found in forms.split(bytes) {
            self.member(&found.part.name)?;
            let wire = &bytes[found.bytes.clone()];
            let value = match found.number {
                Some(number) => Scalar::Int(number),
                None => Scalar::Text(wire, forms.encoding),
            };
            let at = start + found.bytes.start;
            go(self.visitor.leaf(&Leaf { value, wire, at, canonical: true }))?;
        }
        if !inside {
            self.close()?;
        }
        Ok(())
    }

    pub(super) fn terminated(&mut self, encoding: Encoding, at: usize) -> Walked<FieldValue<'a>> {
        let rest = self.reader.rest();
        let Some(length) = rest.iter().position(|byte| *byte == 0) else {
            let needed = rest.len() + 1;
            return Err(fault(at, WireError::Incomplete { needed, left: rest.len() }.into()));
        };
        let bytes = self.read(at, |reader| reader.take(length))?;
        self.read(at, Reader::u8)?;
        self.text_leaf(bytes, encoding, true, at)
    }

    pub(super) fn rest_text(&mut self, at: usize) -> Walked<FieldValue<'a>> {
        let bytes = self.reader.take_rest();
        self.text_leaf(bytes, Encoding::Utf8, true, at)
    }

    /// Reports a text without its marks. One that is missing is unusual.
    pub(super) fn between(&mut self, marks: &Between, at: usize) -> Walked<FieldValue<'a>> {
        let rest = self.reader.rest();
        let (text, begins) = match rest.strip_prefix(&*marks.starts) {
            Some(text) => (text, true),
            None => (rest, false),
        };
        let (length, end) = marks.split(text);
        let closing = end.filter(|_| marks.closed);
        let is_usual = begins && (!marks.closed || closing == marks.ends.first().map(|it| &**it));
        let wire = rest.len() - text.len() + length + closing.map_or(0, <[u8]>::len);
        self.read(at, |reader| reader.take(wire))?;
        self.text_leaf(&text[..length], Encoding::Utf8, is_usual, at)
    }

    /// Reports the texts. A NUL after the last one is unusual, unless that one is empty.
    pub(super) fn rest_texts(&mut self, at: usize) -> Walked<()> {
        go(self.visitor.open_list(at, None))?;
        for index in 0.. {
            let (at, rest) = (self.reader.position(), self.reader.rest());
            if rest.is_empty() {
                break;
            }
            let end = rest.iter().position(|byte| *byte == 0);
            let bytes = &rest[..end.unwrap_or(rest.len())];
            let wire = bytes.len() + usize::from(end.is_some());
            let last = wire == rest.len();
            self.read(at, |reader| reader.take(wire))?;
            self.text_leaf(bytes, Encoding::Utf8, end.is_some() != last || bytes.is_empty(), at)
                .map_err(|stop| stop.inside(format_args!("[{index}]")))?;
        }
        self.close()
    }

    fn text_leaf(
        &mut self,
        bytes: &'a [u8],
        encoding: Encoding,
        canonical: bool,
        at: usize,
    ) -> Walked<FieldValue<'a>> {
        self.leaf(Scalar::Text(bytes, encoding), at, canonical)?;
        Ok(if encoding.unit() == 1 { FieldValue::Text(bytes) } else { FieldValue::Absent })
    }
}
