//! Checks of whole rules: actions that exclude each other, fields that the matching packets do not
//! have, packets that must not be changed.

use std::collections::BTreeSet;
use std::ops::Range;

use super::EditError;
use super::component::{Components, names};
use super::draft::Draft;
use super::keys::{KeyInfo, KeyKind, RuleKey};
use super::rule::Body;
use super::shapes::{encodes, fits};
use super::source::Source;
use super::template::Template;
use crate::lang::amount::Jittered;
use crate::lang::{FieldIndex, Vocabulary, did_you_mean, holders};
use mitmcraft_protocol::packet::PathStep;
use mitmcraft_protocol::schema::{
    Direction, Family, Kind, MAX_LISTED, PacketType, Protocol, Role, Shape, State, Value,
};

/// Checks each rule against 1.8 and the newest version, and only a rule with a fault there against
/// all versions: compiling every version takes time. Looks only for errors after [`MAX_FAULTS`], and
/// gives up after as many errors.
pub(super) fn check(
    drafts: &[Draft],
    capture: bool,
    vocabulary: &Vocabulary<'_>,
    source: &mut Source<'_>,
) {
    let ends: Vec<&FieldIndex> = vocabulary.ends().chain(vocabulary.old()).collect();
    let mut quiet = false;
    for draft in drafts {
        if source.errors() >= MAX_FAULTS {
            let message = format!("the rules from here on are not checked: {MAX_FAULTS} faults");
            return source.error(draft.span.clone(), message);
        }
        if !quiet && source.count() >= MAX_FAULTS {
            quiet = true;
            let message = format!("only errors are looked for from here on: {MAX_FAULTS} faults");
            source.warning(draft.span.clone(), message, None);
        }
        let (faults, possible) = (source.count(), possible(draft, &ends));
        let nowhere = possible.is_empty();
        if !possible.is_empty()
            && !possible.iter().any(|(protocol, _)| protocol.family() == Family::Java)
            && !self::possible(draft, &vocabulary.others().iter().collect::<Vec<_>>()).is_empty()
        {
            // A rule for versions that are not checked.
            Check { draft, protocols: &ends, possible: Vec::new(), source }.run(capture);
        } else {
            let mut check = Check { draft, protocols: &ends, possible, source };
            check.run(capture);
            let gaps = !quiet && !nowhere && check.lacks();
            let faulty =
                if quiet { source.has_errors_after(faults) } else { source.count() > faults };
            if nowhere || gaps || faulty {
                source.keep(faults);
                let all: Vec<&FieldIndex> = vocabulary.indexes().collect();
                let possible = self::possible(draft, &all);
                let mut check = Check { draft, protocols: &all, possible, source };
                check.run(capture);
                check.warn_of_gaps(vocabulary);
            }
        }
        if quiet {
            source.keep_errors_after(faults);
        }
    }
}

/// The number of faults after which nobody reads on: each can cost a millisecond, and any page of
/// `--web` may ask.
const MAX_FAULTS: usize = 1000;

struct Check<'a, 's, 't> {
    draft: &'a Draft,
    protocols: &'a [&'a FieldIndex],
    /// The packets that the rule can match.
    possible: Vec<(&'a Protocol, &'a PacketType)>,
    source: &'s mut Source<'t>,
}

/// A field that a rule sets, or a packet that it sends.
struct Made {
    what: String,
    span: Range<usize>,
    /// Whether each of the versions in which the rule can match has it.
    had: Vec<bool>,
}

impl Made {
    /// Returns the versions since 1.7 that lack it.
    fn lacking<'v>(&self, versions: &'v [&Protocol]) -> impl Iterator<Item = &'v Protocol> {
        let had = versions.iter().zip(self.had.iter().copied());
        let lacking = had.filter(|(version, had)| !had && version.family() == Family::Java);
        lacking.map(|(version, _)| *version)
    }
}

/// Returns the packets that a rule can match.
fn possible<'p>(
    draft: &Draft,
    protocols: &[&'p FieldIndex],
) -> Vec<(&'p Protocol, &'p PacketType)> {
    let when = draft.rule.when.as_ref();
    let admitted =
        |index: &&FieldIndex| when.is_none_or(|when| when.admits_protocol(index.protocol()));
    let packets = |index: &'p FieldIndex| {
        let (protocol, places) = (&**index.protocol(), draft.rule.possible(index).packets);
        places.into_iter().map(move |place| (protocol, &protocol.packets()[usize::from(place)]))
    };
    protocols.iter().copied().filter(|it| admitted(it)).flat_map(packets).collect()
}

/// Returns the name that `word` may stand for, or all names if they are few.
fn suggestion(word: &str, names: &BTreeSet<&str>, all: &str) -> Option<String> {
    did_you_mean(word, names.iter().copied()).or_else(|| {
        let few = !names.is_empty() && names.len() <= MAX_LISTED;
        few.then(|| format!("{all} {}", names.iter().copied().collect::<Vec<_>>().join(", ")))
    })
}

impl Check<'_, '_, '_> {
    fn run(&mut self, capture: bool) {
        let draft = self.draft;
        self.exclusions();
        self.timed();
        self.idle();
        if draft.rule.actions.write.is_some() && !capture {
            let hint = "add `[capture]` with `file` and `ring`".to_owned();
            let span = draft.span_of(RuleKey::Write);
            self.source.error_with(span, "there is no capture to write", hint);
        }
        // If the condition has a fault, or another key may be meant to be one, the matching packets are
        // unknown.
        let faulty = draft.has(RuleKey::When) && draft.rule.when.is_none();
        if self.possible.is_empty() || draft.has_unknown || faulty {
            return;
        }
        if draft.rule.conditions.timer.is_none() {
            self.driving();
        }
        self.paths();
        self.bodies();
    }

    fn packets(&self) -> impl Iterator<Item = (&Protocol, &PacketType)> {
        self.possible.iter().copied()
    }

    /// Reports a rule that has conditions and no action, and a condition without anything that it is about.
    fn idle(&mut self) {
        let draft = self.draft;
        let acts = |(key, _): &(RuleKey, _)| key.info().kind != KeyKind::Condition;
        if !draft.has_unknown && !draft.keys.iter().any(acts) {
            let hint = "add one, such as `drop = true` or `log = false`".to_owned();
            self.source.warning(draft.span.clone(), "this rule has no action", hint);
        }
        let jitters = |delay: &Jittered| !delay.jitter.is_zero();
        let is_random = draft.has(RuleKey::Chance)
            || draft.has(RuleKey::Corrupt)
            // A delay that is not known has a fault of its own.
            || draft.has(RuleKey::Delay) && draft.rule.actions.delay.as_ref().is_none_or(jitters);
        if draft.has(RuleKey::Seed) && !is_random {
            let message = "`seed` has no effect: nothing in this rule is random";
            let hint = "`chance`, `corrupt` and a `delay` with `±` are".to_owned();
            self.source.warning(draft.span_of(RuleKey::Seed), message, hint);
        }
    }

    /// Reports keys that exclude each other, that have no effect beside others, or that need others.
    fn exclusions(&mut self) {
        let draft = self.draft;
        let actions = &draft.rule.actions;
        let end = [(RuleKey::Drop, actions.drop), (RuleKey::Close, actions.close.is_some())];
        // A rule with `timer` has no packet to begin with.
        let has_packet = draft.rule.conditions.timer.is_none();
        let end = end.into_iter().find(|(_, ends)| *ends && has_packet).map(|(key, _)| key);
        for (key, span) in &draft.keys {
            let KeyInfo { name, kind, excludes, needs, .. } = key.info();
            if let Some(end) = end.filter(|_| kind.needs_forwarding()) {
                let message = format!("`{name}` has no effect on a dropped packet");
                let hint = (end == RuleKey::Close)
                    .then(|| "`close` ends the session without forwarding the packet".to_owned());
                self.source.error_with(span.clone(), message, hint);
            }
            for other in excludes.iter().filter(|other| draft.has(**other)) {
                let message = format!("`{name}` and `{}` exclude each other", other.name());
                self.source.error(span.clone(), message);
            }
            if let [first, ..] = needs
                && !needs.iter().any(|other| draft.has(*other))
            {
                let names: Vec<String> =
                    needs.iter().map(|other| format!("`{}`", other.name())).collect();
                let message = format!("`{name}` needs {}", names.join(" or "));
                let hint = format!("add `{} = {}`", first.name(), first.info().example);
                self.source.error_with(span.clone(), message, hint);
            }
        }
    }

    /// Reports what needs a packet in a rule that acts on a timer.
    fn timed(&mut self) {
        let draft = self.draft;
        if draft.rule.conditions.timer.is_none() {
            return;
        }
        for (key, span) in draft.keys.iter().filter(|(key, _)| !key.info().timed) {
            let message = format!("`{}` needs a packet; a rule with `timer` has none", key.name());
            self.source.error(span.clone(), message);
        }
        for (send, span) in draft.rule.actions.send.iter().zip(&draft.send) {
            if send.before {
                let message = "`place` needs a packet; a rule with `timer` has none";
                self.source.error(span.clone(), message);
            }
        }
        let Some(when) = &draft.rule.when else { return };
        let holds = |index: &&FieldIndex| {
            let unknown = when.possible(index).unknown;
            unknown.iter().any(|(_, direction)| *direction == Direction::Clientbound)
        };
        if !self.protocols.iter().any(holds) {
            let message = "this asks about a packet; a rule with `timer` has none";
            let hint = "it can ask about `pkt.state`, `pkt.protocol` and `session`".to_owned();
            self.source.error_with(draft.span_of(RuleKey::When), message, hint);
        }
    }

    /// Reports changes to packets that the connection depends on.
    fn driving(&mut self) {
        let actions = &self.draft.rule.actions;
        if !actions.changes() && actions.send.is_empty() && actions.close.is_none() {
            return;
        }
        let refusal =
            |(_, packet): (_, &PacketType)| Some((packet.name().clone(), self.refusal(packet)?));
        let refusals: Vec<Option<_>> = self.packets().map(refusal).collect();
        let refused: BTreeSet<_> = refusals.iter().flatten().collect();
        let Some((name, (key, why))) = refused.first() else { return };
        let (span, key) = (self.draft.span_of(*key), key.name());
        let message = format!("`{key}` cannot work on `{name}`: {why}");
        if refusals.iter().all(Option::is_some) {
            self.source.error(span, message);
        } else {
            let names: BTreeSet<_> = refused.iter().map(|(name, _)| format!("`{name}`")).collect();
            let names = names.into_iter().collect::<Vec<_>>().join(", ");
            let needed = if refused.len() == 1 { "it" } else { "them" };
            let message = format!(
                "`{key}` does not apply to {names}: the connection would break without {needed}"
            );
            self.source.warning(span, message, None);
        }
    }

    /// Returns the action that is impossible on a packet, and the reason.
    fn refusal(&self, packet: &PacketType) -> Option<(RuleKey, &'static str)> {
        let role = packet.role()?;
        let actions = &self.draft.rule.actions;
        let first = Some(RuleKey::Drop).filter(|_| actions.drop);
        let rewrite = self.draft.first_of(KeyKind::Rewrites);
        let late = self.draft.first_of(KeyKind::Late);
        let any = first.or(rewrite).or(late);
        match role {
            Role::Handshake => {
                let why = "without it the server does not know what the connection is for";
                if let Some(key) = first {
                    return Some((key, why));
                }
                if let Some(key) = late {
                    return Some((key, "nothing can be sent before it, and only once"));
                }
                let fixed = |name: &str| matches!(name, "protocolVersion" | "nextState");
                let set = actions.set.iter().any(|(path, _)| {
                    matches!(path.steps().first(), Some(PathStep::Name(name)) if fixed(name))
                });
                let other = |key: &RuleKey| *key != RuleKey::Set && self.draft.has(*key);
                let other = RuleKey::of(KeyKind::Rewrites).find(other);
                let key = if set { Some(RuleKey::Set) } else { other };
                key.map(|key| (key, "the proxy has read version and next state from it already"))
            }
            Role::LoginSuccess => first
                .map(|key| (key, "without it the client does not enter the game"))
                .or_else(|| late.map(|key| (key, "what comes next is read by it"))),
            Role::EncryptionRequest | Role::EncryptionResponse | Role::EncryptionStarted => any
                .or_else(|| {
                    [RuleKey::Send, RuleKey::Close].into_iter().find(|key| self.draft.has(*key))
                })
                .map(|key| (key, "the proxy exchanges keys with each side by it")),
            Role::SetCompression => {
                any.map(|key| (key, "both sides must begin to compress at the same packet"))
            }
            Role::BundleDelimiter => {
                any.map(|key| (key, "the client waits for the end of what it begins"))
            }
            role if role.drives() => any.map(|key| (key, "it changes what the next ids mean")),
            _ => None,
        }
    }

    fn paths(&mut self) {
        let draft = self.draft;
        let actions = &draft.rule.actions;
        for ((path, template), (key, value)) in actions.set.iter().zip(&draft.set) {
            let shapes: Vec<_> = self
                .packets()
                .flat_map(|(protocol, packet)| {
                    holders(protocol, packet, path.steps()).map(|(packet, steps, shape)| {
                        let components = Components::of(protocol, packet);
                        (shape, components, steps, components.resolved(steps, template))
                    })
                })
                .collect();
            if shapes.is_empty() {
                let hint = self.closest_field(path.steps());
                let message = format!("no packet that this rule can match has a field `{path}`");
                self.source.error_with(key.clone(), message, hint);
                continue;
            }
            if path.pointer.is_some() {
                let holds = |shape: &Shape<'_>| {
                    shape.kinds().has(Kind::Text) || shape.kinds().has(Kind::Nbt)
                };
                if !shapes.iter().any(|(shape, ..)| holds(shape)) {
                    let message = "`#` needs a field that holds JSON or a component";
                    self.source.error(key.clone(), message);
                }
                continue;
            }
            let faults: Option<Vec<EditError>> = shapes
                .iter()
                .map(|(shape, components, steps, template)| match components.shape_at(steps) {
                    Some(_) => fits(shape, template, *components, &mut names(steps)).err(),
                    // Within NBT, a tag can have any type.
                    None => None,
                })
                .collect();
            if let Some(fault) = faults.and_then(|faults| faults.into_iter().next()) {
                let hint = self.names(path.steps(), template);
                self.source.error_with(value.clone(), format!("`{path}`: {fault}"), hint);
            }
        }
        for (path, key) in actions.remove.iter().zip(&draft.remove) {
            let found = self
                .packets()
                .any(|(protocol, packet)| holders(protocol, packet, path.steps()).next().is_some());
            if !found {
                let hint = self.closest_field(path.steps());
                let message = format!("no packet that this rule can match has a field `{path}`");
                self.source.error_with(key.clone(), message, hint);
            }
        }
    }

    /// The versions in which the rule can match, each once.
    fn versions(&self) -> Vec<&Protocol> {
        let mut versions: Vec<&Protocol> = self.packets().map(|(it, _)| it).collect();
        versions.dedup_by(|a, b| std::ptr::eq(*a, *b));
        versions
    }

    /// Returns whether a version since 1.7 in which the rule can match lacks what the rule sets or sends.
    fn lacks(&self) -> bool {
        let versions = self.versions();
        self.made(&versions).iter().any(|made| made.lacking(&versions).next().is_some())
    }

    /// Reports what the rule sets or sends and not all versions have in which it can match.
    fn warn_of_gaps(&mut self, vocabulary: &Vocabulary<'_>) {
        let versions = self.versions();
        let mut gaps = Vec::new();
        for made in self.made(&versions) {
            // If none has it, that is an error of its own.
            if made.lacking(&versions).next().is_none() || !made.had.contains(&true) {
                continue;
            }
            let had = versions.iter().zip(&made.had).filter(|(_, had)| **had);
            let had: BTreeSet<i32> = had.map(|(version, _)| version.version()).collect();
            let releases = vocabulary.catalog.releases_where(|version| had.contains(&version));
            if let Some(releases) = releases.filter(|it| !it.is_empty()) {
                let what = made.what;
                let message =
                    format!("only versions {releases} have {what}: it is left out in others");
                gaps.push((made.span, message));
            }
        }
        gaps.into_iter().for_each(|(span, message)| self.source.warning(span, message, None));
    }

    /// Returns the fields that the rule sets and the packets that it sends.
    fn made(&self, versions: &[&Protocol]) -> Vec<Made> {
        let actions = &self.draft.rule.actions;
        let packets = |version: &Protocol| {
            let own = self.packets().filter(|(it, _)| std::ptr::eq(*it, version));
            own.map(|(_, packet)| packet).collect::<Vec<_>>()
        };
        let fields = actions.set.iter().zip(&self.draft.set).map(|((path, _), (key, _))| {
            let has = |version: &&Protocol| {
                let holds = |it: &PacketType| holders(version, it, path.steps()).next().is_some();
                packets(version).into_iter().any(holds)
            };
            let had = versions.iter().map(has).collect();
            Made { what: format!("a field `{path}`"), span: key.clone(), had }
        });
        let sends = actions.send.iter().zip(&self.draft.send).filter_map(|(send, span)| {
            let Body::Fields(Some(name), _) = &send.body else { return None };
            let has = |version: &&Protocol| {
                let state = |it: &PacketType| {
                    version.named_or_official(it.state(), send.direction, name).is_some()
                };
                packets(version).into_iter().any(state)
            };
            let what = format!("a {} packet `{name}`", send.direction);
            Some(Made { what, span: span.clone(), had: versions.iter().map(has).collect() })
        });
        fields.chain(sends).collect()
    }

    /// Returns the names that the values of a field have, if a text stands where none of them does.
    fn names(&self, steps: &[PathStep], template: &Template) -> Option<String> {
        let Template::Value(Value::Text(text)) = template else { return None };
        let of = |(protocol, packet)| Components::of(protocol, packet).names(steps);
        let names: BTreeSet<&str> = self.packets().flat_map(of).collect();
        suggestion(text, &names, "its names are")
    }

    fn closest_field(&self, steps: &[PathStep]) -> Option<String> {
        let known = (0..steps.len()).rev().find(|length| {
            self.packets().any(|(protocol, packet)| {
                holders(protocol, packet, &steps[..*length]).next().is_some()
            })
        })?;
        let PathStep::Name(name) = &steps[known] else { return None };
        let mut names = BTreeSet::new();
        for (protocol, packet) in self.packets() {
            for (_, _, shape) in holders(protocol, packet, &steps[..known]) {
                names.extend(shape.fields().into_iter().map(|(name, _)| name.to_string()));
            }
        }
        suggestion(name, &names.iter().map(String::as_str).collect(), "it has")
    }

    fn bodies(&mut self) {
        let draft = self.draft;
        if let Some(Body::Fields(name, template)) = &draft.rule.actions.replace {
            let own: Vec<(State, Direction, String)> = self
                .packets()
                .map(|(_, packet)| {
                    let own = name.as_deref().unwrap_or(packet.name());
                    (packet.state(), packet.direction(), own.to_owned())
                })
                .collect();
            self.body(own, template, draft.span_of(RuleKey::Replace));
        }
        for (send, span) in draft.rule.actions.send.iter().zip(&draft.send) {
            let Body::Fields(Some(name), template) = &send.body else { continue };
            let states: BTreeSet<State> =
                self.packets().map(|(_, packet)| packet.state()).collect();
            let targets = states.into_iter().map(|state| (state, send.direction, name.to_string()));
            self.body(targets.collect(), template, span.clone());
        }
    }

    /// Checks a packet that the rule makes, which is one of `targets`.
    fn body(
        &mut self,
        mut targets: Vec<(State, Direction, String)>,
        template: &Template,
        span: Range<usize>,
    ) {
        targets.sort();
        targets.dedup();
        let mut faults = Vec::new();
        let mut known = false;
        for protocol in self.versions() {
            for (state, direction, name) in &targets {
                let packet = protocol.named_or_official(*state, *direction, name);
                let Some(packet) = packet else { continue };
                known = true;
                match encodes(protocol, packet, template) {
                    Ok(()) => return,
                    Err(why) => faults.push(format!("`{name}`: {why}")),
                }
            }
        }
        if known {
            let message = faults.into_iter().next().unwrap_or_default();
            return self.source.error(span, message);
        }
        let Some((state, direction, name)) = targets.first() else { return };
        let mut names = BTreeSet::new();
        let (mut elsewhere, mut unreached) = (None, false);
        for protocol in self.protocols.iter().map(|index| index.protocol()) {
            for packet in protocol.packets().iter().filter(|it| it.direction() == *direction) {
                names.insert(packet.name().to_string());
                if **packet.name() == **name {
                    elsewhere = Some(packet.state());
                    unreached |= packet.state() == *state;
                }
            }
        }
        match elsewhere {
            Some(_) if unreached => {
                let message =
                    format!("no version in which this rule can match has a {direction} `{name}`");
                self.source.error(span, message);
            }
            Some(other) => {
                let message = format!(
                    "`{name}` is a packet of state {other}; this rule matches in state {state}"
                );
                self.source.error(span, message);
            }
            None => {
                let hint = did_you_mean(name, names.iter().map(String::as_str));
                let message = format!("there is no {direction} packet `{name}`");
                self.source.error_with(span, message, hint);
            }
        }
    }
}
