//! Passes pages through the hooks of a run.

use std::sync::Arc;
use std::time::Duration;

use orbweaver_core::page::Links;
use orbweaver_engine::{
    FoundLink, HookPoint, HookPoints, Page, PageFate, PageVerdict, PageWork, Visit,
};
use orbweaver_store::crawl::NewRecord;
use orbweaver_urls::Resolved;

use super::report::PluginReport;
use super::verdict::{Fate, Hooked};
use crate::entry::{Entry, Fetched};
use crate::follow;
use crate::shared::Shared;
use crate::spec::SeedKind;

/// Passes a fetched page through the hooks: its verdict goes into `fetched`, records into its row.
pub(crate) async fn pass(
    shared: &Arc<Shared>,
    entry: &Entry,
    page: Arc<Page>,
    outputs: Vec<(String, String)>,
    fetched: &mut Fetched,
) {
    let points = shared.hooks.points(&shared.engine);
    let links = if points.has(HookPoint::Discover) {
        open_links(shared, entry, fetched).await
    } else {
        Vec::new()
    };
    let config = &shared.crawls.config;
    let visit = Visit {
        url: fetched.row.page.final_url.clone(),
        status: fetched.row.page.status,
        depth: entry.depth,
        attempts: entry.attempts,
    };
    let work = PageWork {
        page,
        visit,
        points: page_points(points, shared),
        outputs,
        links: Vec::new(),
        retry_within: (entry.attempts < config.retries).then(|| config.max_wait_ms.as_duration()),
    };
    let (verdict, mut hooked) =
        judge(shared, work, &fetched.links, &links, &mut fetched.report).await;
    let subject = shared.subject(&fetched.row.page.url, entry.hash);
    for failure in &verdict.failures {
        let is_strict = shared.hooks.is_strict(&failure.hook);
        fetched.report.hook_failed(subject, failure, is_strict);
    }
    hooked.fate = match &verdict.fate {
        PageFate::Kept => Fate::Kept,
        // The hook's log has the reason: whether the page is left out is not known yet.
        PageFate::Retry(delay_ms, _) => Fate::Retry(Duration::from_millis((*delay_ms).into())),
        PageFate::Dropped(why) => {
            fetched.report.left_out(subject, why);
            Fate::Dropped
        }
    };
    fetched.row.records = verdict
        .records
        .into_iter()
        .map(|record| NewRecord {
            hook: record.hook,
            data: record.data,
        })
        .collect();
    fetched.hooked = Some(Box::new(hooked));
}

/// Judges links of a stored page again, or what a sitemap lists: without the page's content.
pub(crate) async fn judge_again(
    shared: &Shared,
    visit: Visit,
    links: &Links,
    found: &[(u64, u32)],
) -> (Hooked, PluginReport) {
    let mut report = PluginReport::default();
    let points = shared.hooks.points(&shared.engine);
    if !points.has(HookPoint::Discover) {
        return (Hooked::default(), report);
    }
    let url = visit.url.clone();
    let work = PageWork {
        page: Page::from_html(&url, ""),
        visit,
        points: HookPoints::of(&[HookPoint::Discover]),
        outputs: Vec::new(),
        links: Vec::new(),
        retry_within: None,
    };
    let unknown = shared.hooks.unknown(found);
    let (verdict, hooked) = judge(shared, work, links, &unknown, &mut report).await;
    let subject = shared.subject(&url, 0);
    for failure in &verdict.failures {
        report.hook_failed(subject, failure, shared.hooks.is_strict(&failure.hook));
    }
    (hooked, report)
}

/// A run of listed URLs follows no links, so that hooks are not asked about them.
fn page_points(points: HookPoints, shared: &Shared) -> HookPoints {
    let mut wanted = vec![HookPoint::Response, HookPoint::Record];
    if shared.spec.seed_kind == SeedKind::Url {
        wanted.push(HookPoint::Discover);
    }
    points.and(HookPoints::of(&wanted))
}

/// The page's links that are in scope, within the depth, and not known yet.
async fn open_links(shared: &Arc<Shared>, entry: &Entry, fetched: &Fetched) -> Vec<(u64, u32)> {
    if entry.depth >= shared.spec.depth || shared.spec.seed_kind != SeedKind::Url {
        return Vec::new();
    }
    // The seed's redirect widens the scope, which happens later, in the run's task.
    if shared.is_seed(entry)
        && let Some(landed) = Resolved::parse(&fetched.row.page.final_url)
        && let Some(wider) = shared.scope.load().with_site(&landed)
    {
        let links = fetched.links.clone();
        let judged = follow::judge_apart(shared, Arc::new(wider), links).await;
        return match judged {
            Ok((_, found, _)) => shared.hooks.unknown(&found),
            Err(error) => {
                tracing::error!(%error, run.id = %shared.lease.run, "cannot judge links for hooks");
                Vec::new()
            }
        };
    }
    shared.hooks.unknown(&fetched.found)
}

async fn judge(
    shared: &Shared,
    mut work: PageWork,
    links: &Links,
    open: &[(u64, u32)],
    report: &mut PluginReport,
) -> (PageVerdict, Hooked) {
    let mut places = Vec::with_capacity(open.len());
    for (hash, index) in open {
        let Some(link) = links.get(*index as usize) else {
            continue;
        };
        let end = link.to.find('#').unwrap_or(link.to.len());
        work.links.push(FoundLink {
            url: link.to.get(..end).unwrap_or(link.to).to_owned(),
            anchor: link.anchor.to_owned(),
            rel: link.rel.to_owned(),
            nofollow: link.nofollow,
        });
        places.push((*hash, *index));
    }
    let engine = &shared.engine;
    let mut verdict = engine.page_hooks(&shared.hooks.uses, work).await;
    let mut hooked = Hooked::default();
    let mut judged = std::mem::take(&mut verdict.links).into_iter();
    for ((hash, index), link) in places.into_iter().zip(judged.by_ref()) {
        if let Some(why) = &link.skipped {
            hooked.skipped += 1;
            report.left_out(shared.subject(&link.url, hash), why);
        }
        hooked.insert(index, link);
    }
    for link in judged {
        match &link.skipped {
            Some(_) => hooked.skipped += 1,
            None => hooked.added.push(link),
        }
    }
    (verdict, hooked)
}
