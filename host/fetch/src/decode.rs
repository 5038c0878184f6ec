//! Content codings: gzip, deflate, br and zstd, at most two nested, with one size limit.
//!
//! Bytes are pushed as they arrive, and the output of every layer is bounded, so a compression
//! bomb stops at the limit and never uses more memory than that. A small body of one gzip stream,
//! as most pages are, waits as received and is decoded at once.

mod codec;
mod coding;

use bytes::Bytes;
use orbweaver_core::gunzip::{MAX_RECEIVED, gunzip};

use crate::error::{Fault, Kind, SubKind};
use crate::response::Raw;
pub(crate) use coding::Coding;

use codec::{Codec, Step};

/// Most nested codings of one body.
const MAX_CODINGS: usize = 2;
/// Bytes of output per decoding step. Most pages fit, and a decoder whose stream ends in its
/// first step keeps no copy of its output.
const BLOCK: usize = 64 * 1024;
/// Room at the end of a body, in bytes, that is worth a decoding step before the body grows.
const WORTHWHILE: usize = 4 * 1024;
/// Bytes of output per byte of input that a piece's first step has room for; each step that fills its
/// room is followed by one with twice as much.
const MAX_GROWTH: usize = 64;
/// Bytes of output that a step has room for at least.
const LEAST_ROOM: usize = 512;
/// How many times larger a compressed page usually is once it is decoded.
const GROWTH: usize = 4;
/// Most bytes that are allocated for a body because of its announced length.
const MAX_AHEAD: usize = 3 << 20;

/// What servers send that take the header for one of a charset, or of mail: the body is not coded, and
/// browsers show it.
const NO_CODINGS: [&str; 7] = [
    "none",
    "utf-8",
    "utf8",
    "iso-8859-1",
    "binary",
    "8bit",
    "7bit",
];

/// Longest unknown coding that an error names, in bytes.
const MAX_NAMED: usize = 40;

/// Parses Content-Encoding; returns the codings in the order of decoding.
pub(crate) fn codings<'a>(headers: impl Iterator<Item = &'a str>) -> Result<Vec<Coding>, Fault> {
    let mut found = Vec::new();
    let is_none = |value: &&str| {
        let mut known = NO_CODINGS.iter();
        known.any(|known| value.trim().eq_ignore_ascii_case(known))
    };
    let headers = headers.filter(|value| !is_none(value));
    for token in headers.flat_map(|value| value.split(',')).map(str::trim) {
        let coding = match token.to_ascii_lowercase().as_str() {
            "" | "identity" => continue,
            "gzip" | "x-gzip" => Coding::Gzip,
            "deflate" => Coding::Deflate,
            "br" => Coding::Brotli,
            "zstd" => Coding::Zstd,
            // Whole and as it came, or not at all: it may be a secret that a host sends back, which is
            // masked only as a whole.
            _ => {
                let message = if token.len() <= MAX_NAMED {
                    format!("content coding {token:?} is not supported")
                } else {
                    format!("a content coding of {} bytes is not supported", token.len())
                };
                return Err(Fault::new(Kind::Decode, SubKind::UnknownCoding, message));
            }
        };
        if found.len() == MAX_CODINGS {
            return Err(Fault::new(
                Kind::Decode,
                SubKind::TooManyCodings,
                format!("more than {MAX_CODINGS} content codings"),
            ));
        }
        found.push(coding);
    }
    found.reverse();
    Ok(found)
}

/// Why decoding stopped before the end of the body.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The limit is reached; the output decoded so far is exactly that long.
    Full,
    /// The stream is malformed.
    Malformed(&'static str),
}

/// Decodes a body while it is received.
pub(crate) struct Body {
    layers: Vec<Layer>,
    out: Vec<u8>,
    raw: Vec<u8>,
    keep_raw: Option<&'static str>,
    /// Nothing of `raw` is decoded yet: a small gzip body is decoded at once when all of it is here.
    waits: bool,
    /// It was decoded at once.
    is_whole: bool,
    max: usize,
    wire: u64,
}

struct Layer {
    codec: Codec,
    /// What is decoded for the next layer, and how much that was so far. The last layer
    /// decodes into the body itself.
    block: Box<[u8]>,
    produced: usize,
}

/// A decoded body.
pub(crate) struct Decoded {
    pub body: Bytes,
    pub raw: Option<Raw>,
    /// Whether a coding's stream was incomplete.
    pub truncated: bool,
}

impl Body {
    /// A body with these codings and at most `max` bytes; `hint` is its announced length.
    pub fn new(codings: &[Coding], max: usize, hint: Option<u64>) -> Self {
        let layers = codings.iter().enumerate().map(|(index, &coding)| {
            let is_last = index + 1 == codings.len();
            Layer {
                codec: Codec::new(coding),
                block: vec![0; if is_last { 0 } else { BLOCK }].into_boxed_slice(),
                produced: 0,
            }
        });
        let keep_raw = match codings {
            [Coding::Gzip] => Some("gzip"),
            [Coding::Brotli] => Some("br"),
            [Coding::Zstd] => Some("zstd"),
            _ => None,
        };
        // The announced length is not trusted: at most this much is allocated ahead.
        let expected = hint
            .map_or(0, |length| usize::try_from(length).unwrap_or(max))
            .min(MAX_AHEAD / 3)
            .min(max);
        let waits = codings == [Coding::Gzip] && expected <= MAX_RECEIVED;
        let (raw, out) = match keep_raw {
            Some(_) if waits => (expected, 0),
            Some(_) => (expected, (expected * GROWTH).min(MAX_AHEAD)),
            None => (0, expected),
        };
        Self {
            layers: layers.collect(),
            out: Vec::with_capacity(out),
            raw: Vec::with_capacity(raw),
            keep_raw,
            waits,
            is_whole: false,
            max,
            wire: 0,
        }
    }

    /// Bytes received.
    pub const fn wire_bytes(&self) -> u64 {
        self.wire
    }

    /// Bytes that it takes in memory, as received and decoded.
    pub fn held_bytes(&self) -> u64 {
        (self.raw.len() + self.out.len()) as u64
    }

    /// Takes what arrived. The first error is final; what was decoded until then stays.
    pub fn push(&mut self, input: &[u8]) -> Result<(), Stop> {
        self.wire += input.len() as u64;
        if self.wire > self.max as u64 {
            self.decode_waiting()?;
            let room = self
                .max
                .saturating_sub(usize::try_from(self.wire).unwrap_or(usize::MAX) - input.len());
            let input = input.get(..room).unwrap_or_default();
            push_through(&mut self.layers, input, &mut self.out, self.max)?;
            return Err(Stop::Full);
        }
        if self.keep_raw.is_some() {
            self.raw.extend_from_slice(input);
        }
        if !self.waits {
            return push_through(&mut self.layers, input, &mut self.out, self.max);
        }
        if self.raw.len() > MAX_RECEIVED {
            self.decode_waiting()?;
        }
        Ok(())
    }

    /// Decodes what waits, now that nothing follows. An error is final, as those of
    /// [`push`](Self::push) are.
    pub fn settle(&mut self) -> Result<(), Stop> {
        if self.waits
            && let Some(content) = gunzip(&self.raw, self.max)
        {
            self.waits = false;
            self.is_whole = true;
            self.out = content;
        }
        self.decode_waiting()
    }

    /// Decodes in pieces what waits to be decoded at once.
    fn decode_waiting(&mut self) -> Result<(), Stop> {
        if !std::mem::take(&mut self.waits) {
            return Ok(());
        }
        push_through(&mut self.layers, &self.raw, &mut self.out, self.max)
    }

    /// Ends early: the body so far, marked as truncated.
    pub fn cut(self) -> Decoded {
        Decoded {
            body: self.out.into(),
            raw: None,
            truncated: true,
        }
    }

    /// Ends after the last byte, [settled](Self::settle). A coding's stream that is incomplete makes the body truncated,
    /// or is an error if nothing could be decoded.
    pub fn finish(self) -> Result<Decoded, Fault> {
        let mut codecs = self.layers.iter().map(|layer| &layer.codec);
        let complete = self.is_whole || codecs.clone().all(Codec::is_complete);
        let clean = complete && !codecs.any(Codec::has_trailing);
        if !complete && self.out.is_empty() && self.wire > 0 {
            return Err(malformed(
                "the stream ends before its first byte of content",
            ));
        }
        let raw = match self.keep_raw {
            Some(encoding) if clean && self.wire > 0 => Some(Raw {
                encoding,
                bytes: self.raw.into(),
            }),
            _ => None,
        };
        Ok(Decoded {
            body: self.out.into(),
            raw,
            truncated: !complete && self.wire > 0,
        })
    }
}

/// The fault for a malformed stream.
pub(crate) fn malformed(what: &str) -> Fault {
    Fault::new(
        Kind::Decode,
        SubKind::Malformed,
        format!("the content coding is broken: {what}"),
    )
}

/// Pushes `input` through the first layer and its output through the others. The recursion
/// depth is the number of codings, at most [`MAX_CODINGS`].
fn push_through(
    layers: &mut [Layer],
    input: &[u8],
    out: &mut Vec<u8>,
    max: usize,
) -> Result<(), Stop> {
    let (layer, rest) = match layers {
        [] => {
            let room = max - out.len().min(max);
            out.extend_from_slice(input.get(..room.min(input.len())).unwrap_or_default());
            return if input.len() > room {
                Err(Stop::Full)
            } else {
                Ok(())
            };
        }
        [last] => return decode_into(&mut last.codec, input, out, max),
        [layer, rest @ ..] => (layer, rest),
    };
    let mut input = input;
    loop {
        let Step {
            read,
            written,
            more,
        } = layer
            .codec
            .step(input, &mut layer.block)
            .map_err(Stop::Malformed)?;
        input = input.get(read..).unwrap_or_default();
        layer.produced = layer.produced.saturating_add(written);
        push_through(
            rest,
            layer.block.get(..written).unwrap_or_default(),
            out,
            max,
        )?;
        if layer.produced > max {
            return Err(Stop::Full);
        }
        if !more {
            return Ok(());
        }
    }
}

/// Decodes `input` to the end of `out`, which has at most `max` bytes.
fn decode_into(
    codec: &mut Codec,
    mut input: &[u8],
    out: &mut Vec<u8>,
    max: usize,
) -> Result<(), Stop> {
    // Clearing a whole block for a piece of a few bytes would cost more than decoding it.
    let mut likely = input.len().saturating_mul(MAX_GROWTH).max(LEAST_ROOM);
    loop {
        let start = out.len();
        let spare = match out.capacity() - start {
            spare @ WORTHWHILE..=BLOCK => spare,
            _ => BLOCK,
        };
        // One byte more than there is room for tells that a body is too large.
        let room = max.saturating_sub(start).saturating_add(1);
        let room = room.min(spare).min(likely);
        out.resize(start + room, 0);
        let step = codec.step(input, out.get_mut(start..).unwrap_or_default());
        let written = step.as_ref().map_or(0, |step| step.written);
        out.truncate(start + written);
        if written == room {
            likely = likely.saturating_mul(2);
        }
        let Step { read, more, .. } = step.map_err(Stop::Malformed)?;
        input = input.get(read..).unwrap_or_default();
        if out.len() > max {
            out.truncate(max);
            return Err(Stop::Full);
        }
        if !more {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests;
