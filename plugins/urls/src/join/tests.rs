use super::*;

const BASES: &[&str] = &[
    "https://example.org/",
    "http://www.example.org:8080/a/b/c.html?x=1&y=2#frag",
    "https://example.org/a//b/",
    "https://user:pw@example.org/dir/page",
    "http://[::1]:81/x/y",
    "https://example.org/p;v=1/q%20r/?",
    "https://xn--bcher-kva.example/b%C3%BCcher#",
];

/// The standard's parser with this module's limits, and without its flaw: it knows no host after more
/// than two slashes.
fn reference(base: &str, href: &str) -> Option<Resolved> {
    let base = Url::parse(base).expect("a base");
    let start = href.trim_start_matches(|c| c <= ' ');
    let host = start.trim_start_matches(['/', '\\', '\t', '\n', '\r']);
    let joined = match start.starts_with("//") {
        true => base.join(&format!("//{host}")),
        false => base.join(href),
    };
    Resolved::from_url(&joined.ok()?)
}

/// Compares text and parts; returns whether the fast path was used.
fn compare(base: &str, href: &str) -> bool {
    let joined = Base::new(base).expect("a base");
    let expected = reference(base, href);
    assert_eq!(joined.join(href), expected, "{href:?} against {base}");
    let mut out = Resolved::default();
    let plain = joined.join_plain(href, &mut out);
    match plain {
        None => false,
        Some(done) => {
            assert_eq!(done.then_some(out), expected, "{href:?} against {base}");
            true
        }
    }
}

#[test]
fn usual_forms_use_the_fast_path() {
    for base in BASES {
        for href in [
            "",
            "#",
            "#top",
            "?",
            "?a=b",
            "?a#b",
            "/",
            "/x",
            "/x/y?z#f",
            "x",
            "x/y/",
            "x.html#a=b",
            "./x",
            "../x",
            "../../../x",
            "..",
            ".",
            "./",
            "x/../y",
            "x/./y",
            "x/..",
            "x/.",
            "/../x",
            "//cdn.example.net",
            "//cdn.example.net/x",
            "http://example.com",
            "https://Example.COM/A?b#c",
            "http://example.com:80/",
            "https://example.com:443",
            "http://example.com:443/x",
            "  /x\n",
            "mailto:a@b.c",
            "javascript:void(0)",
            "tel:1",
            "data:,x",
            "a.b/c",
            "x:y",
            "1:2",
            "/a:b",
            "x%20y",
            "%7Ex",
            "a//b",
            "//a_b.example/x",
            "http://e.org/a'b",
            "...",
            ".x",
            "a/...",
            "/.../x/../y",
        ] {
            assert!(compare(base, href), "{href:?} against {base}");
        }
    }
}

#[test]
fn unusual_forms_agree_with_the_standard() {
    for base in BASES {
        for href in [
            "http:",
            "http:/",
            "http:x",
            "http:/x",
            "http://",
            "http:///x",
            "https:x",
            "HTTP://E.org/x",
            "hTTps:x",
            "///x",
            "\\x",
            "/\\x",
            "//",
            "//x:y/",
            "//x:99999/",
            "//x:080/",
            "//x:/",
            "http://x:80a/",
            "http://a@b/",
            "http://1.2.3.4/",
            "http://0x7f.1/",
            "http://999/",
            "http://1.2.3.4.5/",
            "http://a.1/",
            "http://[::1]/",
            "http://ex%41mple.org/",
            "http://bücher.example/ü?ü#ü",
            "http://xn--bcher-kva.example/",
            "http://XN--a.example/",
            "http://xn--/",
            "http://a..b/",
            "http://.a/",
            "http://a./",
            "http://./",
            "http://-a-/",
            "http://a--b.c/",
            "http://a b/",
            "x y",
            "x\ty",
            "x\ny",
            "/%2e/x",
            "/%2e%2E/x",
            "%2e%2e/x",
            ".%2e/x",
            "a/%2e",
            "x{y}",
            "x|y",
            "x^y",
            "x`y",
            "x<y>",
            "x\"y",
            "?a'b",
            "?a|b",
            "?a^b",
            "?a\\b",
            "?a[b]",
            "?{}",
            "#a#b",
            "#a`b",
            "#<>",
            "#\"",
            "x\u{0}y",
            "\u{1}x",
            "x\u{a0}",
            "\u{feff}x",
            "日本",
            "?日本",
            "file:///x",
            "ftp://x/",
            "ws://x/",
            "about:blank",
            "a%",
            "a%zz",
            "?%",
            "#%",
            "/a\\b",
            "..\\x",
            "blob:https://x/1",
            "-x:y",
            "+:x",
            "a+b-c.d:x",
            "http://x?y",
            "http://x#y",
            "http://x/?y=1?z",
            "//x\\y",
        ] {
            compare(base, href);
        }
    }
}

#[test]
fn more_than_two_slashes_before_a_host_are_ignored() {
    let base = Base::new("https://example.org/a/b").expect("a base");
    for href in [
        "///e.org/x",
        "////e.org/x",
        "//\\e.org/x",
        " ///e.org/x",
        "/\\/e.org/x",
    ] {
        let joined = base.join(href).map(Resolved::into_string);
        assert_eq!(joined.as_deref(), Some("https://e.org/x"), "{href:?}");
    }
    for href in ["///", "///?x", "//", "///:80/x"] {
        assert_eq!(base.join(href), None, "{href:?}");
    }
}

#[test]
fn every_byte_at_every_position_agrees_with_the_standard() {
    for byte in 0..=255_u8 {
        let c = char::from(byte);
        for href in [
            format!("{c}"),
            format!("a{c}b"),
            format!("/a{c}b"),
            format!("?a{c}b"),
            format!("#a{c}b"),
            format!("{c}a"),
            format!("http://a{c}b.example/"),
            format!("http://a.example{c}/"),
            format!("//a.b{c}c"),
            format!("x?a{c}b#c{c}d"),
        ] {
            for base in BASES {
                compare(base, &href);
            }
        }
    }
}

#[test]
fn generated_references_agree_with_the_standard() {
    const PIECES: &[&str] = &[
        "a",
        "b.html",
        "..",
        ".",
        "/",
        "//",
        "?",
        "#",
        "=",
        "&",
        "%20",
        "%2e",
        "%7E",
        ":",
        "@",
        "http:",
        "https://",
        "example.org",
        "EXAMPLE.com",
        "xn--",
        "80",
        "443",
        "0x1",
        " ",
        "\t",
        "\\",
        "ü",
        "'",
        "\"",
        "|",
        "[",
        "]",
        "index",
        "-",
        "_",
        "~",
        ";",
        ",",
        "1.2",
    ];
    // A linear congruential generator (Knuth's MMIX): the same references on every run.
    let mut state = 0x5eed_u64;
    let mut next = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut plain = 0;
    const ROUNDS: usize = 20_000;
    for _ in 0..ROUNDS {
        let href: String = (0..1 + next(7))
            .map(|_| PIECES[next(PIECES.len())])
            .collect();
        plain += usize::from(compare(BASES[next(BASES.len())], &href));
    }
    assert!(plain > ROUNDS / 4, "{plain} of {ROUNDS} used the fast path");
}

#[test]
fn only_http_urls_are_bases_and_long_ones_are_refused() {
    for url in [
        "",
        "x",
        "/x",
        "mailto:x",
        "file:///x",
        "data:,x",
        "about:blank",
        "http://",
    ] {
        assert!(Base::new(url).is_none(), "{url:?}");
    }
    let long = format!("https://example.org/{}", "x".repeat(MAX_URL_BYTES));
    assert!(Base::new(&long).is_none());
    let base = Base::new(&long[..MAX_URL_BYTES]).expect("a base");
    assert!(base.join("#x").is_none());
    assert_eq!(
        base.join("/y").map(|url| url.into_string()).as_deref(),
        Some("https://example.org/y")
    );
}

#[test]
fn the_parts_of_a_resolved_url_are_available() {
    let base = Base::new("https://user@Example.org:8443/a/b?c#d").expect("a base");
    let url = base.join("../x/?q=1#f").expect("a URL");
    assert_eq!(url.scheme(), "https");
    assert_eq!(url.host(), "example.org");
    assert_eq!(url.port(), "8443");
    assert_eq!(url.path(), "/x/");
    assert_eq!(url.query(), Some("q=1"));
    assert_eq!(url.fragment(), Some("f"));
    assert_eq!(
        url.without_fragment(),
        "https://user@example.org:8443/x/?q=1"
    );
    let root = base.join("//e.org").expect("a URL");
    assert_eq!(
        (root.path(), root.query(), root.fragment(), root.port()),
        ("/", None, None, "")
    );
}

#[test]
fn a_limited_base_resolves_up_to_its_limit() {
    let base = Base::new("https://example.org/")
        .expect("a base")
        .limited(60);
    assert_eq!(
        base.join("a").expect("21 bytes").as_str(),
        "https://example.org/a"
    );
    assert_eq!(base.join("mailto:a@example.org"), None);
    assert!(base.join("b").is_some());
    assert!(!base.is_exhausted());
    assert_eq!(base.join("c"), None);
    assert!(base.is_exhausted());
    assert_eq!(base.join(""), None);
}

#[test]
fn dots_after_a_drive_letter_are_left_to_the_parser() {
    for (base, href) in [
        ("https://example.org/a/x:/y?", ".."),
        ("https://example.org/a/x|/y", "../z"),
        ("https://example.org/x:/y", "../../z"),
        ("https://example.org/a/", "./x:/../z"),
        ("https://example.org/a/", "/x:/b/../../z"),
        ("https://example.net/", "https://example.org/a/x:/.."),
    ] {
        assert!(!compare(base, href), "{href} against {base}");
    }
    for href in ["x/../xy:/../z", "./x:/b/../z", "./x:/./z", "1:/../z"] {
        assert!(compare("https://example.org/a/", href), "{href}");
    }
}
