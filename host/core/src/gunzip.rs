//! A gzip body that is there as a whole, decoded at once: about half the work of decoding it in
//! pieces, for which a decoder keeps the last 32 KiB of content between two pieces.

use std::cell::RefCell;
use std::ptr::NonNull;

use libdeflate_sys::{
    libdeflate_alloc_decompressor, libdeflate_decompressor, libdeflate_free_decompressor,
    libdeflate_gzip_decompress_ex, libdeflate_result_LIBDEFLATE_SUCCESS,
};

/// Longest body, in bytes as received, that is decoded at once.
pub const MAX_RECEIVED: usize = 256 << 10;
/// Most bytes of its content.
const MAX_CONTENT: usize = 768 << 10;
/// How many times larger the content may be: pages shrink to a third or a tenth.
const MAX_GROWTH: usize = 64;

thread_local! {
    static DECODER: RefCell<Option<Decoder>> = const { RefCell::new(None) };
}

/// The content of a body that is one gzip member (RFC 1952) and nothing else, if it has at most `max`
/// bytes. `None` for every other body, malformed ones included, and for unusually much content: those
/// are to be decoded in pieces, which tells what is wrong with them.
pub fn gunzip(body: &[u8], max: usize) -> Option<Vec<u8>> {
    if body.len() > MAX_RECEIVED {
        return None;
    }
    // A member ends with the length of its content. A wrong one only costs the attempt.
    let length = u32::from_le_bytes(*body.last_chunk()?);
    let length = usize::try_from(length).ok()?;
    let most = max
        .min(MAX_CONTENT)
        .min(body.len().saturating_mul(MAX_GROWTH));
    if length > most {
        return None;
    }
    DECODER.with_borrow_mut(|decoder| {
        if decoder.is_none() {
            *decoder = Decoder::new();
        }
        decoder.as_mut()?.gunzip(body, length)
    })
}

/// The library's tables, which are used again for the next body.
struct Decoder(NonNull<libdeflate_decompressor>);

impl Decoder {
    /// `None` without memory for it.
    fn new() -> Option<Self> {
        // SAFETY: the function has no conditions; null tells that there is no memory.
        NonNull::new(unsafe { libdeflate_alloc_decompressor() }).map(Self)
    }

    /// Decodes a body that is one member, and whose content has `length` bytes.
    fn gunzip(&mut self, body: &[u8], length: usize) -> Option<Vec<u8>> {
        let mut content: Vec<u8> = Vec::with_capacity(length);
        let (mut read, mut written) = (0, 0);
        // SAFETY: the decoder is valid until it is dropped, and `&mut self` makes this its only use.
        // The library reads at most `body.len()` bytes from the first pointer and writes at most
        // `length` bytes to the second one, which has room for them.
        let result = unsafe {
            libdeflate_gzip_decompress_ex(
                self.0.as_ptr(),
                body.as_ptr().cast(),
                body.len(),
                content.as_mut_ptr().cast(),
                length,
                &raw mut read,
                &raw mut written,
            )
        };
        if result != libdeflate_result_LIBDEFLATE_SUCCESS || read != body.len() || written != length
        {
            return None;
        }
        // SAFETY: there is room for `length` bytes, and the library has written all of them.
        unsafe { content.set_len(length) };
        Some(content)
    }
}

impl Drop for Decoder {
    fn drop(&mut self) {
        // SAFETY: the library allocated it, and nobody uses it after this.
        unsafe { libdeflate_free_decompressor(self.0.as_ptr()) };
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    /// Text that shrinks as pages do.
    fn text(length: usize) -> Vec<u8> {
        let mut state = 1_u32;
        (0..length)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                b"the quick brown fox "[(state >> 24) as usize % 20]
            })
            .collect()
    }

    #[test]
    fn one_member_is_decoded_whole() {
        for length in [0, 1, 1_000, 38_000, 400_000] {
            let content = text(length);
            assert_eq!(gunzip(&gzip(&content), 1 << 20).unwrap(), content);
        }
    }

    #[test]
    fn everything_else_is_left_to_others() {
        let (content, max) = (text(20_000), 1 << 20);
        let body = gzip(&content);
        let (mut two, mut padded, mut broken) = (body.clone(), body.clone(), body.clone());
        two.extend_from_slice(&gzip(b"more"));
        padded.push(0);
        // One whose last bytes are those of its first member again.
        let mut repeated = body.clone();
        repeated.extend_from_slice(&body[body.len() - 8..]);
        let middle = broken.len() / 2;
        broken[middle] ^= 0x55;
        for other in [&two, &padded, &repeated, &broken] {
            assert_eq!(gunzip(other, max), None);
        }
        for cut in [0, 3, 10, body.len() - 1] {
            assert_eq!(gunzip(&body[..cut], max), None);
        }
        assert_eq!(gunzip(b"<!doctype html><p>no gzip", max), None);
        // More than is asked for, more than usual, and a body that is larger than usual.
        assert_eq!(gunzip(&body, content.len() - 1), None);
        assert_eq!(gunzip(&gzip(&vec![b'a'; 700_000]), max), None);
        assert_eq!(gunzip(&gzip(&text(20_000).repeat(40)), 4 << 20), None);
        // A length that is not the content's.
        for length in [0_u32, 19_999, 20_001, 700_000] {
            let mut lying = body.clone();
            let at = lying.len() - 4;
            lying[at..].copy_from_slice(&length.to_le_bytes());
            assert_eq!(gunzip(&lying, max), None, "{length}");
        }
    }
}
