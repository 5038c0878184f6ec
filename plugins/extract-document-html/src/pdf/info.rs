//! Metadata of a PDF.

use hayro_syntax::Pdf;
use hayro_syntax::object::{DateTime, Dict, String as PdfString};

use crate::html::Head;

/// Most characters of one of its texts.
const MAX_TEXT: usize = 1_000;

/// The document's information dictionary, and its language.
pub(crate) fn head(pdf: &Pdf) -> Head {
    let info = pdf.metadata();
    let text = |bytes: &Option<Box<[u8]>>| -> String {
        let text = bytes.as_deref().map(text_string).unwrap_or_default();
        let text = Some(text.trim()).filter(|text| !is_blank(text));
        text.unwrap_or_default().chars().take(MAX_TEXT).collect()
    };
    let lang = pdf
        .xref()
        .get::<Dict<'_>>(pdf.xref().root_id())
        .and_then(|catalog| catalog.get::<PdfString<'_>>(b"Lang"))
        .map(|lang| text_string(lang.as_bytes()))
        .unwrap_or_default();
    let author = text(&info.author);
    Head {
        lang,
        title: Some(text(&info.title))
            .filter(|title| is_title(title))
            .unwrap_or_default(),
        authors: match author.is_empty() {
            true => Vec::new(),
            false => vec![author],
        },
        description: text(&info.subject),
        keywords: text(&info.keywords),
        published: info.creation_date.map(date).unwrap_or_default(),
        modified: info.modification_date.map(date).unwrap_or_default(),
        ..Head::default()
    }
}

/// Whether a text is what a program writes where it was told none.
fn is_blank(text: &str) -> bool {
    let word = text.trim_matches(['(', ')']);
    ["anonymous", "unspecified", "untitled"]
        .iter()
        .any(|known| word.eq_ignore_ascii_case(known))
}

/// Whether a title is one: programs write the name of a file, or their own.
fn is_title(title: &str) -> bool {
    const FILES: [&str; 9] = [
        ".doc", ".docx", ".dvi", ".tex", ".indd", ".qxd", ".pdf", ".odt", ".rtf",
    ];
    let lower = title.to_lowercase();
    let is_file = FILES.iter().any(|end| lower.ends_with(end));
    !is_file && !lower.starts_with("microsoft word - ") && !lower.starts_with("untitled")
}

/// RFC 3339.
fn date(at: DateTime) -> String {
    let offset = match (at.utc_offset_hour, at.utc_offset_minute) {
        (0, 0) => "Z".to_owned(),
        (hours, minutes) => {
            let sign = if hours < 0 { '-' } else { '+' };
            format!("{sign}{:02}:{minutes:02}", hours.unsigned_abs())
        }
    };
    let DateTime {
        year,
        month,
        day,
        hour,
        minute,
        second,
        ..
    } = at;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{offset}")
}

/// A text string (ISO 32000-1, 7.9.2.2): UTF-16 or UTF-8 with a byte order mark, else
/// PDFDocEncoding. UTF-8 without the mark is accepted, too: many programs write it.
pub(crate) fn text_string(bytes: &[u8]) -> String {
    if let Some(rest) = bytes.strip_prefix(b"\xfe\xff") {
        return utf16(rest, u16::from_be_bytes);
    }
    if let Some(rest) = bytes.strip_prefix(b"\xff\xfe") {
        return utf16(rest, u16::from_le_bytes);
    }
    let rest = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match std::str::from_utf8(rest) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|&byte| pdf_doc(byte)).collect(),
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let (pairs, _) = bytes.as_chunks::<2>();
    char::decode_utf16(pairs.iter().map(|pair| unit(*pair)))
        .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}

/// A character of PDFDocEncoding (ISO 32000-1, annex D.3).
fn pdf_doc(byte: u8) -> char {
    const HIGH: &str = "•†‡…—–ƒ⁄‹›−‰„“”‘’‚™ﬁﬂŁŒŠŸŽıłœšž";
    const LOW: &str = "˘ˇˆ˙˝˛˚˜";
    match byte {
        0x18..=0x1f => LOW.chars().nth(usize::from(byte - 0x18)).unwrap_or(' '),
        0x80..=0x9e => HIGH.chars().nth(usize::from(byte - 0x80)).unwrap_or(' '),
        0xa0 => '€',
        byte => char::from(byte),
    }
}
