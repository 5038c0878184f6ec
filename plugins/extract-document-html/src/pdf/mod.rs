//! PDF to HTML.
//!
//! hayro reads the file and says where each character is; everything else is made of these
//! positions: lines, columns, paragraphs, headings.

mod blocks;
mod characters;
mod glyphs;
mod info;
mod layout;
mod lines;
mod links;
mod running;
mod write;

use hayro_interpret::{
    Context, InterpreterCache, InterpreterSettings, TransformExt, interpret_page,
};
use hayro_syntax::{DecryptionError, LoadPdfError, Pdf};
use kurbo::Rect;
use orbweaver_sdk::Error;

use crate::Converted;
use glyphs::Glyphs;
use lines::Line;

/// Most pages that are read.
const MAX_PAGES: usize = 5_000;
/// Most characters that are read: about four times the longest novels. They cost about a
/// microsecond each.
const MAX_CHARACTERS: usize = 6_000_000;

/// Converts a PDF.
///
/// # Errors
/// It is encrypted with a password, or too damaged to be read.
pub(crate) fn convert(body: Vec<u8>) -> Result<Converted, Error> {
    let pdf = Pdf::new(body).map_err(|error| Error::failed(refusal(error)))?;
    let all = pdf.pages().len();
    if all == 0 {
        return Err(Error::failed(refusal(LoadPdfError::Invalid)));
    }
    let cache = InterpreterCache::new();
    let mut pages: Vec<Vec<Line>> = Vec::with_capacity(all.min(MAX_PAGES));
    let mut targets = links::Targets::default();
    let (mut characters, mut unreadable, mut spent) = (0, 0, 0);
    for page in pdf.pages().iter().take(MAX_PAGES) {
        if spent > MAX_CHARACTERS {
            break;
        }
        let (width, height) = page.render_dimensions();
        let transform = page.initial_transform(true).to_kurbo();
        let bounds = Rect::new(0.0, 0.0, f64::from(width), f64::from(height));
        let settings = InterpreterSettings::default();
        let mut context = Context::new(transform, bounds, &cache, pdf.xref(), settings);
        let mut glyphs = Glyphs::new(bounds, MAX_CHARACTERS.saturating_sub(spent));
        interpret_page(page, &mut context, &mut glyphs);
        characters += glyphs.count();
        spent += glyphs.read();
        unreadable += glyphs.unreadable();
        let areas = links::areas(page, transform, glyphs.count(), &mut targets);
        pages.push(layout::lines(glyphs, &areas));
    }
    let read = pages.len();
    running::remove(&mut pages);
    let blocks = blocks::blocks(pages);
    let mut head = info::head(&pdf);
    if head.title.is_empty() {
        head.title = blocks::title(&blocks).unwrap_or_default();
    }
    let (body, whole) = write::body(&blocks, &targets);
    let notice = notice(all, read, characters, unreadable, whole);
    Ok(Converted {
        html: head.document(&body),
        format: "pdf",
        notice,
    })
}

fn refusal(error: LoadPdfError) -> &'static str {
    match error {
        LoadPdfError::Decryption(DecryptionError::PasswordProtected) => {
            "the PDF is encrypted and needs a password"
        }
        LoadPdfError::Decryption(_) => "the PDF is encrypted in a way that is not supported",
        LoadPdfError::Invalid => "the PDF is damaged: it has no pages that can be read",
    }
}

fn notice(all: usize, read: usize, characters: usize, unreadable: usize, whole: bool) -> String {
    let pages = match all {
        1 => "1 page".to_owned(),
        all => format!("{all} pages"),
    };
    let mut notice = format!("converted from a PDF of {pages}");
    if characters == 0 {
        notice.push_str(", which has no text: its pages are images");
    } else if unreadable * 5 > characters {
        notice
            .push_str("; its fonts do not say which characters they show, so that text is missing");
    }
    if read < all {
        notice.push_str(&format!("; only the first {read} pages were read"));
    } else if !whole {
        notice.push_str("; the text beyond 8 MiB was left out");
    }
    notice
}
