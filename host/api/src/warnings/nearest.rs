//! The name that was probably meant.

/// Least likeness (Jaro-Winkler, 0 to 1) of a misspelt name: `max_pagse` and `max_pages` have
/// 0.98, `depth` and `delay_ms` 0.75.
const LEAST_LIKENESS: f64 = 0.86;

/// What other crawlers call things, without separators and in lower case, and what it is
/// called here. The first that the operation has is meant.
const ELSEWHERE: &[(&[&str], &[&str])] = &[
    (
        &[
            "limit",
            "maxpages",
            "maxcrawlpages",
            "maxrequestspercrawl",
            "pagelimit",
            "pages",
            "maxresults",
            "maxitems",
            "count",
            "num",
            "size",
            "top",
            "perpage",
            "pagesize",
            "closespiderpagecount",
        ],
        &["max_pages", "limit", "max_urls", "top_n"],
    ),
    (
        &[
            "maxdepth",
            "crawldepth",
            "maxcrawldepth",
            "maxdiscoverydepth",
            "depthlimit",
            "level",
        ],
        &["depth"],
    ),
    (
        &[
            "delay",
            "requestdelay",
            "downloaddelay",
            "sleep",
            "throttle",
            "interval",
        ],
        &["delay_ms"],
    ),
    (
        &[
            "parallel",
            "parallelism",
            "threads",
            "workers",
            "maxconcurrency",
            "concurrentrequests",
        ],
        &["concurrency", "max_concurrent"],
    ),
    (
        &[
            "robots",
            "robotstxt",
            "robotstxtobey",
            "obeyrobots",
            "ignorerobots",
            "ignorerobotstxt",
        ],
        &["respect_robots"],
    ),
    (
        &[
            "include",
            "includes",
            "includepatterns",
            "whitelist",
            "allow",
            "allowed",
            "urlpatterns",
        ],
        &["include_paths"],
    ),
    (
        &[
            "exclude",
            "excludes",
            "excludepatterns",
            "blacklist",
            "deny",
            "disallow",
            "ignore",
        ],
        &["exclude_paths"],
    ),
    (
        &[
            "link", "uri", "href", "target", "site", "website", "domain", "starturl", "seed",
            "page",
        ],
        &["url"],
    ),
    (
        &["starturls", "links", "uris", "seeds", "url"],
        &["urls", "include_links", "url"],
    ),
    (
        &["webhook", "callback", "callbackurl", "notify", "hook"],
        &["webhook_url"],
    ),
    (&["events"], &["webhook_events"]),
    (&["schedule", "interval", "every"], &["cron", "schedule"]),
    (&["agent", "ua"], &["user_agent"]),
    (
        &["maxage", "cache", "cachettl", "ttl"],
        &["max_age_seconds"],
    ),
    (
        &[
            "formats",
            "output",
            "outputformat",
            "outputformats",
            "type",
            "contenttype",
        ],
        &["return_format", "format"],
    ),
    (
        &["onlymain", "mainonly", "maincontent", "readability"],
        &["only_main_content"],
    ),
    (
        &["screenshot", "fullpagescreenshot"],
        &["screenshot_inline"],
    ),
    (&["proxy", "proxies"], &["proxy_url", "proxy_pool", "pool"]),
    (
        &["country", "location", "geo", "region"],
        &["proxy_country", "country"],
    ),
    (
        &[
            "javascript",
            "js",
            "renderjs",
            "jsrender",
            "browser",
            "chrome",
            "headless",
            "request",
        ],
        &["render", "chrome", "cloud_mode"],
    ),
    (
        &[
            "wait",
            "waituntil",
            "waitforselector",
            "waitforms",
            "gotooptions",
        ],
        &["wait_for"],
    ),
    (
        &["skip", "start", "from", "cursor", "after", "page"],
        &["offset", "page"],
    ),
    (
        &["q", "term", "terms", "keyword", "keywords", "text"],
        &["query"],
    ),
    (&["html", "savehtml", "keephtml", "store"], &["store_html"]),
    (&["seedtype", "mode", "sitemap"], &["seed_kind"]),
    (&["timeout"], &["wait_seconds"]),
    (&["name", "project"], &["project_name"]),
    (&["token", "captcha", "captchatoken"], &["turnstile_token"]),
];

/// The known name that the given one is closest to, if any is close.
pub(super) fn nearest<'a>(given: &str, known: &'a [String]) -> Option<&'a str> {
    // Longer ones are no misspelling, and the comparison's work grows with the product.
    if given.len() > 64 {
        return None;
    }
    let has = |name: &str| known.iter().find(|known| *known == name);
    let squeezed = squeezed(given);
    if let Some(same) = known.iter().find(|name| self::squeezed(name) == squeezed) {
        return Some(same);
    }
    let elsewhere = ELSEWHERE
        .iter()
        .filter(|(theirs, _)| theirs.contains(&squeezed.as_str()))
        .find_map(|(_, ours)| ours.iter().find_map(|name| has(name)));
    if let Some(ours) = elsewhere {
        return Some(ours);
    }
    let words = words(given);
    let mut best: Option<(f64, &str)> = None;
    for name in known {
        let likeness = likeness(&squeezed, &words, name);
        if likeness >= LEAST_LIKENESS && best.is_none_or(|(most, _)| likeness > most) {
            best = Some((likeness, name));
        }
    }
    best.map(|(_, name)| name)
}

/// How alike two names are, 0 to 1. All words of one within the other count as much as a
/// misspelling.
fn likeness(squeezed_given: &str, words_given: &[String], name: &str) -> f64 {
    let theirs = words(name);
    let within = |few: &[String], many: &[String]| {
        few.iter().map(String::len).sum::<usize>() >= 4
            && few.iter().all(|word| many.contains(word))
    };
    let spelt = strsim::jaro_winkler(squeezed_given, &squeezed(name));
    if within(words_given, &theirs) || within(&theirs, words_given) {
        spelt.max(LEAST_LIKENESS)
    } else {
        spelt
    }
}

/// In lower case and without separators.
fn squeezed(name: &str) -> String {
    name.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// The words of `snake_case`, `kebab-case` or `camelCase`, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut begins = true;
    for c in name.chars() {
        if !c.is_alphanumeric() {
            begins = true;
            continue;
        }
        if begins || c.is_uppercase() {
            words.push(String::new());
        }
        begins = false;
        if let Some(word) = words.last_mut() {
            word.extend(c.to_lowercase());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(given: &str, known: &[&str]) -> Option<String> {
        let known: Vec<String> = known.iter().map(|&name| name.to_owned()).collect();
        nearest(given, &known).map(str::to_owned)
    }

    #[test]
    fn the_name_that_was_meant_is_found() {
        let crawl = [
            "url",
            "max_pages",
            "depth",
            "concurrency",
            "delay_ms",
            "subdomains",
            "respect_robots",
            "store_html",
            "include_paths",
            "exclude_paths",
            "webhook_url",
            "webhook_events",
            "user_agent",
            "max_age_seconds",
            "cron",
            "headers",
        ];
        for (given, expected) in [
            ("limit", "max_pages"),
            ("maxDepth", "depth"),
            ("max_depth", "depth"),
            ("maxPages", "max_pages"),
            ("max-pages", "max_pages"),
            ("max_pagse", "max_pages"),
            ("Depth", "depth"),
            ("includePaths", "include_paths"),
            ("includes", "include_paths"),
            ("ignoreRobotsTxt", "respect_robots"),
            ("allow_subdomains", "subdomains"),
            ("webhook", "webhook_url"),
            ("userAgent", "user_agent"),
            ("robots", "respect_robots"),
            ("header", "headers"),
            ("corn", "cron"),
        ] {
            assert_eq!(meant(given, &crawl).as_deref(), Some(expected), "{given}");
        }
        for strange in ["zzz", "params", "x", "", "colour", "é"] {
            assert_eq!(meant(strange, &crawl), None, "{strange}");
        }
        assert_eq!(meant(&"max_pages".repeat(100_000), &crawl), None);
    }

    #[test]
    fn only_what_the_operation_has_is_offered() {
        assert_eq!(
            meant("limit", &["limitless", "query", "max_urls"]).as_deref(),
            Some("max_urls")
        );
        assert_eq!(meant("maxDepth", &["url"]), None);
        assert_eq!(
            meant("page", &["limit", "offset", "status"]).as_deref(),
            Some("offset")
        );
        assert_eq!(meant("url", &["urls"]).as_deref(), Some("urls"));
    }
}
