//! The scope of a crawl: sites, subdomains, and path patterns.

use std::sync::Arc;

use orbweaver_urls::Resolved;

use super::patterns::PathPatterns;
use super::spec::CrawlSpec;

/// Steps of matching patterns in the time that a byte of a page takes.
const STEPS_PER_BYTE: usize = 8;

/// How a URL relates to the scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is crawled.
    In,
    /// It is on one of the crawl's sites, but excluded by a path pattern.
    Excluded,
    /// It is on another site.
    Out,
}

/// Host and port. `port` is empty for the scheme's default port, so that http and https on
/// their default ports are one site.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Site {
    host: String,
    port: String,
}

impl Site {
    fn new(url: &Resolved) -> Self {
        Self {
            host: url.host().to_owned(),
            port: url.port().to_owned(),
        }
    }

    fn is_of(&self, url: &Resolved) -> bool {
        self.host == url.host() && self.port == url.port()
    }

    /// Whether a URL's host is this one or a subdomain of it.
    fn is_above(&self, url: &Resolved) -> bool {
        self.port == url.port()
            && url
                .host()
                .strip_suffix(self.host.as_str())
                .is_some_and(|labels| labels.is_empty() || labels.ends_with('.'))
    }
}

/// The scope of a run.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The seed's site, and that of the host that it redirects to.
    sites: Vec<Site>,
    /// The host whose subdomains are in scope, with the seed's port.
    parent: Option<Site>,
    /// The host that receives headers and cookies: the seed's without `www.`, and its port.
    owner: Site,
    /// Whether the seed is https.
    secure: bool,
    /// Whether every URL is in scope: the run has a list of URLs.
    everywhere: bool,
    patterns: PathPatterns,
}

impl Scope {
    /// The scope of a crawl from `seed`, with its patterns compiled.
    pub fn new(spec: &CrawlSpec, seed: &Resolved, patterns: PathPatterns) -> Self {
        let site = Site::new(seed);
        let is_name =
            site.host.parse::<std::net::Ipv4Addr>().is_err() && !site.host.starts_with('[');
        let mut owner = site.clone();
        if is_name && let Some(host) = owner.host.strip_prefix("www.") {
            owner.host = host.to_owned();
        }
        Self {
            sites: vec![site],
            parent: (spec.subdomains && is_name).then(|| owner.clone()),
            owner,
            secure: seed.scheme() == "https",
            everywhere: spec.list,
            patterns,
        }
    }

    /// This scope with the site that the seed redirects to; `None` if it has that site already.
    pub fn with_site(&self, url: &Resolved) -> Option<Self> {
        if self.is_site(url) {
            return None;
        }
        let mut wider = self.clone();
        wider.sites.push(Site::new(url));
        Some(wider)
    }

    /// Whether a URL is on one of the crawl's sites, with any path.
    pub fn is_site(&self, url: &Resolved) -> bool {
        if self.everywhere || self.sites.iter().any(|site| site.is_of(url)) {
            return true;
        }
        let parent = self.parent.as_ref();
        parent.is_some_and(|parent| parent.is_above(url))
    }

    /// Whether a URL may receive the seed's headers and cookies: its host, with or without
    /// `www.`, and subdomains of it, but not over http if the seed is https. A site that the seed
    /// redirects to is crawled, but does not receive them. The URLs of a list were given together
    /// with the headers and cookies.
    pub fn is_trusted(&self, url: &Resolved) -> bool {
        self.everywhere || self.owner.is_above(url) && !(self.secure && url.scheme() == "http")
    }

    /// Whether checking a URL includes matching patterns.
    pub fn has_patterns(&self) -> bool {
        !self.patterns.is_empty()
    }

    /// The work of judging URLs of so many bytes together, in bytes of a page that take as long.
    pub fn work(&self, bytes: usize) -> usize {
        let steps = self.patterns.steps_per_byte();
        bytes.saturating_mul(1 + steps.div_ceil(STEPS_PER_BYTE))
    }

    /// How a URL relates to this scope.
    pub fn judge(&self, url: &Resolved) -> Verdict {
        self.judge_counted(url, &mut 0)
    }

    fn judge_counted(&self, url: &Resolved, steps: &mut u64) -> Verdict {
        if !self.is_site(url) {
            return Verdict::Out;
        }
        if self.patterns.is_empty() || self.patterns.allow(path_and_query(url), steps) {
            return Verdict::In;
        }
        Verdict::Excluded
    }
}

/// Many URLs that are judged together, with a limit of the work: a page of 100,000 long links could
/// take long.
#[derive(Debug)]
pub(crate) struct Judging {
    scope: Arc<Scope>,
    steps: u64,
    most: u64,
}

impl Judging {
    /// Judges with at most `most` steps of matching patterns, of about a nanosecond.
    pub const fn new(scope: Arc<Scope>, most: u64) -> Self {
        Self {
            scope,
            steps: 0,
            most,
        }
    }

    /// How a URL relates to the scope; none if those before took all steps.
    pub fn judge(&mut self, url: &Resolved) -> Option<Verdict> {
        let has_steps = self.steps <= self.most;
        has_steps.then(|| self.scope.judge_counted(url, &mut self.steps))
    }
}

fn path_and_query(url: &Resolved) -> &str {
    let whole = url.without_fragment();
    let len = url.path().len() + url.query().map_or(0, |query| query.len() + 1);
    whole.get(whole.len().saturating_sub(len)..).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(url: &str) -> Resolved {
        Resolved::parse(url).unwrap()
    }

    fn scope(seed: &str, change: impl FnOnce(&mut CrawlSpec)) -> Scope {
        let mut spec = CrawlSpec::new(seed);
        change(&mut spec);
        let patterns = PathPatterns::compile(&spec.include_paths, &spec.exclude_paths);
        Scope::new(&spec, &url(seed), patterns.unwrap())
    }

    #[test]
    fn a_site_is_host_and_port_with_both_schemes_on_default_ports() {
        let scope = scope("https://e.org/a", |_| {});
        for yes in ["https://e.org/", "http://e.org/", "https://e.org:443/x?y"] {
            assert_eq!(scope.judge(&url(yes)), Verdict::In, "{yes}");
        }
        for no in [
            "https://www.e.org/",
            "https://e.org:8443/",
            "https://e.org.evil/",
            "http://x/",
        ] {
            assert_eq!(scope.judge(&url(no)), Verdict::Out, "{no}");
        }
    }

    #[test]
    fn subdomains_are_those_of_the_seed_without_www() {
        let scope = scope("https://www.e.org/", |spec| spec.subdomains = true);
        for yes in ["https://e.org/", "https://a.b.e.org/", "https://www.e.org/"] {
            assert_eq!(scope.judge(&url(yes)), Verdict::In, "{yes}");
        }
        for no in [
            "https://note.org/",
            "https://xe.org/",
            "https://a.e.org:81/",
        ] {
            assert_eq!(scope.judge(&url(no)), Verdict::Out, "{no}");
        }
        let address = super::tests::scope("http://10.0.0.1/", |spec| spec.subdomains = true);
        assert_eq!(
            address.judge(&url("http://x.10.0.0.1.e.org/")),
            Verdict::Out
        );
    }

    #[test]
    fn patterns_match_path_and_query() {
        let scope = scope("https://e.org/", |spec| {
            spec.include_paths = vec!["^/blog/".to_owned()];
            spec.exclude_paths = vec![r"[?&]print=1".to_owned()];
        });
        assert_eq!(
            scope.judge(&url("https://e.org/blog/a?x=1#print=1")),
            Verdict::In
        );
        assert_eq!(
            scope.judge(&url("https://e.org/blog/a?print=1")),
            Verdict::Excluded
        );
        assert_eq!(scope.judge(&url("https://e.org/about")), Verdict::Excluded);
        assert_eq!(scope.judge(&url("https://f.org/blog/")), Verdict::Out);
    }

    #[test]
    fn the_work_of_patterns_is_counted_by_the_bytes_that_are_read() {
        let scope = scope("https://e.org/", |spec| {
            spec.include_paths = vec!["^/blog/".to_owned()];
            spec.exclude_paths = vec!["x$".to_owned()];
        });
        let steps = |at: &str| {
            let mut steps = 0;
            scope.judge_counted(&url(at), &mut steps);
            steps
        };
        assert_eq!(steps("https://else.org/blog/"), 0);
        let path = format!("/blog/{}", "a".repeat(10_000));
        let read = steps(&format!("https://e.org{path}")) as usize;
        assert!(
            (path.len()..path.len() + 16).contains(&read),
            "the first list reads all of it, the second its start: {read}"
        );
        assert!(read <= scope.work(path.len()));
    }

    #[test]
    fn urls_beyond_the_steps_of_all_are_not_judged() {
        let scope = Arc::new(scope("https://e.org/", |spec| {
            spec.exclude_paths = vec!["x$".to_owned()];
        }));
        let mut judging = Judging::new(scope, 100);
        let long = url(&format!("https://e.org/{}x", "a".repeat(60)));
        let verdicts = [(); 4].map(|()| judging.judge(&long));
        let excluded = Some(Verdict::Excluded);
        assert_eq!(verdicts, [excluded, excluded, None, None]);
    }

    #[test]
    fn credentials_of_the_seed_go_to_its_own_hosts_only() {
        let secure = scope("https://www.e.org/", |_| {});
        for yes in ["https://www.e.org/x", "https://e.org/", "https://a.e.org/"] {
            assert!(secure.is_trusted(&url(yes)), "{yes}");
        }
        let wider = secure.with_site(&url("https://else.org/")).unwrap();
        for no in [
            "https://else.org/",
            "http://www.e.org/",
            "https://www.e.org:8443/",
            "https://xe.org/",
        ] {
            assert!(!wider.is_trusted(&url(no)), "{no}");
        }
        let plain = scope("http://10.0.0.1:8080/", |_| {});
        assert!(plain.is_trusted(&url("http://10.0.0.1:8080/x")));
        assert!(!plain.is_trusted(&url("http://10.0.0.2:8080/x")));
    }

    #[test]
    fn the_site_that_the_seed_redirects_to_is_added_once() {
        let scope = scope("https://e.org/", |_| {});
        let wider = scope.with_site(&url("https://www.e.org/x")).unwrap();
        assert_eq!(wider.judge(&url("https://www.e.org/y")), Verdict::In);
        assert_eq!(wider.judge(&url("https://e.org/y")), Verdict::In);
        assert!(wider.with_site(&url("https://www.e.org/")).is_none());
    }
}
