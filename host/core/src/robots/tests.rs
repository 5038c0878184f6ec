use super::*;
use crate::limits::MAX_ROBOTS_BYTES;

fn allows(robots: &str, url: &str) -> bool {
    Robots::parse(robots.as_bytes()).allows("Orbweaver", url)
}

#[test]
fn an_agents_own_group_replaces_the_star_group() {
    let robots = Robots::parse(b"user-agent: *\ndisallow: /\n\nuser-agent: orbweaver/2.0\ndisallow: /x\ncrawl-delay: 2.5\n");
    assert!(robots.allows("Orbweaver", "https://a.example/y"));
    assert!(!robots.allows("Orbweaver", "https://a.example/x"));
    assert!(!robots.allows("Other", "https://a.example/y"));
    assert_eq!(robots.rules_for("Orbweaver/1.0").crawl_delay, Some(2.5));
}

#[test]
fn names_with_digits_match_as_a_whole() {
    let robots = Robots::parse(
        b"user-agent: Ai2Bot-Dolma\nuser-agent: bigsur.ai\nuser-agent: Kangaroo Bot\ndisallow: /\n",
    );
    for (name, named) in [
        ("Ai2Bot-Dolma", true),
        ("AI2Bot", false),
        ("bigsur.ai", true),
        ("Kangaroo Bot", true),
    ] {
        assert_eq!(robots.names(name), named, "{name}");
    }
}

#[test]
fn escapes_are_compared_as_in_rfc_9309() {
    let robots = "user-agent: *\ndisallow: /%7Ea/\ndisallow: /b%2fc\ndisallow: /d e\n";
    for url in ["https://a.example/~a/", "/%7ea/", "/b%2Fc", "/d%20e"] {
        assert!(!allows(robots, url), "{url}");
    }
    assert!(allows(robots, "/b/c"));
    assert!(allows("user-agent: *\ndisallow: /100%\n", "/100"));
    assert!(!allows("user-agent: *\ndisallow: /100%\n", "/100%zz"));
}

/// RFC 9309, 2.2.3: a rule means a star or dollar sign of a URL by its escape.
#[test]
fn escaped_special_characters_match_themselves() {
    let robots = "user-agent: *\ndisallow: /a-%2A.html\ndisallow: /b-%24\ndisallow: /c$d\n";
    for url in ["/a-*.html", "/a-%2A.html", "https://a.example/a-*.html"] {
        assert!(!allows(robots, url), "{url}");
    }
    for url in ["/b-$", "/b-%24", "/b-$x", "https://a.example/c$d"] {
        assert!(!allows(robots, url), "{url}");
    }
    for url in ["/a-x.html", "/b-", "/c"] {
        assert!(allows(robots, url), "{url}");
    }
    let robots = "user-agent: *\ndisallow: /*x\ndisallow: /y$\n";
    assert!(!allows(robots, "/a*x") && !allows(robots, "/y"));
    assert!(allows(robots, "/y$"));
}

/// Fault 41.
#[test]
fn a_file_is_cut_at_500_kib_and_not_within_a_rule() {
    let mut body = b"user-agent: *\ndisallow: /early\n".to_vec();
    body.resize(MAX_ROBOTS_BYTES - 12, b'#');
    body.extend(b"\ndisallow: /late\n");
    let robots = Robots::parse(&body);
    assert!(!robots.allows("x", "/early"));
    assert!(robots.allows("x", "/late") && robots.allows("x", "/l") && robots.allows("x", "/"));
}

/// Fault 41.
#[test]
fn without_a_file_the_status_decides() {
    let body = b"user-agent: *\ndisallow: /";
    for (status, allowed) in [
        (Some(404), true),
        (Some(401), true),
        (Some(302), true),
        (Some(429), false),
        (Some(500), false),
        (Some(503), false),
        (None, false),
        (Some(200), false),
    ] {
        assert_eq!(
            Robots::from_answer(status, body).allows("x", "/page"),
            allowed,
            "{status:?}"
        );
    }
    assert!(Robots::unreachable().allows("x", "https://a.example/robots.txt"));
}

#[test]
fn sitemaps_and_content_signals_are_kept() {
    let robots = Robots::parse(
        b"Sitemap: https://a.example/1.xml\nUser-agent: *\nContent-Signal: search=yes, AI-Train=no\n\
          Content-Signal: /blog ai-input=no\nContent-signal: nonsense\nDisallow:\nSitemap: /2.xml",
    );
    assert_eq!(robots.sitemaps(), ["https://a.example/1.xml", "/2.xml"]);
    let signals = robots.rules_for("x").signals;
    assert_eq!(signals.len(), 2);
    assert_eq!(signals[0].signals["ai-train"], "no");
    assert_eq!(
        (signals[1].path.as_deref(), signals[1].signals.len()),
        (Some("/blog"), 1)
    );
}

#[test]
fn ai_policy_covers_every_known_crawler() {
    let names = || ai_crawlers().iter().map(String::as_str);
    assert!(names().count() >= 166);
    for known in [
        "GPTBot",
        "ClaudeBot",
        "CCBot",
        "Google-Extended",
        "PerplexityBot",
        "Bytespider",
        "meta-externalagent",
    ] {
        assert!(names().any(|name| name == known), "{known}");
    }
    let robots = Robots::parse(
        b"user-agent: GPTBot\ndisallow: /\n\nuser-agent: CCBot\ndisallow: /private\n\nuser-agent: ClaudeBot\ndisallow:\n\nuser-agent: *\ndisallow: /\nallow: /$\n",
    );
    let policy = ai_policy(&robots, names());
    assert_eq!(policy.len(), names().count());
    for (bot, word) in [
        ("GPTBot", "disallowed"),
        ("CCBot", "partial"),
        ("ClaudeBot", "allowed"),
        ("Bytespider", "partial"),
    ] {
        assert_eq!(policy[bot], word, "{bot}");
    }
    assert!(
        ai_policy(&Robots::default(), names())
            .values()
            .all(|word| word == "allowed")
    );
    assert!(
        ai_policy(&Robots::unreachable(), names())
            .values()
            .all(|word| word == "disallowed")
    );
}

/// A pattern of many stars against a path that nearly matches would take a backtracking
/// matcher exponential time.
#[test]
fn hostile_patterns_cost_linear_time() {
    let pattern = "*a".repeat(4000);
    let robots = Robots::parse(format!("user-agent: *\ndisallow: /{pattern}b$\n").as_bytes());
    let path = format!("/{}", "a".repeat(15_000));
    let many: String = std::iter::repeat_n("disallow: /*x*y*z\n", 20_000).collect();
    let many = Robots::parse(format!("user-agent: *\n{many}").as_bytes());
    assert!(robots.allows("x", &path));
    assert!(many.allows("x", &path));
}

#[test]
fn every_byte_string_parses() {
    let mut state = 7u64;
    for len in 0..400usize {
        let bytes: Vec<u8> = (0..len)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                b"user-agent: *\ndisallow:/$%#\xff"[(state >> 33) as usize % 28]
            })
            .collect();
        Robots::parse(&bytes).allows("a", &String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn a_robot_that_calls_itself_a_browser_has_the_rules_of_its_name() {
    let robots = Robots::parse(
        b"User-agent: FooBot\nDisallow: /foo\n\nUser-agent: Mozilla\nDisallow: /browser\n\n\
          User-agent: *\nDisallow: /all\n",
    );
    for (agent, disallowed) in [
        ("FooBot/2.1", "/foo"),
        (
            "Mozilla/5.0 (compatible; FooBot/2.1; +https://foo.example/bot)",
            "/foo",
        ),
        ("Mozilla/5.0 (compatible;foobot)", "/foo"),
        (
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; FooBot/2.1) Chrome/1",
            "/foo",
        ),
        ("Mozilla/5.0 (compatible; Other/1.0; FooBot/2.1)", "/all"),
        ("Mozilla/5.0 (X11; Linux x86_64) Firefox/1", "/browser"),
        ("Mozilla/5.0 (compatible; )", "/browser"),
        ("Other/1.0 (compatible; FooBot/2.1)", "/all"),
    ] {
        let shut: Vec<&str> = ["/foo", "/browser", "/all"]
            .into_iter()
            .filter(|path| !robots.allows(agent, path))
            .collect();
        assert_eq!(shut, [disallowed], "{agent}");
    }
}
