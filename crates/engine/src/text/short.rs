use std::fmt::Write as _;
use std::ops::Range;

use super::component::Components;
use super::cut::cut;
use super::escape::{Escaped, QuotedText};
use super::plural::count;
use super::scalar::{ByteSize, write_scalar};
use mitmcraft_protocol::meaning::{About, FieldTracker};
use mitmcraft_protocol::packet::{Content, Packet, Undecoded};
use mitmcraft_protocol::schema::{Flow, Leaf, Name, Scalar, Visitor};

/// Appends a packet's fields on one line, or the number of bytes if it has no fields. Text components
/// have their colours if `color`, and what values mean stands behind them if `meanings`;
/// `about` is what earlier packets say about it.
///
/// # Errors
/// [`Undecoded`] if the packet does not decode; the fields before the error have been appended.
pub(super) fn write_short(
    out: &mut String,
    packet: &Packet,
    color: bool,
    meanings: bool,
    about: Option<About>,
) -> Result<(), Undecoded> {
    out.push(' ');
    if let Content::Raw(bytes, _) = packet.content() {
        let _ = write!(out, "[{}]", ByteSize(bytes.len() as u64));
    }
    let tracker = match meanings {
        true => FieldTracker::new(packet).about(about),
        false => FieldTracker::default(),
    };
    let (components, name, maps, list) = (Components::of(packet), None, Vec::new(), None);
    let mut fields = ShortFields { out, components, tracker, color, name, maps, list };
    let walked = packet.walk_with_payload(&mut fields);
    fields.finish();
    walked
}

/// Writes fields on one line: `x=-9 text="hi" items=[3 items] at=1,64,-7`.
struct ShortFields<'o> {
    out: &'o mut String,
    components: Components,
    tracker: FieldTracker,
    color: bool,
    /// The name of the field whose value comes next.
    name: Option<Name>,
    /// The open containers, the packet itself first.
    maps: Vec<OpenMap>,
    /// The list whose elements are not shown one by one, if one is open.
    list: Option<OpenList>,
}

/// The outermost of the open lists that are printed as their number of elements, or, if each element is a
/// text or has a `name`, as these texts.
struct OpenList {
    /// The offset of its text in the output.
    start: usize,
    /// The number of lists and containers that are open, itself included.
    depth: usize,
    /// The number of its elements so far.
    count: usize,
    /// The number of texts printed so far.
    shown: usize,
    /// `true` if the text of the present element has been printed.
    is_shown: bool,
    /// `true` if the field whose value comes next is a `name`.
    is_name: bool,
}

/// An open container.
struct OpenMap {
    /// The offset of its text in the output.
    start: usize,
    /// Where the values of `x`, `y` and `z` are in the output.
    axes: [Range<usize>; 3],
    /// The meanings of those values that have one.
    meanings: Vec<String>,
    /// `true` if one of them says more than the number does.
    tell: bool,
    /// `true` if it has any other field.
    other: bool,
}

impl ShortFields<'_> {
    /// Closes containers that an error left open.
    fn finish(mut self) {
        if let Some(list) = self.list.take() {
            self.out.truncate(list.start);
            let _ = write!(self.out, "[{} items ..]", list.count);
        }
        for _ in 1..self.maps.len() {
            self.out.push_str(" ..}");
        }
    }

    /// Writes a space and the name before a value.
    fn begin(&mut self) {
        if !self.out.ends_with(['{', ' ']) {
            self.out.push(' ');
        }
        if let Some(name) = &self.name {
            let _ = write!(self.out, "{}=", Escaped(name));
        }
    }

    /// Notes a value of the innermost container.
    fn note(&mut self, value: Range<usize>, number: bool) {
        let Some(map) = self.maps.last_mut() else { return };
        let axis = match self.name.take().as_deref() {
            Some("x") if number => 0,
            Some("y") if number => 1,
            Some("z") if number => 2,
            _ => {
                map.other = true;
                return;
            }
        };
        map.axes[axis] = value;
    }

    /// Takes an element of a list that is not shown one by one. Returns `false` if none is open.
    fn take_element(&mut self, text: Option<&Scalar<'_>>) -> bool {
        let Some(list) = &mut self.list else { return false };
        if list.depth == 1 {
            list.count += 1;
            list.is_shown = false;
        } else if !std::mem::take(&mut list.is_name) || list.is_shown {
            return true;
        }
        let fits = self.out.len() - list.start <= MAX_TEXTS;
        if let Some(text) = text.filter(|_| fits && list.shown + 1 == list.count) {
            self.out.push(if list.count == 1 { '[' } else { ' ' });
            write_scalar(self.out, text, None, None, 0, MAX_TEXT, false);
            list.shown += 1;
            list.is_shown = true;
        }
        true
    }

    /// Enters a list or container within a list that is not shown one by one. Returns `false` if none is
    /// open.
    fn enter(&mut self) -> bool {
        if !self.take_element(None) {
            return false;
        }
        if let Some(list) = &mut self.list {
            list.depth += 1;
        }
        true
    }
}

impl Visitor for ShortFields<'_> {
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow {
        let text = matches!(leaf.value, Scalar::Text(..) | Scalar::Name(..)).then_some(&leaf.value);
        if self.take_element(text) {
            return Flow::Continue(());
        }
        let meaning = self.tracker.leaf(leaf);
        if matches!(leaf.value, Scalar::Absent) {
            self.name = None;
            return Flow::Continue(());
        }
        self.begin();
        let start = self.out.len();
        let (name, width) = (self.name.as_ref(), leaf.wire.len());
        match self.components.read(&leaf.value, name) {
            Some(component) => {
                let _ =
                    write!(self.out, "{}", QuotedText(&component.text, MAX_COMPONENT, self.color));
                if let Some(about) = &component.about {
                    let _ = write!(self.out, " ({})", Escaped(about));
                }
            }
            None => match leaf.value {
                Scalar::Float32(float) => {
                    write_rounded(self.out, float.into(), &format!("{float:?}"))
                }
                Scalar::Float64(float) => write_rounded(self.out, float, &format!("{float:?}")),
                _ => write_scalar(self.out, &leaf.value, meaning, name, width, MAX_TEXT, false),
            },
        }
        let number = matches!(leaf.value, Scalar::Int(_) | Scalar::Float32(_) | Scalar::Float64(_));
        self.note(start..self.out.len(), number);
        if let Some(text) = self.tracker.words(meaning, &leaf.value) {
            let text = Escaped(text).to_string();
            let repeats = number && repeats(&text, &self.out[start..]);
            if !repeats {
                let _ = write!(self.out, " ({text})");
            }
            if let Some(map) = self.maps.last_mut() {
                map.tell |= !repeats;
                map.meanings.push(text);
            }
        }
        Flow::Continue(())
    }

    fn field(&mut self, name: &Name) -> Flow {
        if let Some(list) = &mut self.list {
            list.is_name = **name == *"name";
            return Flow::Continue(());
        }
        self.tracker.field(name);
        self.name = Some(Name::clone(name));
        Flow::Continue(())
    }

    fn open_map(&mut self, _at: usize) -> Flow {
        if self.enter() {
            return Flow::Continue(());
        }
        self.tracker.open_map();
        if !self.maps.is_empty() {
            self.begin();
            self.note(0..0, false);
        }
        let start = self.out.len();
        if !self.maps.is_empty() {
            self.out.push('{');
        }
        let axes = [0..0, 0..0, 0..0];
        self.maps.push(OpenMap { start, axes, meanings: Vec::new(), tell: false, other: false });
        Flow::Continue(())
    }

    fn close(&mut self, _at: usize) -> Flow {
        if let Some(list) = &mut self.list {
            list.depth -= 1;
            if list.depth > 0 {
                return Flow::Continue(());
            }
            let fits = self.out.len() - list.start <= MAX_TEXTS;
            if fits && list.shown == list.count && list.count > 0 {
                self.out.push(']');
            } else {
                self.out.truncate(list.start);
                let _ = write!(self.out, "[{}]", count(list.count as u64, "item"));
            }
            self.list = None;
            return Flow::Continue(());
        }
        self.tracker.close();
        let Some(map) = self.maps.pop() else { return Flow::Continue(()) };
        if self.maps.is_empty() {
            return Flow::Continue(());
        }
        if !map.other && map.axes.iter().all(|value| !value.is_empty()) {
            let position = map.axes.map(|value| self.out[value].to_owned()).join(",");
            self.out.truncate(map.start);
            self.out.push_str(&position);
            if map.tell {
                let _ = write!(self.out, " ({})", with_one_unit(&map.meanings));
            }
            return Flow::Continue(());
        }
        cut(self.out, map.start, MAX_NESTED);
        self.out.push('}');
        Flow::Continue(())
    }

    fn open_list(&mut self, _at: usize, _count: Option<usize>) -> Flow {
        if self.enter() {
            return Flow::Continue(());
        }
        self.tracker.skip();
        self.begin();
        self.note(0..0, false);
        let start = self.out.len();
        let (depth, count, shown, is_shown, is_name) = (1, 0, 0, false, false);
        self.list = Some(OpenList { start, depth, count, shown, is_shown, is_name });
        Flow::Continue(())
    }
}

/// Appends a floating-point number with three decimals at most, unless only its exponent says how small
/// it is. `exact` is all of it.
fn write_rounded(out: &mut String, number: f64, exact: &str) {
    let decimals = exact.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let rounded = format!("{number:.3}");
    if decimals <= 3 || exact.contains('e') || rounded.bytes().all(|byte| b"-0.".contains(&byte)) {
        out.push_str(exact);
        return;
    }
    let shown = rounded.trim_end_matches('0');
    out.push_str(shown);
    if shown.ends_with('.') {
        out.push('0');
    }
}

/// Returns whether a meaning is the number itself, with or without a unit: `0°`, `15 s`.
fn repeats(meaning: &str, number: &str) -> bool {
    let end =
        meaning.find(|it: char| !matches!(it, '0'..='9' | '-' | '.')).unwrap_or(meaning.len());
    let (first, unit) = meaning.split_at(end);
    let equal = matches!((first.parse::<f64>(), number.parse::<f64>()), (Ok(a), Ok(b)) if a == b);
    equal && !unit.contains(|it: char| it.is_ascii_digit() || it == '%')
}

/// Joins numbers of the same unit: `0.1 blocks` and `2 blocks` to `0.1,2 blocks`.
fn with_one_unit(texts: &[String]) -> String {
    let unit = |text: &str| text.find(' ').unwrap_or(text.len());
    let number = |text: &String| text[..unit(text)].to_owned();
    let last = texts.last().map_or("", |text| &text[unit(text)..]);
    format!("{}{last}", texts.iter().map(number).collect::<Vec<_>>().join(","))
}

/// Greatest number of characters shown of a text.
const MAX_TEXT: usize = 60;

/// Greatest number of characters shown of a text component: all that a player can say.
const MAX_COMPONENT: usize = 256;

/// Greatest number of bytes of a list of texts.
const MAX_TEXTS: usize = 80;

/// Greatest number of columns of a nested container.
const MAX_NESTED: usize = 80;
