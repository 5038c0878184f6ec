use encoding_rs::{EUC_KR, GB18030, SHIFT_JIS, WINDOWS_1251, WINDOWS_1252};

use super::*;

fn plain<'a>(bytes: &'a [u8], content_type: Option<&str>) -> Decoded<'a> {
    decode(bytes, content_type, Limits::default())
}

/// Fault 28: three sources that disagree.
#[test]
fn the_byte_order_mark_beats_header_beats_meta_beats_detection() {
    let html = "<meta charset=shift_jis>é";
    let mut bytes = b"\xef\xbb\xbf".to_vec();
    bytes.extend(html.as_bytes());
    let decoded = plain(&bytes, Some("text/html; charset=windows-1251"));
    assert_eq!((decoded.encoding, decoded.source), ("UTF-8", Source::Bom));
    assert_eq!(decoded.text, html);

    let decoded = plain(html.as_bytes(), Some("text/html; charset=windows-1251"));
    assert_eq!(
        (decoded.encoding, decoded.source),
        ("windows-1251", Source::Header)
    );
    let decoded = plain(html.as_bytes(), Some("text/html"));
    assert_eq!(
        (decoded.encoding, decoded.source),
        ("Shift_JIS", Source::Meta)
    );
    let decoded = plain("é".as_bytes(), None);
    assert_eq!(
        (decoded.encoding, decoded.source),
        ("UTF-8", Source::Detected)
    );
}

#[test]
fn text_that_is_no_markup_declares_nothing_by_quoting_markup() {
    let text = "# Größe\nUse <meta charset=windows-1251>";
    for content_type in ["text/plain", "text/markdown", "application/json"] {
        let decoded = plain(text.as_bytes(), Some(content_type));
        assert_eq!((decoded.text.as_ref(), decoded.encoding), (text, "UTF-8"));
    }
    for content_type in ["text/html", "application/xhtml+xml", "text/xml", "nonsense"] {
        let decoded = plain(text.as_bytes(), Some(content_type));
        assert_eq!(decoded.source, Source::Meta, "{content_type}");
    }
    // A page in a legacy encoding that is served with the wrong type.
    let (bytes, _, _) = WINDOWS_1251.encode("<meta charset=windows-1251>Привет");
    assert_eq!(plain(&bytes, Some("text/plain")).source, Source::Meta);
}

#[test]
fn utf_16_is_known_by_its_mark_or_its_header() {
    let le: Vec<u8> = "héllo".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let be: Vec<u8> = "\u{feff}héllo"
        .encode_utf16()
        .flat_map(u16::to_be_bytes)
        .collect();
    assert_eq!(plain(&le, Some("text/html; charset=utf-16")).text, "héllo");
    let decoded = plain(&be, Some("text/html; charset=utf-8"));
    assert_eq!(
        (decoded.text.as_ref(), decoded.encoding),
        ("héllo", "UTF-16BE")
    );
}

/// Fault 29: the header wins, and malformed sequences are counted.
#[test]
fn a_wrong_header_gives_counted_replacement_characters() {
    for (encoding, text) in [
        (SHIFT_JIS, "日本語のページ"),
        (GB18030, "中文网页"),
        (WINDOWS_1251, "Привет, мир"),
    ] {
        let (bytes, _, _) = encoding.encode(text);
        let decoded = plain(&bytes, Some("text/html; charset=utf-8"));
        assert_eq!(
            (decoded.encoding, decoded.source),
            ("UTF-8", Source::Header)
        );
        let replaced = decoded.text.chars().filter(|&c| c == '\u{fffd}').count() as u64;
        assert!(replaced > 0);
        assert_eq!(decoded.malformed, replaced);
    }
}

#[test]
fn undeclared_legacy_text_is_detected() {
    for (encoding, text) in [
        (
            SHIFT_JIS,
            "これは日本語で書かれたページです。文字コードの宣言はありません。",
        ),
        (
            WINDOWS_1251,
            "Это страница на русском языке, в которой кодировка нигде не указана.",
        ),
        (
            EUC_KR,
            "이 페이지는 한국어로 작성되었으며 문자 인코딩이 선언되어 있지 않습니다.",
        ),
        (
            WINDOWS_1252,
            "Où est passée la déclaration de l’encodage, à côté du café ?",
        ),
    ] {
        let (bytes, _, _) = encoding.encode(text);
        let decoded = plain(&bytes, Some("text/html"));
        assert_eq!(
            (decoded.text.as_ref(), decoded.malformed),
            (text, 0),
            "{}",
            encoding.name()
        );
        assert_eq!(decoded.source, Source::Detected);
    }
}

/// Fault 30.
#[test]
fn labels_are_those_of_the_encoding_standard() {
    for label in [
        "latin1",
        "iso-8859-1",
        "ISO_8859-1",
        "ascii",
        "windows-1252",
        "\"latin1\"",
        "x-user-defined",
    ] {
        let decoded = plain(
            b"caf\xe9 \x80",
            Some(&format!("text/html; charset={label}")),
        );
        assert_eq!(
            (decoded.text.as_ref(), decoded.encoding),
            ("café €", "windows-1252"),
            "{label}"
        );
    }
    let decoded = plain(b"+ADw-script+AD4-", Some("text/html; charset=utf-7"));
    assert_eq!(decoded.text, "+ADw-script+AD4-");
    let decoded = plain(b"<meta charset=utf-7>+ADw-script+AD4-", None);
    assert_eq!(
        (decoded.encoding, decoded.source),
        ("UTF-8", Source::Detected)
    );
    let decoded = plain(b"<meta charset=utf-16>abc", None);
    assert_eq!((decoded.encoding, decoded.source), ("UTF-8", Source::Meta));
    let decoded = plain(b"<script>", Some("text/html; charset=hz-gb-2312"));
    assert_eq!((decoded.text.as_ref(), decoded.malformed), ("\u{fffd}", 1));
}

#[test]
fn declarations_are_found_where_the_standard_says() {
    let koi8 = [
        "<meta charset='koi8-r'>",
        "<META CONTENT='text/html; Charset = \"koi8-r\"' http-equiv=Content-Type>",
        "<!doctype html><!-- <meta charset=utf-8> --><a b='<meta charset=utf-8>'><meta/charset=koi8-r>",
        "<!--><meta charset=koi8-r>",
        "<?xml version='1.0' encoding='KOI8-R'?><html/>",
        "< <p =x='>'><meta charset=koi8-r charset=utf-8>",
        "<meta http-equiv=content-type content='charset text charset=koi8-r;x'>",
        "<meta charset=unknown http-equiv=content-type content='charset=koi8-r'>",
    ];
    for html in koi8 {
        assert_eq!(plain(html.as_bytes(), None).encoding, "KOI8-R", "{html}");
    }
    let none = [
        "<meta content='text/html; charset=koi8-r'>",
        "<meta name=x charset",
        "<metacharset=koi8-r>",
        "<meta charset=\"koi8-r>",
        "<!-- <meta charset=koi8-r>",
        "<meta http-equiv=refresh content='charset=koi8-r'>",
        // Of attributes of one name, the first counts, whatever it says.
        "<meta charset=unknown CHARSET=koi8-r>",
        "<meta http-equiv=refresh HTTP-EQUIV=content-type content='charset=koi8-r'>",
        "<meta http-equiv=content-type content=text/html content='charset=koi8-r'>",
    ];
    for html in none {
        assert_eq!(
            plain(html.as_bytes(), None).source,
            Source::Detected,
            "{html}"
        );
    }
    let late = format!("<!--{}--><meta charset=koi8-r>", "x".repeat(5000));
    assert_eq!(plain(late.as_bytes(), None).encoding, "KOI8-R");
}

#[test]
fn text_is_cut_at_its_limit_between_characters() {
    let limits = Limits { max_text_bytes: 10 };
    let utf8 = "ééééééé";
    let decoded = decode(utf8.as_bytes(), None, limits);
    assert_eq!((decoded.text.as_ref(), decoded.truncated), ("ééééé", true));
    let legacy = vec![0xe9; 200_000];
    let decoded = decode(&legacy, Some("text/html; charset=latin1"), limits);
    assert_eq!((decoded.text.as_ref(), decoded.truncated), ("ééééé", true));
    let broken = vec![0xff; 200_000];
    let decoded = decode(&broken, Some("text/html; charset=utf-8"), limits);
    assert!(decoded.truncated && decoded.text.len() <= 10);
}

#[test]
fn a_sequence_cut_by_the_end_is_one_malformed_character() {
    let bytes = "naïve café".as_bytes();
    let decoded = plain(&bytes[..bytes.len() - 1], None);
    assert_eq!((decoded.encoding, decoded.malformed), ("UTF-8", 1));
    assert_eq!(decoded.text, "naïve caf\u{fffd}");
}

#[test]
fn every_byte_string_decodes() {
    let mut state = 1u64;
    for len in 0..300usize {
        let bytes: Vec<u8> = (0..len)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();
        for label in [
            "utf-8",
            "shift_jis",
            "gb18030",
            "iso-2022-jp",
            "utf-16",
            "euc-jp",
            "big5",
            "",
        ] {
            let content_type = format!("text/html; charset={label}");
            let decoded = plain(&bytes, Some(&content_type));
            assert!(decoded.malformed <= len as u64 + 1);
        }
    }
}

#[test]
fn text_that_a_browser_decoded_becomes_its_bytes_again() {
    let cases: [(&[u8], Option<&str>); 8] = [
        (b"plain", Some("text/plain")),
        ("caf\u{e9}".as_bytes(), Some("text/plain")),
        ("caf\u{e9}".as_bytes(), Some("text/plain; charset=utf-8")),
        (b"\xef\xf0\xe8", Some("text/plain;charset=\"windows-1251\"")),
        (b"caf\xe9", Some("text/csv; charset=latin1")),
        ("{\"a\":\"\u{e9}\"}".as_bytes(), Some("application/ld+json")),
        (
            b"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xe9</a>",
            Some("application/rss+xml"),
        ),
        ("<a>\u{e9}</a>".as_bytes(), Some("text/xml")),
    ];
    for (bytes, content_type) in cases {
        // What a browser makes of it.
        let kind = content_type.unwrap_or_default();
        let encoding = match kind {
            kind if kind.contains("1251") => WINDOWS_1251,
            kind if kind.contains("utf-8") || kind.contains("json") || kind == "text/xml" => UTF_8,
            _ => WINDOWS_1252,
        };
        let text = encoding.decode_without_bom_handling(bytes).0.into_owned();
        assert_eq!(encode_again(text, content_type), bytes, "{kind}");
    }
    let other = "\u{43f}\u{440}".to_owned();
    assert_eq!(
        encode_again(other.clone(), Some("text/plain")),
        other.as_bytes()
    );
}
