//! Looking at eight bytes of text at once.
//!
//! Each function that returns a mask sets the lowest bit of every byte for which it holds. All
//! of them are right for ASCII only: see [`is_ascii`].

const ONES: u64 = u64::from_ne_bytes([1; 8]);
const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);

/// Eight bytes of a text; the first is the lowest.
pub(crate) fn load(chunk: [u8; 8]) -> u64 {
    u64::from_le_bytes(chunk)
}

pub(crate) fn is_ascii(chunk: u64) -> bool {
    chunk & HIGHS == 0
}

/// Bytes that are `bound` or more; `bound` at most 128.
fn at_least(chunk: u64, bound: u64) -> u64 {
    // With the high bits set no byte borrows from the next one.
    ((chunk | HIGHS) - ONES * bound) >> 7 & ONES
}

fn within(chunk: u64, first: u8, last: u8) -> u64 {
    at_least(chunk, first.into()) & !at_least(chunk, u64::from(last) + 1)
}

/// ASCII white space: spaces, and tabulator to carriage return.
pub(crate) fn spaces(chunk: u64) -> u64 {
    within(chunk, b' ', b' ') | within(chunk, b'\t', b'\r')
}

/// ASCII letters and digits.
pub(crate) fn alphanumerics(chunk: u64) -> u64 {
    within(chunk | (ONES * 0x20), b'a', b'z') | within(chunk, b'0', b'9')
}

/// Whether none of the bytes is a control character, and no two are spaces in a row.
pub(crate) fn is_even(chunk: u64) -> bool {
    let spaces = within(chunk, b' ', b' ');
    at_least(chunk, 0x20) == ONES && spaces & spaces >> 8 == 0
}

/// Whether the first byte is a space, and whether the last one is.
pub(crate) fn edges(chunk: u64) -> (bool, bool) {
    let space = u64::from(b' ');
    (chunk & 0xff == space, chunk >> 56 == space)
}

/// How many bytes a mask marks.
pub(crate) fn count(mask: u64) -> u64 {
    mask.wrapping_mul(ONES) >> 56
}

/// The same mask with whole bytes set.
pub(crate) fn widen(mask: u64) -> u64 {
    mask * 0xff
}

/// The bytes that a mask does not mark.
pub(crate) fn others(mask: u64) -> u64 {
    !mask & ONES
}

/// Whether a byte of the chunk, ASCII or not, is one of these ASCII characters.
pub(crate) fn has_any(chunk: u64, characters: &[u8]) -> bool {
    characters.iter().any(|&c| {
        let difference = chunk ^ (ONES * u64::from(c));
        difference.wrapping_sub(ONES) & !difference & HIGHS != 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_agree_with_the_bytes_whatever_stands_beside_them() {
        for neighbour in [0_u8, b' ', b'a', b'\t', 0x7f] {
            for byte in 0..0x80 {
                for place in 0..8 {
                    let mut bytes = [neighbour; 8];
                    bytes[place] = byte;
                    let chunk = load(bytes);
                    let marked = |mask: u64, is: fn(u8) -> bool| {
                        for (i, b) in bytes.iter().enumerate() {
                            assert_eq!(mask >> (8 * i) & 0xff, u64::from(is(*b)), "{bytes:?}");
                        }
                        let expected = bytes.iter().filter(|b| is(**b)).count();
                        assert_eq!(count(mask), expected as u64, "{bytes:?}");
                    };
                    marked(spaces(chunk), |b| matches!(b, b' ' | b'\t'..=b'\r'));
                    marked(alphanumerics(chunk), |b| b.is_ascii_alphanumeric());
                    let even = bytes.iter().all(|b| *b >= b' ')
                        && bytes.windows(2).all(|pair| pair != b"  ");
                    assert_eq!(is_even(chunk), even, "{bytes:?}");
                }
            }
        }
        assert!(has_any(load(*b"abcd\xc3<\xa9g"), b"&<>"));
        assert!(!has_any(load(*b"abcd\xc3\xbc\xa6\xbe"), b"&<>"));
    }
}
