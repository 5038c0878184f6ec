use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

use super::*;

const MAX: usize = 4 << 20;

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn zlib(data: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn raw_deflate(data: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn zstd(data: &[u8]) -> Vec<u8> {
    ::zstd::encode_all(data, 3).unwrap()
}

fn brotli(data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    brotli::BrotliCompress(&mut &*data, &mut out, &Default::default()).unwrap();
    out
}

fn encode(coding: Coding, data: &[u8]) -> Vec<u8> {
    match coding {
        Coding::Gzip => gzip(data),
        Coding::Deflate => zlib(data),
        Coding::Brotli => brotli(data),
        Coding::Zstd => zstd(data),
    }
}

const ALL: [Coding; 4] = [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd];

/// Text that is neither repetitive nor random.
fn sample(len: usize) -> Vec<u8> {
    (0..len)
        .map(|n| b"the quick brown fox "[(n * n / 7 + n / 13) % 20])
        .collect()
}

/// Decodes in pieces of `piece` bytes.
fn decode(codings: &[Coding], input: &[u8], piece: usize) -> Result<Decoded, String> {
    let mut body = Body::new(codings, MAX, Some(input.len() as u64));
    for piece in input.chunks(piece) {
        match body.push(piece) {
            Ok(()) => {}
            Err(Stop::Full) => return Ok(body.cut()),
            Err(Stop::Malformed(what)) => return Err(what.to_owned()),
        }
    }
    match body.settle() {
        Ok(()) => {}
        Err(Stop::Full) => return Ok(body.cut()),
        Err(Stop::Malformed(what)) => return Err(what.to_owned()),
    }
    body.finish().map_err(|fault| fault.message)
}

#[test]
fn every_coding_decodes_whole_and_in_pieces() {
    let data = sample(200_000);
    for coding in ALL {
        let encoded = encode(coding, &data);
        for piece in [1, 7, 1000, usize::MAX] {
            let decoded = decode(&[coding], &encoded, piece).unwrap();
            assert!(
                decoded.body == data && !decoded.truncated,
                "{coding:?} {piece}"
            );
            assert_eq!(
                decoded.raw.is_some(),
                coding != Coding::Deflate,
                "{coding:?}"
            );
            if let Some(raw) = decoded.raw {
                assert_eq!(raw.bytes, encoded);
            }
        }
    }
}

#[test]
fn deflate_is_zlib_or_raw() {
    let data = sample(5000);
    for encoded in [zlib(&data), raw_deflate(&data)] {
        for piece in [1, 2, 3, usize::MAX] {
            assert_eq!(
                decode(&[Coding::Deflate], &encoded, piece).unwrap().body,
                data
            );
        }
    }
}

#[test]
fn two_layers_decode_in_their_order() {
    let data = sample(50_000);
    for outer in ALL {
        for inner in ALL {
            let encoded = encode(outer, &encode(inner, &data));
            let decoded = decode(&[outer, inner], &encoded, 1000).unwrap();
            assert!(decoded.body == data && decoded.raw.is_none());
        }
    }
}

/// Fault 8 of the list of crawler faults.
#[test]
fn a_bomb_stops_at_the_limit() {
    let zeros = vec![0; 64 << 20];
    for coding in ALL {
        let decoded = decode(&[coding], &encode(coding, &zeros), usize::MAX).unwrap();
        assert!(decoded.truncated && decoded.raw.is_none());
        assert_eq!(decoded.body.len(), MAX, "{coding:?}");
        assert!(decoded.body.len() + BLOCK >= MAX);
    }
    let nested = gzip(&gzip(&zeros));
    assert_eq!(
        decode(&[Coding::Gzip, Coding::Gzip], &nested, usize::MAX)
            .unwrap()
            .body
            .len(),
        MAX
    );
}

/// Fault 8: the inner stream has no output, however much input the outer one feeds it.
#[test]
fn a_bomb_between_the_layers_stops_too() {
    let empty_blocks: Vec<u8> = [0x00, 0x00, 0x00, 0xff, 0xff].repeat(8 << 20);
    let mut body = Body::new(&[Coding::Gzip, Coding::Deflate], MAX, None);
    assert!(matches!(body.push(&gzip(&empty_blocks)), Err(Stop::Full)));
}

/// Faults 9 and 12.
#[test]
fn unknown_and_too_many_codings_are_refused() {
    let read = |values: &[&str]| codings(values.iter().copied());
    assert_eq!(read(&["gzip, br"]).unwrap(), [Coding::Brotli, Coding::Gzip]);
    assert_eq!(read(&["X-GZIP", "identity", ""]).unwrap(), [Coding::Gzip]);
    assert_eq!(read(&["gzip", "gzip"]).unwrap().len(), 2);
    assert_eq!(read(&["UTF-8"]).unwrap(), []);
    assert_eq!(read(&["none", "gzip"]).unwrap(), [Coding::Gzip]);
    assert_eq!(
        read(&[&["gzip"; 10].join(", ")]).unwrap_err().sub,
        Some(SubKind::TooManyCodings)
    );
    for unknown in ["compress", "gzip, utf-8", "sdch"] {
        assert_eq!(
            read(&[unknown]).unwrap_err().sub,
            Some(SubKind::UnknownCoding),
            "{unknown}"
        );
    }
}

/// Fault 10.
#[test]
fn a_plain_body_under_a_coding_is_malformed() {
    for coding in [Coding::Gzip, Coding::Zstd, Coding::Brotli] {
        assert!(
            decode(&[coding], b"<html><p>plain</p></html>", usize::MAX).is_err(),
            "{coding:?}"
        );
    }
}

/// Fault 11.
#[test]
fn a_stream_cut_short_keeps_what_decoded() {
    // Hardly compressible, so that two thirds contain whole blocks of every coding.
    let mut state = 1u32;
    let noise = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 25) as u8
    };
    let data: Vec<u8> = (0..600_000).map(noise).collect();
    for coding in ALL {
        let encoded = encode(coding, &data);
        let decoded = decode(&[coding], &encoded[..encoded.len() * 2 / 3], 1000).unwrap();
        assert!(decoded.truncated && decoded.raw.is_none(), "{coding:?}");
        assert!(
            !decoded.body.is_empty() && data.starts_with(&decoded.body),
            "{coding:?}"
        );
    }
    // Only the checksum is missing: all content is there, but not verified.
    let encoded = gzip(&data);
    let decoded = decode(&[Coding::Gzip], &encoded[..encoded.len() - 4], usize::MAX).unwrap();
    assert!(decoded.truncated && decoded.raw.is_none() && decoded.body == data);
}

#[test]
fn a_wrong_checksum_is_malformed() {
    let mut encoded = gzip(&sample(1000));
    let at = encoded.len() - 6;
    encoded[at] ^= 1;
    assert!(decode(&[Coding::Gzip], &encoded, usize::MAX).is_err());
}

#[test]
fn several_members_decode_and_trailing_garbage_is_ignored() {
    let (one, two) = (sample(1000), sample(2000));
    let both = [one.as_slice(), two.as_slice()].concat();
    for coding in [Coding::Gzip, Coding::Zstd] {
        let encoded = [encode(coding, &one), encode(coding, &two)].concat();
        for piece in [1, 100, usize::MAX] {
            let decoded = decode(&[coding], &encoded, piece).unwrap();
            assert!(
                decoded.body == both && decoded.raw.is_some(),
                "{coding:?} {piece}"
            );
        }
    }
    for coding in ALL {
        let encoded = [encode(coding, &one), vec![0; 100]].concat();
        let decoded = decode(&[coding], &encoded, 50).unwrap();
        assert!(
            decoded.body == one && !decoded.truncated && decoded.raw.is_none(),
            "{coding:?}"
        );
    }
}

#[test]
fn an_empty_body_is_empty_under_any_coding() {
    for coding in ALL {
        let decoded = decode(&[coding], b"", 1).unwrap();
        assert!(decoded.body.is_empty() && !decoded.truncated && decoded.raw.is_none());
        assert!(
            decode(&[coding], &encode(coding, b""), 1)
                .unwrap()
                .body
                .is_empty()
        );
    }
}

#[test]
fn a_zstd_window_above_8_mib_is_refused() {
    let mut encoder = ::zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(27).unwrap();
    encoder.write_all(&sample(100_000)).unwrap();
    let encoded = encoder.finish().unwrap();
    assert!(decode(&[Coding::Zstd], &encoded, usize::MAX).is_err());
}

#[test]
fn identity_is_limited_as_well() {
    assert_eq!(decode(&[], &sample(MAX), 999).unwrap().body.len(), MAX);
    let cut = decode(&[], &sample(MAX + 1), 999).unwrap();
    assert!(cut.truncated && cut.body.len() == MAX);
}

#[test]
fn many_members_without_content_are_malformed() {
    for coding in [Coding::Gzip, Coding::Zstd] {
        let data = sample(3_000);
        let few = [encode(coding, b"").repeat(900), encode(coding, &data)].concat();
        assert!(
            decode(&[coding], &few, 4096).unwrap().body == data,
            "{coding:?}"
        );
        let many = encode(coding, b"").repeat(2_000);
        assert!(decode(&[coding], &many, 4096).is_err(), "{coding:?}");
        // As programs write that compress in blocks.
        let blocks = encode(coding, &data).repeat(1_200);
        let decoded = decode(&[coding], &blocks, 4096).unwrap();
        assert!(decoded.body == data.repeat(1_200), "{coding:?}");
    }
}

#[test]
fn a_body_in_single_bytes_decodes_however_far_it_expands() {
    let data = vec![0; 1 << 20];
    for coding in ALL {
        let encoded = encode(coding, &data);
        assert!(
            decode(&[coding], &encoded, 1).unwrap().body == data,
            "{coding:?}"
        );
    }
}

#[test]
fn an_unknown_coding_is_named_whole_and_as_it_came_or_not_at_all() {
    let message = |value: &str| codings(std::iter::once(value)).unwrap_err().message;
    assert!(message("Rot13").contains("\"Rot13\""));
    let long = "a".repeat(41);
    let told = message(&long);
    assert!(!told.contains("aaa") && told.contains("41 bytes"), "{told}");
}
