//! Sets of ASCII bytes, searched sixteen bytes at a time in the sandbox.

/// A set of ASCII bytes. In the sandbox a search looks at sixteen bytes of a text at once.
///
/// ```
/// use orbweaver_dom::text::ByteSet;
/// static MARKS: ByteSet = ByteSet::of(b"*_`");
/// assert_eq!(MARKS.first_in(b"plain and *bold*"), 10);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ByteSet {
    /// By the lower half of a byte, one bit for each upper half with which it is in the set.
    lower: [u8; CHUNK],
}

const CHUNK: usize = 16;

/// By the upper half of a byte, its bit in [`ByteSet::lower`]; none beyond ASCII.
const UPPER: [u8; CHUNK] = [1, 2, 4, 8, 16, 32, 64, 128, 0, 0, 0, 0, 0, 0, 0, 0];

/// What is in a chunk, one bit a byte, the first byte lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Masks {
    members: u16,
    beyond_ascii: u16,
    spaces: u16,
}

impl ByteSet {
    /// The set of these bytes; those beyond ASCII are left out.
    pub const fn of(bytes: &[u8]) -> Self {
        let mut set = Self { lower: [0; CHUNK] };
        let mut rest = bytes;
        while let [byte, behind @ ..] = rest {
            set = set.with(*byte);
            rest = behind;
        }
        set
    }

    /// The set with the control characters below the space.
    pub const fn with_controls(mut self) -> Self {
        let mut byte = 0;
        while byte < b' ' {
            self = self.with(byte);
            byte += 1;
        }
        self
    }

    const fn with(mut self, byte: u8) -> Self {
        // Both indices are below sixteen.
        self.lower[(byte & 15) as usize] |= UPPER[(byte >> 4) as usize];
        self
    }

    /// Whether a byte is in the set.
    pub fn contains(&self, byte: u8) -> bool {
        let at = |table: &[u8; CHUNK], half: u8| table.get(usize::from(half)).copied();
        let bits = at(&self.lower, byte & 15).zip(at(&UPPER, byte >> 4));
        bits.is_some_and(|(lower, upper)| lower & upper != 0)
    }

    /// The index of the first byte that is in the set, or the length.
    #[cfg_attr(target_family = "wasm", target_feature(enable = "simd128"))]
    pub fn first_in(&self, bytes: &[u8]) -> usize {
        let (chunks, tail) = bytes.as_chunks::<CHUNK>();
        let mut at = 0;
        for chunk in chunks {
            let members = masks(&self.lower, chunk).members;
            if members != 0 {
                return at + members.trailing_zeros() as usize;
            }
            at += CHUNK;
        }
        if let Some(last) = bytes.last_chunk().filter(|_| !tail.is_empty()) {
            // Some of its bytes were looked at before: they are no members.
            let members = masks(&self.lower, last).members;
            let first = members.trailing_zeros() as usize;
            return if members == 0 {
                bytes.len()
            } else {
                bytes.len() - CHUNK + first
            };
        }
        let found = tail.iter().position(|byte| self.contains(*byte));
        at + found.unwrap_or(tail.len())
    }

    /// How many bytes at the beginning of a text are words apart by one space each, without a byte
    /// that is in the set or beyond ASCII. It may be fewer than there are in a text of less than
    /// sixteen bytes. A space is not counted unless the byte behind it is.
    #[cfg_attr(target_family = "wasm", target_feature(enable = "simd128"))]
    pub fn plain_words(&self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
            let (stops, ends) = ends(&masks(&self.lower, chunk));
            if ends == 0 {
                at += CHUNK;
                continue;
            }
            let plain = ends.trailing_zeros() as usize;
            at += plain;
            if plain + 1 < CHUNK || stops & LAST != 0 {
                return at;
            }
        }
        let Some(last) = bytes.last_chunk() else {
            return at;
        };
        // Its first bytes were looked at before: they are plain.
        let start = bytes.len() - CHUNK;
        let known = at - start;
        let (_, ends) = ends(&masks(&self.lower, last));
        match u32::from(ends) >> known << known {
            0 => bytes.len(),
            ends => start + ends.trailing_zeros() as usize,
        }
    }
}

/// The last byte of a chunk.
const LAST: u16 = 1 << (CHUNK - 1);

/// Where plain words stop in a chunk, and where they end: also at a space that no word follows. What is
/// behind the last byte is not known.
#[inline]
fn ends(found: &Masks) -> (u16, u16) {
    let stops = found.members | found.beyond_ascii;
    let before = (stops | found.spaces) >> 1 | LAST;
    (stops, stops | found.spaces & before)
}

/// What the characters of an ASCII chunk are, one bit each, the first character lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Words {
    pub spaces: u16,
    pub alphanumerics: u16,
}

/// What the characters of a chunk are; `None` unless it is ASCII. White space is the space, and
/// tabulator to carriage return.
#[cfg(target_family = "wasm")]
#[inline]
#[target_feature(enable = "simd128")]
pub(super) fn words(chunk: &[u8; CHUNK]) -> Option<Words> {
    use core::arch::wasm32::{
        u8x16_bitmask, u8x16_eq, u8x16_lt, u8x16_splat, u8x16_sub, v128, v128_load, v128_or,
    };
    // SAFETY: there are sixteen bytes, and they need no alignment.
    let bytes = unsafe { v128_load(chunk.as_ptr().cast()) };
    if u8x16_bitmask(bytes) != 0 {
        return None;
    }
    let within = |bytes: v128, first: u8, count: u8| {
        u8x16_lt(u8x16_sub(bytes, u8x16_splat(first)), u8x16_splat(count))
    };
    let small = v128_or(bytes, u8x16_splat(0x20));
    let blank = u8x16_eq(bytes, u8x16_splat(b' '));
    Some(Words {
        spaces: u8x16_bitmask(v128_or(blank, within(bytes, b'\t', 5))),
        alphanumerics: u8x16_bitmask(v128_or(within(small, b'a', 26), within(bytes, b'0', 10))),
    })
}

#[cfg(not(target_family = "wasm"))]
pub(super) fn words(chunk: &[u8; CHUNK]) -> Option<Words> {
    let mask = |is: fn(&u8) -> bool| {
        let bits = chunk.iter().rev();
        bits.fold(0, |mask, byte| mask << 1 | u16::from(is(byte)))
    };
    chunk.is_ascii().then(|| Words {
        spaces: mask(|byte| matches!(byte, b' ' | b'\t'..=b'\r')),
        alphanumerics: mask(u8::is_ascii_alphanumeric),
    })
}

#[cfg(target_family = "wasm")]
#[inline]
#[target_feature(enable = "simd128")]
fn masks(lower: &[u8; CHUNK], chunk: &[u8; CHUNK]) -> Masks {
    use core::arch::wasm32::{
        u8x16_bitmask, u8x16_eq, u8x16_ne, u8x16_shr, u8x16_splat, u8x16_swizzle, v128, v128_and,
        v128_load,
    };
    let load = |bytes: &[u8; CHUNK]| -> v128 {
        // SAFETY: there are sixteen bytes, and they need no alignment.
        unsafe { v128_load(bytes.as_ptr().cast()) }
    };
    let bytes = load(chunk);
    let lower = u8x16_swizzle(load(lower), v128_and(bytes, u8x16_splat(15)));
    let upper = u8x16_swizzle(load(&UPPER), u8x16_shr(bytes, 4));
    let members = v128_and(lower, upper);
    Masks {
        members: u8x16_bitmask(u8x16_ne(members, u8x16_splat(0))),
        beyond_ascii: u8x16_bitmask(bytes),
        spaces: u8x16_bitmask(u8x16_eq(bytes, u8x16_splat(b' '))),
    }
}

#[cfg(not(target_family = "wasm"))]
fn masks(lower: &[u8; CHUNK], chunk: &[u8; CHUNK]) -> Masks {
    let set = ByteSet { lower: *lower };
    let mask = |is: &dyn Fn(u8) -> bool| {
        let bits = chunk.iter().rev();
        bits.fold(0, |mask, byte| mask << 1 | u16::from(is(*byte)))
    };
    Masks {
        members: mask(&|byte| set.contains(byte)),
        beyond_ascii: mask(&|byte| !byte.is_ascii()),
        spaces: mask(&|byte| byte == b' '),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKS: &[u8] = b"\\*_<\x7f";

    #[test]
    fn a_set_holds_its_bytes_and_no_others() {
        let set = ByteSet::of(MARKS);
        let controls = ByteSet::of(b"\xe9").with_controls();
        for byte in 0..=u8::MAX {
            assert_eq!(set.contains(byte), MARKS.contains(&byte), "{byte}");
            assert_eq!(controls.contains(byte), byte < b' ', "{byte}");
        }
    }

    #[test]
    fn the_first_member_is_found_wherever_it_stands() {
        let set = ByteSet::of(MARKS);
        for len in 0..60 {
            for filler in [b'a', b' ', 0xe9] {
                let mut text = vec![filler; len];
                assert_eq!(set.first_in(&text), len);
                for at in (0..len).rev() {
                    text[at] = MARKS[at % MARKS.len()];
                    assert_eq!(set.first_in(&text), at);
                }
            }
        }
    }

    /// Byte by byte.
    fn plain_slowly(set: ByteSet, text: &[u8]) -> usize {
        let stops = |byte: u8| set.contains(byte) || !byte.is_ascii();
        let ends = |at: usize| {
            let behind = text.get(at + 1).copied();
            stops(text[at])
                || text[at] == b' ' && behind.is_none_or(|byte| byte == b' ' || stops(byte))
        };
        (0..text.len()).find(|at| ends(*at)).unwrap_or(text.len())
    }

    #[test]
    fn plain_words_end_before_what_is_not_plain() {
        let set = ByteSet::of(b"*").with_controls();
        let words = b"two words, a b c".iter().copied().cycle();
        for len in 0..70 {
            for odd in [
                &b"*"[..],
                b"  ",
                b" *",
                b"\n",
                b"\xc3",
                b" \xc3",
                b" \n",
                b"x",
            ] {
                for behind in 0..40 {
                    let mut text: Vec<u8> = words.clone().take(len).collect();
                    text.extend_from_slice(odd);
                    text.resize(text.len() + behind, b'x');
                    let plain = set.plain_words(&text);
                    let all = plain_slowly(set, &text);
                    let expected = if text.len() < CHUNK { 0 } else { all };
                    assert_eq!(plain, expected, "{text:?}");
                }
            }
        }
    }
}
