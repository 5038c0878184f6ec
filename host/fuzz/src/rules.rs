//! Pure rules: sitemaps, robots.txt, schedules, URLs, charsets, signatures.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, TimeDelta, Utc};
use hmac::{Hmac, KeyInit as _, Mac as _};
use orbweaver_core::charset::{self, decode};
use orbweaver_core::cron::Schedule;
use orbweaver_core::guard::parse_strict;
use orbweaver_core::robots::Robots;
use orbweaver_core::webhook::sign;
use orbweaver_core::{robots, sitemap};
use orbweaver_urls::{Base, KeyRules, MAX_URL_BYTES, Resolved, key_of};
use sha2::Sha256;
use url::Url;

use super::{Target, line, no_seeds, text};

pub(super) fn targets() -> Vec<Target> {
    let target = |name, run, max_len| Target {
        name,
        run,
        seeds: no_seeds,
        max_len,
    };
    vec![
        target("sitemap", sitemap as fn(&[u8]), 8 << 10),
        target("robots", robots, 8 << 10),
        target("cron", cron, 256),
        target("url-join", url_join, 2 << 10),
        target("charset", charset, 4 << 10),
        target("webhook-signature", webhook_signature, 4 << 10),
    ]
}

/// Entries are absolute http or https URLs.
fn sitemap(data: &[u8]) {
    let Ok(sitemap) = sitemap::parse(data, "https://example.org/sitemap.xml") else {
        return;
    };
    for entry in sitemap.pages.iter().chain(&sitemap.sitemaps) {
        let url = Url::parse(&entry.url).unwrap_or_else(|error| panic!("{error}: {}", entry.url));
        assert!(matches!(url.scheme(), "http" | "https"), "{url}");
    }
}

/// Rules of every agent can be judged, and robots.txt itself is always allowed.
fn robots(data: &[u8]) {
    let robots = Robots::parse(data);
    for agent in ["orbweaver", "*", "GPTBot", "", "é/1.0 (x)"] {
        let rules = robots.rules_for(agent);
        assert!(rules.allows("/robots.txt"));
        for path in ["/", "/a/b?c=d", "/%7Ea", "https://example.org/é", "*$"] {
            assert_eq!(
                rules.allows(path),
                robots.allows(agent, path),
                "{agent} {path}"
            );
        }
        assert!(
            rules
                .crawl_delay
                .is_none_or(|delay| (0.0..=86_400.0).contains(&delay))
        );
    }
    let policy = robots::ai_policy(&robots, ["GPTBot", "ClaudeBot"]);
    assert_eq!(policy.len(), 2);
    assert!(robots.held_bytes() < 64 * data.len() + 4_096);
}

/// The next time is later, and never twice the same.
fn cron(data: &[u8]) {
    let Ok(schedule) = Schedule::parse(&text(data)) else {
        return;
    };
    let again = Schedule::parse(schedule.as_str()).expect("as it is written");
    let mut at: DateTime<Utc> = "2026-02-28T23:59:59Z".parse().expect("a time");
    for _ in 0..3 {
        let Some(next) = schedule.next_after(at) else {
            return;
        };
        assert!(next > at, "{next} after {at}");
        assert_eq!(again.next_after(at), Some(next));
        assert!(next - at < TimeDelta::days(366 * 60), "{next} after {at}");
        at = next;
    }
}

/// A base, then references: as the standard's parser resolves them, within our limits.
fn url_join(data: &[u8]) {
    let (base, rest) = line(data);
    let _ = parse_strict(&base);
    let Some(joined) = Base::new(&base) else {
        return;
    };
    let parsed = Url::parse(&base).expect("a base is a URL");
    for href in rest.split(|byte| *byte == b'\n') {
        let href = text(href);
        let expected = parsed
            .join(&href)
            .ok()
            .and_then(|url| Resolved::from_url(&url));
        let found = joined.join(&href);
        if href.len() + base.len() <= MAX_URL_BYTES {
            assert_eq!(found, expected, "{href:?} against {base:?}");
        }
        if let Some(url) = found {
            let again = Resolved::parse(url.as_str()).expect("a URL stays one");
            assert_eq!(again.as_str(), url.as_str());
            let key = key_of(&url, KeyRules::default());
            assert!(!key.contains('#'), "{key}");
        }
        if let Ok(strict) = parse_strict(&href) {
            let is_web = matches!(strict.scheme(), "http" | "https");
            assert!(!is_web || strict.has_host(), "{href:?}");
        }
    }
}

/// A content type, then the body: text within its limit.
fn charset(data: &[u8]) {
    let (content_type, body) = line(data);
    let limits = charset::Limits {
        max_text_bytes: 1_000,
    };
    let decoded = decode(body, Some(&content_type), limits);
    assert!(decoded.text.len() <= 1_000);
    let whole = decode(body, None, charset::Limits::default());
    assert!(!whole.truncated && whole.text.len() <= 3 * body.len() + 3);
    assert!(!decoded.encoding.is_empty());
}

/// Secret, id, then the body: signatures that a receiver computes, too.
fn webhook_signature(data: &[u8]) {
    let (secret, rest) = line(data);
    let (id, body) = line(rest);
    let at: DateTime<Utc> = DateTime::UNIX_EPOCH + TimeDelta::seconds(1_700_000_000);
    let signed = sign(secret.as_bytes(), &id, at, body);
    let mac = |message: &[u8]| {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("any key");
        mac.update(message);
        mac.finalize().into_bytes()
    };
    assert_eq!(signed.crawler, format!("sha256={}", hex::encode(mac(body))));
    let dated = [id.as_bytes(), b".1700000000.", body].concat();
    let standard = format!("v1,{}", STANDARD.encode(mac(&dated)));
    assert_eq!(signed.standard, standard);
    assert_eq!(
        (signed.id.as_str(), signed.timestamp.as_str()),
        (id.as_str(), "1700000000")
    );
}
