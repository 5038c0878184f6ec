//! What a page is: content, a challenge put in its place, or a shell that scripts fill.

use orbweaver_core::page::page_pass;
use orbweaver_fetch::Response;

/// What a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// What was asked for.
    Good,
    /// Something that keeps programs out; by whose hand.
    Challenge(&'static str),
    /// A page whose content its scripts make; the sign of it.
    Shell(&'static str),
}

impl Verdict {
    /// For the log.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Challenge(why) | Self::Shell(why) => why,
        }
    }
}

/// Only the beginning is looked through: challenges are short pages.
const LOOKED_AT: usize = 256 << 10;
/// A page with fewer visible characters may be a shell.
const FEW_CHARS: u64 = 200;
/// A challenge says little; a page that says more and shows a CAPTCHA has a form.
const MANY_CHARS: u64 = 3_000;

/// Texts that only the challenge pages of these services have: names of their scripts and
/// variables, never a word that a page about them would use.
const MARKS: &[(&str, &str)] = &[
    ("/cdn-cgi/challenge-platform/", "Cloudflare challenge"),
    ("cf-browser-verification", "Cloudflare challenge"),
    ("cf_chl_opt", "Cloudflare challenge"),
    ("_incapsula_resource", "Imperva challenge"),
    ("captcha-delivery.com", "DataDome challenge"),
    ("px-captcha", "HUMAN challenge"),
    ("window._pxappid", "HUMAN challenge"),
    ("awswafcookiedomainlist", "AWS WAF challenge"),
    ("aws-waf-token", "AWS WAF challenge"),
    ("/.well-known/ddos-guard/", "DDoS-Guard challenge"),
    ("sucuri_cloudproxy_js", "Sucuri challenge"),
    ("/_sec/cp_challenge/", "Akamai challenge"),
    ("window.kpsdk", "Kasada challenge"),
    ("anubis_challenge", "Anubis challenge"),
    ("g-recaptcha", "CAPTCHA"),
    ("h-captcha", "CAPTCHA"),
    ("cf-turnstile", "CAPTCHA"),
];

/// Signs of a page that scripts fill.
const SHELLS: &[&str] = &[
    "id=\"root\"",
    "id='root'",
    "id=root",
    "id=\"app\"",
    "id='app'",
    "id=app",
    "id=\"__next\"",
    "id=\"__nuxt\"",
    "<app-root",
    "ng-app",
    "data-reactroot",
    "data-server-rendered",
    "enable javascript",
    "requires javascript",
    "javascript is disabled",
    "javascript is required",
    "need javascript",
];

/// Judges a page; `html` is empty for what is none.
pub fn judge(response: &Response, html: &str, rendered: bool) -> Verdict {
    let header = |name| response.headers.get(name).unwrap_or_default();
    if header("cf-mitigated").eq_ignore_ascii_case("challenge") {
        return Verdict::Challenge("Cloudflare challenge");
    }
    if !header("x-amzn-waf-action").is_empty() {
        return Verdict::Challenge("AWS WAF challenge");
    }
    let status = response.status;
    let keeps_out = matches!(status, 401 | 403 | 405 | 407 | 418 | 429 | 503);
    if html.is_empty() {
        return if matches!(status, 403 | 429) {
            Verdict::Challenge("blocked by status")
        } else {
            Verdict::Good
        };
    }
    let lower = beginning(html).to_ascii_lowercase();
    let chars = page_pass(html, &response.final_url).text_chars;
    if (keeps_out || chars < MANY_CHARS)
        && let Some((_, who)) = MARKS.iter().find(|(mark, _)| lower.contains(mark))
        && (keeps_out || *who != "CAPTCHA" || chars < FEW_CHARS)
    {
        return Verdict::Challenge(who);
    }
    if matches!(status, 403 | 429) {
        return Verdict::Challenge("blocked by status");
    }
    if !rendered && chars < FEW_CHARS && lower.contains("<script") {
        if let Some(sign) = SHELLS.iter().find(|sign| lower.contains(*sign)) {
            return Verdict::Shell(sign);
        }
        if chars == 0 {
            return Verdict::Shell("scripts and no text");
        }
    }
    Verdict::Good
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
    fn challenges_shells_and_pages_are_told_apart() {
        let text = "words that a person reads ".repeat(20);
        type Row = (
            u16,
            &'static [(&'static str, &'static str)],
            String,
            Verdict,
        );
        let rows: [Row; 9] = [
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
                "<script src='/cdn-cgi/challenge-platform/x'></script>".to_owned(),
                Verdict::Challenge("Cloudflare challenge"),
            ),
            (
                200,
                &[],
                "<div id=\"root\"></div><script src=/a.js></script>".to_owned(),
                Verdict::Shell("id=\"root\""),
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
}
