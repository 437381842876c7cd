use std::ops::Range;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::metadata::{MetadataEntry, MetadataKey};
use super::{Fault, LintRule, component, limits};
use mitmcraft_protocol::meaning::{About, FieldMeaning, FieldTracker};
use mitmcraft_protocol::packet::{Diagnostic, Packet, SentRegistries, is_component};
use mitmcraft_protocol::schema::{Family, Flow, Leaf, Name, PacketType, Release, Scalar, Visitor};

/// The values of a packet that the game refuses, and the places of its fields.
pub(super) struct Values<'p> {
    kind: &'p PacketType,
    release: Release,
    sent: Arc<SentRegistries>,
    tracker: FieldTracker,
    /// The entry of an entity's metadata that is being read.
    metadata: MetadataEntry,
    /// The window and its slot, as far as they are read.
    window: Option<i64>,
    /// The names of the open containers and of the next value; `None` where there is none.
    names: Vec<Option<Name>>,
    pub(super) faults: Vec<Fault>,
    /// The places of the fields that are in no container.
    fields: Vec<(Name, Range<usize>)>,
}

impl<'p> Values<'p> {
    /// Reads the values of a packet, up to the first that does not decode. `about` is what earlier packets say, as the type of the entity
    /// that the packet is about, if it is known.
    pub(super) fn read(packet: &'p Packet, kind: &'p PacketType, about: Option<About>) -> Self {
        let context = packet.context();
        let mut values = Self {
            kind,
            release: context.protocol.release(),
            sent: Arc::clone(&context.registries),
            tracker: FieldTracker::new(packet).about(about),
            metadata: MetadataEntry::default(),
            window: None,
            names: Vec::new(),
            faults: Vec::new(),
            fields: Vec::new(),
        };
        // An error has its own rule.
        let _ = packet.walk_dyn(&mut values);
        values
    }

    /// Returns the place of a field that is in no container.
    pub(super) fn place(&self, field: &str) -> Option<Range<usize>> {
        self.fields.iter().find(|(name, _)| **name == *field).map(|(_, span)| span.clone())
    }

    fn path(&self) -> String {
        let names: Vec<&str> = self.names.iter().flatten().map(|name| &**name).collect();
        names.join(".")
    }

    fn fault(&mut self, rule: LintRule, certain: bool, reason: String, span: Range<usize>) {
        let field = Some(self.path()).filter(|path| !path.is_empty());
        self.faults.push(Fault { rule, certain, reason, field, span: Some(span) });
    }

    fn note_field(&mut self, span: Range<usize>) {
        if let [Some(name)] = &self.names[..] {
            self.fields.push((Name::clone(name), span));
        }
    }

    /// Checks a number that stands for something.
    fn entry(&mut self, meaning: FieldMeaning, leaf: &Leaf<'_>) {
        let Scalar::Int(number) = leaf.value else { return };
        // Negative numbers stand for nothing on purpose.
        if number < 0 {
            return;
        }
        if let Some(registry) = meaning.sent_registry() {
            let is_known = self.sent.name(registry, 0).is_some();
            if is_known && self.sent.name(registry, number).is_none() {
                let name = registry.strip_prefix("minecraft:").unwrap_or(registry);
                let reason = format!("the server has sent no {name} with the number {number}");
                self.fault(LintRule::EntryUnsent, true, reason, leaf.span());
            }
            return;
        }
        if !meaning.names_things() || meaning.name(number).is_some() {
            return;
        }
        // A number with several parts always has words.
        let has_parts = meaning.registry_kind().is_none() && meaning.values().is_empty();
        if (has_parts || meaning.text(&leaf.value).is_none()) && !meaning.names().is_empty() {
            let kind =
                meaning.registry_kind().map_or_else(|| "entry".to_owned(), |it| it.to_string());
            let reason = format!("the version has no {kind} with the number {number}");
            let certain = self.release >= Release::V1_20_5;
            self.fault(LintRule::EntryUnknown, certain, reason, leaf.span());
        }
    }

    /// Checks the type of a value in an entity's metadata.
    fn metadata(&mut self, path: &str, meaning: Option<FieldMeaning>, leaf: &Leaf<'_>) {
        let fault = match (path, &leaf.value) {
            ("metadata.key", Scalar::Int(key)) => {
                let named = self.tracker.metadata_key();
                let named = named.or_else(|| meaning.and_then(|meaning| meaning.name(*key)));
                let entity = self.tracker.metadata_entity();
                let key = named.map(|name| MetadataKey { name, entity });
                self.metadata.take_key(self.release, key)
            }
            ("metadata.type", kind) => self.metadata.take_type(self.release, kind),
            _ => None,
        };
        if let Some(reason) = fault {
            self.fault(LintRule::MetadataInvalid, true, reason, leaf.span());
        }
    }

    /// Checks lengths and numbers against what the game accepts.
    fn limits(&mut self, path: &str, leaf: &Leaf<'_>) {
        let packet = &**self.kind.name();
        match leaf.value {
            Scalar::Text(bytes, encoding) => {
                let most = limits::find(&limits::TEXTS, self.release, packet, path);
                let Some(most) = most else { return };
                let units = encoding.decode_lossy(bytes).encode_utf16().count();
                if units > most {
                    let reason = format!("{units} characters, the game reads up to {most}");
                    self.fault(LintRule::TextTooLong, true, reason, leaf.span());
                }
            }
            Scalar::Int(number) => {
                let numbers = limits::find(&limits::NUMBERS, self.release, packet, path);
                if let Some(numbers) = numbers
                    && !numbers.contains(&number)
                {
                    let (low, high) = (numbers.start(), numbers.end());
                    let reason = format!("{number}: the game knows {low} to {high}");
                    self.fault(LintRule::NumberInvalid, true, reason, leaf.span());
                }
                if packet == "set_slot" {
                    self.slot(path, number, leaf);
                }
            }
            _ => {}
        }
    }

    /// Checks a slot of the player's inventory, which always has as many.
    fn slot(&mut self, path: &str, number: i64, leaf: &Leaf<'_>) {
        match path {
            "windowId" => self.window = Some(number),
            "slot" if self.window == Some(0) => {
                let slots = limits::inventory_slots(self.release);
                if !(0..slots).contains(&number) {
                    let reason = format!("the inventory has the slots 0 to {}", slots - 1);
                    self.fault(LintRule::NumberInvalid, true, reason, leaf.span());
                }
            }
            _ => {}
        }
    }

    /// Checks a text component.
    fn component(&mut self, path: &str, leaf: &Leaf<'_>) {
        if !matches!(leaf.value, Scalar::Text(..) | Scalar::Nbt { .. })
            || !is_component(self.kind, self.release, path)
        {
            return;
        }
        match leaf.value {
            Scalar::Text(bytes, _) => {
                if let Err(error) = serde_json::from_slice::<&RawValue>(bytes) {
                    let reason = format!("not JSON: {error}");
                    let rule = LintRule::Diagnosed(Diagnostic::JsonInvalid);
                    // The game's parser takes a little more, such as names without quotes.
                    self.fault(rule, false, reason, leaf.span());
                }
            }
            _ => {
                let Some(nbt) = leaf.value.nbt() else { return };
                if let Some((certain, reason)) = component::fault(&nbt.root) {
                    self.fault(LintRule::TextInvalid, certain, reason, leaf.span());
                }
            }
        }
    }
}

impl Visitor for Values<'_> {
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow {
        self.note_field(leaf.span());
        let meaning = self.tracker.leaf(leaf);
        if let Some(meaning) = meaning {
            self.entry(meaning, leaf);
        }
        if self.release.family() == Family::Java {
            let path = self.path();
            self.metadata(&path, meaning, leaf);
            self.limits(&path, leaf);
            self.component(&path, leaf);
        }
        Flow::Continue(())
    }

    fn field(&mut self, name: &Name) -> Flow {
        self.tracker.field(name);
        if let Some(last) = self.names.last_mut() {
            *last = Some(Name::clone(name));
        }
        Flow::Continue(())
    }

    fn open_map(&mut self, _at: usize) -> Flow {
        self.tracker.open_map();
        self.names.push(None);
        Flow::Continue(())
    }

    fn open_list(&mut self, at: usize, _count: Option<usize>) -> Flow {
        self.note_field(at..at + 1);
        self.tracker.open_list();
        self.names.push(None);
        Flow::Continue(())
    }

    fn close(&mut self, _at: usize) -> Flow {
        self.tracker.close();
        self.names.pop();
        Flow::Continue(())
    }

    fn byte_list(&mut self, _at: usize, _bytes: &[u8]) -> Option<Flow> {
        self.tracker.skip();
        Some(Flow::Continue(()))
    }
}
