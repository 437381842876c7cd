use std::collections::HashMap;
use std::io::Read;
use std::sync::LazyLock;

use flate2::read::ZlibDecoder;
use serde_json::Value as Json;

use crate::schema::{Family, OwnRegistries, Protocol, Registry, RegistryKind, Release};

/// The embedded registries of all versions: `data/registries.bin`, written by `tools/import_tables`
/// and described in `docs/protocol-tables.md`.
#[derive(Debug)]
pub(crate) struct Registries {
    /// Indices into `registries`.
    places: HashMap<(i32, RegistryKind), usize>,
    registries: Box<[Registry]>,
    lines: &'static str,
}

impl Registries {
    /// Returns the registry of a version; `None` if its names are not known.
    pub(crate) fn find(release: Release, kind: RegistryKind) -> Option<&'static Registry> {
        if kind == RegistryKind::Metadata
            && release.family() == Family::Legacy
            && release < Release::V1_6
        {
            static EARLIER: LazyLock<Option<Registry>> = LazyLock::new(|| {
                let later = Registries::find(Release::V1_7_6, RegistryKind::Metadata);
                Some(later?.with_keys(keys_before_1_6))
            });
            return EARLIER.as_ref();
        }
        Self::get().registries.get(Self::line(release, kind)?)
    }

    /// Returns the number of the line that has the registry of a version.
    pub(crate) fn line(release: Release, kind: RegistryKind) -> Option<usize> {
        let is_metadata = kind == RegistryKind::Metadata;
        let release = match release.family() {
            Family::Java => release,
            // ViaLegacy changes no key between 1.6 and 1.7.
            Family::Legacy if is_metadata && release >= Release::V1_6 => Release::V1_7_6,
            Family::Alpha | Family::Legacy if is_metadata => return None,
            // The numbers are those that 1.8 still has.
            Family::Alpha | Family::Legacy => Release::V1_8,
            Family::LegacyPing | Family::Query => return None,
        };
        Self::get().places.get(&(release.number(), kind)).copied()
    }

    /// Returns the lines of all registries before those of a kind, as the file has them: kind after kind.
    pub(crate) fn lines_before(kind: RegistryKind) -> &'static str {
        let all = Self::get();
        let first =
            all.places.iter().filter(|((_, it), _)| *it == kind).map(|(_, line)| *line).min();
        let ends = all.lines.match_indices('\n').map(|(at, _)| at);
        let end = first.and_then(|first| ends.take(first).last());
        &all.lines[..end.unwrap_or(all.lines.len())]
    }

    fn get() -> &'static Self {
        static REGISTRIES: LazyLock<Registries> =
            LazyLock::new(|| Registries::inflate(FILE).expect(WRITTEN));
        &REGISTRIES
    }

    fn inflate(file: &[u8]) -> Option<Self> {
        let mut text = String::new();
        ZlibDecoder::new(file).read_to_string(&mut text).ok()?;
        // Names are borrowed from it for as long as the program runs.
        let text: &'static str = Box::leak(text.into_boxed_str());
        let (head, lines) = text.split_once('\n')?;
        let head: Json = serde_json::from_str(head).ok()?;
        let mut all: Vec<Vec<&'static str>> = Vec::new();
        for line in lines.lines() {
            let mut tokens = line.split(' ').peekable();
            let base = tokens.next_if(|token| token.starts_with('<'));
            let base = base.and_then(|base| all.get(base[1..].parse::<usize>().ok()?));
            let mut names = Vec::new();
            for token in tokens {
                if !token.starts_with(|first: char| first.is_ascii_digit()) {
                    names.push(token);
                    continue;
                }
                let (start, count) = token.split_once('+')?;
                let (start, count): (usize, usize) = (start.parse().ok()?, count.parse().ok()?);
                names.extend_from_slice(base?.get(start..start + count)?);
            }
            all.push(names);
        }
        let registries = all.iter().map(|names| Registry::new(names.iter())).collect::<Option<_>>();
        let mut places = HashMap::new();
        for (version, kinds) in head["versions"].as_object()? {
            let version: i32 = version.parse().ok()?;
            for kind in RegistryKind::ALL {
                if let Some(place) = kinds[kind.name()].as_u64() {
                    places.insert((version, kind), usize::try_from(place).ok()?);
                }
            }
        }
        Some(Self { places, registries: registries?, lines })
    }
}

/// Returns the keys of an entity's metadata up to 1.5, made of those of 1.7: ViaLegacy's
/// `EntityDataIndex1_5_2`. Living entities have had others since, and told no health.
fn keys_before_1_6(entity: &str, keys: &str) -> String {
    let mut keys: Vec<&str> = keys.split(',').collect();
    if keys.get(HEALTH) == Some(&"health") {
        let living = [
            "custom_name",
            "custom_name_visible",
            "",
            "effect_color",
            "effect_ambience",
            "arrow_count",
            "",
        ];
        keys.resize(keys.len().max(12), "");
        keys[5..12].copy_from_slice(&living);
        if matches!(entity, "wither" | "ender_dragon") {
            keys.resize(keys.len().max(17), "");
            keys[16] = "health";
        }
    }
    keys.join(",")
}

/// The key of a living entity's health, since 1.6.
const HEALTH: usize = 6;

/// Returns the names that a version gives to the numbers of one kind; `None` if they are not known.
#[must_use]
pub fn registry(protocol: &Protocol, kind: RegistryKind) -> Option<&'static Registry> {
    Named::of(protocol).registry(kind)
}

/// Where the names of a version are: in its own description, or else among the embedded ones.
#[derive(Debug, Clone, Copy)]
pub(super) struct Named {
    pub(super) release: Release,
    own: Option<&'static OwnRegistries>,
}

impl Named {
    pub(super) fn of(protocol: &Protocol) -> Self {
        Self { release: protocol.release(), own: protocol.own_registries() }
    }

    pub(super) fn registry(self, kind: RegistryKind) -> Option<&'static Registry> {
        let own = self.own.and_then(|own| own.get(kind));
        own.or_else(|| Registries::find(self.release, kind))
    }
}

pub(crate) const FILE: &[u8] = include_bytes!("data/registries.bin");

const WRITTEN: &str =
    "`data/registries.bin` is as the import wrote it, which a test reads to the end";
