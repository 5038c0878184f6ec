//! Decoders of all codings with one push interface.

use std::fmt;

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};
use flate2::{Decompress, FlushDecompress, Status};
use zstd::stream::raw::{DParameter, Decoder as ZstdDecoder, Operation};

use super::coding::Coding;

/// The largest window allowed for zstd over HTTP: 8 MiB (RFC 9659).
const ZSTD_WINDOW_LOG: u32 = 23;

/// Further members of a body may be this many, and one more for each [`MEMBER_BYTES`] of content:
/// a decoder for each of a million empty ones would cost seconds.
const FREE_MEMBERS: usize = 1_000;
const MEMBER_BYTES: usize = 1_024;

/// Result of one step.
pub(super) struct Step {
    /// Bytes of input consumed.
    pub read: usize,
    /// Bytes of output written.
    pub written: usize,
    /// Whether more output may follow, even without further input.
    pub more: bool,
}

type Brotli = BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>;

enum Engine {
    /// zlib and gzip verify their own checksums.
    Flate(Decompress),
    /// `deflate` means zlib, but some servers send raw deflate: the first two bytes tell which,
    /// and are held until both have arrived.
    UnknownDeflate(Vec<u8>),
    Brotli(Box<Brotli>),
    Zstd(ZstdDecoder<'static>),
    /// The zstd context could not be created.
    Broken,
}

pub(super) struct Codec {
    coding: Coding,
    engine: Engine,
    /// A stream ended here; further input is another member, or trailing garbage.
    ended: bool,
    started: bool,
    trailing: bool,
    /// Members or frames after the first, and bytes decoded of all so far.
    members: usize,
    produced: usize,
}

impl fmt::Debug for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Codec")
            .field("coding", &self.coding)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

fn engine(coding: Coding) -> Engine {
    match coding {
        Coding::Gzip => Engine::Flate(Decompress::new_gzip(15)),
        Coding::Deflate => Engine::UnknownDeflate(Vec::new()),
        Coding::Brotli => {
            let alloc = StandardAlloc::default;
            Engine::Brotli(Box::new(BrotliState::new_strict(alloc(), alloc(), alloc())))
        }
        Coding::Zstd => ZstdDecoder::new()
            .and_then(|mut decoder| {
                decoder.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG))?;
                Ok(Engine::Zstd(decoder))
            })
            .unwrap_or(Engine::Broken),
    }
}

impl Codec {
    pub fn new(coding: Coding) -> Self {
        Self {
            coding,
            engine: engine(coding),
            ended: false,
            started: false,
            trailing: false,
            members: 0,
            produced: 0,
        }
    }

    /// Whether only complete streams were decoded.
    pub const fn is_complete(&self) -> bool {
        self.ended
    }

    /// Whether bytes followed the last stream that belong to none.
    pub const fn has_trailing(&self) -> bool {
        self.trailing
    }

    pub fn step(&mut self, input: &[u8], out: &mut [u8]) -> Result<Step, &'static str> {
        let ignored = Step {
            read: input.len(),
            written: 0,
            more: false,
        };
        if self.trailing || (input.is_empty() && !self.started) {
            return Ok(ignored);
        }
        if self.ended {
            let Some(&first) = input.first() else {
                return Ok(ignored);
            };
            // Further members of gzip and frames of zstd are decoded. Anything else, such as
            // padding, is ignored as browsers ignore it.
            let member = match self.coding {
                Coding::Gzip => first == 0x1f,
                Coding::Zstd => first == 0x28 || first & 0xf0 == 0x50,
                Coding::Deflate | Coding::Brotli => false,
            };
            if !member {
                self.trailing = true;
                return Ok(ignored);
            }
            self.ended = false;
            self.members += 1;
            if self.members > FREE_MEMBERS + self.produced / MEMBER_BYTES {
                return Err("too many short members");
            }
            if let Engine::Flate(_) = self.engine {
                self.engine = engine(self.coding);
            }
        }
        self.started = true;
        if let Engine::UnknownDeflate(held) = &mut self.engine {
            let wanted = 2 - held.len().min(2);
            let read = wanted.min(input.len());
            held.extend_from_slice(input.get(..read).unwrap_or_default());
            if held.len() < 2 {
                return Ok(Step {
                    read,
                    written: 0,
                    more: false,
                });
            }
            return self.begin_deflate(read, out);
        }
        let step = self.decode(input, out)?;
        self.produced += step.written;
        let progress = step.read > 0 || step.written > 0;
        let more = progress && (step.read < input.len() || step.written == out.len());
        Ok(Step { more, ..step })
    }

    fn begin_deflate(&mut self, read: usize, out: &mut [u8]) -> Result<Step, &'static str> {
        let Engine::UnknownDeflate(held) = &self.engine else {
            return Err("deflate");
        };
        let &[cmf, flg] = held.as_slice() else {
            return Err("deflate");
        };
        let zlib = cmf & 0x0f == 8 && (u16::from(cmf) << 8 | u16::from(flg)) % 31 == 0;
        self.engine = Engine::Flate(Decompress::new(zlib));
        let step = self.decode(&[cmf, flg], out)?;
        if step.read < 2 && !self.ended {
            return Err("deflate header");
        }
        Ok(Step {
            read,
            written: step.written,
            more: true,
        })
    }

    fn decode(&mut self, input: &[u8], out: &mut [u8]) -> Result<Step, &'static str> {
        match &mut self.engine {
            Engine::Flate(inflate) => {
                let (read, written) = (inflate.total_in(), inflate.total_out());
                let status = inflate
                    .decompress(input, out, FlushDecompress::None)
                    .map_err(|_| {
                        if self.coding == Coding::Gzip {
                            "not gzip"
                        } else {
                            "not deflate"
                        }
                    })?;
                self.ended = status == Status::StreamEnd;
                let read = usize::try_from(inflate.total_in() - read).unwrap_or(input.len());
                let written = usize::try_from(inflate.total_out() - written).unwrap_or(0);
                Ok(Step {
                    read,
                    written,
                    more: false,
                })
            }
            Engine::Brotli(state) => {
                let (mut available, mut read) = (input.len(), 0);
                let (mut room, mut written, mut total) = (out.len(), 0, 0);
                let result = BrotliDecompressStream(
                    &mut available,
                    &mut read,
                    input,
                    &mut room,
                    &mut written,
                    out,
                    &mut total,
                    state,
                );
                match result {
                    BrotliResult::ResultFailure => return Err("not brotli"),
                    BrotliResult::ResultSuccess => self.ended = true,
                    BrotliResult::NeedsMoreInput | BrotliResult::NeedsMoreOutput => {}
                }
                Ok(Step {
                    read,
                    written,
                    more: false,
                })
            }
            Engine::Zstd(decoder) => {
                let status = decoder.run_on_buffers(input, out).map_err(|_| "not zstd")?;
                self.ended = status.remaining == 0;
                Ok(Step {
                    read: status.bytes_read,
                    written: status.bytes_written,
                    more: false,
                })
            }
            Engine::UnknownDeflate(_) | Engine::Broken => Err("no decoder"),
        }
    }
}
