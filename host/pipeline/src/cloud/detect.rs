//! Classifies a page: content, a challenge in its place, or an empty shell for scripts.

use orbweaver_core::content::Kind;
use orbweaver_core::page::page_pass;
use orbweaver_engine::PageParts;
use orbweaver_fetch::Response;

/// Class of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The requested content.
    Good,
    /// A challenge that blocks programs; names the service.
    Challenge(&'static str),
    /// A page whose content is made by scripts; names the sign.
    Shell(&'static str),
}

/// Text for logs and answers.
impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Good => f.write_str("good"),
            Self::Challenge(who) => f.write_str(who),
            Self::Shell(sign) => write!(f, "empty shell ({sign})"),
        }
    }
}

/// Bytes examined: challenge pages are short.
const LOOKED_AT: usize = 256 << 10;
/// A page with fewer visible characters may be a shell.
const FEW_CHARS: u64 = 200;
/// A page with more visible characters is no challenge: it is content with a CAPTCHA form.
const MANY_CHARS: u64 = 3_000;

/// Texts found only in the challenge pages of these services: names of scripts, variables and
/// elements, never words that an article about them would use.
const MARKS: &[(&str, &str)] = &[
    ("/cdn-cgi/challenge-platform/h/", "Cloudflare challenge"),
    ("cf-browser-verification", "Cloudflare challenge"),
    ("cf_chl_opt", "Cloudflare challenge"),
    ("captcha-delivery.com", "DataDome challenge"),
    ("id=\"px-captcha", "HUMAN challenge"),
    ("captcha.px-cdn.net", "HUMAN challenge"),
    (
        "/.well-known/ddos-guard/js-challenge",
        "DDoS-Guard challenge",
    ),
    ("sucuri_cloudproxy_js", "Sucuri challenge"),
    ("/_sec/cp_challenge/", "Akamai challenge"),
    ("sec-if-cpt-container", "Akamai challenge"),
    ("anubis_challenge", "Anubis challenge"),
    ("/.within.website/x/cmd/anubis/", "Anubis challenge"),
];

/// Texts that these services also put into ordinary pages: they count only if the page has
/// almost no text or its status denies access.
const SENSORS: &[(&str, &str)] = &[
    ("/_incapsula_resource", "Imperva challenge"),
    ("incapsula incident id", "Imperva challenge"),
    ("window._pxappid", "HUMAN challenge"),
    ("px-captcha", "HUMAN challenge"),
    ("awswafcookiedomainlist", "AWS WAF challenge"),
    ("aws-waf-token", "AWS WAF challenge"),
    (".awswaf.com/", "AWS WAF challenge"),
    ("window.kpsdk", "Kasada challenge"),
    ("/149e9513-01fa-4fb0-aad4-566afd725d1b/", "Kasada challenge"),
    ("g-recaptcha", "CAPTCHA"),
    ("h-captcha", "CAPTCHA"),
    ("hcaptcha.com/1/api.js", "CAPTCHA"),
    ("cf-turnstile", "CAPTCHA"),
    ("challenges.cloudflare.com/turnstile", "CAPTCHA"),
];

/// Signs of a page filled by scripts. Element ids match with any quotes.
const SHELL_IDS: &[&str] = &[
    "root",
    "app",
    "main-app",
    "react-root",
    "react-app",
    "__next",
    "__nuxt",
    "__layout",
    "___gatsby",
    "q-app",
    "svelte",
    "ember-root",
];
const SHELLS: &[&str] = &[
    "<app-root",
    "ng-app",
    "ng-version",
    "data-reactroot",
    "data-server-rendered",
    "__sveltekit_",
    "data-sveltekit-preload-data",
    "flutter_bootstrap.js",
    "enable javascript",
    "requires javascript",
    "javascript is disabled",
    "javascript is required",
    "javascript enabled",
    "need javascript",
];

/// Headers of a page by their names in lower case.
type Header<'a> = &'a dyn Fn(&str) -> Option<&'a str>;

/// Classifies a page; `html` is empty if the body is not HTML.
pub fn judge(response: &Response, html: &str, rendered: bool) -> Verdict {
    let header = |name: &str| response.headers.get(name);
    judge_page(
        response.status,
        &header,
        (html, &response.final_url),
        rendered,
    )
}

/// Classifies a stored page that was not rendered.
pub fn judge_stored(page: &PageParts, kind: Kind) -> Verdict {
    let html = match kind {
        Kind::Html => &*page.html,
        Kind::Text | Kind::Document | Kind::Other => "",
    };
    let header = |name: &str| {
        let found = page.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    };
    judge_page(page.status, &header, (html, &page.final_url), false)
}

fn judge_page(
    status: u16,
    header: Header<'_>,
    (html, final_url): (&str, &str),
    rendered: bool,
) -> Verdict {
    let header = |name| header(name).unwrap_or_default();
    if header("cf-mitigated").eq_ignore_ascii_case("challenge") {
        return Verdict::Challenge("Cloudflare challenge");
    }
    if !header("x-amzn-waf-action").is_empty() {
        return Verdict::Challenge("AWS WAF challenge");
    }
    let blocked = || match status {
        403 | 429 => Verdict::Challenge("blocked by status"),
        _ => Verdict::Good,
    };
    if html.is_empty() {
        return blocked();
    }
    let keeps_out = matches!(status, 403 | 405 | 418 | 429 | 503);
    let lower = beginning(html).to_ascii_lowercase();
    let chars = page_pass(html, final_url).text_chars;
    let shows = |marks: &[(&str, &'static str)]| {
        let found = marks.iter().find(|(mark, _)| lower.contains(mark));
        found.map(|(_, who)| *who)
    };
    let says_little = keeps_out || chars < MANY_CHARS;
    let says_nothing = keeps_out || chars < FEW_CHARS;
    // A shell may contain a sensor too, so challenge marks are checked first.
    if let Some(who) = says_little.then(|| shows(MARKS)).flatten() {
        return Verdict::Challenge(who);
    }
    let sign = shell(&lower, chars).filter(|_| !rendered);
    if !keeps_out && let Some(sign) = sign {
        return Verdict::Shell(sign);
    }
    if let Some(who) = says_nothing.then(|| shows(SENSORS)).flatten() {
        return Verdict::Challenge(who);
    }
    blocked()
}

/// The sign by which a page is an empty shell, if it is one.
fn shell(lower: &str, chars: u64) -> Option<&'static str> {
    if chars >= FEW_CHARS || !lower.contains("<script") {
        return None;
    }
    let has_id = |id: &&&str| {
        lower.match_indices("id=").any(|(at, _)| {
            let value = lower.get(at + 3..).unwrap_or_default();
            let value = value.strip_prefix(['"', '\'']).unwrap_or(value);
            value.strip_prefix(**id).is_some_and(|rest| {
                rest.starts_with(|c: char| c.is_ascii_whitespace() || "\"'>/".contains(c))
            })
        })
    };
    let id = SHELL_IDS.iter().find(has_id).copied();
    let sign = || SHELLS.iter().find(|sign| lower.contains(**sign)).copied();
    let none = || (chars == 0).then_some("scripts and no text");
    id.or_else(sign).or_else(none)
}

fn beginning(html: &str) -> &str {
    let mut end = html.len().min(LOOKED_AT);
    while !html.is_char_boundary(end) {
        end -= 1;
    }
    html.get(..end).unwrap_or(html)
}

#[cfg(test)]
mod tests {
    use super::*;
    use orbweaver_fetch::{Headers, Timings};

    fn response(status: u16, headers: &[(&str, &str)]) -> Response {
        Response {
            url: "https://a.example/".to_owned(),
            final_url: "https://a.example/".to_owned(),
            status,
            headers: headers
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect::<Headers>(),
            redirects: Vec::new(),
            body: bytes::Bytes::new(),
            raw: None,
            truncated: false,
            wire_bytes: 0,
            timings: Timings::default(),
            remote_addr: None,
        }
    }

    #[test]
    fn challenges_shells_and_pages_are_distinguished() {
        let text = "words that a person reads ".repeat(20);
        type Case = (
            u16,
            &'static [(&'static str, &'static str)],
            String,
            Verdict,
        );
        let rows: [Case; 9] = [
            (200, &[], format!("<p>{text}</p>"), Verdict::Good),
            (404, &[], "<p>not here</p>".to_owned(), Verdict::Good),
            (
                403,
                &[],
                "<p>no</p>".to_owned(),
                Verdict::Challenge("blocked by status"),
            ),
            (
                503,
                &[("cf-mitigated", "challenge")],
                String::new(),
                Verdict::Challenge("Cloudflare challenge"),
            ),
            (
                403,
                &[],
                "<script src='/cdn-cgi/challenge-platform/h/g/x'></script>".to_owned(),
                Verdict::Challenge("Cloudflare challenge"),
            ),
            (
                200,
                &[],
                "<div id=\"root\"></div><script src=/a.js></script>".to_owned(),
                Verdict::Shell("root"),
            ),
            (
                200,
                &[],
                format!("<div id=\"root\">{text}</div><script src=/a.js></script>"),
                Verdict::Good,
            ),
            (
                200,
                &[],
                "<script>document.write('x')</script>".to_owned(),
                Verdict::Shell("scripts and no text"),
            ),
            (
                200,
                &[],
                format!("<form class=g-recaptcha>{text}</form>"),
                Verdict::Good,
            ),
        ];
        for (status, headers, html, verdict) in rows {
            assert_eq!(
                judge(&response(status, headers), &html, false),
                verdict,
                "{html}"
            );
        }
        let shell = "<div id=root></div><script></script>";
        assert_eq!(judge(&response(200, &[]), shell, true), Verdict::Good);
    }

    /// Pages with the markup of these services and frameworks, shortened.
    #[test]
    fn known_challenges_and_shells_are_recognised() {
        const CF: &str = "<title>Just a moment...</title><noscript>Enable JavaScript and cookies \
            to continue</noscript><script>window._cf_chl_opt={cType:'managed'};\
            a.src='/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1?ray=1'</script>";
        const DATADOME: &str = "<title>shop.example</title><p id=cmsg>Please enable JS and disable \
            any ad blocker</p><script>var dd={'rt':'c','host':'geo.captcha-delivery.com'}</script>";
        const HUMAN: &str = "<title>Access to this page has been denied</title><h1>Press &amp; Hold \
            to confirm you are a human</h1><div id=\"px-captcha\"></div><script>window._pxAppId=\
            'PX1';</script>";
        const AKAMAI: &str = "<div id=\"sec-if-cpt-container\"></div><script src=\
            \"/_sec/cp_challenge/sec-3-4.js\"></script>";
        const IMPERVA: &str = "<iframe id=main-iframe src=\"/_Incapsula_Resource?CWUDNSAI=9\">\
            Request unsuccessful. Incapsula incident ID: 1-2</iframe>";
        const HCAPTCHA: &str = "<h1>One more step</h1><div class=\"h-captcha\" data-sitekey=x></div>\
            <script src=https://hcaptcha.com/1/api.js></script>";
        const TURNSTILE: &str = "<p>Are you a robot?</p><div class=cf-turnstile></div>\
            <script src=https://challenges.cloudflare.com/turnstile/v0/api.js></script>";
        const AWS: &str = "<script>window.awsWafCookieDomainList=[];</script><script \
            src=https://x.token.awswaf.com/x/challenge.js></script><div id=challenge-container></div>";
        const KASADA: &str = "<script>window.KPSDK={};</script><script src=\"/149e9513-01fa-4fb0-\
            aad4-566afd725d1b/2d206a39/ips.js\"></script>";
        for (status, page, who) in [
            (200, CF, "Cloudflare challenge"),
            (503, CF, "Cloudflare challenge"),
            (200, DATADOME, "DataDome challenge"),
            (200, HUMAN, "HUMAN challenge"),
            (200, AKAMAI, "Akamai challenge"),
            (200, IMPERVA, "Imperva challenge"),
            (200, HCAPTCHA, "CAPTCHA"),
            (200, TURNSTILE, "CAPTCHA"),
            (405, AWS, "AWS WAF challenge"),
            (429, KASADA, "Kasada challenge"),
        ] {
            let verdict = judge(&response(status, &[]), page, false);
            assert_eq!(verdict, Verdict::Challenge(who), "{status} {page}");
        }
        const SCRIPT: &str = "<script type=module src=/assets/index.js></script>";
        const NEED: &str = "<noscript>You need to enable JavaScript to run this app.</noscript>";
        for (page, sign) in [
            (format!("{NEED}<div id=\"root\"></div>{SCRIPT}"), "root"),
            (format!("<div id=app></div>{SCRIPT}"), "app"),
            (
                format!("<div id=\"__next\">Loading</div>{SCRIPT}"),
                "__next",
            ),
            (format!("<div id='__nuxt'></div>{SCRIPT}"), "__nuxt"),
            (format!("<app-root></app-root>{SCRIPT}"), "<app-root"),
            (format!("<div id=\"svelte\"></div>{SCRIPT}"), "svelte"),
            (
                format!("<body data-sveltekit-preload-data=hover><p>…</p>{SCRIPT}"),
                "data-sveltekit-preload-data",
            ),
            (format!("<div id=___gatsby></div>{SCRIPT}"), "___gatsby"),
            (format!("<p>Wait</p>{NEED}{SCRIPT}"), "enable javascript"),
            (format!("<main></main>{SCRIPT}"), "scripts and no text"),
            // A site behind a service that puts its sensor into every page.
            (
                format!(
                    "<div id=root></div>{SCRIPT}<script src=/_Incapsula_Resource?S=1></script>"
                ),
                "root",
            ),
        ] {
            let verdict = judge(&response(200, &[]), &page, false);
            assert_eq!(verdict, Verdict::Shell(sign), "{page}");
        }
    }

    #[test]
    fn ordinary_pages_with_the_same_scripts_are_good() {
        let text = "A short page of a shop says what it sells and for how much. ".repeat(5);
        for sensor in [
            // Cloudflare's script for counting robots, on every page of a zone.
            "<script>window.__CF$cv$params={r:'1'};a.src='/cdn-cgi/challenge-platform/scripts/jsd/\
             main.js'</script>",
            "<script src=\"/_Incapsula_Resource?SWJIYLWA=7\"></script>",
            "<script>window._pxAppId='PX1'</script>",
            "<script>window.awsWafCookieDomainList=[]</script>",
            "<form><div class=g-recaptcha></div></form>",
            "<script src=https://challenges.cloudflare.com/turnstile/v0/api.js></script>",
        ] {
            let page = format!("<h1>Threads</h1><p>{text}</p>{sensor}");
            for status in [200, 401, 404, 500] {
                let verdict = judge(&response(status, &[]), &page, false);
                assert_eq!(verdict, Verdict::Good, "{status} {sensor}");
            }
        }
        // An id that only starts like a shell's id.
        let page = "<div id=apple>A fruit.</div><script src=/x.js></script>";
        assert_eq!(judge(&response(200, &[]), page, false), Verdict::Good);
    }
}
