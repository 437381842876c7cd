use super::{Registry, RegistryKind};

/// Numbers packed into the bits of another.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Packed {
    /// Most significant first.
    parts: Box<[Part]>,
}

#[derive(Debug, Clone, PartialEq)]
struct Part {
    bits: u32,
    name: String,
    registry: Option<RegistryKind>,
    /// The names of its numbers, from 0.
    names: Box<[String]>,
}

impl Packed {
    /// Reads `52 block: block`, `4 x`, `4 type (player, frame)`: the width, the name and the registry of
    /// each part, or the names of its numbers.
    pub(super) fn parse<'t>(parts: impl Iterator<Item = &'t str>) -> Option<Self> {
        let parts = parts.map(|text| {
            let (bits, rest) = text.split_once(' ')?;
            let (rest, names) = match rest.split_once(" (") {
                Some((rest, names)) => (rest, names.strip_suffix(')')?),
                None => (rest, ""),
            };
            let names = names.split(", ").filter(|name| !name.is_empty()).map(str::to_owned);
            let (name, registry) = rest.split_once(": ").unwrap_or((rest, ""));
            let registry = match registry {
                "" => None,
                kind => Some(kind.parse().ok()?),
            };
            let (bits, name, names) = (bits.parse().ok()?, name.to_owned(), names.collect());
            Some(Part { bits, name, registry, names })
        });
        Some(Self { parts: parts.collect::<Option<_>>()? })
    }

    /// Returns a value in words: `stone, x 4, z 7, y 12`. What has a name in a registry comes first, and
    /// block data of 0 is left out.
    pub(super) fn text(
        &self,
        value: i64,
        registry: impl Fn(RegistryKind) -> Option<&'static Registry>,
    ) -> String {
        let mut left: u32 = self.parts.iter().map(|part| part.bits).sum();
        let mut texts = Vec::new();
        for part in &self.parts {
            left -= part.bits;
            let number = value >> left & ((1 << part.bits) - 1);
            let text = || format!("{} {number}", part.name);
            match part.registry {
                Some(kind) => {
                    let name = registry(kind).and_then(|it| it.describe(number));
                    texts.insert(0, name.unwrap_or_else(text));
                }
                None if number == 0 && part.name == "data" => {}
                None => {
                    let name = usize::try_from(number).ok().and_then(|it| part.names.get(it));
                    texts.push(name.cloned().unwrap_or_else(text));
                }
            }
        }
        texts.join(", ")
    }

    /// Iterates over the widths, names, registries and names of numbers of the parts.
    pub(crate) fn parts(
        &self,
    ) -> impl Iterator<Item = (u32, &str, Option<RegistryKind>, &[String])> {
        self.parts.iter().map(|part| (part.bits, &*part.name, part.registry, &*part.names))
    }

    /// Returns the part that `registry` names and the number of bits below it.
    pub(super) fn named_part(&self) -> Option<(RegistryKind, u32)> {
        let place = self.parts.iter().position(|part| part.registry.is_some())?;
        let below = self.parts[place + 1..].iter().map(|part| part.bits).sum();
        Some((self.parts[place].registry?, below))
    }

    /// Returns the number of the part that has names.
    pub(super) fn named_number(&self, value: i64) -> Option<(RegistryKind, i64)> {
        let (kind, below) = self.named_part()?;
        let part = self.parts.iter().find(|part| part.registry.is_some())?;
        Some((kind, value >> below & ((1 << part.bits) - 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_from_the_most_significant_bit() {
        let packed = Packed::parse(["4 direction", "4 type"].into_iter()).unwrap();
        assert_eq!(packed.text(0x49, |_| None), "direction 4, type 9");
        // A signed byte.
        assert_eq!(packed.text(-108, |_| None), "direction 9, type 4");
        let packed = Packed::parse(["52 block: block", "4 x", "4 z", "4 y"].into_iter()).unwrap();
        assert_eq!(packed.text(0x1_48c, |_| None), "block 1, x 4, z 8, y 12");
        assert_eq!(packed.named_number(0x1_48c), Some((RegistryKind::Block, 1)));
        let packed = Packed::parse(["20 data", "12 block: block"].into_iter()).unwrap();
        assert_eq!(packed.text(5 << 12 | 7, |_| None), "block 7, data 5");
        assert_eq!(packed.text(7, |_| None), "block 7");
        let packed = Packed::parse(["4 type (player, frame)", "4 direction"].into_iter()).unwrap();
        assert_eq!(packed.text(0x19, |_| None), "frame, direction 9");
        assert_eq!(packed.text(0x29, |_| None), "type 2, direction 9");
        assert_eq!(Packed::parse(["x 4"].into_iter()), None);
        assert_eq!(Packed::parse(["4 type (player"].into_iter()), None);
        assert_eq!(Packed::parse(["4 x: furniture"].into_iter()), None);
    }
}
