//! Conditional requests: a page that the server says is not modified is stored as in the monitor's run
//! before.

use std::collections::HashSet;
use std::sync::Arc;

use orbweaver_fetch::{Headers, INCOMPLETE, Response};
use orbweaver_store::crawl::{CrawledPage, PreviousPage, unpack_links};
use orbweaver_store::{NewPage, StoreError};
use orbweaver_urls::{Resolved, key_of};

use crate::entry::{Entry, Fetched};
use crate::follow::{judge_apart, pack, read};
use crate::page::{DROPPED, Way, fetched, kept_agent};
use crate::shared::Shared;

/// The header whose directives are a part of the row.
const ROBOTS: &str = "x-robots-tag";

/// A page of the run before, whose content still holds if the server says so.
pub(crate) struct Previous {
    pub(crate) page: PreviousPage,
    /// Its response headers.
    headers: Vec<(String, String)>,
}

impl Previous {
    /// The page of an entry, if it may be asked for on condition.
    pub(crate) async fn of(shared: &Shared, entry: &Entry) -> Result<Option<Self>, StoreError> {
        let Some(run) = shared.previous else {
            return Ok(None);
        };
        // Hooks judge the content, which "not modified" does not have.
        if shared.hooks.need_pages(&shared.engine) {
            return Ok(None);
        }
        let Some(url) = Resolved::parse(&entry.url) else {
            return Ok(None);
        };
        let key = key_of(&url, shared.rules);
        let found = shared
            .crawls
            .store
            .previous_page(shared.lease.project, run, &key)
            .await?;
        // Only a good response of this URL whose data is still complete.
        let found = found.filter(|page| {
            page.status == 200
                && page.final_url == url.without_fragment()
                && (page.blob.is_some() || !shared.spec.store_html)
                && (page.metadata.is_some() || shared.spec.store_html)
        });
        let previous = found.map(|page| Self {
            headers: serde_json::from_str(&page.headers).unwrap_or_default(),
            page,
        });
        Ok(previous.filter(|previous| previous.header(INCOMPLETE).is_none()))
    }

    /// The first value of a header; `name` is lower-case.
    fn header(&self, name: &'static str) -> Option<&str> {
        self.values(name).next()
    }

    fn values(&self, name: &'static str) -> impl Iterator<Item = &str> {
        let named = self.headers.iter().filter(move |(known, _)| known == name);
        named.map(|(_, value)| value.as_str())
    }

    /// The headers that make a request conditional.
    pub(crate) fn validators(&self) -> impl Iterator<Item = (String, String)> {
        let names = [
            ("if-none-match", "etag"),
            ("if-modified-since", "last-modified"),
        ];
        names.into_iter().filter_map(|(condition, validator)| {
            let value = self.header(validator)?;
            Some((condition.to_owned(), value.to_owned()))
        })
    }

    /// Whether an answer says that this page holds. After a redirect it is about another page. One whose
    /// robots directives differ says that they have changed, which the stored row does not show.
    pub(crate) fn holds_by(&self, answer: &Response) -> bool {
        let stated = || answer.headers.get_all(ROBOTS);
        answer.status == 304
            && answer.final_url == answer.url
            && (stated().next().is_none() || stated().eq(self.values(ROBOTS)))
    }

    /// Makes the row of a page that holds by an answer with these headers.
    pub(crate) async fn row(
        self,
        shared: &Arc<Shared>,
        entry: &Entry,
        answer: &Headers,
        way: Way,
    ) -> anyhow::Result<Fetched> {
        let headers = updated(&self.headers, answer);
        let previous = self.page;
        let links = read(&unpack_links(&previous.links)?);
        let (links, found, counts) = judge_apart(shared, shared.scope.load_full(), links).await?;
        let row = CrawledPage {
            seq: entry.seq,
            key_hash: entry.hash,
            depth: entry.depth,
            title: previous.title,
            canonical: previous.canonical,
            robots: previous.robots,
            extensions: previous.extensions,
            content_type: previous.content_type,
            elapsed_ms: None,
            redirects: None,
            same_body: previous.blob.filter(|_| shared.spec.store_html),
            targets: pack(&found),
            links: previous.links,
            records: Vec::new(),
            words: None,
            page: NewPage {
                project: shared.lease.project,
                run: Some(shared.lease.run),
                url: entry.url.clone(),
                user_agent: kept_agent(shared, &previous.final_url, &previous.url_key, way),
                url_key: previous.url_key,
                final_url: previous.final_url,
                status: previous.status,
                bytes: previous.bytes,
                fetched_at: shared.crawls.clock.now(),
                content_hash: previous.content_hash,
                kind: previous.kind,
                cloud_mode: way.mode(),
                headers: serde_json::to_string(&headers)?,
                metadata: previous.metadata,
                body: None,
            },
        };
        Ok(fetched(row, links, found, counts))
    }
}

/// Stored headers, with those of the answer in the place of theirs (RFC 9111, section 3.2).
fn updated<'a>(stored: &'a [(String, String)], answer: &'a Headers) -> Vec<(&'a str, &'a str)> {
    let given: Vec<(&str, &str)> = answer.iter().filter(|(name, _)| updates(name)).collect();
    let names: HashSet<&str> = given.iter().map(|(name, _)| *name).collect();
    let stored = stored
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .filter(|(name, _)| !names.contains(name));
    stored.chain(given).collect()
}

/// Whether a header of "not modified" is about the stored response: not about the message that it came in,
/// and not about the body, which is stored decoded.
fn updates(name: &str) -> bool {
    let is_of_message = matches!(
        name,
        "connection"
            | "content-encoding"
            | "content-length"
            | "content-range"
            | "content-type"
            | "keep-alive"
            | "te"
            | "trailer"
            | "transfer-encoding"
            | "upgrade"
    );
    !is_of_message && !name.starts_with("proxy-") && !DROPPED.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_an_answer_replace_stored_ones_of_their_name() {
        let own = |headers: &[(&str, &str)]| -> Vec<(String, String)> {
            let headers = headers.iter();
            headers
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect()
        };
        let stored = own(&[
            ("content-type", "text/html"),
            ("etag", "\"1\""),
            ("link", "</a>"),
            ("link", "</b>"),
            ("x-old", "stays"),
        ]);
        let answer: Headers = own(&[
            ("etag", "\"2\""),
            ("content-type", "text/plain"),
            ("content-length", "0"),
            ("connection", "close"),
            ("set-cookie", "a=b"),
            ("link", "</c>"),
            ("x-new", "comes"),
        ])
        .into_iter()
        .collect();
        assert_eq!(
            updated(&stored, &answer),
            [
                ("content-type", "text/html"),
                ("x-old", "stays"),
                ("etag", "\"2\""),
                ("link", "</c>"),
                ("x-new", "comes"),
            ]
        );
    }
}
