//! Files that cost nothing.

use orbweaver_core::sitemap;
use orbweaver_fetch::Response;

/// Whether it is one of the free files: robots.txt, llms.txt, a sitemap.
pub(super) fn is_free(response: &Response) -> bool {
    let path =
        url::Url::parse(&response.url).map_or_else(|_| String::new(), |url| url.path().to_owned());
    let name = path.rsplit('/').next().unwrap_or_default();
    matches!(
        path.as_str(),
        "/robots.txt" | "/llms.txt" | "/llms-full.txt"
    ) || (name.contains("sitemap")
        && [".xml", ".xml.gz", ".txt"]
            .iter()
            .any(|end| name.ends_with(end)))
        || is_sitemap(&response.body)
}

/// Whether a body, compressed or not, is a sitemap or sitemap index (by its first element), or
/// a list of URLs (by its first lines).
fn is_sitemap(body: &[u8]) -> bool {
    let Ok(head) = sitemap::unpack_head(body, 1_024) else {
        return false;
    };
    let head = String::from_utf8_lossy(&head);
    let mut rest = head.trim_start_matches('\u{feff}').trim_start();
    if rest.starts_with("http") {
        // The last line may be cut; it counts only if it is the only one.
        let is_url = |line: &str| {
            let line = line.trim_end();
            ["http://", "https://"]
                .iter()
                .any(|scheme| line.starts_with(scheme))
                && !line.contains(char::is_whitespace)
        };
        let whole = rest.rsplit_once('\n').map_or(rest, |(whole, _)| whole);
        return whole
            .lines()
            .filter(|line| !line.trim().is_empty())
            .all(is_url);
    }
    while rest.starts_with("<?") || rest.starts_with("<!") {
        let Some(end) = rest.find('>') else {
            return false;
        };
        rest = rest.get(end + 1..).unwrap_or_default().trim_start();
    }
    let name = rest.strip_prefix('<').unwrap_or_default();
    let name = name
        .split(|c: char| c.is_whitespace() || matches!(c, '>' | '/'))
        .next()
        .unwrap_or_default();
    let local = name.rsplit(':').next().unwrap_or_default();
    matches!(local, "urlset" | "sitemapindex")
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn sitemaps_are_recognised_by_their_first_bytes() {
        for body in [
            "<?xml version=\"1.0\"?>\n<!-- made -->\n<urlset xmlns=\"x\">",
            "\u{feff}<sitemapindex>",
            "<s:urlset xmlns:s=\"x\">",
            "https://e.org/a\r\n\nhttp://e.org/b\nhttps://e.or",
            "https://e.org/only",
        ] {
            assert!(is_sitemap(body.as_bytes()), "{body}");
            let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
            packed.write_all(body.as_bytes()).unwrap();
            assert!(is_sitemap(&packed.finish().unwrap()), "{body}, packed");
        }
        for body in [
            "",
            "<html><urlset>",
            "urlset",
            "<rss>",
            "<?xml",
            "http is a protocol\nof the web",
            "https://e.org/a is where\nhttps://e.org/b is not\n",
        ] {
            assert!(!is_sitemap(body.as_bytes()), "{body}");
        }
    }
}
