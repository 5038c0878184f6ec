//! Character encodings: detection and decoding.
//!
//! The order is the HTML standard's ("determining the character encoding"): a byte order
//! mark, the `charset` of Content-Type, a `meta` or XML declaration within the first bytes of
//! markup, then detection. Labels are the Encoding standard's: `latin1` and `iso-8859-1` mean
//! windows-1252, and labels of encodings that hide markup (`utf-7`) are no labels at all.

mod prescan;

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{DecoderResult, Encoding, REPLACEMENT, UTF_8, WINDOWS_1252, X_USER_DEFINED};

use crate::content;

/// Bytes that the detector reads. A few kilobytes of non-ASCII text are enough for its guess;
/// more would only cost time.
const DETECT_BYTES: usize = 256 * 1024;

/// The source of the encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A byte order mark.
    Bom,
    /// The `charset` parameter of Content-Type.
    Header,
    /// A `meta` element, or an XML declaration.
    Meta,
    /// The bytes themselves.
    Detected,
}

/// Bounds of decoding.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of UTF-8 at which the text is cut: a legacy byte takes up to three.
    pub max_text_bytes: usize,
}

impl Default for Limits {
    /// 64 MiB.
    fn default() -> Self {
        Self {
            max_text_bytes: 64 << 20,
        }
    }
}

/// A decoded body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded<'a> {
    /// The text, without a byte order mark; borrowed where the bytes are UTF-8 already.
    pub text: Cow<'a, str>,
    /// The encoding's name in the Encoding standard, such as `UTF-8` or `windows-1252`.
    pub encoding: &'static str,
    /// Malformed sequences, each of which became one U+FFFD.
    pub malformed: u64,
    /// What the encoding was taken from.
    pub source: Source,
    /// The text was cut at [`Limits::max_text_bytes`].
    pub truncated: bool,
}

/// Decodes a body. Never fails: undecodable bytes become U+FFFD and are counted.
pub fn decode<'a>(bytes: &'a [u8], content_type: Option<&str>, limits: Limits) -> Decoded<'a> {
    let (encoding, source, bom) = determine(bytes, content_type);
    let body = bytes.get(bom..).unwrap_or_default();
    let (text, malformed, truncated) = if encoding == UTF_8 {
        decode_utf8(body, limits.max_text_bytes)
    } else {
        decode_legacy(encoding, body, limits.max_text_bytes)
    };
    Decoded {
        text,
        encoding: encoding.name(),
        malformed,
        source,
        truncated,
    }
}

/// The bytes of text that a browser has decoded, by the rules of browsers for text that is no HTML: the
/// `charset` of `content_type`; else XML declares it or is UTF-8, JSON is UTF-8, and other text
/// windows-1252. UTF-8 where the text can't be what these rules say.
pub fn encode_again(text: String, content_type: Option<&str>) -> Vec<u8> {
    let declared = content_type
        .and_then(content::charset_param)
        .and_then(|label| by_label(&label));
    let essence = content_type.and_then(content::essence).unwrap_or_default();
    let encoding = match declared {
        Some(declared) => declared,
        None if essence.ends_with("xml") => prescan::prescan(text.as_bytes()).unwrap_or(UTF_8),
        None if essence.ends_with("json") => UTF_8,
        None => WINDOWS_1252,
    };
    match encoding.encode(&text) {
        (bytes, used, false) if used == encoding => bytes.into_owned(),
        _ => text.into_bytes(),
    }
}

/// The encoding, its source, and the length of the byte order mark.
fn determine(bytes: &[u8], content_type: Option<&str>) -> (&'static Encoding, Source, usize) {
    if let Some((encoding, bom)) = Encoding::for_bom(bytes) {
        return (encoding, Source::Bom, bom);
    }
    if let Some(encoding) = content_type
        .and_then(content::charset_param)
        .and_then(|label| by_label(&label))
    {
        return (encoding, Source::Header, 0);
    }
    // Text that is no markup may quote a `meta` element: valid UTF-8 is taken for what it is.
    if !content_type.is_none_or(may_be_markup) && std::str::from_utf8(bytes).is_ok() {
        return (UTF_8, Source::Detected, 0);
    }
    if let Some(encoding) = prescan::prescan(bytes) {
        return (encoding, Source::Meta, 0);
    }
    (detect(bytes), Source::Detected, 0)
}

/// Whether a body of this type may declare its encoding in a `meta` element or an XML declaration.
fn may_be_markup(content_type: &str) -> bool {
    content::essence(content_type).is_none_or(|essence| {
        !content::is_text_type(&essence) || essence.ends_with("html") || essence.ends_with("xml")
    })
}

/// Finds an encoding by a label of the Encoding standard. `x-user-defined` maps every page to
/// private-use characters, which only served binary data through XMLHttpRequest: it means
/// windows-1252 here, as in a `meta` element.
fn by_label(label: &str) -> Option<&'static Encoding> {
    let encoding = Encoding::for_label(label.as_bytes())?;
    Some(if encoding == X_USER_DEFINED {
        WINDOWS_1252
    } else {
        encoding
    })
}

fn detect(bytes: &[u8]) -> &'static Encoding {
    match std::str::from_utf8(bytes) {
        Ok(_) => return UTF_8,
        // Valid except for a sequence cut off at the end.
        Err(error) if error.error_len().is_none() => return UTF_8,
        Err(_) => {}
    }
    let head = bytes.get(..DETECT_BYTES).unwrap_or(bytes);
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(head, head.len() == bytes.len());
    detector.guess(None, Utf8Detection::Allow)
}

fn decode_utf8(body: &[u8], max: usize) -> (Cow<'_, str>, u64, bool) {
    if let Ok(text) = std::str::from_utf8(body) {
        return match text.len() <= max {
            true => (Cow::Borrowed(text), 0, false),
            false => (
                Cow::Borrowed(text.get(..text.floor_char_boundary(max)).unwrap_or("")),
                0,
                true,
            ),
        };
    }
    let mut text = String::with_capacity(body.len().min(max));
    let mut malformed = 0;
    for chunk in body.utf8_chunks() {
        let valid = chunk.valid();
        let room = max.saturating_sub(text.len());
        if valid.len() + char::REPLACEMENT_CHARACTER.len_utf8() > room {
            text.push_str(valid.get(..valid.floor_char_boundary(room)).unwrap_or(""));
            return (Cow::Owned(text), malformed, true);
        }
        text.push_str(valid);
        if !chunk.invalid().is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
            malformed += 1;
        }
    }
    (Cow::Owned(text), malformed, false)
}

/// Decodes in pieces of bounded size, so that at most `max` bytes are held.
fn decode_legacy(
    encoding: &'static Encoding,
    body: &[u8],
    max: usize,
) -> (Cow<'static, str>, u64, bool) {
    const PIECE: usize = 64 * 1024;
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let mut text = String::with_capacity((body.len() + body.len() / 8).min(max));
    let mut malformed = 0;
    let mut rest = body;
    loop {
        text.reserve(PIECE);
        let (result, read) = decoder.decode_to_string_without_replacement(rest, &mut text, true);
        rest = rest.get(read..).unwrap_or_default();
        if text.len() > max {
            text.truncate(text.floor_char_boundary(max));
            return (Cow::Owned(text), malformed, true);
        }
        match result {
            DecoderResult::InputEmpty => return (Cow::Owned(text), malformed, false),
            DecoderResult::OutputFull => {}
            DecoderResult::Malformed(..) => {
                text.push(char::REPLACEMENT_CHARACTER);
                malformed += 1;
                // The replacement encoding yields one error, whatever the bytes.
                if encoding == REPLACEMENT {
                    return (Cow::Owned(text), malformed, false);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
