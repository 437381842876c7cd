use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use super::annotation::{Known, POSITION, WINDOW, bare};
use super::field_meanings::{beside, position};
use super::meaning_visitor::MeaningVisitor;
use super::session_memory::{NAMED_SPAWN, PLAYER};
use super::{About, FieldMeaning, FieldMeanings, Registry, RegistryKind, registry};
use crate::packet::{Packet, SentRegistries};
use crate::schema::{Leaf, Name, PacketType, Protocol, Scalar};
use crate::wire::Tag;

/// Follows a walk through a packet and gives the meaning of each value. A visitor calls the method
/// of each of its own.
#[derive(Debug, Default)]
pub struct FieldTracker {
    /// `None` if no field of the packet has a meaning.
    meanings: Option<FieldMeanings>,
    /// The name of the field whose value comes next.
    name: Option<Name>,
    /// The path of the innermost open container or list, with `[*]` for all elements.
    path: String,
    /// The path of the innermost open container or list, with the numbers of elements.
    place: String,
    /// The open containers and lists, the packet itself first.
    open: Vec<Level>,
    /// Values that decide the meaning of other fields, by their places.
    seen: HashMap<String, Seen>,
    /// The names that the server has sent.
    sent: Option<Arc<SentRegistries>>,
    /// The registry of the metadata's next value: `minecraft:cat_variant`.
    variant: Option<String>,
    /// The registry of the last value, if the server sends it.
    registry: Option<String>,
    /// The names of the keys of metadata by the type of the entity; `None` if they are not known.
    keys: Option<&'static Registry>,
    /// The type of the entity with the metadata.
    entity: Option<&'static str>,
    /// The name of the last value, if it is a key of metadata.
    key: Option<&'static str>,
    /// The names of enchantments, which NBT has by number up to 1.12; `None` if they are not known.
    enchantments: Option<&'static Registry>,
    /// `true` if the last value is the NBT of an item.
    is_item: bool,
}

/// A value that decides the meaning of other fields: its number, and its text or the name of the number.
#[derive(Debug)]
struct Seen {
    number: Option<i64>,
    name: Option<Cow<'static, str>>,
}

/// An open container or list.
#[derive(Debug)]
struct Level {
    /// Lengths of the paths outside of it.
    path: usize,
    place: usize,
    /// For a list, the number of elements so far.
    elements: Option<usize>,
}

impl FieldTracker {
    /// Creates a tracker for a packet.
    #[must_use]
    pub fn new(packet: &Packet) -> Self {
        let context = packet.context();
        let of = || packet.kind().map(|kind| Self::of(&context.protocol, kind)).unwrap_or_default();
        let mut tracker = Self { sent: Some(Arc::clone(&context.registries)), ..of() };
        if tracker.meanings.is_some_and(|meanings| meanings.looks_ahead()) {
            let act = &mut |tracker: &mut Self, leaf: &Leaf<'_>| {
                tracker.leaf(leaf);
            };
            let mut visitor = MeaningVisitor { tracker: of(), act };
            // An error leaves what was found before it.
            let _ = packet.walk(&mut visitor);
            tracker.seen = visitor.tracker.seen;
        }
        tracker
    }

    /// Creates a tracker for packets of that type.
    #[must_use]
    pub fn of(protocol: &Protocol, packet: &PacketType) -> Self {
        let meanings = FieldMeanings::of(protocol, packet);
        let keys = registry(protocol, RegistryKind::Metadata);
        let entity = (&**packet.name() == NAMED_SPAWN).then_some(PLAYER);
        let enchantments = registry(protocol, RegistryKind::Enchantment);
        Self { meanings, keys, entity, enchantments, ..Self::default() }
    }

    /// Adds what earlier packets say, as a [`SessionMemory`](super::SessionMemory) knows it.
    #[must_use]
    pub fn about(mut self, about: Option<About>) -> Self {
        match about {
            Some(About::Entity(entity)) => self.entity = Some(entity),
            Some(About::Window(window)) => {
                let seen = Seen { number: None, name: Some(window.into()) };
                self.seen.insert(WINDOW.to_owned(), seen);
            }
            None => {}
        }
        self
    }

    /// Takes the name of the next field.
    pub fn field(&mut self, name: &Name) {
        if self.meanings.is_some() {
            self.name = Some(Name::clone(name));
        }
    }

    /// Takes the start of a container.
    pub fn open_map(&mut self) {
        self.enter(None);
    }

    /// Takes the start of a list.
    pub fn open_list(&mut self) {
        self.enter(Some(0));
    }

    /// Takes the end of a container or list.
    pub fn close(&mut self) {
        if let Some(level) = self.open.pop() {
            self.leave(&level);
        }
        self.name = None;
    }

    /// Takes a value and returns what it means.
    pub fn leaf(&mut self, leaf: &Leaf<'_>) -> Option<FieldMeaning> {
        self.meanings?;
        let level = self.append();
        let meaning = self.meaning(leaf);
        self.leave(&level);
        meaning
    }

    /// Takes a value and returns its path and what it means, in words.
    pub fn text(&mut self, leaf: &Leaf<'_>) -> Option<(String, String)> {
        self.meanings?;
        let level = self.append();
        let meaning = self.meaning(leaf);
        let text = self.words(meaning, &leaf.value);
        let text = text.map(|text| (self.place.clone(), text.into_owned()));
        self.leave(&level);
        text
    }

    /// Returns the last value in words. Names that the server has sent take precedence over others.
    #[must_use]
    pub fn words(
        &self,
        meaning: Option<FieldMeaning>,
        value: &Scalar<'_>,
    ) -> Option<Cow<'static, str>> {
        if let Some(key) = self.key {
            return Some(key.into());
        }
        if self.is_item {
            return self.enchantments_in(value).map(Cow::Owned);
        }
        if let (Some(registry), Some(sent)) = (&self.registry, &self.sent)
            && let Scalar::Int(number) = *value
            && let Some(name) = sent.name(registry, number)
        {
            return Some(name.to_owned().into());
        }
        meaning?.text(value)
    }

    /// Returns the name of the last value, if it is a key in the metadata of an entity whose type is known.
    #[must_use]
    pub fn metadata_key(&self) -> Option<&'static str> {
        self.key
    }

    /// Returns the number of keys in the metadata of the entity that the packet is about, if it is known.
    #[must_use]
    pub fn metadata_keys(&self) -> Option<usize> {
        self.keys?.key_count(self.entity?)
    }

    /// Returns the type of the entity that the packet is about, if it has metadata and the type is known.
    #[must_use]
    pub fn metadata_entity(&self) -> Option<&'static str> {
        self.entity
    }

    /// Returns the name of a number in NBT that is `name` in an element of the list `list`: `id` in `ench`.
    #[must_use]
    pub fn tag(&self, list: Option<&str>, name: &str, number: i64) -> Option<&'static str> {
        let enchants = name == "id" && list.is_some_and(|list| ENCHANTMENTS.contains(&list));
        self.enchantments.filter(|_| enchants)?.name(number)
    }

    /// Returns the enchantments in the NBT of an item that are there by number: `sharpness 3, flame 1`.
    fn enchantments_in(&self, value: &Scalar<'_>) -> Option<String> {
        let Tag::Compound(item) = value.nbt()?.root else { return None };
        let mut found = Vec::new();
        for list in ENCHANTMENTS {
            let Some(Tag::List(all)) = item.get(list) else { continue };
            for enchantment in &all.items {
                let Tag::Compound(enchantment) = enchantment else { continue };
                let number = |name: &str| enchantment.get(name)?.as_int();
                let name = number("id").and_then(|id| self.tag(Some(list), "id", id));
                found.extend(name.map(|name| match number("lvl") {
                    Some(level) => format!("{name} {level}"),
                    None => name.to_owned(),
                }));
            }
        }
        (!found.is_empty()).then(|| found.join(", "))
    }

    /// Takes a value whose parts are not reported.
    pub fn skip(&mut self) {
        if self.meanings.is_some() {
            let level = self.append();
            self.leave(&level);
        }
    }

    /// Returns whether the elements of the list that comes next have a meaning.
    #[must_use]
    pub fn explains_elements(&self) -> bool {
        let (Some(meanings), Some(name)) = (self.meanings, &self.name) else { return false };
        let dot = if self.path.is_empty() { "" } else { "." };
        meanings.any_at(&format!("{}{dot}{name}[*]", self.path)).is_some()
    }

    fn meaning(&mut self, leaf: &Leaf<'_>) -> Option<FieldMeaning> {
        let meanings = self.meanings?;
        let seen = |path: &str| {
            if path == POSITION {
                return position(&self.place).map(Known::from);
            }
            let Seen { number, name } = self.seen.get(&beside(path, &self.place))?;
            Some(Known { number: *number, name: name.as_deref() })
        };
        let meaning = meanings.at(&self.path, seen);
        self.registry = meaning.and_then(|meaning| meaning.sent_registry()).map(str::to_owned);
        self.key = None;
        self.is_item = self.path.ends_with(ITEM_NBT);
        match (&*self.path, &leaf.value) {
            ("type", Scalar::Int(number)) => {
                let of_entity = meaning.filter(|meaning| meaning.names_entities());
                self.entity = of_entity.and_then(|meaning| meaning.name(*number)).or(self.entity);
            }
            (METADATA_KEY, Scalar::Int(key)) => {
                self.key = self.keys.and_then(|keys| keys.key(self.entity?, *key));
            }
            // The type of an entity's metadata names the registry of its value.
            (METADATA_TYPE, Scalar::Name(name, _)) => {
                self.variant = name.ends_with("_variant").then(|| format!("minecraft:{name}"));
            }
            (METADATA_VALUE | METADATA_VARIANT, _) => {
                self.registry = self.variant.take().or_else(|| self.registry.take());
            }
            _ => {}
        }
        if meanings.decides(&self.path)
            && let Some(seen) = Seen::of(&leaf.value, meaning)
        {
            self.seen.insert(self.place.clone(), seen);
        }
        meaning
    }

    fn enter(&mut self, elements: Option<usize>) {
        if self.meanings.is_none() {
            return;
        }
        let level = if self.open.is_empty() && elements.is_none() {
            Level { path: 0, place: 0, elements }
        } else {
            Level { elements, ..self.append() }
        };
        self.open.push(level);
    }

    /// Adds the name or number of the next value to the paths.
    fn append(&mut self) -> Level {
        let level = Level { path: self.path.len(), place: self.place.len(), elements: None };
        if let Some(Some(elements)) = self.open.last_mut().map(|level| level.elements.as_mut()) {
            self.path.push_str("[*]");
            let _ = write!(self.place, "[{elements}]");
            *elements += 1;
        } else if let Some(name) = self.name.take() {
            for path in [&mut self.path, &mut self.place] {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&name);
            }
        }
        level
    }

    fn leave(&mut self, level: &Level) {
        self.path.truncate(level.path);
        self.place.truncate(level.place);
    }
}

impl Seen {
    fn of(value: &Scalar<'_>, meaning: Option<FieldMeaning>) -> Option<Self> {
        let named = |name: &str| Some(Cow::Owned(bare(name).to_owned()));
        Some(match *value {
            Scalar::Bool(bool) => Self { number: Some(bool.into()), name: None },
            Scalar::Int(number) => {
                let name = meaning.and_then(|meaning| meaning.name(number)).map(Cow::Borrowed);
                Self { number: Some(number), name }
            }
            Scalar::Name(name, number) => Self { number: Some(number), name: named(name) },
            Scalar::Text(..) => Self { number: None, name: named(&value.text()?) },
            _ => return None,
        })
    }
}

/// The lists in the NBT of an item that have enchantments, the second those of a book.
const ENCHANTMENTS: [&str; 2] = ["ench", "StoredEnchantments"];

const ITEM_NBT: &str = "nbtData";
const METADATA_KEY: &str = "metadata[*].key";
const METADATA_TYPE: &str = "metadata[*].type";
const METADATA_VALUE: &str = "metadata[*].value";
/// The value of a variant that may also be inline.
const METADATA_VARIANT: &str = "metadata[*].value.variantId";
