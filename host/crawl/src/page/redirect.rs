//! What a page row has of redirects: those on the way to its page, and the answer of one that is not followed.

use orbweaver_core::content;
use orbweaver_fetch::Response;
use orbweaver_urls::{Base, KeyRules, Resolved, key_of};
use serde::Serialize;

/// Maximum bytes of the URLs of redirects in the row.
const REDIRECT_BYTES: usize = 8 << 10;

/// The redirects of a fetch as a row has them; none if there was none. Those beyond 8 KiB are
/// left out.
pub(crate) fn redirects(hops: &[orbweaver_fetch::Hop]) -> Option<String> {
    #[derive(Serialize)]
    struct Redirect<'a> {
        url: &'a str,
        status: u16,
    }
    let mut room = REDIRECT_BYTES;
    let shown: Vec<Redirect<'_>> = hops
        .iter()
        .take_while(|hop| {
            let fits = hop.url.len() <= room;
            room = room.saturating_sub(hop.url.len());
            fits
        })
        .map(|hop| Redirect {
            url: &hop.url,
            status: hop.status,
        })
        .collect();
    (!shown.is_empty()).then(|| super::json(&shown)).flatten()
}

/// Whether an answer with this status leads to another URL, and says nothing else.
pub(super) const fn is_led_on(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// The hash of an answer that redirects: of where it leads, whatever its body says.
pub(super) fn hash_of_target(response: &Response, rules: KeyRules) -> Option<String> {
    let location = response.headers.get("location");
    let location = location.filter(|_| (300..400).contains(&response.status))?;
    let target = target_key(&response.final_url, location, rules)?;
    Some(content::bytes_hash(target.as_bytes()))
}

/// What tells one target of a redirect from another. The query counts within the origin alone: for another
/// one, as a login elsewhere, it often has values that are new in every answer.
fn target_key(from: &str, location: &str, rules: KeyRules) -> Option<String> {
    let base = Base::new(from)?;
    let target = base.join(location)?;
    let mut key = key_of(&target, rules);
    let origin = |url: &Resolved| [url.scheme(), url.host(), url.port()].map(str::to_owned);
    if origin(base.url()) != origin(&target) {
        key.truncate(key.find('?').unwrap_or(key.len()));
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirects_query_counts_within_the_origin_alone() {
        let rules = KeyRules {
            drop_tracking: true,
        };
        let key = |location| target_key("https://a.example/login", location, rules).unwrap();
        let sso = "https://sso.example/auth";
        assert_eq!(key("https://sso.example/auth?state=1"), sso);
        assert_eq!(key("https://sso.example/auth?state=2#x"), sso);
        assert_eq!(
            key("https://sso.example/other"),
            "https://sso.example/other"
        );
        assert_eq!(key("/shop?page=2"), "https://a.example/shop?page=2");
        assert_eq!(key("//a.example:8443/?a=1"), "https://a.example:8443/");
    }
}
