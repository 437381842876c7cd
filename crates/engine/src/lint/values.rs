use std::ops::Range;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::LintRule;
use mitmcraft_protocol::meaning::{FieldMeaning, FieldTracker};
use mitmcraft_protocol::packet::{Diagnostic, Packet, SentRegistries, is_component};
use mitmcraft_protocol::schema::{Family, Flow, Leaf, Name, PacketType, Scalar, Visitor};
use mitmcraft_protocol::wire::Tag;

/// A value that the game refuses.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) rule: LintRule,
    pub(super) certain: bool,
    pub(super) reason: String,
    pub(super) field: Option<String>,
    pub(super) span: Range<usize>,
}

/// The values of a packet that the game refuses, and the places of its fields.
pub(super) struct Values<'p> {
    kind: &'p PacketType,
    version: i32,
    family: Family,
    sent: Arc<SentRegistries>,
    tracker: FieldTracker,
    /// The names of the open containers and of the next value; `None` where there is none.
    names: Vec<Option<Name>>,
    pub(super) faults: Vec<Fault>,
    /// The places of the fields that are in no container.
    fields: Vec<(Name, Range<usize>)>,
}

impl<'p> Values<'p> {
    /// Reads the values of a packet, up to the first that does not decode.
    pub(super) fn read(packet: &'p Packet, kind: &'p PacketType) -> Self {
        let context = packet.context();
        let mut values = Self {
            kind,
            version: context.protocol.version(),
            family: context.protocol.family(),
            sent: Arc::clone(&context.registries),
            tracker: FieldTracker::new(packet),
            names: Vec::new(),
            faults: Vec::new(),
            fields: Vec::new(),
        };
        // An error has its own rule.
        let _ = packet.walk(&mut values);
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
        self.faults.push(Fault { rule, certain, reason, field, span });
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
            let certain = self.version >= V1_20_5;
            self.fault(LintRule::EntryUnknown, certain, reason, leaf.span());
        }
    }

    /// Checks a text component.
    fn component(&mut self, leaf: &Leaf<'_>) {
        if self.family != Family::Java
            || !matches!(leaf.value, Scalar::Text(..) | Scalar::Nbt { .. })
            || !is_component(self.kind, self.version, &self.path())
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
                let (certain, reason) = match &nbt.root {
                    Tag::Text(_) => return,
                    Tag::List(list) if !list.items.is_empty() => return,
                    Tag::Compound(compound) => {
                        if CONTENTS.iter().any(|key| compound.get(key).is_some()) {
                            return;
                        }
                        (false, "a component without `text`, `translate` or other contents")
                    }
                    Tag::List(_) => (true, "an empty list is no component"),
                    _ => (true, "a component is a string, a list or a compound"),
                };
                self.fault(LintRule::TextInvalid, certain, reason.to_owned(), leaf.span());
            }
        }
    }
}

impl Visitor for Values<'_> {
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow {
        self.note_field(leaf.span());
        if let Some(meaning) = self.tracker.leaf(leaf) {
            self.entry(meaning, leaf);
        }
        self.component(leaf);
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

    fn close_map(&mut self, _at: usize) -> Flow {
        self.tracker.close();
        self.names.pop();
        Flow::Continue(())
    }

    fn open_list(&mut self, at: usize, _count: Option<usize>) -> Flow {
        self.note_field(at..at + 1);
        self.tracker.open_list();
        self.names.push(None);
        Flow::Continue(())
    }

    fn close_list(&mut self, _at: usize) -> Flow {
        self.tracker.close();
        self.names.pop();
        Flow::Continue(())
    }

    fn byte_list(&mut self, _at: usize, _bytes: &[u8]) -> Option<Flow> {
        self.tracker.skip();
        Some(Flow::Continue(()))
    }
}

/// The keys of which a component in NBT has one.
const CONTENTS: [&str; 11] = [
    "text",
    "translate",
    "keybind",
    "score",
    "selector",
    "nbt",
    "type",
    "object",
    "sprite",
    "player",
    "",
];

const V1_20_5: i32 = 766;
