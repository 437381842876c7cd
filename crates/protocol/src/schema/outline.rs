use super::types::{Count, Type, TypeId};
use crate::wire::{VarInt, VarLong};

/// The sizes of the fields of a packet whose layout does not depend on its content: enough to tell that
/// a body decodes, without a walk.
#[derive(Debug)]
pub(super) struct Outline(Box<[Part]>);

#[derive(Debug, Clone, Copy)]
enum Part {
    /// A run of fields with this total size, skipped without decoding.
    Fixed(usize),
    VarInt,
    VarLong,
    /// Everything up to the end.
    Rest,
}

impl Outline {
    /// Returns the outline of a type; `None` if only a walk can tell what its bytes are.
    pub(super) fn of(types: &[Type], id: TypeId) -> Option<Self> {
        let mut parts = Vec::new();
        collect(types, id, MAX_DEPTH, &mut parts)?;
        Some(Self(parts.into()))
    }

    /// Returns whether `fields` are a value of the type, without bytes after it.
    pub(super) fn fits(&self, mut fields: &[u8]) -> bool {
        for part in &self.0 {
            let size = match part {
                Part::Fixed(size) => *size,
                Part::VarInt => match VarInt::read(fields) {
                    Ok(int) => int.length,
                    Err(_) => return false,
                },
                Part::VarLong => match VarLong::read(fields) {
                    Ok(int) => int.length,
                    Err(_) => return false,
                },
                Part::Rest => return true,
            };
            let Some(rest) = fields.get(size..) else { return false };
            fields = rest;
        }
        fields.is_empty()
    }
}

/// Appends the parts of a type.
fn collect(types: &[Type], id: TypeId, depth: usize, parts: &mut Vec<Part>) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    let part = match &types[id.0 as usize] {
        Type::Void => Part::Fixed(0),
        Type::Bool => Part::Fixed(1),
        Type::Int(int) => Part::Fixed(int.bytes.into()),
        Type::F32 => Part::Fixed(4),
        Type::F64 => Part::Fixed(8),
        Type::Uuid => Part::Fixed(16),
        Type::Buffer(Count::Fixed(size)) => Part::Fixed(*size),
        Type::Bitfield(bits) => {
            Part::Fixed(bits.iter().map(|it| it.size as usize).sum::<usize>() / 8)
        }
        Type::VarInt => Part::VarInt,
        Type::VarLong => Part::VarLong,
        Type::Rest => Part::Rest,
        Type::Container(fields) if fields.len() <= MAX_FIELDS => {
            return fields.iter().try_for_each(|field| collect(types, field.ty, depth, parts));
        }
        Type::Flags { base, .. } | Type::Mapper { base, .. } => {
            return collect(types, *base, depth, parts);
        }
        _ => return None,
    };
    match (parts.last_mut(), part) {
        (Some(Part::Rest), _) => return None,
        (Some(Part::Fixed(last)), Part::Fixed(size)) => *last = last.checked_add(size)?,
        (_, part) => parts.push(part),
    }
    Some(())
}

/// Levels of nesting at most.
const MAX_DEPTH: usize = 8;

/// Fields of a container at most: far below the number that a walk allows.
const MAX_FIELDS: usize = 64;
