//! The characters of a page with their positions, as hayro draws them.

use hayro_cmap::{BfString, WritingMode};
use hayro_interpret::font::{Glyph as PdfGlyph, GlyphRun};
use hayro_interpret::{
    BlendMode, ClipPath, Device, DrawMode, DrawProps, Image, ImageDrawProps, SoftMask,
};
use hayro_syntax::object::{self, Dict, Name};
use kurbo::{Affine, BezPath, Point, Rect};

use super::characters::push_normal;
use super::info::text_string;

/// Width of a glyph that does not tell, in thousandths of its size.
const DEFAULT_WIDTH: f64 = 500.0;
/// Smallest and largest size of a character that is read, in points.
const SIZES: std::ops::RangeInclusive<f64> = 0.5..=2_000.0;
/// Bytes of a glyph's text that are not counted beside the glyph.
const USUAL_TEXT: usize = 4;

/// The direction in which a line of text runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Right,
    Down,
    Up,
    /// Upside down.
    Left,
    /// Lines from top to bottom of upright characters, which follow each other from right to left.
    Vertical,
}

/// A character on the page, in coordinates of its direction: `x` grows along the line, `y` from
/// line to line. In points.
#[derive(Clone, Debug)]
pub(crate) struct Character {
    pub(crate) direction: Direction,
    pub(crate) x0: f32,
    pub(crate) x1: f32,
    /// The baseline.
    pub(crate) y: f32,
    pub(crate) size: f32,
    /// Its text, a range of [`Glyphs::text`]; several characters for a ligature, none for a space.
    pub(crate) text: (u32, u32),
    /// Its centre on the page, for links.
    pub(crate) centre: (f32, f32),
    pub(crate) bold: bool,
    pub(crate) monospace: bool,
}

/// Collects the characters of a page.
pub(crate) struct Glyphs {
    bounds: Rect,
    room: usize,
    unreadable: usize,
    /// Bytes that were read besides those of usual glyphs: of long texts of glyphs, and of marked content.
    long: usize,
    /// All texts.
    pub(crate) text: String,
    pub(crate) characters: Vec<Character>,
    /// One for each marked content that is open.
    marks: Vec<Mark>,
    /// The places in `marks` of those that decide what a glyph's text is.
    deciding: Vec<usize>,
}

/// Marked content (ISO 32000-1, 14.6).
enum Mark {
    Plain,
    /// Headers, footers and page numbers, which are no content.
    Artifact,
    /// Its text is this, whatever its glyphs are; none once it was written.
    Actual(Option<String>),
}

impl Glyphs {
    pub(crate) fn new(bounds: Rect, room: usize) -> Self {
        Self {
            bounds,
            room,
            unreadable: 0,
            long: 0,
            text: String::new(),
            characters: Vec::new(),
            marks: Vec::new(),
            deciding: Vec::new(),
        }
    }

    /// Number of characters, those included whose text is unknown.
    pub(crate) fn count(&self) -> usize {
        self.characters.len() + self.unreadable
    }

    /// What was read, in characters.
    pub(crate) fn read(&self) -> usize {
        self.count().saturating_add(self.long)
    }

    /// Number of characters whose text is unknown.
    pub(crate) fn unreadable(&self) -> usize {
        self.unreadable
    }

    /// The height of the page.
    pub(crate) fn height(&self) -> f64 {
        self.bounds.height()
    }

    fn add(&mut self, glyph: &PdfGlyph<'_>, m: Affine, vertical: bool, style: Style) {
        if self.read() >= self.room {
            return;
        }
        let width = match glyph {
            PdfGlyph::Outline(outline) => outline.advance_width().map(f64::from),
            PdfGlyph::Type3(type3) => type3.advance_width().map(f64::from),
        };
        let width = width.filter(|width| *width > 0.0 && *width < 5_000.0);
        let origin = m * Point::ZERO;
        let along = (m * Point::new(1_000.0, 0.0)) - origin;
        let size = ((m * Point::new(0.0, 1_000.0)) - origin).hypot();
        let stretch = along.hypot();
        let advance = width.unwrap_or(DEFAULT_WIDTH) / 1_000.0 * stretch;
        if !SIZES.contains(&size) || !advance.is_finite() || !origin.is_finite() {
            return;
        }
        let centre = origin
            + along * (width.unwrap_or(DEFAULT_WIDTH) / 2_000.0)
            + ((m * Point::new(0.0, 300.0)) - origin);
        if !self.bounds.inflate(2.0, 2.0).contains(centre) {
            return;
        }
        let start = self.text.len();
        let mark = self.deciding.last();
        match mark.and_then(|at| self.marks.get_mut(*at)) {
            Some(Mark::Artifact) => return,
            Some(Mark::Actual(actual)) => {
                // The other glyphs of this content show what the first one says.
                let Some(actual) = actual.take() else { return };
                actual.chars().for_each(|c| push_normal(c, &mut self.text));
            }
            _ => match glyph.as_unicode() {
                Some(BfString::Char(c)) => push_normal(c, &mut self.text),
                Some(BfString::String(text)) => {
                    text.chars().for_each(|c| push_normal(c, &mut self.text));
                }
                None => {
                    self.unreadable += 1;
                    return;
                }
            },
        }
        let added = self.text.get(start..).unwrap_or_default();
        self.long += added.len().saturating_sub(USUAL_TEXT);
        let blank = added.chars().all(char::is_whitespace);
        if blank {
            self.text.truncate(start);
        }
        let end = self.text.len();
        let (Ok(from), Ok(to)) = (u32::try_from(start), u32::try_from(end)) else {
            return;
        };
        let direction = match vertical {
            true => Direction::Vertical,
            false if along.x.abs() >= along.y.abs() && along.x >= 0.0 => Direction::Right,
            false if along.x.abs() >= along.y.abs() => Direction::Left,
            false if along.y > 0.0 => Direction::Down,
            false => Direction::Up,
        };
        let (x, y, advance) = match direction {
            Direction::Right => (origin.x, origin.y, advance),
            Direction::Left => (-origin.x, -origin.y, advance),
            Direction::Down => (origin.y, -origin.x, advance),
            Direction::Up => (-origin.y, origin.x, advance),
            Direction::Vertical => (origin.y - size, -centre.x, size),
        };
        self.characters.push(Character {
            direction,
            x0: x as f32,
            x1: (x + advance) as f32,
            y: y as f32,
            size: size as f32,
            text: (from, to),
            centre: (centre.x as f32, centre.y as f32),
            bold: style.bold,
            monospace: style.monospace,
        });
    }
}

/// What is known of a run's font.
#[derive(Clone, Copy, Default)]
struct Style {
    bold: bool,
    monospace: bool,
}

fn style(run: &GlyphRun<'_, '_>) -> Style {
    let data = run.glyphs().first().and_then(|glyph| match &**glyph {
        PdfGlyph::Outline(outline) => outline.font_data(),
        PdfGlyph::Type3(_) => None,
    });
    let Some(data) = data else {
        return Style::default();
    };
    let name = data.postscript_name.as_deref().unwrap_or("");
    Style {
        bold: data.weight.is_some_and(|weight| weight >= 600) || name.contains("Bold"),
        monospace: data.is_monospace || name.contains("Mono") || name.contains("Courier"),
    }
}

impl<'a> Device<'a> for Glyphs {
    fn draw_glyph_run(&mut self, run: &GlyphRun<'_, 'a>, props: DrawProps<'a>, _: &DrawMode) {
        let vertical = run.writing_mode() == WritingMode::Vertical;
        let style = style(run);
        for glyph in run.glyphs() {
            self.add(glyph, props.transform * glyph.transform(), vertical, style);
        }
    }

    fn begin_marked_content(&mut self, tag: &[u8], properties: Option<&Dict<'_>>) {
        // One long text may be that of much content.
        let has_room = self.read() < self.room;
        let actual = properties
            .filter(|_| has_room)
            .and_then(|properties| properties.get::<object::String<'_>>(b"ActualText"))
            .map(|text| text_string(text.as_bytes()));
        self.long += actual.as_ref().map_or(0, String::len);
        let running = tag == b"Artifact"
            && properties
                .and_then(|properties| properties.get::<Name<'_>>(b"Type"))
                .is_some_and(|kind| kind.as_str() == "Pagination");
        let mark = match actual {
            _ if running => Mark::Artifact,
            Some(actual) => Mark::Actual(Some(actual)),
            None => Mark::Plain,
        };
        if !matches!(mark, Mark::Plain) {
            self.deciding.push(self.marks.len());
        }
        self.marks.push(mark);
    }

    fn end_marked_content(&mut self) {
        self.marks.pop();
        self.deciding.pop_if(|at| *at >= self.marks.len());
    }

    fn draw_path(&mut self, _: &BezPath, _: DrawProps<'a>, _: &DrawMode) {}
    fn push_clip_path(&mut self, _: &ClipPath) {}
    fn push_transparency_group(&mut self, _: f32, _: Option<SoftMask<'a>>, _: BlendMode) {}
    fn draw_image(&mut self, _: Image<'a, '_>, _: ImageDrawProps<'a>) {}
    fn pop_clip(&mut self) {}
    fn pop_transparency_group(&mut self) {}
}
