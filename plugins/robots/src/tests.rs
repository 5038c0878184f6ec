//! Tests of the index: it decides as trying the rules does, with bounded work.

use super::*;

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

    fn text(&mut self, of: &[&str], most: usize) -> String {
        let count = self.below(most + 1);
        (0..count).map(|_| of[self.below(of.len())]).collect()
    }
}

fn rules(text: &str) -> Rules {
    Robots::parse(format!("user-agent: *\n{text}").as_bytes()).rules_for("*")
}

#[test]
fn many_rules_decide_as_each_of_them_does() {
    const PATTERN: [&str; 11] = [
        "a",
        "a",
        "b",
        "/",
        "*",
        "*",
        "$",
        "%41",
        "%2a",
        "é",
        "index.html",
    ];
    const PATH: [&str; 10] = ["a", "a", "b", "/", "/", "*", "$", "%41", "é", "index.html"];
    let mut numbers = Numbers(3);
    let (mut allowed, mut disallowed) = (0, 0);
    for _ in 0..3_000 {
        let count = numbers.below(12);
        let lines = (0..count).map(|_| {
            let key = ["allow", "disallow"][numbers.below(2)];
            let slash = ["", "/", "/", "*"][numbers.below(4)];
            let end = ["", "", "$", "*", "*$"][numbers.below(5)];
            format!("{key}: {slash}{}{end}\n", numbers.text(&PATTERN, 7))
        });
        let rules = rules(&lines.collect::<String>());
        let index = Index::new(&rules.rules);
        for _ in 0..40 {
            let path = format!("/{}", numbers.text(&PATH, 9));
            let path = matcher::path_of(&path);
            let wanted = rules.tried(&path, &mut 0);
            let found = index.best(&rules.rules, &path, &mut 0);
            assert_eq!(found, Ok(wanted), "{path} {:?}", rules.rules);
            match wanted {
                Some((_, true)) => allowed += 1,
                Some((_, false)) => disallowed += 1,
                None => {}
            }
        }
    }
    assert!(
        allowed > 10_000 && disallowed > 10_000,
        "{allowed} {disallowed}"
    );
}

#[test]
fn a_long_list_decides_as_a_short_one() {
    let shop: String = (0..5_000)
        .map(|n| match n % 4 {
            0 => format!("disallow: /shop/{n}/\n"),
            1 => format!("disallow: /*?id={n}\n"),
            2 => format!("allow: /shop/*/view/{n}$\n"),
            _ => format!("disallow: /*/print/{n}*.html$\n"),
        })
        .collect();
    let rules = rules(&shop);
    for (path, allowed) in [
        ("/shop/4/", false),
        ("/shop/4", true),
        ("/shop/4/view/2", true),
        ("/shop/4/view/2/", false),
        ("/x?id=5", false),
        ("/x?id=4", true),
        ("/a/print/3/b.html", false),
        ("/a/print/3/b.html?", true),
        ("/", true),
        ("/a/very/long/path/for/5000/rules?x=1&id=5", true),
        ("/a/very/long/path/for/5000/rules?id=5", false),
    ] {
        assert_eq!(rules.allows(path), allowed, "{path}");
        let tried = rules.tried(&matcher::path_of(path), &mut 0);
        assert_eq!(tried.is_none_or(|(_, allow)| allow), allowed, "{path}");
    }
    assert!(rules.arranged.0.get().is_some());
}

/// Work grows with the bytes of the path and of the rules, and not with their product.
#[test]
fn work_is_bounded_for_all_rules_together() {
    let unit = |line: &dyn Fn(usize) -> String| (0..20_000).map(line).collect::<String>();
    let long = format!("/{}", "a".repeat(16_000));
    let cases = [
        unit(&|n| format!("disallow:/*ba*{n}\n")),
        unit(&|n| format!("disallow:/*a*a*{n}\n")),
        unit(&|n| format!("disallow:/*aaaaaab*{n}\n")),
        unit(&|n| format!("disallow:/aaaa*aa*{n}$\n")),
        unit(&|n| format!("disallow:/a*{n}*\n")),
    ];
    for text in cases {
        assert!(text.len() <= MAX_ROBOTS_BYTES);
        let rules = rules(&text);
        let index = Index::new(&rules.rules);
        let mut steps = 0;
        assert_eq!(index.best(&rules.rules, &long, &mut steps), Ok(None));
        // Each rule goes on as often as it has parts, and its strings have their lists.
        let bound = 3 * (long.len() + rules.rules.len()) + rules.rules.len() / 4;
        assert!(steps < bound as u64, "{steps} of {bound}: {text:.40}");
    }
}

#[test]
fn the_work_of_a_url_is_counted_for_few_rules_and_for_many() {
    let steps = |rules: &Rules, path: &str| {
        let mut steps = 7;
        let allows = rules.allows_counted(path, &mut steps);
        assert_eq!(allows, rules.allows(path), "{path}");
        steps - 7
    };
    let of = |count: usize, line: &str| rules(&line.repeat(count));
    let long = format!("/{}", "a".repeat(16_000));
    let bytes = long.len() as u64;
    assert_eq!(steps(&Rules::default(), &long), bytes);
    // A rule that begins differently is one comparison, whatever the path.
    let plain = steps(&of(60, "disallow: /b\n"), &long) - bytes;
    assert!((60..=120).contains(&plain), "{plain}");
    // One with a star reads all of it.
    let starred = steps(&of(60, "disallow: /*b\n"), &long);
    assert!((60 * bytes..62 * bytes).contains(&starred), "{starred}");
    let many = steps(&of(5_000, "disallow: /*b\n"), &long);
    assert!((bytes..5 * bytes).contains(&many), "{many}");
    let short = steps(&of(5_000, "disallow: /b\n"), "/a");
    assert!((5_000..=10_010).contains(&short), "{short}");
}

#[test]
fn a_path_that_takes_too_many_steps_is_disallowed() {
    // Suffixes of each other: as many as a file has room for.
    let nested: String = (1..990)
        .map(|n| format!("disallow:/*b*{}\n", "a".repeat(n)))
        .collect();
    let rules = rules(&nested);
    let long = format!("/{}", "a".repeat(16_000));
    let mut steps = 0;
    let best = Index::new(&rules.rules).best(&rules.rules, &long, &mut steps);
    assert_eq!(best, Err(index::TooLong));
    assert!(steps < 1_100_000, "{steps}");
    assert!(!rules.allows(&long) && rules.allows("/aaa") && !rules.allows("/ba"));
}

#[test]
fn an_index_takes_no_more_than_is_counted() {
    for text in [
        "disallow: /a*b*c$\n".repeat(100),
        (0..2_000)
            .map(|n| format!("disallow: /*{n}/{}\n", n * 7))
            .collect(),
    ] {
        let rules = rules(&text);
        assert!(Index::new(&rules.rules).held_bytes() <= Index::most_bytes(&rules.rules));
    }
    let few = rules(&"disallow: /a\n".repeat(MIN_INDEXED - 1));
    let many = rules(&"disallow: /a\n".repeat(MIN_INDEXED));
    assert!(many.held_bytes() > few.held_bytes() + size_of::<Index>());
}
