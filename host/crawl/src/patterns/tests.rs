//! Tests of the patterns.

use std::time::{Duration, Instant};

use regex::bytes::RegexSetBuilder;

use super::*;

fn compile(include: &[&str]) -> Result<PathPatterns, String> {
    let include: Vec<String> = include.iter().map(|one| (*one).to_owned()).collect();
    PathPatterns::compile(&include, &[]).map_err(|error| error.to_string())
}

fn allows(patterns: &PathPatterns, path: &str) -> bool {
    patterns.allow(path, &mut 0)
}

#[test]
fn patterns_are_limited_and_linear() {
    let blog = compile(&["^/blog/"]).unwrap();
    assert!(allows(&blog, "/blog/x?y") && !allows(&blog, "/about"));
    assert!(compile(&[]).unwrap().is_empty());
    for bad in ["(", "a{100000000}", "(?=x)", r"(a)\1", "(a{1000}){1000}"] {
        let error = compile(&["/ok", bad]).unwrap_err();
        assert!(error.starts_with("include_paths[1]: "), "{bad}: {error}");
    }
    assert!(compile(&[&"(".repeat(200)]).is_err());
    let deep = format!("{}a{}", "(".repeat(100), ")".repeat(100));
    assert!(compile(&[&deep]).is_err());
}

#[test]
fn ascii_and_unicode_classes_match_alike() {
    let ascii = compile(&[r"^/\w+/\d+$", r"[^/]{3}\?.=\W$"]).unwrap();
    assert!(allows(&ascii, "/Ab_9/12") && allows(&ascii, "/abc?q=%"));
    assert!(!allows(&ascii, "/a-b/12") && !allows(&ascii, "/abc?q=x"));
    let unicode = compile(&[r"^/\p{Lu}+$", "(?iu)^/é$"]).unwrap();
    assert!(allows(&unicode, "/AB") && !allows(&unicode, "/ab"));
}

#[test]
fn ordinary_lists_are_accepted() {
    let patterns: Vec<String> = (0..100)
        .map(|n| format!(r"^/section-{n}/\d+/[a-z0-9-]{{1,40}}(\.html?)?$"))
        .collect();
    let set = PathPatterns::compile(&patterns, &patterns[..40]).unwrap();
    assert!(allows(&set, "/section-77/12/a-page.html"));
    assert!(!allows(&set, "/section-7/12/a-page.html"));
}

/// The worst pattern lists, accepted or refused. A release build takes up to 70 ms on an idle
/// core; builds for tests and busy machines are slower.
#[test]
fn the_worst_patterns_compile_in_limited_time() {
    let most = if cfg!(debug_assertions) { 3_000 } else { 2_000 };
    let long = |unit: &str| unit.repeat(1_024 / unit.len());
    let mut units: Vec<String> = [
        "a",
        r"\w",
        r"\W",
        r"\d",
        r"(?u)\w",
        r"(?u)\d",
        r"\s(?u)",
        ".",
        "(?i)k",
        r"\pL",
        "[^a]",
        "(?i)[^a]",
        "a?",
        "(a|b)",
        r"[\x{80}-\x{10FFFF}]",
        r"(?i)[\x{80}-\x{10FFFF}]",
        "[a-zé-ü]",
        "(?i:[a-é])",
    ]
    .map(long)
    .into();
    units.extend(
        [
            "a{200}",
            r"\w{45}",
            r"\d{450}",
            "(a?b?c?){45}",
            "(a*b?){60}",
            "((a|)?){140}",
            "(a{1,40}b?){50}",
            ".{1900}",
            "(?i)[a-z]{9000}",
            "((a{10}){10}){10}",
            r"(?i)\w{49}",
            r"(?i)(\w\pL){24}",
            "[^é]{1800}",
        ]
        .map(str::to_owned),
    );
    for unit in units {
        for count in [1, 2, 10, 100] {
            let patterns = vec![unit.clone(); count];
            let mut taken = false;
            let times = (0..3).map(|_| {
                let started = Instant::now();
                taken = PathPatterns::compile(&patterns, &patterns).is_ok();
                started.elapsed()
            });
            // The minimum, because other processes use the machine, too.
            let took = times.min().unwrap();
            println!("{took:?} {taken} {count} × {unit:.30}");
            assert!(
                took < Duration::from_millis(most),
                "{unit} × {count}: {took:?}"
            );
        }
    }
}

/// Patterns as people write them: of shops, blogs, wikis, forums, calendars and search pages.
const ORDINARY: [&str; 103] = [
    "^/blog/",
    "^/blog/.*",
    "/blog/.*",
    r"^/blog/\d{4}/\d{2}/[a-z0-9-]+/?$",
    r"^/(en|de|fr|es|it)/",
    r"^/(?:en-us|en-gb|de-de)/products/.+",
    r"\.(jpg|jpeg|png|gif|svg|webp|ico|css|js|woff2?)$",
    r"(?i)\.(pdf|docx?|xlsx?|pptx?|zip|tar\.gz|exe|dmg)(\?.*)?$",
    r"[?&]print=1",
    r"[?&](utm_source|utm_medium|utm_campaign|gclid|fbclid)=",
    r"[?&]page=\d+",
    r"[?&]sort=[^&]*",
    r"[?&](sort|order|filter|dir|limit)=.*",
    r"\?.*",
    r"\?",
    r"^/$",
    r"^[^?]*$",
    r"/tag/",
    r"/(tag|tags|category|categories|author)/[^/]+/?$",
    r"/page/\d+/?$",
    r"^/wiki/[^:]+$",
    r"^/wiki/(Special|Talk|User|File|Template|Help):",
    r"^/wiki/[A-Z][A-Za-z0-9_()%,'-]*$",
    r"/index\.php\?title=.*&action=(edit|history)",
    r"^/docs/(latest|stable|v\d+\.\d+)/",
    r"^/docs/v(?:[0-9]+\.){1,3}[0-9]+/.*\.html$",
    r"^/api/v[12]/",
    r"/wp-(admin|login|json|content)",
    r"/feed/?$",
    r"/amp/?$",
    r"/(login|logout|signup|register|account|cart|checkout)\b",
    r"\b(login|logout)\b",
    r"\blogin\b.*\bnext=",
    r"^/shop/[a-z0-9-]{1,80}/p\d{1,8}$",
    r"^/product/[A-Z0-9]{10}$",
    r"/dp/[A-Z0-9]{10}(/|\?|$)",
    r"^/p/\w+",
    r"^/p/\w{1,8}/\d{1,8}$",
    r"/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    r"[0-9a-f]{32}",
    r"[A-Za-z0-9_-]{22}",
    r"/\d{4}/(0[1-9]|1[0-2])/([0-2]\d|3[01])/",
    r"/20(1\d|2[0-6])-(0[1-9]|1[0-2])",
    r"/calendar/.*\d{4}-\d{2}-\d{2}",
    r"^/events/\d{4}-\d{2}-\d{2}(/.*)?$",
    r"^/forum/(thread|topic)/\d+-[^/]*$",
    r"^/forum/.*[?&]p=\d+",
    r"/questions/\d+/[\w-]+$",
    r"/users/\d+",
    r"^/@[a-z0-9_.]{1,30}/[a-z0-9-]+-[0-9a-f]{12}$",
    r"^/r/[A-Za-z0-9_]{2,21}/comments/[a-z0-9]+/",
    r"^/[^/]+/?$",
    r"^/[^/]+/[^/]+/?$",
    r"^(/[^/]+){1,4}/?$",
    r"^(/[^/?]+){5,}",
    r"(/[^/]+){8,}",
    r"^/news/(politics|sport|business|tech|science|health|culture|travel)/",
    r"^/jobs/.*(berlin|munich|hamburg|cologne|remote)",
    r"(berlin|munich|hamburg|cologne|frankfurt|stuttgart|leipzig|dresden|bremen|hanover|essen|dortmund)",
    r"/(alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|omicron|pi|rho|sigma|tau|upsilon|phi|chi|psi|omega)/",
    r"^.{200,}",
    r".{200,}",
    r"^.{0,100}$",
    r"[^/]{60,}",
    r"(.)%20",
    r"%[0-9A-F]{2}",
    r"(%[0-9A-Fa-f]{2}){4,}",
    r"/über-uns",
    r"/(münchen|köln|düsseldorf)/",
    r"^/\p{L}+/\p{N}+$",
    r"^/[\p{L}\p{N}_-]{1,40}$",
    r"^/(?i)Products/",
    r"(?i)/PRODUCTS?/",
    r"(?i:sku)=\w+",
    r"(?x) ^/a /  # a comment\n b",
    r"^/a.*b$",
    r"^/a.*/b.*/c$",
    r".*\.html?$",
    r"^/.*\.html?$",
    r".*/archive/.*",
    r".*",
    r"^",
    r"$",
    r"^/search",
    r"/search\?q=.+&start=\d+",
    r"&.*&.*&.*&",
    r"([?&][^=&]+=[^&]*){4,}",
    r"sessionid=|PHPSESSID=|jsessionid=|sid=",
    r";jsessionid=[0-9A-F]+",
    r"//",
    r"/\.\./",
    r"^/[a-z]{2}(-[a-z]{2})?/",
    r"^/(?P<lang>[a-z]{2})/(?P<slug>[a-z0-9-]+)$",
    r"-(\d+)\.html$",
    r"-\d{6,}",
    r"/(?:\d+x\d+|thumb|thumbnail)/",
    r"^/store/.*(red|blue|green).*(small|medium|large)",
    r"color=.*size=.*brand=",
    r"/c/.*/p/.*",
    r"/a.{1,8}/z",
    r"id=.{1,32}$",
    r"^/[\s\S]+$",
    r"^/section-[1-9]\d?/[a-z0-9-]{1,40}(\.html?)?$",
];

/// As it was done before: by the automaton that is made while it matches.
fn reference(patterns: &[String]) -> regex::bytes::RegexSet {
    RegexSetBuilder::new(patterns).build().unwrap()
}

#[test]
fn ordinary_patterns_are_accepted_alone_and_together() {
    let ordinary: Vec<String> = ORDINARY.map(str::to_owned).into();
    for pattern in &ordinary {
        let alone = PathPatterns::compile(&[], std::slice::from_ref(pattern));
        let alone = alone.unwrap_or_else(|error| panic!("{pattern}: {error}"));
        let steps = alone.steps_per_byte();
        assert!(
            steps == 1 || pattern == r"id=.{1,32}$",
            "{pattern}: {steps}"
        );
    }
    for list in ordinary.chunks(20) {
        let both = PathPatterns::compile(list, list).unwrap();
        println!("{} steps a byte", both.steps_per_byte());
    }
    let all = PathPatterns::compile(&ordinary[..52], &ordinary[52..]).unwrap();
    println!("{} steps a byte", all.steps_per_byte());
}

/// Pseudo-random numbers, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as usize % end
    }

    fn one<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }

    fn pattern(&mut self) -> String {
        const PARTS: [&str; 24] = [
            "a",
            "b",
            "/",
            "_",
            "-",
            ".",
            r"\d",
            r"\w",
            r"\W",
            "[^a]",
            "[a-b]",
            "^",
            "$",
            r"\b",
            r"\B",
            "(?i:A)",
            "é",
            r"\pL",
            "(a|b/)",
            "(/a|)",
            "(?m:^)",
            "(?m:$)",
            r"\b{start}",
            "1",
        ];
        const REPEATS: [&str; 9] = ["", "", "", "*", "+", "?", "{2}", "{1,3}", "{0,4}?"];
        let parts = 1 + self.below(7);
        let pattern: String = (0..parts)
            .map(|_| format!("(?:{}){}", self.one(&PARTS), self.one(&REPEATS)))
            .collect();
        match self.below(4) {
            0 => format!("^{pattern}$"),
            1 => format!("{pattern}|b{}", self.one(&PARTS)),
            _ => pattern,
        }
    }

    fn path(&mut self) -> String {
        const CHARACTERS: [&str; 9] = ["a", "b", "/", "_", "-", "1", ".", "A", "%"];
        let bytes = self.below(14);
        (0..bytes).map(|_| self.one(&CHARACTERS)).collect()
    }
}

#[test]
fn tables_and_states_match_as_regular_expressions_do() {
    let mut numbers = Numbers(7);
    let mut matched = 0;
    for _ in 0..1_500 {
        let count = 1 + numbers.below(4);
        let patterns: Vec<String> = (0..count).map(|_| numbers.pattern()).collect();
        let expected = reference(&patterns);
        let set = PathPatterns::compile(&patterns, &[]).unwrap();
        let hirs: Vec<Hir> = patterns
            .iter()
            .map(|pattern| ascii::parse(pattern, true, MAX_NESTING).unwrap())
            .collect();
        let states = States::compile(&hirs.iter().collect::<Vec<_>>(), STATES_BYTES).unwrap();
        for _ in 0..30 {
            let path = numbers.path();
            let wanted = expected.is_match(path.as_bytes());
            matched += usize::from(wanted);
            assert_eq!(allows(&set, &path), wanted, "{patterns:?} {path}");
            let by_states = states.is_match(path.as_bytes(), &mut Walk::default());
            assert_eq!(by_states, wanted, "by states: {patterns:?} {path}");
        }
    }
    assert!((5_000..40_000).contains(&matched), "{matched}");
}

#[test]
fn ordinary_patterns_match_as_regular_expressions_do() {
    let paths = [
        "/",
        "/blog/",
        "/blog/2024/05/a-title/",
        "/de/produkte?page=3&sort=price",
        "/wiki/Special:Search",
        "/wiki/Rust_(language)",
        "/a.JPG?x",
        "/file.PDF",
        "/shop/a-b/p12",
        "/p/ab_1/77",
        "/a/b/c/d/e/f/g/h/i",
        "/questions/12/how-to",
        "/events/2024-05-06/x",
        "/%C3%BCber-uns",
        "/login?next=/x",
        "/relogin",
        "/index.php?title=x&action=edit",
        "/store/redsmall",
        "/@a.b/x-0123456789ab",
        "/a12/z",
        "/?id=abc",
        "/x?color=1&size=2&brand=3",
        "//x",
        "/Products/1",
        "/en-us/products/1",
        "/dp/B000000000?x",
    ];
    for pattern in ORDINARY {
        let pattern = [pattern.to_owned()];
        let (set, expected) = (
            PathPatterns::compile(&pattern, &[]).unwrap(),
            reference(&pattern),
        );
        for path in paths {
            let wanted = expected.is_match(path.as_bytes());
            assert_eq!(allows(&set, path), wanted, "{pattern:?} {path}");
        }
    }
}

#[test]
fn a_long_url_takes_a_bounded_number_of_steps() {
    let path = format!("/{}", "a".repeat(16 << 10));
    let slow: Vec<String> = (0..25).map(|n| format!("a[ab]{{400}}{n:02}c")).collect();
    let error = PathPatterns::compile(&[], &slow).unwrap_err().to_string();
    assert!(
        error.starts_with("exclude_paths[0]: would take long to match"),
        "{error}"
    );
    // The most that is accepted of patterns without a table.
    let taken = (1..60).map(slow_patterns).take_while(Result::is_ok).last();
    let most = taken.unwrap().unwrap();
    let mut steps = 0;
    most.allow(&path, &mut steps);
    let bound = most.steps_per_byte() * (path.len() + 1);
    assert!(
        steps > bound as u64 / 8 && steps <= 2 * bound as u64,
        "{steps} {bound}"
    );
    assert!(bound <= 40 << 20, "{bound}");
}

fn slow_patterns(count: usize) -> Result<PathPatterns, InvalidField> {
    let patterns: Vec<String> = (0..count).map(|n| format!("a[ab]{{16}}{n:02}c")).collect();
    PathPatterns::compile(&patterns, &[])
}
