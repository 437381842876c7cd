use std::io::{self, Write};

use super::block_colors::MapColors;
use super::png::PngWriter;
use super::surface::{Column, PATH, PATH_END, Surface};

/// Draws a tile of [`TILE_CHUNKS`] chunks in each direction as PNG, a pixel for each column. `surface` returns what is seen
/// of a chunk; the row of chunks north of the tile is asked for as well. Returns `None` if the tile has no chunk.
pub fn tile<'s>(
    surface: impl Fn(i32, i32) -> Option<&'s Surface>,
    x: i32,
    z: i32,
) -> Option<Vec<u8>> {
    let last = |first: i32| first.saturating_add(TILE_CHUNKS - 1);
    let area = Area { x: (x, last(x)), z: (z, last(z)) };
    let mut is_empty = true;
    for chunk_z in z..=area.z.1 {
        is_empty &= (x..=area.x.1).all(|chunk_x| surface(chunk_x, chunk_z).is_none());
    }
    if is_empty {
        return None;
    }
    let mut png = Vec::new();
    // Writing to memory does not fail.
    draw(&mut png, area, surface).ok()?;
    Some(png)
}

/// Chunks of a [`tile`] in each direction.
pub const TILE_CHUNKS: i32 = 8;

/// A rectangle of chunks, by its first and last coordinates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) x: (i32, i32),
    pub(super) z: (i32, i32),
}

impl Area {
    /// Returns the least x and z, in blocks.
    pub(super) fn origin(self) -> (i32, i32) {
        (self.x.0.wrapping_mul(16), self.z.0.wrapping_mul(16))
    }

    /// Returns the width and the height, in blocks.
    pub(super) fn size(self) -> (u32, u32) {
        let size = |(first, last): (i32, i32)| (last.abs_diff(first) + 1) * 16;
        (size(self.x), size(self.z))
    }
}

/// Draws an area as PNG.
pub(super) fn draw<'s>(
    out: &mut dyn Write,
    area: Area,
    surface: impl Fn(i32, i32) -> Option<&'s Surface>,
) -> io::Result<()> {
    let (width, height) = area.size();
    let mut png = PngWriter::new(out, (width, height), &palette(), usize::from(SHADES))?;
    let chunks = || area.x.0..=area.x.1;
    // The heights of the row north of the next one.
    let mut north = vec![None; width as usize];
    for (chunk_x, heights) in chunks().zip(north.chunks_mut(16)) {
        let known = area.z.0.checked_sub(1).and_then(|z| surface(chunk_x, z));
        for (x, height) in heights.iter_mut().enumerate() {
            *height = known.and_then(|it| it.column(x, 15)).map(|it| it.y);
        }
    }
    let mut pixels = vec![0; width as usize];
    for chunk_z in area.z.0..=area.z.1 {
        let row: Vec<Option<&Surface>> = chunks().map(|x| surface(x, chunk_z)).collect();
        for z in 0..16 {
            let columns = pixels.chunks_mut(16).zip(north.chunks_mut(16));
            for (known, (pixels, heights)) in row.iter().zip(columns) {
                for (x, (pixel, height)) in pixels.iter_mut().zip(heights).enumerate() {
                    let column = known.and_then(|it| it.column(x, z));
                    *pixel = column.map_or(0, |it| shaded(it, *height, (x + z) % 2 == 1));
                    *height = column.map(|it| it.y);
                }
            }
            png.row(&pixels)?;
        }
    }
    png.finish()
}

/// Returns the place of a column's colour in the palette: as on the game's maps, its base colour times 4 and its shade.
/// Land is lighter than the north of it if it is higher, and darker if it is lower; water is darker where it is deep.
/// Between shades, every other column has the next.
fn shaded(column: Column, north: Option<i16>, is_odd: bool) -> u8 {
    match column.color {
        0 => return 0,
        mark @ (PATH | PATH_END) => return PATH * SHADES + (mark - PATH),
        _ => {}
    }
    let odd = if is_odd { 1.0 } else { 0.0 };
    let shade = if column.depth > 0 {
        match f64::from(column.depth) * 0.1 + odd * 0.2 {
            depth if depth < 0.5 => 2,
            depth if depth > 0.9 => 0,
            _ => 1,
        }
    } else {
        let north = north.unwrap_or(column.y);
        match f64::from(column.y) - f64::from(north) + (odd - 0.5) * 0.4 {
            slope if slope > 0.6 => 2,
            slope if slope < -0.6 => 0,
            _ => 1,
        }
    };
    column.color * SHADES + shade
}

/// Returns the colours of all bytes on maps, and behind them those of [`PATH`] and [`PATH_END`].
fn palette() -> Vec<[u8; 3]> {
    let shades = |rgb: &[u8; 3]| {
        let rgb = *rgb;
        BRIGHTNESS.map(|part| rgb.map(|it| (u16::from(it) * part / 255) as u8))
    };
    let mut palette: Vec<[u8; 3]> = MapColors::get().rgb.iter().flat_map(shades).collect();
    palette.extend([[0xff, 0x2d, 0x95], [0xff, 0xff, 0xff]]);
    palette
}

/// Shades of a base colour.
const SHADES: u8 = 4;

/// The brightness of the shades, in parts of 255.
const BRIGHTNESS: [u16; SHADES as usize] = [180, 220, 255, 135];
