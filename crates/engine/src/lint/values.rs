use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::metadata::{MetadataEntry, MetadataKey};
use super::{Fault, LintRule, component};
use crate::text::count;
use mitmcraft_protocol::meaning::{
    About, Breach, FieldMeaning, FieldTracker, LimitTracker, Stance, is_component,
};
use mitmcraft_protocol::packet::{Diagnostic, Packet, SentRegistries};
use mitmcraft_protocol::schema::{
    Family, Flow, Leaf, Name, NamePath, PacketType, Release, Scalar, Visitor,
};

/// The values of a packet that the game refuses, and the places of its fields.
pub(super) struct Values<'p> {
    kind: &'p PacketType,
    release: Release,
    sent: Arc<SentRegistries>,
    tracker: FieldTracker,
    /// The entry of an entity's metadata that is being read.
    metadata: MetadataEntry,
    limits: Option<LimitTracker>,
    pub(super) stance: Option<Stance>,
    inside: Inside,
    path: NamePath,
    /// The offsets of the open containers and lists.
    open: Vec<usize>,
    pub(super) faults: Vec<Fault>,
    /// The places of the fields that are in no container.
    fields: Vec<(Name, Range<usize>)>,
}

impl<'p> Values<'p> {
    /// Reads the values of a packet, up to the first that does not decode. `about` is what earlier packets say of its
    /// subject, such as the type of the entity, if that is known.
    pub(super) fn read(packet: &'p Packet, kind: &'p PacketType, about: Option<About>) -> Self {
        let context = packet.context();
        let mut values = Self {
            kind,
            release: context.protocol.release(),
            sent: Arc::clone(&context.registries),
            tracker: FieldTracker::new(packet).about(about),
            metadata: MetadataEntry::default(),
            limits: LimitTracker::of(context.protocol.release(), kind),
            stance: Stance::of(kind, context.protocol.release()),
            inside: Inside::of(kind),
            path: NamePath::default(),
            open: Vec::new(),
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

    fn fault(&mut self, rule: LintRule, certain: bool, reason: String, span: Range<usize>) {
        let fault = Fault::new(rule, reason);
        self.push(Fault { certain, span: Some(span), ..fault });
    }

    /// Takes a fault of the value at the path of the walk.
    fn push(&mut self, fault: Fault) {
        let field = Some(self.path.as_str().to_owned()).filter(|path| !path.is_empty());
        self.faults.push(Fault { field, ..fault });
    }

    fn note_field(&mut self, span: Range<usize>) {
        if let Some(name) = self.path.outermost() {
            self.fields.push((name, span));
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
    fn metadata(&mut self, meaning: Option<FieldMeaning>, leaf: &Leaf<'_>) {
        let fault = match (self.path.as_str(), &leaf.value) {
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
        if let ("metadata.key", Scalar::Int(key)) = (self.path.as_str(), &leaf.value)
            && self.release >= Release::V1_20_5
            && let Some(entity) = self.tracker.metadata_entity()
            && let Some(keys) = self.tracker.metadata_keys()
            && usize::try_from(*key).is_ok_and(|key| key >= keys)
            && *key != END_OF_METADATA
        {
            let keys = count(keys as u64, "key");
            let reason = format!("{key}: the metadata of {entity} has {keys}");
            // A second witness of the keys ends with 1.21.10.
            let certain = self.release < Release::V1_21_11;
            self.fault(LintRule::MetadataInvalid, certain, reason, leaf.span());
        }
    }

    /// Checks the name of a dimension type, which is sent as a name up to 1.20.4, against those that the server has
    /// sent.
    fn dimension(&mut self, leaf: &Leaf<'_>) {
        let field = match &**self.kind.name() {
            "login" => "worldType",
            "respawn" => "dimension",
            _ => return,
        };
        let Scalar::Text(bytes, encoding) = leaf.value else { return };
        if self.path.as_str() != field || self.sent.name(DIMENSION_TYPE, 0).is_none() {
            return;
        }
        let name = encoding.decode_lossy(bytes);
        if self.sent.number(DIMENSION_TYPE, &name).is_none() {
            let reason = format!("the server has sent no dimension type `{name}`");
            self.fault(LintRule::EntryUnsent, true, reason, leaf.span());
        }
    }

    /// Adds a fault if the game refuses a value or a list.
    fn breach(&mut self, breach: Option<Breach>, span: Range<usize>) {
        if let Some(Breach { diagnostic, certain, reason, grade, then }) = breach {
            let fault = Fault::new(LintRule::Diagnosed(diagnostic), reason);
            self.push(Fault { certain, grade, then, span: Some(span), ..fault });
        }
    }

    /// Checks a value against the bounds in the packet itself.
    fn inside(&mut self, value: &Scalar<'_>, span: Range<usize>) {
        let path = self.path.as_str();
        let (diagnostic, certain, reason) = match (&mut self.inside, value) {
            (Inside::Commands(tree), Scalar::Int(index)) if INDEXES.contains(&path) => {
                let nodes = tree.count;
                match usize::try_from(*index).ok().filter(|index| *index < nodes) {
                    None => {
                        let has = count(nodes as u64, "node");
                        (Diagnostic::NumberInvalid, true, format!("{index}: the packet has {has}"))
                    }
                    Some(node) => {
                        tree.take(path, node);
                        if path != ROOT || !tree.is_endless() {
                            return;
                        }
                        let reason = "a node is redirected to itself, by others or directly";
                        (Diagnostic::NumberInvalid, true, reason.to_owned())
                    }
                }
            }
            (Inside::Map(patch), Scalar::Int(number)) => {
                let known = PATCH.iter().position(|name| *name == path);
                known.into_iter().for_each(|place| patch[place] = *number & 0xff);
                return;
            }
            (Inside::Map([columns, rows, x, y]), Scalar::Bytes(bytes)) if path == "data" => {
                let area = *columns * *rows;
                if *x + *columns > SIDE || *y + *rows > SIDE {
                    let reason = format!(
                        "the part ends at {}, {} of a map of {SIDE}",
                        *x + *columns,
                        *y + *rows
                    );
                    (Diagnostic::NumberInvalid, false, reason)
                } else if (bytes.len() as i64) < area {
                    let reason = format!("{} bytes for a part of {columns} x {rows}", bytes.len());
                    (Diagnostic::LengthInvalid, false, reason)
                } else {
                    return;
                }
            }
            _ => return,
        };
        self.fault(LintRule::Diagnosed(diagnostic), certain, reason, span);
    }

    /// Checks a value against what the game accepts.
    fn limits(&mut self, value: &Scalar<'_>, span: Range<usize>) {
        let path = self.path.as_str();
        let breach = self.limits.as_mut().and_then(|limits| limits.leaf(path, value));
        self.breach(breach, span);
    }

    /// Checks the length of a list, whose path is now that of the walk, and which begins with `at`.
    fn end_list(&mut self, count: usize, at: usize) {
        let path = self.path.as_str();
        let breach = self.limits.as_ref().and_then(|limits| limits.list(path, count));
        self.breach(breach, at..at + 1);
    }

    /// Checks a text component.
    fn component(&mut self, leaf: &Leaf<'_>) {
        if !matches!(leaf.value, Scalar::Text(..) | Scalar::Nbt { .. })
            || !is_component(self.release, self.kind, self.path.as_str())
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
                } else if let Some(reason) =
                    serde_json::from_slice(bytes).ok().and_then(|it| component::json_fault(&it))
                {
                    self.fault(LintRule::TextInvalid, false, reason.to_owned(), leaf.span());
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
        self.path.leaf();
        self.note_field(leaf.span());
        let meaning = self.tracker.leaf(leaf);
        if let Some(meaning) = meaning {
            self.entry(meaning, leaf);
        }
        self.limits(&leaf.value, leaf.span());
        self.inside(&leaf.value, leaf.span());
        if let Some(stance) = &mut self.stance {
            stance.leaf(self.path.as_str(), &leaf.value);
        }
        if self.release.family() == Family::Java {
            self.metadata(meaning, leaf);
            self.dimension(leaf);
            self.component(leaf);
        }
        Flow::Continue(())
    }

    fn field(&mut self, name: &Name) -> Flow {
        self.tracker.field(name);
        self.path.field(name);
        Flow::Continue(())
    }

    fn open_map(&mut self, at: usize) -> Flow {
        self.tracker.open_map();
        self.path.open();
        self.open.push(at);
        Flow::Continue(())
    }

    fn open_list(&mut self, at: usize, count: Option<usize>) -> Flow {
        self.note_field(at..at + 1);
        self.tracker.open_list();
        self.path.open();
        if let (Inside::Commands(tree), Some(count)) = (&mut self.inside, count)
            && self.open.len() <= 1
        {
            tree.count = count;
        }
        self.open.push(at);
        Flow::Continue(())
    }

    fn close(&mut self, _at: usize) -> Flow {
        self.tracker.close();
        let count = self.path.close();
        let at = self.open.pop().unwrap_or_default();
        if let Inside::Commands(tree) = &mut self.inside
            && self.path.as_str() == "nodes"
            && self.open.len() == WITHIN_NODES
        {
            tree.node += 1;
        }
        self.end_list(count, at);
        Flow::Continue(())
    }

    fn byte_list(&mut self, at: usize, bytes: &[u8]) -> Option<Flow> {
        self.tracker.skip();
        self.path.leaf();
        self.limits(&Scalar::Bytes(bytes), at..at + 1);
        self.inside(&Scalar::Bytes(bytes), at..at + 1);
        self.end_list(bytes.len(), at);
        Some(Flow::Continue(()))
    }
}

/// The values of a packet that bound others in it.
enum Inside {
    Nothing,
    /// The nodes of a tree of commands.
    Commands(Tree),
    /// Size and place of the part of a map that changes.
    Map([i64; 4]),
}

impl Inside {
    fn of(kind: &PacketType) -> Self {
        match &**kind.name() {
            "declare_commands" => Self::Commands(Tree::default()),
            "map" => Self::Map([0; 4]),
            _ => Self::Nothing,
        }
    }
}

/// The nodes of a tree of commands, as far as the walk has come.
#[derive(Default)]
struct Tree {
    count: usize,
    /// The number of the node that the walk is in.
    node: usize,
    /// The redirected nodes, in order, each with its target.
    redirects: Vec<(usize, usize)>,
}

impl Tree {
    fn take(&mut self, path: &str, target: usize) {
        if path == REDIRECT {
            self.redirects.push((self.node, target));
        }
    }

    /// Returns whether redirects lead back to where they begin: the game builds no node before its target.
    fn is_endless(&self) -> bool {
        let target = |node: usize| {
            let place = self.redirects.binary_search_by_key(&node, |(from, _)| *from).ok()?;
            Some(self.redirects[place].1)
        };
        // A node that ends somewhere is followed once.
        let mut ends = HashSet::new();
        for (start, _) in &self.redirects {
            let (mut node, mut seen) = (*start, HashSet::new());
            while !ends.contains(&node) {
                if !seen.insert(node) {
                    return true;
                }
                let Some(next) = target(node) else { break };
                node = next;
            }
            ends.extend(seen);
        }
        false
    }
}

/// The fields that have the number of a node.
const INDEXES: [&str; 3] = ["nodes.children", REDIRECT, ROOT];
/// The open containers and lists beside a node: the packet and its list.
const WITHIN_NODES: usize = 2;
const REDIRECT: &str = "nodes.redirectNode";
const ROOT: &str = "rootIndex";

/// The fields of [`Inside::Map`].
const PATCH: [&str; 4] = ["columns", "rows", "x", "y"];

/// The columns and rows of a map.
const SIDE: i64 = 128;

/// The key that ends an entity's metadata.
const END_OF_METADATA: i64 = 255;

const DIMENSION_TYPE: &str = "minecraft:dimension_type";
