use std::collections::{HashMap, HashSet};

use bytes::Bytes;

use super::policy::is_own_value;
use super::pseudonyms::Pseudonyms;
use mitmcraft_protocol::wire::{Compound, Encoding, Nbt, Tag};

/// Replaces the texts, UUIDs and byte arrays in NBT. Keys are kept unless they are a player's name or a
/// UUID.
pub(super) fn redact_nbt(nbt: &mut Nbt, pseudonyms: &Pseudonyms, names: &HashSet<String>) {
    if let Some(name) = &mut nbt.name
        && !name.is_empty()
    {
        *name = redact_bytes(name, pseudonyms);
    }
    NbtRedaction { pseudonyms, names }.tag(&mut nbt.root, "");
}

struct NbtRedaction<'a> {
    pseudonyms: &'a Pseudonyms,
    names: &'a HashSet<String>,
}

impl NbtRedaction<'_> {
    fn tag(&self, tag: &mut Tag, key: &str) {
        match tag {
            Tag::Text(bytes) => {
                let text = Encoding::ModifiedUtf8.decode_lossy(bytes);
                if !is_own_value(key, &text) {
                    *bytes = redact_bytes(bytes, self.pseudonyms);
                }
            }
            Tag::ByteArray(bytes) => *bytes = Bytes::from(vec![0; bytes.len()]),
            Tag::IntArray(ints) => {
                // Since 1.16, UUIDs are stored as four integers.
                if let [a, b, c, d] = ints[..] {
                    let parts = [a, b, c, d].map(|int| u128::from(int.cast_unsigned()));
                    let uuid = parts.iter().fold(0, |all, part| all << 32 | part);
                    let other = self.pseudonyms.uuid(uuid);
                    let part = |shift: u32| ((other >> shift) as u32).cast_signed();
                    *ints = vec![part(96), part(64), part(32), part(0)];
                }
            }
            Tag::List(list) => list.items.iter_mut().for_each(|item| self.tag(item, key)),
            Tag::Compound(compound) => self.compound(compound),
            Tag::Byte(_)
            | Tag::Short(_)
            | Tag::Int(_)
            | Tag::Long(_)
            | Tag::Float(_)
            | Tag::Double(_)
            | Tag::LongArray(_) => {}
        }
    }

    fn compound(&self, compound: &mut Compound) {
        self.halves(compound);
        for (name, tag) in &mut compound.entries {
            let key = Encoding::ModifiedUtf8.decode_lossy(name).into_owned();
            self.tag(tag, &key);
            if self.names.contains(&key) || mitmcraft_protocol::schema::parse_uuid(&key).is_some() {
                *name = redact_bytes(name, self.pseudonyms);
            }
        }
    }

    /// Replaces UUIDs as stored before 1.16: in two halves, `UUIDMost` and `UUIDLeast`.
    fn halves(&self, compound: &mut Compound) {
        let halves = |half: &[u8]| -> Vec<(Bytes, usize)> {
            let entries = compound.entries.iter().enumerate();
            let halves = entries.filter_map(|(place, (name, tag))| {
                let stem = name.strip_suffix(half).filter(|_| matches!(tag, Tag::Long(_)))?;
                Some((name.slice(..stem.len()), place))
            });
            halves.collect()
        };
        // The first of several with one name counts.
        let least: HashMap<_, _> = halves(b"Least").into_iter().rev().collect();
        for (stem, place) in halves(b"Most") {
            let Some(&other) = least.get(&stem) else { continue };
            if let (Tag::Long(high), Tag::Long(low)) =
                (&compound.entries[place].1, &compound.entries[other].1)
            {
                let (high, low) = (high.cast_unsigned(), low.cast_unsigned());
                let uuid = self.pseudonyms.uuid(u128::from(high) << 64 | u128::from(low));
                compound.entries[place].1 = Tag::Long(((uuid >> 64) as u64).cast_signed());
                compound.entries[other].1 = Tag::Long((uuid as u64).cast_signed());
            }
        }
    }
}

fn redact_bytes(bytes: &[u8], pseudonyms: &Pseudonyms) -> Bytes {
    let text = pseudonyms.text(&Encoding::ModifiedUtf8.decode_lossy(bytes));
    let mut encoded = Encoding::ModifiedUtf8.encode(&text).into_owned();
    // Serialised again, JSON may be longer than NBT allows.
    if encoded.len() > usize::from(u16::MAX) {
        encoded = vec![b'x'; usize::from(u16::MAX)];
    }
    Bytes::from(encoded)
}
