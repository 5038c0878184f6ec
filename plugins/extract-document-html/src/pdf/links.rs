//! Links of a page: areas with the URL that they lead to.

use std::cell::Cell;

use hayro_interpret::RectExt;
use hayro_syntax::object::{Array, Dict, Name, Rect as PdfRect, String as PdfString};
use hayro_syntax::page::Page;
use kurbo::{Affine, Rect};

use super::glyphs::Character;
use super::info::text_string;
use crate::html::is_target;

/// Most links of a page that are read.
const MAX_LINKS: usize = 5_000;
/// Longest URL.
const MAX_URL: usize = 4_096;
/// Most annotations of the whole document that are read, and most bytes of their URLs.
const MAX_ALL: usize = 200_000;
const MAX_ALL_URLS: usize = 16 << 20;
/// Looks at areas, for each page and for each of its characters: any number of areas may lie in one line.
const LOOKS: usize = 200_000;
const LOOKS_PER_CHARACTER: usize = 32;

/// The URLs of all links; a link is its index.
#[derive(Debug, Default)]
pub(crate) struct Targets {
    urls: Vec<String>,
    /// Bytes of all URLs.
    bytes: usize,
    /// Annotations that were read.
    read: usize,
}

impl Targets {
    /// The URL of a link.
    pub(crate) fn get(&self, link: u32) -> Option<&str> {
        self.urls.get(link as usize).map(String::as_str)
    }
}

/// An area of the page, in the coordinates of its characters' centres.
pub(crate) struct Area {
    pub(crate) rect: Rect,
    pub(crate) link: u32,
}

impl Area {
    fn has(&self, one: &Character) -> bool {
        let (x, y) = (f64::from(one.centre.0), f64::from(one.centre.1));
        self.rect.x0 <= x && x <= self.rect.x1 && self.rect.y0 <= y && y <= self.rect.y1
    }
}

/// The areas of a page.
pub(crate) struct Areas {
    all: Vec<Area>,
    /// Looks that are left.
    looks: Cell<usize>,
}

impl Areas {
    /// Those that may have one of these characters.
    pub(crate) fn near(&self, characters: &[&Character]) -> Vec<&Area> {
        if self.all.is_empty() || !self.may_look(self.all.len()) {
            return Vec::new();
        }
        let centres = characters.iter().map(|one| one.centre);
        let bounds = centres.fold(None, |bounds: Option<Rect>, (x, y)| {
            let (x, y) = (f64::from(x), f64::from(y));
            let point = Rect::new(x, y, x, y);
            Some(bounds.map_or(point, |bounds| bounds.union(point)))
        });
        let Some(bounds) = bounds else {
            return Vec::new();
        };
        let near = self.all.iter().filter(|area| {
            area.rect.x0 <= bounds.x1
                && bounds.x0 <= area.rect.x1
                && area.rect.y0 <= bounds.y1
                && bounds.y0 <= area.rect.y1
        });
        near.collect()
    }

    /// The link that a character belongs to; `near`: of its line.
    pub(crate) fn link(&self, near: &[&Area], one: &Character) -> Option<u32> {
        if near.is_empty() || !self.may_look(near.len()) {
            return None;
        }
        let area = near.iter().find(|area| area.has(one))?;
        Some(area.link)
    }

    fn may_look(&self, at: usize) -> bool {
        let left = self.looks.get().checked_sub(at);
        self.looks.set(left.unwrap_or(0));
        left.is_some()
    }
}

/// The areas of a page with so many characters that link to URLs; links within the document are left out.
pub(crate) fn areas(
    page: &Page<'_>,
    transform: Affine,
    characters: usize,
    targets: &mut Targets,
) -> Areas {
    let annotations = page.raw().get::<Array<'_>>(b"Annots");
    let annotations = annotations.iter().flat_map(|all| all.iter::<Dict<'_>>());
    let all = annotations
        .take(MAX_LINKS.min(MAX_ALL.saturating_sub(targets.read)))
        .filter_map(|annotation| {
            targets.read += 1;
            let kind = annotation.get::<Name<'_>>(b"Subtype")?;
            if kind.as_str() != "Link" {
                return None;
            }
            let action = annotation.get::<Dict<'_>>(b"A")?;
            let uri = action.get::<PdfString<'_>>(b"URI")?;
            let url = text_string(uri.as_bytes()).trim().to_owned();
            if url.len() > MAX_URL || !is_target(&url) {
                return None;
            }
            let rect = annotation.get::<PdfRect>(b"Rect")?.to_kurbo().abs();
            let is_new = targets.urls.last().is_none_or(|last| *last != url);
            if is_new {
                targets.bytes += url.len();
                if targets.bytes > MAX_ALL_URLS {
                    return None;
                }
                targets.urls.push(url);
            }
            let link = targets.urls.len() - 1;
            Some(Area {
                rect: transform.transform_rect_bbox(rect),
                link: u32::try_from(link).ok()?,
            })
        })
        .collect();
    Areas {
        all,
        looks: Cell::new(LOOKS.saturating_add(characters.saturating_mul(LOOKS_PER_CHARACTER))),
    }
}
