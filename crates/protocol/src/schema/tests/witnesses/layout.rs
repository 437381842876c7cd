//! Layouts as sequences of wire types, without the names that a table or a program gives to fields.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};

/// One part of a layout.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    /// A value that needs no other one to be read, for example `varint`.
    Leaf { wire: String, label: Option<String>, at: String },
    /// Parts that belong together, for example those behind a bool.
    Group { kind: Kind, parts: Vec<Vec<Self>>, label: Option<String>, at: String },
    /// Parts that depend on an earlier value.
    Switch { on: On, cases: BTreeMap<Key, Vec<Self>>, at: String },
    /// A layout with a name, because it can contain itself.
    Named { name: String, at: String },
}

/// The parts of a switch by value.
pub(super) type Cases = BTreeMap<Key, Vec<Node>>;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    /// A bool, and the part if it is true.
    Option,
    List(Count),
    /// Elements up to a byte that ends them.
    Until(u8),
    /// Elements whose first byte has bit 7 set if another follows.
    TopBit,
    /// A VarInt, and the part if it is 0.
    Holder,
    /// A VarInt, and the first part if it is 0; otherwise one less of the second.
    Set,
    /// The part if bytes are left.
    More,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Count {
    Fixed(usize),
    /// The wire type of the number before the elements.
    Prefix(String),
    /// The label of an earlier number.
    Label(String),
}

/// The value on which a switch depends: all of it, or some of its bits.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct On {
    pub(super) label: String,
    pub(super) mask: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Int(i64),
    Text(String),
    Negative,
    Else,
}

impl Node {
    pub(super) fn at(&self) -> &str {
        match self {
            Self::Leaf { at, .. }
            | Self::Group { at, .. }
            | Self::Switch { at, .. }
            | Self::Named { at, .. } => at,
        }
    }

    pub(super) fn label(&self) -> Option<&String> {
        match self {
            Self::Leaf { label, .. } | Self::Group { label, .. } => label.as_ref(),
            _ => None,
        }
    }
}

/// Returns the layout of a switch's case.
pub(super) fn case<'n>(cases: &'n Cases, key: &Key) -> &'n [Node] {
    let negative = matches!(key, Key::Int(..0)).then(|| cases.get(&Key::Negative)).flatten();
    cases.get(key).or(negative).or_else(|| cases.get(&Key::Else)).map_or(&[], Vec::as_slice)
}

/// Joins what belongs together, so that the same bytes have the same layout: neighbouring switches on the
/// same value, a bool and a switch on it, and arrays of a few elements.
pub(super) fn normal(nodes: Vec<Node>) -> Vec<Node> {
    options(joined(nodes))
}

/// Joins neighbouring switches on the same value, and writes out short arrays.
fn joined(nodes: Vec<Node>) -> Vec<Node> {
    let mut done: Vec<Node> = Vec::new();
    for node in nodes {
        match node {
            Node::Switch { on, cases, at } => {
                let mut cases: Cases =
                    cases.into_iter().map(|(key, nodes)| (key, joined(nodes))).collect();
                if cases.len() == 1
                    && let Some(nodes) = cases.remove(&Key::Else)
                {
                    done.extend(nodes);
                    continue;
                }
                match done.last_mut() {
                    Some(Node::Switch { on: before, cases: earlier, .. }) if *before == on => {
                        let both = |key: Key| {
                            let nodes = [case(earlier, &key), case(&cases, &key)].concat();
                            (key, joined(nodes))
                        };
                        *earlier = keys(earlier, &cases).into_iter().map(both).collect();
                    }
                    _ => done.push(Node::Switch { on, cases, at }),
                }
            }
            Node::Group { kind: Kind::List(Count::Fixed(count)), parts, .. }
                if count <= MAX_UNROLLED =>
            {
                let element = joined(parts.concat());
                (0..count).for_each(|_| done.extend(element.iter().cloned()));
            }
            Node::Group { kind: Kind::List(Count::Label(count)), parts, label, at } if matches!(done.last(), Some(Node::Leaf { label: Some(label), .. }) if *label == count) =>
            {
                // The number stands right before the elements.
                let Some(Node::Leaf { wire, .. }) = done.pop() else {
                    unreachable!("the last part is a leaf")
                };
                let parts = parts.into_iter().map(joined).collect();
                done.push(Node::Group { kind: Kind::List(Count::Prefix(wire)), parts, label, at });
            }
            Node::Group { kind: Kind::Holder, parts, at, .. } => {
                // The number is 0 if the value itself follows.
                let label = format!("holder#{}", unique());
                let on = On { label: label.clone(), mask: None };
                done.push(Node::Leaf { wire: "varint".into(), label: Some(label), at: at.clone() });
                let inline = joined(parts.concat());
                let cases = BTreeMap::from([(Key::Int(0), inline), (Key::Else, Vec::new())]);
                done.push(Node::Switch { on, cases, at });
            }
            Node::Group { kind, parts, label, at } => {
                let parts = parts.into_iter().map(joined).collect();
                done.push(Node::Group { kind, parts, label, at });
            }
            node => done.push(node),
        }
    }
    done
}

/// Replaces a bool and a switch with parts for `true` alone by an option, and removes switches without parts.
fn options(nodes: Vec<Node>) -> Vec<Node> {
    let mut done: Vec<Node> = Vec::new();
    for node in nodes {
        match node {
            Node::Switch { on, cases, at } => {
                let cases: BTreeMap<_, _> =
                    cases.into_iter().map(|(key, nodes)| (key, options(nodes))).collect();
                if cases.values().all(Vec::is_empty) {
                    continue;
                }
                let only_true = cases.iter().all(|(key, it)| *key == Key::Int(1) || it.is_empty());
                let on_bool = on.mask.is_none()
                    && matches!(done.last(), Some(Node::Leaf { wire, label, .. })
                        if wire == "bool" && label.as_ref() == Some(&on.label));
                if on.mask.is_none() && within_option(done.last_mut(), &on, &cases, &at) {
                    continue;
                }
                if on_bool && only_true {
                    done.pop();
                    let parts = vec![case(&cases, &Key::Int(1)).to_vec()];
                    let label = Some(on.label);
                    done.push(Node::Group { kind: Kind::Option, parts, label, at });
                } else {
                    done.push(Node::Switch { on, cases, at });
                }
            }
            Node::Group { kind, parts, label, at } => {
                let parts = parts.into_iter().map(options).collect();
                done.push(Node::Group { kind, parts, label, at });
            }
            node => done.push(node),
        }
    }
    done
}

/// Moves a switch on the value of the option before it, which needs no parts if there is none, into the option.
fn within_option(last: Option<&mut Node>, on: &On, cases: &Cases, at: &str) -> bool {
    let Some(Node::Group { kind: Kind::Option, parts, label, .. }) = last else { return false };
    let [part] = &mut parts[..] else { return false };
    let [Node::Leaf { label: inner, .. }] = &mut part[..] else { return false };
    if label.as_ref() != Some(&on.label) || !case(cases, &Key::Else).is_empty() {
        return false;
    }
    *inner = label.take();
    part.push(Node::Switch { on: on.clone(), cases: cases.clone(), at: at.into() });
    true
}

/// Returns the keys of both switches, and the one for all others.
pub(super) fn keys(a: &Cases, b: &Cases) -> Vec<Key> {
    let mut keys: Vec<Key> = a.keys().chain(b.keys()).cloned().chain([Key::Else]).collect();
    keys.sort();
    keys.dedup();
    keys
}

/// Returns the layout with all switches on `on` decided, and those on its bits if `on` is the whole value.
pub(super) fn decided(nodes: &[Node], on: &On, key: &Key) -> Vec<Node> {
    let mut done = Vec::new();
    for node in nodes {
        match node {
            Node::Switch { on: other, cases, .. } if other == on => {
                done.extend(decided(case(cases, key), on, key));
            }
            Node::Switch { on: On { label, mask: Some(mask) }, cases, .. }
                if *label == on.label && on.mask.is_none() =>
            {
                // A value without a case of its own is taken to have other bits.
                let value = if let Key::Int(int) = key { *int } else { 0 };
                let bits = (value & mask.cast_signed()) >> mask.trailing_zeros();
                done.extend(decided(case(cases, &Key::Int(bits)), on, key));
            }
            Node::Switch { on: other, cases, at } => {
                let decide =
                    |(of, nodes): (&Key, &Vec<Node>)| (of.clone(), decided(nodes, on, key));
                let cases = cases.iter().map(decide).collect();
                done.push(Node::Switch { on: other.clone(), cases, at: at.clone() });
            }
            Node::Group { kind, parts, label, at } => {
                let parts = parts.iter().map(|part| decided(part, on, key)).collect();
                let (kind, label, at) = (kind.clone(), label.clone(), at.clone());
                done.push(Node::Group { kind, parts, label, at });
            }
            node => done.push(node.clone()),
        }
    }
    done
}

/// Returns the layout with labels that no other layout has.
pub(super) fn labelled(nodes: &[Node]) -> Vec<Node> {
    fn within(nodes: &[Node], number: u32) -> Vec<Node> {
        let fresh = |label: &String| format!("{}#{number}", plain(label));
        let one = |node: &Node| match node {
            Node::Leaf { wire, label, at } => {
                let label = label.as_ref().map(fresh);
                Node::Leaf { wire: wire.clone(), label, at: at.clone() }
            }
            Node::Group { kind, parts, label, at } => {
                let kind = match kind {
                    Kind::List(Count::Label(label)) => Kind::List(Count::Label(fresh(label))),
                    kind => kind.clone(),
                };
                let parts = parts.iter().map(|part| within(part, number)).collect();
                Node::Group { kind, parts, label: label.as_ref().map(fresh), at: at.clone() }
            }
            Node::Switch { on, cases, at } => {
                let on = On { label: fresh(&on.label), mask: on.mask };
                let cases = cases.iter().map(|(key, part)| (key.clone(), within(part, number)));
                Node::Switch { on, cases: cases.collect(), at: at.clone() }
            }
            named @ Node::Named { .. } => named.clone(),
        };
        nodes.iter().map(one).collect()
    }
    within(nodes, unique())
}

/// Returns the bits of an integer of fixed width.
pub(super) fn width(node: &Node) -> Option<u32> {
    let Node::Leaf { wire, .. } = node else { return None };
    if wire == "uuid" { Some(128) } else { wire.strip_prefix(['i', 'u', 'x'])?.parse().ok() }
}

/// Returns the masks of all switches on bits of a value.
pub(super) fn masks(nodes: &[Node], label: &str) -> Vec<u64> {
    let mut found = Vec::new();
    for node in nodes {
        match node {
            Node::Switch { on, cases, .. } => {
                found.extend(on.mask.filter(|_| on.label == label));
                cases.values().for_each(|nodes| found.extend(masks(nodes, label)));
            }
            Node::Group { parts, .. } => {
                parts.iter().for_each(|nodes| found.extend(masks(nodes, label)));
            }
            _ => {}
        }
    }
    found
}

/// Returns whether two wire types are the same as far as the witness can tell: `x8` is a byte of which it
/// does not say whether it is signed.
pub(super) fn alike(a: &str, b: &str) -> bool {
    let width = |wire: &str| wire.strip_prefix(['i', 'u', 'x'])?.parse::<u8>().ok();
    a == b
        || ((a.starts_with('x') || b.starts_with('x'))
            && width(a).is_some()
            && width(a) == width(b))
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = |f: &mut fmt::Formatter<'_>| match self.label() {
            Some(label) => write!(f, "{}=", plain(label)),
            None => Ok(()),
        };
        match self {
            Self::Leaf { wire, .. } => {
                label(f)?;
                f.write_str(wire)
            }
            Self::Group { kind, parts, .. } => {
                let parts: Vec<String> = parts.iter().map(|part| text(part)).collect();
                let parts = parts.join(" | ");
                label(f)?;
                match kind {
                    Kind::Option => write!(f, "?({parts})"),
                    Kind::List(Count::Fixed(count)) => write!(f, "[{count}: {parts}]"),
                    Kind::List(Count::Prefix(of) | Count::Label(of)) => {
                        write!(f, "[{of}: {parts}]")
                    }
                    Kind::Until(end) => write!(f, "until{end}({parts})"),
                    Kind::TopBit => write!(f, "topbit({parts})"),
                    Kind::Holder => write!(f, "holder({parts})"),
                    Kind::Set => write!(f, "set({parts})"),
                    Kind::More => write!(f, "more({parts})"),
                }
            }
            Self::Switch { on, cases, .. } => {
                let cases: Vec<String> =
                    cases.iter().map(|(key, nodes)| format!("{key}: {}", text(nodes))).collect();
                write!(f, "{{{on} {}}}", cases.join(" | "))
            }
            Self::Named { name, .. } => write!(f, "@{name}"),
        }
    }
}

impl fmt::Display for On {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.mask {
            Some(mask) => write!(f, "{}&{mask}", plain(&self.label)),
            None => f.write_str(plain(&self.label)),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(int) => write!(f, "{int}"),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Negative => f.write_str("negative"),
            Self::Else => f.write_str("else"),
        }
    }
}

/// A label without the number that makes it unique.
fn plain(label: &str) -> &str {
    label.split('#').next().unwrap_or(label)
}

/// Formats a layout.
pub(super) fn text(nodes: &[Node]) -> String {
    nodes.iter().map(Node::to_string).collect::<Vec<_>>().join(" ")
}

/// Formats a layout and those that it names, with numbers instead of the names: layouts of different tables have the
/// same text if they are the same.
pub(super) fn whole(nodes: &[Node], named: impl Fn(&str) -> Vec<Node>) -> String {
    let (mut done, mut names) = (String::new(), Vec::new());
    let mut nodes = nodes.to_vec();
    for next in 0.. {
        let text = text(&nodes);
        let mut parts = text.split('@');
        done.extend(parts.next());
        for part in parts {
            let end = part.find(|char: char| !char.is_alphanumeric()).unwrap_or(part.len());
            let (name, rest) = part.split_at(end);
            let known = names.iter().position(|it| it == name);
            let number = known.unwrap_or(names.len());
            if known.is_none() {
                names.push(name.to_owned());
            }
            done += &format!("@{number}{rest}");
        }
        let Some(name) = names.get(next) else { break };
        nodes = named(name);
        done.push('\n');
    }
    done
}

/// Returns another number each time, for labels.
pub(super) fn unique() -> u32 {
    static LABELS: AtomicU32 = AtomicU32::new(0);
    LABELS.fetch_add(1, Ordering::Relaxed)
}

/// Arrays of at most this many elements equal the same elements one after the other.
const MAX_UNROLLED: usize = 8;
