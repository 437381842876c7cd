use std::ops::Range;

use super::given::{Encoded, Inside as _, field, int, invalid, text};
use super::types::Count;
use super::{Name, Value};
use crate::wire::Encoding;

/// Text that consists of separated parts, which are fields too: the response of an old ping. An
/// extension of ProtoDef.
///
/// The text itself is authoritative. Its parts are present if it has one of the forms; if the text
/// is absent, it is joined from the parts.
#[derive(Debug)]
pub(crate) struct TextForms {
    pub(crate) whole: Name,
    pub(crate) count: Count,
    pub(crate) encoding: Encoding,
    /// Possible forms; the first one whose prefix matches applies.
    pub(crate) forms: Box<[TextForm]>,
}

/// A form of the text, in bytes of the encoding.
#[derive(Debug)]
pub(crate) struct TextForm {
    pub(crate) starts: Box<[u8]>,
    pub(crate) separator: Box<[u8]>,
    /// `true` if surplus separators belong to the first part.
    pub(crate) from_right: bool,
    pub(crate) parts: Box<[TextPart]>,
}

#[derive(Debug)]
pub(crate) struct TextPart {
    pub(crate) name: Name,
    /// `true` if the part is a decimal number.
    pub(crate) number: bool,
}

/// A part found in a text.
pub(crate) struct FoundPart<'t> {
    pub(crate) part: &'t TextPart,
    /// Range of the part in the text.
    pub(crate) bytes: Range<usize>,
    /// The value of a numeric part.
    pub(crate) number: Option<i64>,
}

impl TextForms {
    /// The names of the fields: the text's own, and those of the parts of all forms.
    pub(super) fn names(&self) -> impl Iterator<Item = &Name> {
        self.parts().map(|part| &part.name).chain([&self.whole])
    }

    /// Splits a text into its parts; no parts if it has none of the forms.
    pub(crate) fn split(&self, bytes: &[u8]) -> Vec<FoundPart<'_>> {
        let form = self.forms.iter().find(|form| bytes.starts_with(&form.starts));
        form.and_then(|form| self.split_as(form, bytes)).unwrap_or_default()
    }

    /// Joins parts into a text.
    pub(super) fn join(&self, given: &[(Name, Value)]) -> Encoded<String> {
        let given = |name: &Name| match field(given, name).plain() {
            Value::Absent => None,
            value => Some(value),
        };
        let fits = |form: &&TextForm| {
            let named = |name: &Name| form.parts.iter().any(|part| part.name == *name);
            self.parts().all(|part| named(&part.name) || given(&part.name).is_none())
        };
        let missing =
            |form: &&TextForm| form.parts.iter().filter(|part| given(&part.name).is_none()).count();
        let form = self.forms.iter().filter(fits).min_by_key(missing);
        let form = form.ok_or_else(|| invalid("no form has all these parts"))?;
        let decoded = |bytes: &[u8]| self.encoding.decode_lossy(bytes).into_owned();
        let (mut whole, mut written) = (decoded(&form.starts), Vec::new());
        for part in &form.parts {
            let value = given(&part.name).ok_or_else(|| {
                invalid(format!("neither `{}` nor this part of it is present", self.whole))
            });
            let value = value.inside(&part.name)?;
            let piece = if part.number {
                int(value).inside(&part.name)?.to_string()
            } else {
                text(value).inside(&part.name)?.to_owned()
            };
            if !written.is_empty() {
                whole.push_str(&decoded(&form.separator));
            }
            whole.push_str(&piece);
            written.push(piece);
        }
        let bytes = self.encoding.encode(&whole);
        let read = self.split(&bytes);
        for (index, (part, piece)) in form.parts.iter().zip(&written).enumerate() {
            let found = read.get(index).filter(|found| found.part.name == part.name);
            if found.is_none_or(|found| decoded(&bytes[found.bytes.clone()]) != *piece) {
                let cause =
                    format!("with this text, `{}` would read as something else", self.whole);
                return Err(invalid(cause).inside(&part.name));
            }
        }
        Ok(whole)
    }

    /// Iterates over the parts of all forms; a part may occur more than once.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &TextPart> {
        self.forms.iter().flat_map(|form| &form.parts)
    }

    fn split_as<'t>(&self, form: &'t TextForm, bytes: &[u8]) -> Option<Vec<FoundPart<'t>>> {
        let (start, unit) = (form.starts.len(), self.encoding.unit());
        let places = (start..bytes.len()).step_by(unit);
        let places = places.filter(|at| bytes[*at..].starts_with(&form.separator));
        let mut places: Vec<usize> = places.collect();
        let extra = places.len().checked_sub(form.parts.len() - 1)?;
        if extra > 0 && !form.from_right {
            return None;
        }
        places.drain(..extra);
        let starts = places.iter().map(|at| at + form.separator.len());
        let starts = [start].into_iter().chain(starts);
        let ends = places.iter().copied().chain([bytes.len()]);
        let found = form.parts.iter().zip(starts.zip(ends)).map(|(part, (start, end))| {
            let number = if part.number {
                Some(self.encoding.decode(&bytes[start..end]).ok()?.parse().ok()?)
            } else {
                None
            };
            Some(FoundPart { part, bytes: start..end, number })
        });
        found.collect()
    }
}
