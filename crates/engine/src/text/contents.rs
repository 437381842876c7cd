use std::fmt::Write as _;

use super::escape::Escaped;
use super::plural::count;
use mitmcraft_protocol::contents::{Blocks, Column, Contents, Missing, Palette, Section};
use mitmcraft_protocol::packet::Packet;

/// Returns lines about the chunks that a packet contains; none if it contains none. With `whole`, every
/// section is shown, and how it looks from above.
#[must_use]
pub fn contents_lines(packet: &Packet, whole: bool) -> Vec<String> {
    let contents = match Contents::read(packet) {
        None => return Vec::new(),
        // The fields have the error.
        Some(Err(mitmcraft_protocol::contents::ContentsError::Undecoded(_))) => return Vec::new(),
        Some(Err(error)) => return vec![format!("contents: ! {error}")],
        Some(Ok(contents)) => contents,
    };
    let summary = contents.summary();
    let mut lines = Vec::new();
    let mut head = format!("contents: {}", place(&contents.columns));
    if summary.sections > 0 {
        let (blocks, volume) = (summary.blocks, summary.volume);
        let _ = write!(head, ", {}", count(summary.sections as u64, "section"));
        let _ = write!(head, ", {blocks} of {volume} blocks are not air");
    }
    if summary.invalid > 0 {
        let _ = write!(head, ", {} not in their palette", summary.invalid);
    }
    let light = summary.lit.iter().zip(["block", "sky"]).filter(|(lit, _)| **lit > 0);
    for (lit, kind) in light {
        let _ = write!(head, ", {kind} light of {}", count(*lit as u64, "section"));
    }
    if contents.columns.iter().any(|column| column.missing == Missing::Unloaded) {
        head.push_str(", unloaded");
    }
    lines.push(head);
    if summary.sections == 0
        && let [column] = &*contents.columns
    {
        let lights = [
            column.heights(|it| it.block_light.is_some()),
            column.heights(|it| it.sky_light.is_some()),
        ];
        for (heights, kind) in lights.iter().zip(["block", "sky"]).filter(|(it, _)| !it.is_empty())
        {
            let ranges = heights.iter().map(|(bottom, top)| format!("{bottom} to {top}"));
            lines.push(format!("    {kind} light: y {}", ranges.collect::<Vec<_>>().join(", ")));
        }
    }
    for (title, counts) in [("blocks", &summary.names), ("biomes", &summary.biomes)] {
        if !counts.is_empty() {
            lines.push(format!("    {title}: {}", listed(counts, FREQUENT)));
        }
    }
    if whole {
        for column in &contents.columns {
            let several = contents.columns.len() > 1;
            if several {
                lines.push(format!("    chunk {},{}", column.x, column.z));
            }
            column
                .sections
                .iter()
                .for_each(|section| write_section(&mut lines, &contents, section));
        }
    }
    lines
}

/// Returns which chunks these are: `chunk -9,12`.
fn place(columns: &[Column]) -> String {
    match columns {
        [column] => match &*column.sections {
            // Alpha sends boxes of any size.
            [section] if section.size != [16; 3] => {
                let ([x, y, z], [a, b, c]) = (section.origin, section.size);
                format!("{a} × {b} × {c} blocks at {x},{y},{z} in chunk {},{}", column.x, column.z)
            }
            _ => format!("chunk {},{}", column.x, column.z),
        },
        columns => count(columns.len() as u64, "chunk"),
    }
}

fn write_section(lines: &mut Vec<String>, contents: &Contents, section: &Section) {
    let Some(blocks) = &section.blocks else { return };
    let (bottom, height) = (section.origin[1], section.size[1]);
    let top = i64::from(bottom) + height as i64 - 1;
    let names = contents.names_in(section);
    let solid: usize = names.iter().map(|(_, count)| count).sum();
    let mut line = format!("    y {bottom} to {top}: {}", count(solid as u64, "block"));
    if let Some(declared) = section.declared.filter(|it| usize::try_from(*it) != Ok(solid)) {
        let _ = write!(line, " ({declared} declared)");
    }
    if let Blocks::Packed(container) = blocks {
        let _ = match &container.palette {
            Palette::Single(_) => write!(line, ", all the same"),
            Palette::Indirect(palette) => {
                write!(line, ", {} bits, palette of {}", container.bits, palette.len())
            }
            Palette::Direct => write!(line, ", {} bits, no palette", container.bits),
        };
    }
    if !names.is_empty() {
        let data = contents.data_in(section);
        let data = |name: &str| {
            let data = data.get(name).map(|data| format!(" ({})", listed(data, MAX_NAMES)));
            data.unwrap_or_default()
        };
        let _ = write!(line, ": {}", listed_with(&names, MAX_NAMES, data));
    }
    lines.push(line);
    write_view(lines, contents, section, &names);
}

/// Adds a view of a section from above: a letter for the highest block in each column.
fn write_view(
    lines: &mut Vec<String>,
    contents: &Contents,
    section: &Section,
    names: &[(String, usize)],
) {
    let ([x0, y0, z0], [width, height, depth]) = (section.origin, section.size);
    if names.is_empty() || width.max(depth) > MAX_VIEW {
        return;
    }
    let letter = |name: &str| {
        let place = names.iter().take(LETTERS.len()).position(|(it, _)| it == name);
        place.map_or('?', |place| char::from(LETTERS[place]))
    };
    let mut used = Vec::new();
    let mut rows = Vec::new();
    for z in 0..depth as i32 {
        let mut row = String::from("        ");
        for x in 0..width as i32 {
            let column = (0..height as i32).rev().find_map(|y| {
                let at = |axis: i32, by: i32| axis.wrapping_add(by);
                let state = section.state(at(x0, x), at(y0, y), at(z0, z))?;
                let name = contents.block_name(state);
                (!contents.is_air(state)).then_some(name)
            });
            row.push(column.map_or('.', |name| {
                let letter = letter(&name);
                if !used.iter().any(|(it, _)| *it == letter) {
                    used.push((letter, name));
                }
                letter
            }));
        }
        rows.push(row);
    }
    used.sort();
    let legend: Vec<String> =
        used.iter().map(|(letter, name)| format!("{letter} {}", Escaped(name))).collect();
    lines.push(format!("        from above, x to the right, z down: {}", legend.join(", ")));
    lines.extend(rows);
}

fn listed(counts: &[(String, usize)], most: usize) -> String {
    listed_with(counts, most, |_| String::new())
}

/// Lists counts by name, each followed by more about the name.
fn listed_with(counts: &[(String, usize)], most: usize, more: impl Fn(&str) -> String) -> String {
    let shown = counts.iter().take(most);
    let mut shown: Vec<String> =
        shown.map(|(name, count)| format!("{} {count}{}", Escaped(name), more(name))).collect();
    if counts.len() > most {
        shown.push(format!("{} more", counts.len() - most));
    }
    shown.join(", ")
}

/// Names in the line of a packet's contents.
const FREQUENT: usize = 5;

/// Names in the line of a section.
const MAX_NAMES: usize = 16;

/// The greatest width and depth of a section that is shown from above.
const MAX_VIEW: usize = 32;

const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
