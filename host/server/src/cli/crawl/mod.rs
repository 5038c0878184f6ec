//! `orbweaver crawl`: runs a crawl in this process, on the configured database, or at the service
//! of the login.

mod output;
mod remote;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use indexmap::IndexMap;
use indicatif::{ProgressBar, ProgressStyle};
use orbweaver_core::ids::{ProjectId, RunId};
use orbweaver_store::Project;
use orbweaver_store::crawl::{Created, Run, RunState};

use super::Common;
use super::out::nobody_reads;
use super::remote::Place;
use crate::service::Service;
use orbweaver_accounts::bootstrap;
use orbweaver_accounts::clock::Clock;
use orbweaver_crawl as crawl;
use orbweaver_crawl::WorkerLockHolder;
use orbweaver_crawl::export::Include;
use orbweaver_crawl::render::RenderMode;
use orbweaver_crawl::request::{CrawlRequest, RequestError};
use orbweaver_crawl::spec::{CrawlSpec, SeedKind};
use orbweaver_crawl::submit::{self, Origin};
use orbweaver_pipeline::cloud::backend::NO_BROWSER;
use orbweaver_pipeline::rules::InvalidField;

use crate::serve::StopSignals;
use crate::{housekeeping, service, telemetry};

/// Refresh interval of the progress bar.
const REFRESH_INTERVAL: Duration = Duration::from_millis(200);

/// Crawl a site and write its pages to a file or folder.
///
/// The run and its pages are stored in the data folder, so `orbweaver serve` finds them too.
/// If interrupted, continue with --resume.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    orbweaver crawl https://example.com --max-pages 200 --out pages.ndjson\n  \
    orbweaver crawl https://example.com --out site/\n  \
    orbweaver crawl https://example.com/sitemap.xml --sitemap --exclude '\\.pdf$'\n  \
    orbweaver crawl http://127.0.0.1:8000/ --allow-net 127.0.0.0/8\n  \
    orbweaver crawl --resume 7 --out site/")]
pub(super) struct Crawl {
    /// Start URL.
    #[arg(required_unless_present = "resume")]
    url: Option<String>,
    /// Where pages go: FILE.ndjson (one page a line, with Markdown and metadata), FILE.csv
    /// (one page a line: id, url, status, bytes, fetched_at), FILE.parquet (the same columns), FILE.zip (one Markdown file per
    /// page, and index.csv), FILE.warc.gz (WARC 1.1), FILE.wacz, or a folder (one Markdown file per page;
    /// end a name that has a dot with a slash), or - (standard output, as FILE.ndjson). Without it one
    /// line per page is printed.
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
    /// Fields of each page in FILE.ndjson, FILE.csv and FILE.parquet besides id, url, status, bytes and
    /// fetched_at: title, final_url, depth, content_type, content_hash, elapsed_ms, redirects,
    /// inlinks, markdown, article, html, metadata, signals, extensions, extracted.
    #[arg(long, value_name = "NAME,…", requires = "out", value_parser = Include::parse)]
    fields: Option<Include>,
    /// Write Markdown without navigation, footer and sidebars.
    #[arg(long, requires = "out")]
    main_content: bool,
    /// Replace the file of --out if there is one.
    #[arg(long, requires = "out")]
    force: bool,
    /// Pages at most [default: 1000].
    #[arg(long, value_name = "N")]
    max_pages: Option<u64>,
    /// Most links from the start page [default: 5].
    #[arg(long, value_name = "N")]
    depth: Option<u64>,
    /// Parallel requests [default: adapts to the site].
    #[arg(long, value_name = "N")]
    concurrency: Option<u64>,
    /// Milliseconds between two requests to a host [default: 250].
    #[arg(long, value_name = "MS")]
    delay_ms: Option<u64>,
    /// Follow links into subdomains.
    #[arg(long)]
    subdomains: bool,
    /// Do not obey robots.txt.
    #[arg(long)]
    ignore_robots: bool,
    /// Do not follow links marked nofollow, ugc or sponsored, nor links of nofollow pages.
    #[arg(long)]
    respect_nofollow: bool,
    /// Follow a page's refresh (header or meta) as a redirect.
    #[arg(long)]
    follow_refresh: bool,
    /// Render pages in a browser: those that need it (auto), or all.
    #[arg(long, value_name = "MODE", value_enum, default_value = "never")]
    render: RenderWord,
    /// The URL is an origin, a sitemap or a sitemap index; fetch the pages it lists.
    #[arg(long)]
    sitemap: bool,
    /// Skip paths that match this regular expression; repeatable.
    #[arg(long, value_name = "REGEX")]
    exclude: Vec<String>,
    /// Crawl only paths that match this regular expression; repeatable.
    #[arg(long, value_name = "REGEX")]
    include: Vec<String>,
    /// Header to send to the site of the start URL, as `Name: value`; repeatable.
    #[arg(long, value_name = "HEADER")]
    header: Vec<String>,
    /// Cookies to send to the site of the start URL, as `k=v; k=v`.
    #[arg(long, value_name = "COOKIES")]
    cookies: Option<String>,
    /// User agent to send [default: a current browser's].
    #[arg(long, value_name = "TEXT")]
    user_agent: Option<String>,
    /// Proxy (http, https or socks5) [default: the project's].
    #[arg(long, value_name = "URL")]
    proxy: Option<String>,
    /// Project that owns the run [default: the first one].
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Continue an interrupted run.
    #[arg(long, value_name = "RUN", conflicts_with = "url")]
    resume: Option<i64>,
    #[command(flatten)]
    place: Place,
}

/// [`RenderMode`] as an argument.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum RenderWord {
    Never,
    Auto,
    Always,
}

impl Crawl {
    pub(super) async fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        if let Some(service) = self.place.service(common)? {
            return Box::pin(self.run_at(service)).await;
        }
        let mut config = common.load()?.config;
        // Hides log lines behind the progress bar; errors are in the run's result.
        if config.log.filter == "info" {
            config.log.filter = "error".to_owned();
        }
        telemetry::start_logs(&config.log)?;
        let out = match &self.out {
            Some(path) => Some(output::Target::at(path, self.force)?),
            None => None,
        };
        let fields = output::Fields {
            include: self.fields,
            main_content: self.main_content,
        };
        let service = service::build(config, Clock::system(), None).await?;
        let project = self.project(&service).await?;
        let run = match self.resume {
            Some(id) => existing(&service, project.id, RunId(id)).await?,
            None => self.submit(&service, &project).await?,
        };
        let mut stop = StopSignals::listen()?;
        let others = Arc::new(AtomicBool::new(false));
        let worker = tokio::spawn(work(service.clone(), Arc::clone(&others)));
        let followed = follow(&service, project.id, run.id, &run, &mut stop).await;
        service.crawls.live.stop();
        let worked = worker.await;
        let ended = match followed {
            Ok(Some(run)) => finish(&service, run, out, fields, &mut stop).await,
            Ok(None) => {
                let others = others.load(Ordering::Relaxed);
                interrupted(&service, &run, others).await.map(Some)
            }
            Err(error) => Err(error),
        };
        // A thread that a pipe blocks may hold a connection; all that is written is committed.
        if !matches!(ended, Ok(None)) {
            service.store.close().await;
        }
        worked.context("the crawl's worker failed")?;
        ended.map(|code| code.unwrap_or(ExitCode::FAILURE))
    }

    async fn project(&self, service: &Service) -> anyhow::Result<Project> {
        // The service's first start makes the key, and shows it.
        bootstrap::project_alone(&service.store, &service.clock).await?;
        match &self.project {
            Some(name) => service.store.project_named(name).await?.with_context(|| {
                format!("project {name} does not exist; `orbweaver project list`")
            }),
            None => {
                let projects = service.store.projects().await?;
                projects.into_iter().next().context("no project exists")
            }
        }
    }

    async fn submit(&self, service: &Service, project: &Project) -> anyhow::Result<Run> {
        let tier = service.accounts.quota.caps(project.id).await?;
        let checked = self
            .request()?
            .check(&service.pipeline, tier.aggressive, &project.tier)
            .await
            .map_err(|error| anyhow!("{error}{}", hint(&error)))?;
        if checked.needs_browser() && !service.crawls.cloud.has_browser() {
            bail!("--render: {NO_BROWSER}");
        }
        let spec = checked
            .spec
            .with_project_proxy(project.proxy_url.as_deref());
        let origin = Origin::default();
        match submit::submit(
            &service.crawls,
            project.id,
            &spec,
            origin,
            tier.concurrent_runs.0,
        )
        .await?
        {
            Created::New(run) | Created::Replayed(run) => Ok(*run),
            Created::Monitor(monitor) => bail!("the key made the monitor {}", monitor.id),
            Created::CapReached => bail!(
                "project {} has reached its cap of queued and running crawls; see \
                 `orbweaver crawl --resume`",
                project.name
            ),
        }
    }

    /// The headers of every request.
    fn headers(&self) -> anyhow::Result<IndexMap<String, String>> {
        let mut headers = IndexMap::new();
        for header in &self.header {
            let (name, value) = header
                .split_once(':')
                .with_context(|| format!("--header {header:?}: must be `Name: value`"))?;
            headers.insert(name.trim().to_owned(), value.trim().to_owned());
        }
        Ok(headers)
    }

    fn request(&self) -> anyhow::Result<CrawlRequest> {
        let list = |given: &Vec<String>| (!given.is_empty()).then(|| given.clone());
        Ok(CrawlRequest {
            url: self.url.clone().unwrap_or_default(),
            max_pages: self.max_pages,
            depth: self.depth,
            concurrency: self.concurrency,
            delay_ms: self.delay_ms,
            subdomains: Some(self.subdomains),
            respect_robots: Some(!self.ignore_robots),
            respect_nofollow: Some(self.respect_nofollow),
            follow_refresh: Some(self.follow_refresh),
            render: Some(match self.render {
                RenderWord::Never => RenderMode::Never,
                RenderWord::Auto => RenderMode::Auto,
                RenderWord::Always => RenderMode::Always,
            }),
            seed_kind: self.sitemap.then_some(SeedKind::Sitemap),
            headers: Some(self.headers()?),
            cookies: self.cookies.clone(),
            exclude_paths: list(&self.exclude),
            include_paths: list(&self.include),
            user_agent: self.user_agent.clone(),
            proxy_url: self.proxy.clone(),
            ..CrawlRequest::default()
        })
    }
}

/// Writes the results of a finished run; `None` if the user interrupts.
async fn finish(
    service: &Service,
    run: Run,
    out: Option<output::Target>,
    fields: output::Fields,
    stop: &mut StopSignals,
) -> anyhow::Result<Option<ExitCode>> {
    let may_block = output::may_block(out.as_ref());
    let (of, pages) = (service.clone(), run.clone());
    let writing = async move { output::write(&of, &pages, out.as_ref(), fields).await };
    let written = output::unless_stopped(stop, may_block, writing).await;
    let Ok(Some(written)) = written else {
        let is_enough = matches!(&written, Err(error) if nobody_reads(error));
        if !is_enough {
            eprintln!(
                "{}: {} pages are stored: `orbweaver crawl --resume {} --out PATH` writes them again",
                run.status, run.page_count, run.id
            );
        }
        return written.map(|_| None);
    };
    summary(service, &run, written);
    Ok(Some(match run.status {
        RunState::Failed => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    }))
}

/// Reports the state of a run that the user interrupted.
async fn interrupted(service: &Service, run: &Run, others: bool) -> anyhow::Result<ExitCode> {
    let now = service.store.run(run.project, run.id).await?;
    let pages = now.map_or(0, |run| run.page_count);
    let id = run.id;
    if others {
        eprintln!(
            "interrupted after {pages} pages; the other process continues, and `orbweaver crawl \
             --resume {id}`, with the same options, waits for it"
        );
    } else {
        eprintln!(
            "interrupted after {pages} pages, which are stored; `orbweaver crawl --resume {id}`, \
             with the same options, continues it, and so does `orbweaver serve`"
        );
    }
    Ok(ExitCode::FAILURE)
}

/// Works on runs like the service. If another process works on this database already, stands
/// by and leaves them to it.
async fn work(service: Service, others: Arc<AtomicBool>) {
    let told = |holder| {
        others.store(
            matches!(holder, WorkerLockHolder::Other(_)),
            Ordering::Relaxed,
        );
        if let WorkerLockHolder::Other(process) = holder {
            let process = process.map_or_else(String::new, |id| format!(" ({id})"));
            eprintln!(
                "another process{process} works on this database and runs the crawl, with its own \
                 settings"
            );
        }
    };
    if let Some(_lock) =
        crawl::wait_for_worker_lock(&service.crawls.store, &service.crawls.live, told).await
    {
        tokio::select! {
            () = crawl::work(service.crawls.clone()) => {}
            never = housekeeping::keep_time(&service) => match never {},
        }
    }
}

/// What the user can do about a refusal of the guard.
fn hint(error: &RequestError) -> &'static str {
    match error {
        RequestError::Invalid(InvalidField {
            guard: Some(rule), ..
        }) if rule.is_private_network() => "; --allow-net opens a private network",
        _ => "",
    }
}

async fn existing(service: &Service, project: ProjectId, id: RunId) -> anyhow::Result<Run> {
    let run = service.store.run(project, id).await?;
    run.with_context(|| format!("run {id} does not exist"))
}

/// Shows the progress bar until the run ends; `None` if the user interrupts.
async fn follow(
    service: &Service,
    project: ProjectId,
    id: RunId,
    begun: &Run,
    stop: &mut StopSignals,
) -> anyhow::Result<Option<Run>> {
    let bar = progress_bar();
    // A spec that does not parse ends its run, which says so.
    let spec: Option<CrawlSpec> = serde_json::from_str(&begun.spec).ok();
    let max_pages = spec.map_or(u64::MAX, |spec| spec.max_pages.into());
    bar.set_message(begun.url.clone());
    loop {
        tokio::select! {
            () = stop.next() => {
                bar.finish_and_clear();
                return Ok(None);
            }
            () = tokio::time::sleep(REFRESH_INTERVAL) => {}
        }
        let Some(run) = service.store.run(project, id).await? else {
            bar.finish_and_clear();
            bail!("run {id} was deleted");
        };
        if run.status.is_over() {
            bar.finish_and_clear();
            return Ok(Some(run));
        }
        draw(&bar, service, &run, max_pages);
    }
}

fn progress_bar() -> ProgressBar {
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template(
        "{spinner} [{elapsed_precise}] {bar:24} {pos}/{len} pages, {msg}",
    ) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

fn draw(bar: &ProgressBar, service: &Service, run: &Run, max_pages: u64) {
    let progress = service
        .crawls
        .live
        .progress(run.id)
        .unwrap_or_else(|| run.progress.clone());
    bar.set_length(expected(progress.fetched, progress.queued, max_pages));
    bar.set_position(progress.fetched);
    let skipped: u64 = progress.skipped.values().sum();
    let seconds = run.started_at.map_or(0.0, |start| {
        (service.clock.now() - start).as_seconds_f64().max(0.001)
    });
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = if seconds > 0.0 {
        progress.fetched as f64 / seconds
    } else {
        0.0
    };
    bar.set_message(format!(
        "{rate:.1}/s, {} failed, {skipped} skipped",
        progress.failed
    ));
    bar.tick();
}

/// How many pages the run will have, as far as is known: URLs that wait are more than the run
/// may fetch, as some of them will fail.
fn expected(fetched: u64, queued: u64, max_pages: u64) -> u64 {
    fetched.saturating_add(queued).min(max_pages).max(fetched)
}

fn summary(service: &Service, run: &Run, written: output::Written) {
    let seconds = match (run.started_at, run.finished_at) {
        (Some(start), Some(end)) => (end - start).as_seconds_f64(),
        _ => 0.0,
    };
    eprintln!(
        "{}: {} pages, {} errors in {seconds:.1} s; run {} in {}",
        run.status,
        run.page_count,
        run.error_count,
        run.id,
        service.config().data_dir.display()
    );
    if let Some(message) = &run.error_message {
        eprintln!("{message}");
    }
    if let Some(place) = written.place {
        eprintln!("{} pages written to {}", written.pages, place.display());
    }
}

#[cfg(test)]
mod tests {
    use super::expected;

    #[test]
    fn the_bar_ends_at_the_most_pages() {
        assert_eq!(expected(150, 1_020, 150), 150);
        assert_eq!(expected(10, 20, 150), 30);
        assert_eq!(expected(151, 0, 150), 151);
    }
}
