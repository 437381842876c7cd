use std::ops::Range;

use super::given::{Encoded, fault, field, int, text};
use super::types::Count;
use super::{Name, Value};
use crate::wire::Encoding;

/// Text in which parts stand one behind the other, which are fields as well (ours, not ProtoDef's:
/// the answers of old pings).
///
/// The whole is what counts: the parts only say what is in it, and are there when it has one of the
/// forms. Where the whole is not given, the parts make it.
#[derive(Debug)]
pub(super) struct TextForms {
    pub(super) whole: Name,
    pub(super) count: Count,
    pub(super) encoding: Encoding,
    /// The first whose beginning the text has decides.
    pub(super) forms: Box<[TextForm]>,
}

/// One form, in bytes of the encoding.
#[derive(Debug)]
pub(super) struct TextForm {
    pub(super) starts: Box<[u8]>,
    pub(super) separator: Box<[u8]>,
    /// Whether more separators than parts need are the first part's own.
    pub(super) from_right: bool,
    pub(super) parts: Box<[TextPart]>,
}

#[derive(Debug)]
pub(super) struct TextPart {
    pub(super) name: Name,
    /// Whether it is a decimal number.
    pub(super) number: bool,
}

/// A part that is there.
pub(super) struct FoundPart<'t> {
    pub(super) part: &'t TextPart,
    /// Its bytes in the text.
    pub(super) bytes: Range<usize>,
    /// What it says, if it is a number.
    pub(super) number: Option<i64>,
}

impl TextForms {
    /// The parts of a text that has one of the forms, else none.
    pub(super) fn split(&self, bytes: &[u8]) -> Vec<FoundPart<'_>> {
        let form = self.forms.iter().find(|form| bytes.starts_with(&form.starts));
        form.and_then(|form| self.split_as(form, bytes)).unwrap_or_default()
    }

    /// The text that these parts make.
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
        let form = form.ok_or_else(|| fault("no form has all these parts"))?;
        let decoded = |bytes: &[u8]| self.encoding.decode_lossy(bytes).into_owned();
        let (mut whole, mut written) = (decoded(&form.starts), Vec::new());
        for part in &form.parts {
            let inside = |fault: super::given::Fault| fault.inside(part.name.to_string());
            let value = given(&part.name).ok_or_else(|| {
                fault(format!("neither `{}` nor this part of it is given", self.whole))
            });
            let value = value.map_err(inside)?;
            let piece = match part.number {
                true => int(value).map_err(inside)?.to_string(),
                false => text(value).map_err(inside)?.to_owned(),
            };
            if !written.is_empty() {
                whole.push_str(&decoded(&form.separator));
            }
            whole.push_str(&piece);
            written.push(piece);
        }
        let bytes = self.encoding.encode(&whole).map_err(|error| fault(error.to_string()))?;
        let read = self.split(&bytes);
        for (index, (part, piece)) in form.parts.iter().zip(&written).enumerate() {
            let found = read.get(index).filter(|found| found.part.name == part.name);
            if found.is_none_or(|found| decoded(&bytes[found.bytes.clone()]) != *piece) {
                let cause =
                    format!("with this text, `{}` would read as something else", self.whole);
                return Err(fault(cause).inside(part.name.to_string()));
            }
        }
        Ok(whole)
    }

    /// The parts of all forms; some more than once.
    pub(super) fn parts(&self) -> impl Iterator<Item = &TextPart> {
        self.forms.iter().flat_map(|form| &form.parts)
    }

    /// Whether that is the whole or a part of it.
    pub(super) fn has(&self, name: &Name) -> bool {
        self.whole == *name || self.parts().any(|part| part.name == *name)
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
            let number = match part.number {
                true => Some(self.encoding.decode(&bytes[start..end]).ok()?.parse().ok()?),
                false => None,
            };
            Some(FoundPart { part, bytes: start..end, number })
        });
        found.collect()
    }
}
