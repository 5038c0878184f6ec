//! What a page refreshes to.

use memchr::memchr2_iter;
use orbweaver_markup::Refresh;

use super::pass::page_pass;

/// The value of `http-equiv`.
const WORD: &[u8] = b"refresh";

/// A page's `meta` refresh, and the base URL of its target; `None` without one. Only pages that mention
/// one are read.
pub fn page_refresh(html: &str, base_url: &str) -> Option<(Refresh, String)> {
    if !mentions_one(html.as_bytes()) {
        return None;
    }
    let facts = page_pass(html, base_url);
    Some((facts.refresh?, facts.base))
}

fn mentions_one(html: &[u8]) -> bool {
    memchr2_iter(b'r', b'R', html).any(|at| {
        let word = html.get(at..at + WORD.len());
        word.is_some_and(|word| word.eq_ignore_ascii_case(WORD))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fault 16.
    #[test]
    fn a_refresh_is_found_with_its_base() {
        let url = |html: &str| {
            let (refresh, base) = page_refresh(html, "https://a.example/dir/page")?;
            Some((refresh.url?, base))
        };
        let own = "https://a.example/dir/page".to_owned();
        for html in [
            "<meta http-equiv=refresh content='0; url=next'>",
            "<p>text<META content='1;NEXT' HTTP-EQUIV=' ReFresh '>",
            "<meta http-equiv=refresh content=x><meta http-equiv=refresh content='0;next'>",
        ] {
            let (target, base) = url(html).unwrap();
            assert_eq!((target.to_lowercase(), base), ("next".into(), own.clone()));
        }
        assert_eq!(
            url("<meta http-equiv=refresh content='0;next'><base href=/other/>"),
            Some(("next".into(), "https://a.example/other/".into()))
        );
        for html in [
            "",
            "refres",
            "<p>to refresh",
            "<meta name=refresh content='0;next'>",
            "<noscript><meta http-equiv=refresh content='0;next'></noscript>",
            "<template><meta http-equiv=refresh content='0;next'></template>",
            "<!--<meta http-equiv=refresh content='0;next'>-->",
            "<script>'<meta http-equiv=refresh content=\"0;next\">'</script>",
        ] {
            assert_eq!(url(html), None, "{html}");
        }
    }
}
