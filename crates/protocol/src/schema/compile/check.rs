use std::collections::HashMap;

use super::MAX_NESTING;
use crate::schema::types::{Type, TypeId};
use crate::schema::walk::FREE_FIELDS;

/// A check of a type that needs the whole tree.
pub(super) enum Check {
    /// Values of the type consist of fields only, so that these can be merged into a container.
    HasFields(TypeId),
    /// Values of the type begin with an integer of fixed width.
    Begins(TypeId),
}

/// The number of fields that each type merges into a container; `None` while it is counted.
pub(super) type Merged = HashMap<TypeId, Option<usize>>;

impl Check {
    pub(super) fn run(&self, types: &[Type], merged: &mut Merged) -> Result<(), &'static str> {
        match self {
            Self::HasFields(id) => fields(types, *id, merged).map(|_| ()),
            Self::Begins(id) if !begins_with_int(types, *id) => {
                Err("an element must begin with an integer of fixed width, whose top bit it lends")
            }
            Self::Begins(_) => Ok(()),
        }
    }
}

/// Counts the fields that a type merges into a container, those of all cases together.
fn fields(types: &[Type], id: TypeId, merged: &mut Merged) -> Result<usize, &'static str> {
    match merged.get(&id) {
        Some(Some(known)) => return Ok(*known),
        Some(None) => return Err("a field without a name contains itself"),
        None => {}
    }
    if merged.values().filter(|count| count.is_none()).count() > MAX_NESTING {
        return Err("fields without names are nested too deeply");
    }
    merged.insert(id, None);
    let (mut sum, mut parts) = (0usize, Vec::new());
    match &types[id.0 as usize] {
        Type::Void | Type::Bitfield(_) | Type::TextForms(_) => sum = 1,
        Type::Container(fields) => {
            sum = fields.len();
            parts.extend(fields.iter().filter(|it| it.name.is_none()).map(|it| it.ty));
        }
        Type::IfMore { some, otherwise, .. } => {
            parts.extend([Some(*some), *otherwise].into_iter().flatten());
        }
        Type::Switch(switch) => parts.extend(switch.cases()),
        _ => return Err("a field without a name must be of a type with fields"),
    }
    for part in parts {
        sum = sum.saturating_add(fields(types, part, merged)?);
    }
    if sum > FREE_FIELDS {
        return Err("fields without names bring in more than 65536 fields");
    }
    merged.insert(id, Some(sum));
    Ok(sum)
}

fn begins_with_int(types: &[Type], mut id: TypeId) -> bool {
    for _ in 0..MAX_NESTING {
        match &types[id.0 as usize] {
            Type::Container(fields) if !fields.is_empty() => id = fields[0].ty,
            ty => return matches!(ty, Type::Int(_)),
        }
    }
    false
}
