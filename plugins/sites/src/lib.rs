//! Shared by the per-domain fetchers: paths, requests to the sites' documented APIs, and errors
//! that distinguish faults of the caller, the site and this plugin.

#[cfg(feature = "testing")]
pub mod testing;

use std::borrow::Cow;

use orbweaver_markup::{Place, Token, Tokens, decode_into, names};
use orbweaver_sdk::http::{self, Request};
use orbweaver_sdk::{Error, Page};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Identifies this client: sites want to know, and some refuse requests without it.
const USER_AGENT: &str = "Orbweaver/0.1 (self-hosted; per-domain fetcher)";

/// Common parameters of lists.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ListParams {
    /// Most items to return.
    pub limit: Option<u32>,
    /// Page of the list, from 1.
    pub page: Option<u32>,
    /// Search terms.
    pub query: Option<String>,
}

impl ListParams {
    /// Number of items: the requested number limited to `max`, or `default`.
    pub fn limit(&self, default: u32, max: u32) -> u32 {
        self.limit.unwrap_or(default).clamp(1, max)
    }

    /// Page of the list, from 1.
    pub fn page(&self) -> u32 {
        self.page.unwrap_or(1).max(1)
    }

    /// Search terms.
    ///
    /// # Errors
    /// When there are none.
    pub fn query(&self) -> Result<&str, Error> {
        self.query
            .as_deref()
            .map(str::trim)
            .filter(|query| !query.is_empty())
            .ok_or_else(|| Error::invalid("query: is required for a search"))
    }
}

/// The non-empty parts of a path.
pub fn parts(path: &str) -> Vec<&str> {
    path.split('/').filter(|part| !part.is_empty()).collect()
}

/// The error for an unknown path.
pub fn unknown_path(path: &str, known: &[&str]) -> Error {
    Error::invalid(format!(
        "path: `{}` is not one of {}",
        shown(path),
        known.join(", ")
    ))
}

/// Parses a number in a path.
///
/// # Errors
/// When it is not a number.
pub fn number(field: &str, text: &str) -> Result<u64, Error> {
    // Rust's parser accepts a sign, too.
    let digits = Some(text).filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
    digits
        .and_then(|digits| digits.parse().ok())
        .ok_or_else(|| Error::invalid(format!("{field}: `{}` is not a number", shown(text))))
}

/// What a caller wrote, for a message: at most 80 characters of it.
pub fn shown(text: &str) -> Cow<'_, str> {
    const MAX_CHARS: usize = 80;
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or(text))),
        None => Cow::Borrowed(text),
    }
}

/// Percent-encodes a part of a path or query, except RFC 3986's unreserved characters.
pub fn encode(text: &str) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
            continue;
        }
        out.push('%');
        for digit in [byte >> 4, byte & 15] {
            out.push(HEX.get(usize::from(digit)).map_or('0', |&b| char::from(b)));
        }
    }
    out
}

/// Requests an API. robots.txt does not apply, since it is about a site's pages and an API is made
/// for programs.
///
/// # Errors
/// `invalid-input` if the site does not have the item, `bad-response` or another code of a fetch if the site
/// refuses or fails.
pub async fn get(url: &str) -> Result<Page<'static>, Error> {
    let request = Request::get(url)
        .header("user-agent", USER_AGENT)
        .header(
            "accept",
            "application/json, application/atom+xml, */*;q=0.1",
        )
        .respect_robots(false);
    let page = http::fetch(request).await?;
    let host = host(url);
    let is_refused = match page.status() {
        401 | 403 | 429 => true,
        // The Stack Exchange API says so of an address that has used up its requests.
        400 => is_throttled(&page),
        _ => false,
    };
    match page.status() {
        200..=299 => Ok(page),
        status if is_refused => {
            let wait = page
                .header("retry-after")
                .map_or_else(String::new, |after| format!("; retry after {after}"));
            Err(Error::bad_response(format_args!(
                "{host} temporarily refuses requests ({status}), probably because there were \
             too many{wait}"
            )))
        }
        404 | 410 => Err(Error::invalid(format!(
            "path: {host} does not have this item"
        ))),
        400 | 422 => Err(Error::invalid(format!(
            "path: {host} rejects it as invalid"
        ))),
        status => Err(Error::bad_response(format_args!(
            "{host} responded with status {status}"
        ))),
    }
}

/// Whether an API's answer is its error for too many requests.
fn is_throttled(page: &Page<'_>) -> bool {
    #[derive(Deserialize)]
    struct Fault {
        error_name: String,
    }
    serde_json::from_slice::<Fault>(&page.body())
        .is_ok_and(|fault| fault.error_name == "throttle_violation")
}

/// Requests JSON of this type from an API.
///
/// # Errors
/// Same as [`get`]; `failed` if the answer has another shape.
pub async fn json<T: DeserializeOwned>(url: &str) -> Result<T, Error> {
    read(url, &get(url).await?)
}

/// Parses an answer of this type.
///
/// # Errors
/// `failed` if it has another shape.
pub fn read<T: DeserializeOwned>(url: &str, page: &Page<'_>) -> Result<T, Error> {
    serde_json::from_slice(&page.body()).map_err(|error| no_longer_fits(url, &error.to_string()))
}

/// The error for an answer that differs from the site's documentation: the site has changed, and
/// this plugin must be adapted.
pub fn no_longer_fits(url: &str, what: &str) -> Error {
    Error::failed(format!(
        "the answer of {} has an unknown form: {what}",
        host(url)
    ))
}

fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?']).next().unwrap_or(rest)
}

/// Seconds since 1970 as RFC 3339 in UTC.
pub fn rfc3339(seconds: i64) -> String {
    let days = seconds.div_euclid(86_400);
    let second = seconds.rem_euclid(86_400);
    // Howard Hinnant's `civil_from_days`.
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + i64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        second / 3_600,
        second / 60 % 60,
        second % 60
    )
}

/// The text of an HTML fragment: tags removed, character references decoded, paragraphs and line
/// breaks kept as line ends. An address that the site has shortened is written out.
pub fn text_of(html: &str) -> String {
    let mut out = String::with_capacity(html.len());
    // Where the text of the open link begins, and its `href` as written.
    let mut link = None;
    let mut tokens = Tokens::new(html);
    while let Some(token) = tokens.next() {
        match token {
            Token::Start(tag) if tag.name == names::A => {
                link = tokens.attribute("href").map(|href| (out.len(), href));
            }
            Token::End(names::A) => {
                if let Some((start, href)) = link.take() {
                    write_out(href, start, &mut out);
                }
            }
            _ => {}
        }
        let breaks = match token {
            Token::Text(text) | Token::Title(text) => {
                decode_into(text, Place::Text, &mut out);
                false
            }
            Token::Verbatim(text) => {
                out.push_str(text);
                false
            }
            Token::Start(tag) => matches!(tag.name, names::P | names::PRE | names::BR),
            Token::End(name) => matches!(
                name,
                names::P
                    | names::PRE
                    | names::LI
                    | names::DIV
                    | names::H1
                    | names::H2
                    | names::H3
                    | names::H4
                    | names::H5
                    | names::H6
            ),
        };
        if breaks && !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
    }
    out.trim().to_owned()
}

/// Puts a link's address in the place of its text, which begins at `start`, if that is the start of
/// the address and three dots.
fn write_out(href: &str, start: usize, out: &mut String) {
    let text = out.get(start..).unwrap_or("").trim();
    let Some(shown) = text.strip_suffix("...").filter(|shown| !shown.is_empty()) else {
        return;
    };
    let mut address = String::with_capacity(href.len());
    decode_into(href.trim(), Place::Attribute, &mut address);
    if address.starts_with(shown) {
        out.truncate(start);
        out.push_str(&address);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orbweaver_sdk::Code;
    use orbweaver_sdk::testing::{Document, Site, block_on, install};

    #[test]
    fn parts_and_queries_are_encoded() {
        assert_eq!(
            encode("c++ & ünï/@x"),
            "c%2B%2B%20%26%20%C3%BCn%C3%AF%2F%40x"
        );
        assert_eq!(parts("/a//b/"), ["a", "b"]);
    }

    #[test]
    fn a_long_path_is_cut_in_messages() {
        let (most, long) = ("ü".repeat(80), "ü".repeat(81));
        let message = |path: &str| unknown_path(path, &["a", "b/{id}"]).message().to_owned();
        assert_eq!(
            message(&most),
            format!("path: `{most}` is not one of a, b/{{id}}")
        );
        assert_eq!(
            message(&long),
            format!("path: `{most}…` is not one of a, b/{{id}}")
        );
        assert_eq!(
            number("path", &long).unwrap_err().message(),
            format!("path: `{most}…` is not a number")
        );
    }

    #[test]
    fn a_number_in_a_path_has_digits_alone() {
        assert_eq!(number("path", "4001"), Ok(4001));
        for text in ["+4001", "-1", "", "4001a", "99999999999999999999"] {
            assert!(number("path", text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_are_rfc_3339() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(rfc3339(1_709_210_096), "2024-02-29T12:34:56Z");
    }

    #[test]
    fn the_text_of_fragments_is_extracted() {
        let html = "one<p>two &amp; <i>three</i> &#x27;q&#39; a&b<br>four &lt;p&gt;";
        assert_eq!(text_of(html), "one\ntwo & three 'q' a&b\nfour <p>");
    }

    #[test]
    fn addresses_that_the_site_has_shortened_are_written_out() {
        let full = "https:&#x2F;&#x2F;spiders.example&#x2F;webs?a=1&amp;b=2";
        let link = |text: &str| {
            text_of(&format!(
                r#"See <a href="{full}" rel="nofollow">{text}</a>!"#
            ))
        };
        let written = "See https://spiders.example/webs?a=1&b=2!";
        assert_eq!(link("https:&#x2F;&#x2F;spiders.exam..."), written);
        assert_eq!(
            link(" https:&#x2F;&#x2F;spiders.<b>exam</b>... "),
            "See https://spiders.example/webs?a=1&b=2!"
        );
        for text in [
            "...",
            "Read on...",
            "https://other.exam...",
            "spiders...",
            "",
        ] {
            assert_eq!(link(text), format!("See {text}!"));
        }
        let open = "<a>https://a...</a><a href=https://a/b>https://a...";
        assert_eq!(text_of(open), "https://a...https://a...");
    }

    #[test]
    fn every_error_says_whose_fault_it_is() {
        let url = "https://api.example.org/item?x=1";
        let error = |status: u16, body: &str| {
            let page = Document::new(url, body).status(status);
            let _web = install(Site::default().page(page.header("retry-after", "60")));
            block_on(json::<Vec<u32>>(url)).unwrap_err()
        };
        assert!(error(404, "").is_invalid());
        let refused = error(429, "");
        assert!(refused.is_fetch());
        assert_eq!(
            refused.message(),
            "api.example.org temporarily refuses requests (429), probably because there were \
             too many; retry after 60"
        );
        let exhausted = r#"{"error_id":502,"error_message":"too many requests from this IP, more requests available in 81 seconds","error_name":"throttle_violation"}"#;
        let throttled = error(400, exhausted);
        assert_eq!(throttled.code(), refused.code());
        assert_eq!(throttled.message(), refused.message().replace("429", "400"));
        let wrong = r#"{"error_id":400,"error_message":"tagged","error_name":"bad_parameter"}"#;
        for body in [wrong, "", "[]"] {
            assert!(error(400, body).is_invalid(), "{body}");
        }
        assert!(error(422, exhausted).is_invalid());
        assert!(error(500, "").is_fetch());
        let changed = error(200, r#"{"items":[]}"#);
        assert!(changed.code() == Code::Failed);
        assert!(
            changed
                .message()
                .contains("api.example.org has an unknown form"),
            "{changed}"
        );
    }

    #[test]
    fn robots_txt_does_not_apply_to_apis() {
        let url = "https://api.example.org/item";
        let site = Site::default().page(Document::new(url, "[7]"));
        let _web = install(site.disallows(url));
        assert_eq!(block_on(json::<Vec<u32>>(url)), Ok(vec![7]));
    }
}
