use std::collections::{HashMap, HashSet};

use super::MAX_NESTING;
use crate::schema::Name;
use crate::schema::types::{Field, Type, TypeId, merges};
use crate::schema::walk::FREE_FIELDS;

/// A check of a type that needs the whole tree.
pub(super) enum Check {
    /// Values of the types of these fields consist of fields only if they have no name, so that
    /// they can be merged into one container, and no two fields of it have the same name.
    Merges(Box<[Field]>),
    /// Values of the type begin with an integer of fixed width.
    Begins(TypeId),
}

/// The number of fields that each type merges into a container; `None` while it is counted.
pub(super) type Merged = HashMap<TypeId, Option<usize>>;

impl Check {
    pub(super) fn run(&self, types: &[Type], merged: &mut Merged) -> Result<(), String> {
        match self {
            Self::Merges(all) => {
                let mut seen = HashSet::new();
                for field in all {
                    let mut own = HashSet::new();
                    match &field.name {
                        Some(name) => drop(own.insert(name)),
                        None => {
                            fields(types, field.ty, merged)?;
                            // The type has passed `fields`, so that there is an end to it.
                            merges(types, field.ty, &mut |name| {
                                own.insert(name);
                                false
                            });
                        }
                    }
                    distinct(own, &mut seen)?;
                }
                Ok(())
            }
            Self::Begins(id) if !begins_with_int(types, *id) => {
                Err("an element must begin with an integer of fixed width, whose top bit it lends"
                    .to_owned())
            }
            Self::Begins(_) => Ok(()),
        }
    }
}

/// Checks that no name is there twice: a value has each of its fields once.
pub(super) fn distinct<'n>(
    names: impl IntoIterator<Item = &'n Name>,
    seen: &mut HashSet<&'n Name>,
) -> Result<(), String> {
    match names.into_iter().find(|name| !seen.insert(name)) {
        Some(name) => Err(format!("two fields of the name `{name}`")),
        None => Ok(()),
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
        ty @ (Type::IfMore { .. } | Type::Switch(_)) => parts.extend(ty.cases()),
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
