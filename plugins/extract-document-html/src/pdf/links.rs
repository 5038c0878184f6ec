//! Links of a page: areas with the URL that they lead to.

use hayro_interpret::RectExt;
use hayro_syntax::object::{Array, Dict, Name, Rect as PdfRect, String as PdfString};
use hayro_syntax::page::Page;
use kurbo::{Affine, Rect};

use super::info::text_string;
use crate::html::is_target;

/// Most links of a page that are read.
const MAX_LINKS: usize = 5_000;
/// Longest URL.
const MAX_URL: usize = 4_096;

/// The URLs of all links; a link is its index.
#[derive(Debug, Default)]
pub(crate) struct Targets(Vec<String>);

impl Targets {
    /// The URL of a link.
    pub(crate) fn get(&self, link: u32) -> Option<&str> {
        self.0.get(link as usize).map(String::as_str)
    }
}

/// An area of the page, in the coordinates of its characters' centres.
pub(crate) struct Area {
    pub(crate) rect: Rect,
    pub(crate) link: u32,
}

/// The areas of a page that link to URLs; links within the document are left out.
pub(crate) fn areas(page: &Page<'_>, transform: Affine, targets: &mut Targets) -> Vec<Area> {
    let Some(annotations) = page.raw().get::<Array<'_>>(b"Annots") else {
        return Vec::new();
    };
    let areas = annotations.iter::<Dict<'_>>().take(MAX_LINKS);
    areas
        .filter_map(|annotation| {
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
            let link = match targets.0.last() {
                Some(last) if *last == url => targets.0.len() - 1,
                _ => {
                    targets.0.push(url);
                    targets.0.len() - 1
                }
            };
            Some(Area {
                rect: transform.transform_rect_bbox(rect),
                link: u32::try_from(link).ok()?,
            })
        })
        .collect()
}
