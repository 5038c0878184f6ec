//! The crawl engine, checked by the crawled site's log and by the database.

mod durable;
mod ground;
mod hooks;
mod polite;
mod reach;
mod redirects;
mod sitemaps;
mod stored;
mod whole;

use orbweaver_core::ids::{PageId, ProjectId, RunId};
use orbweaver_core::setting::Millis;
use orbweaver_crawl::spec::{CrawlSpec, SeedKind};
use orbweaver_store::crawl::{Created, NewRun, PageItem, PageRange, Run};

use crate::support::{Service, database, wait};

/// Runs every test once per database.
macro_rules! promises {
    ($($name:ident)*) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")] async fn $name() {
                super::$name($crate::crawl_engine::quick(false).await).await;
            })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread")] async fn $name() {
                super::$name($crate::crawl_engine::quick(true).await).await;
            })*
        }
    };
}
use promises;

/// A service that retries soon.
async fn quick(postgres: bool) -> Service {
    let url = postgres.then(database::postgres);
    Service::with(|config| {
        config.database_url = url.map(orbweaver_accounts::secret::SafeUrl::new);
        config.crawl.retry_base_ms = Millis(20);
        config.crawl.retries = 2;
    })
    .await
}

/// A crawl without delays.
fn spec(url: &str) -> CrawlSpec {
    CrawlSpec {
        delay_ms: 0,
        ..CrawlSpec::new(url)
    }
}

async fn project(service: &Service) -> ProjectId {
    let named = service.app.store.project_named("default").await;
    named.expect("a database").expect("the first project").id
}

/// Queues a run.
async fn queue(service: &Service, spec: &CrawlSpec, previous: Option<RunId>) -> RunId {
    let new = NewRun {
        project: project(service).await,
        url: spec.url.clone(),
        url_key: spec.url.clone(),
        spec: serde_json::to_string(spec).expect("JSON"),
        seed_is_page: spec.seed_kind == SeedKind::Url,
        proxy_shown: None,
        monitor: None,
        previous,
        idem_key: None,
        enqueued_at: service.app.clock.now(),
        has_webhook: false,
    };
    let created = service.app.store.create_run(&new, None).await;
    let Created::New(run) = created.expect("a database") else {
        panic!("not created");
    };
    service.app.crawls.live.wake();
    run.id
}

/// Waits until a run has ended.
async fn over(service: &Service, id: RunId) -> Run {
    let project = project(service).await;
    let run = async || {
        let run = service.app.store.run(project, id).await;
        run.expect("a database").expect("a run")
    };
    wait::until("the run ends", async || run().await.status.is_over()).await;
    run().await
}

/// Crawls until the run has ended.
async fn crawl(service: &Service, spec: &CrawlSpec) -> Run {
    let run = queue(service, spec, None).await;
    over(service, run).await
}

/// llms.txt and llms-full.txt of the run's site.
async fn llms_texts(service: &Service, run: &Run) -> (Option<String>, Option<String>) {
    let store = &service.app.store;
    let found = store.run_with_texts(run.project, run.id).await;
    let (_, texts) = found.expect("a database").expect("a run");
    (texts.llms_txt, texts.llms_full_txt)
}

async fn pages(service: &Service, run: &Run) -> Vec<PageItem> {
    let range = PageRange {
        status: None,
        after: PageId(0),
        offset: 0,
        limit: 10_000,
    };
    let pages = service.app.store.run_pages(run.project, run.id, &range);
    pages.await.expect("a database")
}

/// Paths of a run's pages, sorted.
async fn paths(service: &Service, run: &Run) -> Vec<String> {
    let mut paths: Vec<String> = pages(service, run)
        .await
        .into_iter()
        .map(|page| page.url.splitn(4, '/').nth(3).unwrap_or("").to_owned())
        .collect();
    paths.sort();
    paths
}
