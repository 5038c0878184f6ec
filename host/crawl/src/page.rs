//! Makes a page row of a response: text, links, hashes, and the stored body.

mod redirect;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use orbweaver_core::content::{self, Kind};
use orbweaver_core::key_hash::key_hash;
use orbweaver_core::page::{Links, PageFacts, page_pass, page_text, x_robots_tag};
use orbweaver_core::page_source::page_source;
use orbweaver_core::user_agent::PRODUCT_TOKEN;
use orbweaver_engine::{Json, Page, PageParts, RoleCall};
use orbweaver_fetch::{PictureOptions, Response};
use orbweaver_store::crawl::{CrawledPage, pack_links};
use orbweaver_store::{BodyEncoding, CloudMode, NewPage, StoredBody};
use orbweaver_urls::{KeyRules, Resolved, key_of};

use crate::entry::{Entry, Fetched};
use crate::follow::{LeftOut, judge, pack};
use crate::hooks;
use crate::hooks::report::PluginReport;
use crate::shared::Shared;
use indexmap::IndexMap;
use orbweaver_pipeline::search_index::{TEXT_BYTES, page_words};
use orbweaver_pipeline::{
    AskedWith, Document, KeptContent, Rendering, SELECTORS_ROLE, STORED_KEY, blocking_of,
    convert_document, log_failure,
};
pub(super) use redirect::redirects;
use redirect::{hash_of_target, is_led_on};
use serde::Serialize;
use tokio::time::Instant;

/// Bodies up to this size are processed on the current task (about 3 ms); larger ones, and
/// those whose links are matched against patterns, on the pool for blocking work.
const INLINE_BYTES: usize = 512 << 10;
/// Maximum bytes of a title in the row, and of other texts of its kind.
const TITLE_BYTES: usize = 4 << 10;
/// Headers that are not stored.
pub(crate) const DROPPED: [&str; 2] = ["set-cookie", "set-cookie2"];

/// How a page was had.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Way {
    /// Whether a browser rendered it.
    pub is_rendered: bool,
    /// Whether a hook changed the request.
    pub by_hook: bool,
}

/// Makes the row of a fetched page.
pub(super) async fn fresh(
    shared: &Arc<Shared>,
    entry: &Entry,
    response: Response,
    way: Way,
) -> anyhow::Result<Fetched> {
    let converted = converted(shared, &response).await?;
    let size = converted
        .as_ref()
        .map_or(response.body.len(), |html| html.len());
    let (mut fetched, page) = if size <= INLINE_BYTES && !shared.scope.load().has_patterns() {
        timed_work_out(shared, entry, response, converted, way)
    } else {
        let (shared, entry) = (Arc::clone(shared), entry.clone());
        let work = shared.scope.load().work(size);
        let work_out = move || timed_work_out(&shared, &entry, response, converted, way);
        blocking_of(work, work_out).await?
    };
    if let Some(page) = page {
        let outputs = extract(shared, entry, &page, &mut fetched).await;
        if !shared.hooks.is_empty() {
            hooks::page::pass(shared, entry, page, outputs, &mut fetched).await;
        }
    }
    Ok(fetched)
}

/// The HTML of a document that is no HTML; `None` for other bodies, and if it cannot be converted.
async fn converted(shared: &Shared, response: &Response) -> anyhow::Result<Option<Arc<str>>> {
    let content_type = response.headers.get("content-type").map(str::to_owned);
    let sniffed = content::sniff(content_type.as_deref(), &response.body);
    if sniffed.kind != Kind::Document {
        return Ok(None);
    }
    let (body, url, status) = (
        response.body.clone(),
        response.final_url.clone(),
        response.status,
    );
    let page = blocking_of(body.len(), move || {
        Document::page_of(PageParts {
            url: url.clone(),
            final_url: url,
            status,
            headers: content_type
                .map(|value| ("content-type".to_owned(), value))
                .into_iter()
                .collect(),
            body: Arc::from(&body[..]),
            ..PageParts::default()
        })
    })
    .await?;
    let converted = convert_document(&shared.engine, &page).await;
    Ok(converted
        .inspect_err(|why| {
            tracing::debug!(url = page.parts().url, why, "a document has no content")
        })
        .ok()
        .map(|converted| converted.html))
}

/// Roles whose output is kept for a page that is stored without its body.
pub(crate) const KEPT_ROLES: [&str; 2] = ["metadata", "signals"];

/// Runs the extractors that need the body: those whose output is kept if the page is stored
/// without body, and those that the run names. Returns the outputs of the latter for hooks.
async fn extract(
    shared: &Shared,
    entry: &Entry,
    page: &Arc<Page>,
    fetched: &mut Fetched,
) -> Vec<(String, String)> {
    let Fetched { row, report, .. } = fetched;
    let is_readable = match row.page.kind {
        Kind::Html => true,
        Kind::Document => !page.parts().html.is_empty(),
        Kind::Text | Kind::Other => false,
    };
    if !is_readable {
        return Vec::new();
    }
    let kept: &[&str] = if shared.spec.store_html {
        &[]
    } else {
        &KEPT_ROLES
    };
    let extensions = shared.extractors.iter().map(String::as_str);
    let mut roles: Vec<&str> = kept.iter().copied().chain(extensions).collect();
    let options = &shared.spec.extractor_options;
    let mut calls: Vec<RoleCall> = roles
        .iter()
        .map(|role| RoleCall {
            role: (*role).to_owned(),
            options: options.get(*role).cloned().unwrap_or_default(),
        })
        .collect();
    if let Some(extract) = &shared.spec.extract {
        roles.push(STORED_KEY);
        calls.push(RoleCall {
            role: SELECTORS_ROLE.to_owned(),
            options: extract.options.clone(),
        });
    }
    if roles.is_empty() {
        return Vec::new();
    }
    let answers = shared.engine.extract(page, calls).await;
    let mut answers: IndexMap<&str, Json> = roles
        .iter()
        .copied()
        .zip(answers)
        .map(|(role, answer)| {
            let json = answer
                .map_err(|error| {
                    let url = &page.parts().url;
                    let role = role_name(role);
                    let plugin = shared.engine.role(role);
                    log_failure(role, plugin.as_ref(), Some(url), &error);
                    report.extractor_failed(shared.subject(url, entry.hash), role, &error);
                })
                .unwrap_or_else(|()| Json::null());
            (role, json)
        })
        .collect();
    let rest = answers.split_off(kept.len());
    if let (Some(metadata), Some(signals)) = (answers.get("metadata"), answers.get("signals")) {
        row.page.metadata = json(&KeptContent {
            metadata: metadata.raw(),
            signals: signals.raw(),
        });
    }
    if !rest.is_empty() {
        row.extensions = json(&rest);
    }
    if shared.hooks.is_empty() {
        return Vec::new();
    }
    let outputs = rest.iter();
    outputs
        .map(|(role, data)| (role_name(role).to_owned(), data.to_string()))
        .collect()
}

/// The role whose output is stored under this key.
fn role_name(key: &str) -> &str {
    match key {
        STORED_KEY => SELECTORS_ROLE,
        role => role,
    }
}

fn json(value: &impl Serialize) -> Option<String> {
    serde_json::to_string(value)
        .inspect_err(|error| tracing::error!(%error, "cannot write what extractors returned"))
        .ok()
}

/// As [`work_out`]; tells what it took of a processor, without the time that it waited for a thread.
fn timed_work_out(
    shared: &Shared,
    entry: &Entry,
    response: Response,
    converted: Option<Arc<str>>,
    way: Way,
) -> (Fetched, Option<Arc<Page>>) {
    let started = Instant::now();
    let done = work_out(shared, entry, response, converted, way);
    let backlog = &shared.crawls.pipeline.index_backlog;
    backlog.note_read(started.elapsed());
    done
}

/// CPU-bound: about 0.2 ms for 38 KB. Returns the page for plugins, too, if one is needed.
/// `converted`: the HTML of a document.
fn work_out(
    shared: &Shared,
    entry: &Entry,
    response: Response,
    converted: Option<Arc<str>>,
    way: Way,
) -> (Fetched, Option<Arc<Page>>) {
    let content_type = response.headers.get("content-type").map(kept);
    let kind = content::sniff(content_type.as_deref(), &response.body).kind;
    let text = match (kind, &converted) {
        (Kind::Html, _) => Some(page_source(&response.body, content_type.as_deref())),
        (Kind::Document, Some(html)) => Some(Cow::Borrowed(&**html)),
        (Kind::Document, None) | (Kind::Text | Kind::Other, _) => None,
    };
    // As the background task would, which then need not read the page again. A crawl that is faster
    // than the writer or keeps the processors busy leaves its pages to that task.
    let wants_words = shared.spec.store_html
        && response.status == 200
        && !shared.crawls.store.is_shared()
        && shared.committer.keeps_up()
        && !shared.crawls.pipeline.index_backlog.leaves_page();
    let (mut facts, words) = match &text {
        Some(html) if wants_words => {
            let (facts, text) = page_text(html, &response.final_url, TEXT_BYTES);
            let words = page_words(facts.title.as_deref(), &text);
            (facts, Some(words))
        }
        Some(html) => (page_pass(html, &response.final_url), None),
        None => (
            PageFacts {
                content_hash: content::bytes_hash(&response.body),
                ..PageFacts::default()
            },
            None,
        ),
    };
    if kind == Kind::Document {
        facts.content_hash = content::bytes_hash(&response.body);
    }
    if let Some(hash) = hash_of_target(&response, shared.rules) {
        facts.content_hash = hash;
    }
    if is_led_on(response.status) {
        // The links of a redirect that leaves the scope are none of a page.
        facts.links = Links::default();
    } else if !way.is_rendered {
        // The page was fetched without scripts, for whom these are.
        let beside = std::mem::take(&mut facts.noscript_links);
        facts.links.append(&beside);
    }
    let header = x_robots_tag(response.headers.get_all("x-robots-tag"), PRODUCT_TOKEN);
    if header.nofollow {
        facts.links.forbid_following();
    }
    facts.robots.merge(&header);
    let headers: Vec<(&str, &str)> = response
        .headers
        .iter()
        .filter(|(name, _)| !DROPPED.contains(name))
        .collect();
    let runs_extractors =
        !shared.spec.store_html || !shared.extractors.is_empty() || shared.spec.extract.is_some();
    let for_extractors = text.is_some() && runs_extractors;
    let for_hooks = shared.hooks.need_pages(&shared.engine);
    let page = (for_extractors || for_hooks).then(|| {
        // Most crawls run no plugin: only here does a page need a copy of its text.
        let html: Arc<str> = match (&converted, &text) {
            (Some(html), Some(_)) => Arc::clone(html),
            (_, text) => Arc::from(text.as_deref().unwrap_or_default()),
        };
        Page::new(PageParts {
            url: entry.url.clone(),
            final_url: response.final_url.clone(),
            status: response.status,
            headers: headers
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            redirects: response
                .redirects
                .iter()
                .map(|hop| orbweaver_engine::Hop {
                    url: hop.url.clone(),
                    status: hop.status,
                })
                .collect(),
            body: PageParts::text_as_body(&response.body, &html)
                .unwrap_or_else(|| Arc::from(&response.body[..])),
            html,
            cost_usd: 0.0,
        })
    });
    let headers = serde_json::to_string(&headers).unwrap_or_else(|_| "[]".to_owned());
    drop(text);
    let links = std::mem::take(&mut facts.links);
    let (found, counts) = judge(shared, &links);
    let mut final_url = response.final_url;
    final_url.truncate(final_url.find('#').unwrap_or(final_url.len()));
    let key = Resolved::parse(&final_url)
        .map_or_else(|| final_url.clone(), |url| key_of(&url, shared.rules));
    // The row has the requested URL and, after redirects, those of a script among them, the URL that answered.
    let url = if response.redirects.is_empty() && key_hash(&key) == entry.hash {
        entry.url.clone()
    } else {
        final_url.clone()
    };
    let row = CrawledPage {
        seq: entry.seq,
        key_hash: key_hash(&key),
        depth: entry.depth,
        title: facts.title.as_deref().map(kept),
        canonical: facts.canonical.as_deref().map(kept),
        robots: (!facts.robots.all.is_empty()).then(|| kept(&facts.robots.all.join(", "))),
        extensions: None,
        content_type,
        elapsed_ms: None,
        redirects: None,
        same_body: None,
        targets: pack(&found),
        links: rows(&links),
        records: Vec::new(),
        words,
        page: NewPage {
            project: shared.lease.project,
            run: Some(shared.lease.run),
            url,
            user_agent: kept_agent(shared, &final_url, &key, way),
            url_key: key,
            final_url,
            status: response.status,
            bytes: response.body.len() as u64,
            fetched_at: shared.crawls.clock.now(),
            content_hash: Some(facts.content_hash),
            kind,
            cloud_mode: way.mode(),
            headers,
            metadata: None,
            body: shared
                .spec
                .store_html
                .then(|| body(&response.body, response.raw)),
        },
    };
    (fetched(row, links, found, counts), page)
}

pub(crate) fn fetched(
    row: CrawledPage,
    links: Links,
    found: Vec<(u64, u32)>,
    left_out: LeftOut,
) -> Fetched {
    Fetched {
        row,
        links,
        found,
        left_out,
        redirect_to: None,
        cloud: None,
        latency: Duration::ZERO,
        retry_after: None,
        hooked: None,
        report: PluginReport::default(),
    }
}

fn rows(links: &Links) -> Vec<u8> {
    if links.is_empty() {
        return Vec::new();
    }
    pack_links(
        links
            .iter()
            .map(|link| (link.to, link.anchor, link.rel, link.nofollow)),
    )
}

/// The body as received if it is one complete stream; otherwise it is encoded here.
fn body(decoded: &[u8], raw: Option<orbweaver_fetch::Raw>) -> StoredBody {
    match raw.and_then(|raw| Some((raw.encoding.parse::<BodyEncoding>().ok()?, raw.bytes))) {
        // A separate copy: a slice of a larger read buffer would keep all of it alive.
        Some((encoding, bytes)) => {
            StoredBody::received(decoded, encoding, Bytes::copy_from_slice(&bytes))
        }
        None => StoredBody::pack(decoded),
    }
}

/// Text for a row: limited in length, without NUL, which PostgreSQL refuses.
fn kept(text: &str) -> String {
    let cut = text
        .get(..text.floor_char_boundary(TITLE_BYTES))
        .unwrap_or("");
    cut.replace('\0', "")
}

impl Way {
    pub(crate) fn mode(self) -> CloudMode {
        match self.is_rendered {
            true => CloudMode::Browser,
            false => CloudMode::None,
        }
    }
}

/// The user agent under which a page is kept, by which scans that ask for just this page find it. `url` is
/// the one that answered, without its fragment.
pub(crate) fn kept_agent(shared: &Shared, url: &str, key: &str, way: Way) -> String {
    let spec = &shared.spec;
    let rendering = match way.is_rendered {
        true => Rendering::new(
            spec.wait_for.as_ref(),
            &spec.actions,
            spec.session.as_deref(),
            &PictureOptions::default(),
        ),
        false => Rendering::default(),
    };
    let whole = KeyRules {
        drop_tracking: false,
    };
    let asked_with = AskedWith {
        headers: &spec.headers,
        cookies: spec.cookies.as_deref(),
        country: spec.proxy_country.as_deref(),
        // The row has the URL to which a refresh leads.
        follow_refresh: false,
        rendering,
        by_hook: way.by_hook,
        is_shortened: key != url
            && Resolved::parse(url).is_some_and(|url| key_of(&url, whole) != key),
    };
    asked_with.kept_agent(spec.user_agent.as_deref())
}
