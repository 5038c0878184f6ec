//! `orbweaver crawl` at a service: the run is started and watched there, its pages come here.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use chrono::{DateTime, Utc};
use indicatif::ProgressBar;
use orbweaver_crawl::export::{ExportFormat, Names, with_front_matter};
use orbweaver_crawl::spec::CrawlSpec;
use orbweaver_fetch::Download;
use serde::Deserialize;
use serde_json::{Value, json};

use super::output::{self, Fields, Output, Target, Written};
use super::{Crawl, RenderWord, progress_bar};
use crate::cli::out::{out, out_bytes};
use crate::cli::remote::{Failure, Service};
use crate::serve::StopSignals;

/// First and longest wait between two looks at the run.
const POLL_INTERVALS: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(2));
/// How many looks in a row may fail: a service that restarts is back before.
const MISSES: u32 = 30;
/// Longest line of an export that is read, in bytes.
const LONGEST_LINE: usize = 256 << 20;

/// What is used of a run.
#[derive(Deserialize)]
struct RemoteRun {
    id: i64,
    #[serde(default)]
    url: String,
    status: String,
    #[serde(default)]
    page_count: u64,
    #[serde(default)]
    error_count: u64,
    started_at: Option<DateTime<Utc>>,
    finished_at: Option<DateTime<Utc>>,
    error_message: Option<String>,
}

/// What is used of a page of an export.
#[derive(Deserialize)]
struct RemotePage {
    url: String,
    status: u16,
    fetched_at: DateTime<Utc>,
    title: Option<String>,
    markdown: Option<String>,
}

impl Crawl {
    pub(super) async fn run_at(self, service: Service) -> anyhow::Result<ExitCode> {
        let service = Arc::new(service);
        if self.project.is_some() {
            bail!("--project has no effect at a service: the key says whose run it is");
        }
        let target = match &self.out {
            Some(path) => Some(Target::at(path, self.force)?),
            None => None,
        };
        let fields = Fields {
            include: self.fields,
            main_content: self.main_content,
        };
        let id = match self.resume {
            Some(id) => id,
            None => {
                let run = service.post("/v1/crawls", &self.body()?).await?;
                let id = run.get("id").and_then(Value::as_i64);
                id.context("the answer is not a run")?
            }
        };
        // The options of a run that another command started are not known here.
        let default = || {
            self.resume
                .is_none()
                .then(|| CrawlSpec::new("").max_pages.into())
        };
        let most = self.max_pages.or_else(default);
        let mut stop = StopSignals::listen()?;
        let Some(run) = follow(&service, id, most, &mut stop).await? else {
            eprintln!(
                "run {id} goes on at {}; `orbweaver crawl --resume {id}`, with the same options, \
                 waits for it",
                service.address()
            );
            return Ok(ExitCode::FAILURE);
        };
        let run = Arc::new(run);
        let may_block = output::may_block(target.as_ref());
        let (of, pages) = (Arc::clone(&service), Arc::clone(&run));
        let writing = async move { write(&of, &pages, target.as_ref(), fields).await };
        let written = output::unless_stopped(&mut stop, may_block, writing).await;
        let hint = format!(
            "{}: {} pages are stored: `orbweaver crawl --resume {id} --out PATH` writes them again",
            run.status, run.page_count
        );
        let Some(written) = written.map_err(|error| error.context(hint.clone()))? else {
            eprintln!("{hint}");
            return Ok(ExitCode::FAILURE);
        };
        summary(&service, &run, &written);
        Ok(match run.status.as_str() {
            "done" => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        })
    }

    /// The body of `POST /v1/crawls`: only what was given, so that the service's defaults hold.
    fn body(&self) -> anyhow::Result<Value> {
        let mut body = json!({ "url": self.url });
        let Some(members) = body.as_object_mut() else {
            return Err(anyhow!("not an object"));
        };
        let mut set = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                members.insert(name.to_owned(), value);
            }
        };
        let yes = |given: bool, value: bool| given.then(|| json!(value));
        let list = |given: &[String]| (!given.is_empty()).then(|| json!(given));
        set("max_pages", self.max_pages.map(|count| json!(count)));
        set("depth", self.depth.map(|depth| json!(depth)));
        set("concurrency", self.concurrency.map(|count| json!(count)));
        set("delay_ms", self.delay_ms.map(|delay| json!(delay)));
        set("subdomains", yes(self.subdomains, true));
        set("respect_robots", yes(self.ignore_robots, false));
        set("respect_nofollow", yes(self.respect_nofollow, true));
        set("follow_refresh", yes(self.follow_refresh, true));
        set(
            "render",
            match self.render {
                RenderWord::Never => None,
                RenderWord::Auto => Some(json!("auto")),
                RenderWord::Always => Some(json!("always")),
            },
        );
        set("seed_kind", self.sitemap.then(|| json!("sitemap")));
        let headers = self.headers()?;
        set("headers", (!headers.is_empty()).then(|| json!(headers)));
        set("cookies", self.cookies.as_ref().map(|text| json!(text)));
        set("exclude_paths", list(&self.exclude));
        set("include_paths", list(&self.include));
        set(
            "user_agent",
            self.user_agent.as_ref().map(|text| json!(text)),
        );
        set("proxy_url", self.proxy.as_ref().map(|url| json!(url)));
        Ok(body)
    }
}

/// Shows the progress until the run ends; `None` if the user interrupts.
async fn follow(
    service: &Service,
    id: i64,
    most: Option<u64>,
    stop: &mut StopSignals,
) -> anyhow::Result<Option<RemoteRun>> {
    let bar = progress_bar();
    let (mut wait, mut missed) = (POLL_INTERVALS.0, 0);
    let path = format!("/v1/crawls/{id}");
    loop {
        // A service that hangs answers after minutes, or never.
        let looked = tokio::select! {
            () = stop.next() => {
                bar.finish_and_clear();
                return Ok(None);
            }
            looked = service.get(&path) => looked,
        };
        match looked {
            Ok(run) => {
                missed = 0;
                let run: RemoteRun =
                    serde_json::from_value(run).context("the answer is not a run")?;
                if matches!(run.status.as_str(), "done" | "failed" | "cancelled") {
                    bar.finish_and_clear();
                    return Ok(Some(run));
                }
                draw(&bar, &run, most);
            }
            Err(Failure::Refused { status: 404, .. }) => {
                bar.finish_and_clear();
                bail!("{} has no run {id}", service.address());
            }
            Err(failure) => {
                missed += 1;
                let is_answer = !matches!(failure, Failure::NoAnswer(_));
                let lasting = is_answer && !failure.is_passing();
                if lasting || missed >= MISSES {
                    bar.finish_and_clear();
                    return Err(failure.into());
                }
                bar.set_message(failure.to_string());
            }
        }
        tokio::select! {
            () = stop.next() => {
                bar.finish_and_clear();
                return Ok(None);
            }
            () = tokio::time::sleep(wait) => {}
        }
        wait = (wait * 2).min(POLL_INTERVALS.1);
    }
}

fn draw(bar: &ProgressBar, run: &RemoteRun, most: Option<u64>) {
    bar.set_length(length(run.page_count, most));
    bar.set_position(run.page_count);
    bar.set_message(format!(
        "{}, {} failed, {}",
        run.status, run.error_count, run.url
    ));
    bar.tick();
}

/// Where the bar ends: at the most pages, or at those so far if the most is not known.
fn length(pages: u64, most: Option<u64>) -> u64 {
    most.unwrap_or_default().max(pages)
}

/// Writes every page of the run.
async fn write(
    service: &Service,
    run: &RemoteRun,
    target: Option<&Target>,
    fields: Fields,
) -> anyhow::Result<Written> {
    let main = if fields.main_content {
        "&only_main_content=true"
    } else {
        ""
    };
    let export = format!("/v1/crawls/{}/export?format=", run.id);
    let whole = |format: ExportFormat| {
        let include = match fields.included(format).names().join(",") {
            names if names.is_empty() => names,
            names => format!("&include={names}"),
        };
        format!("{export}{}{include}{main}", format.as_str())
    };
    match target {
        Some(Target::File(path, format)) => {
            let mut file = Output::create(path)?;
            let mut download = service.download(&whole(*format)).await?;
            while let Some(piece) = download.next().await? {
                file.put(&piece)?;
            }
            Ok(Written {
                pages: run.page_count,
                place: Some(file.finish()?),
            })
        }
        Some(Target::Standard) => {
            let mut download = service.download(&whole(output::STANDARD)).await?;
            while let Some(piece) = download.next().await? {
                out_bytes(&piece)?;
            }
            Ok(Written {
                pages: run.page_count,
                place: None,
            })
        }
        Some(Target::Folder(folder)) => {
            let path = format!("{export}ndjson&include=title,markdown{main}");
            write_folder(service.download(&path).await?, folder).await
        }
        None => print_lines(service.download(&format!("{export}ndjson")).await?).await,
    }
}

/// Writes a Markdown file for each page.
async fn write_folder(download: Download, folder: &Path) -> anyhow::Result<Written> {
    let mut names = Names::default();
    let mut pages = 0;
    each_page(download, |page| {
        let Some(markdown) = page.markdown.as_deref().filter(|_| page.status < 300) else {
            return Ok(());
        };
        let title = page.title.as_deref().unwrap_or_default();
        let text = with_front_matter(&page.url, title, page.fetched_at, markdown);
        super::output::write_document(&folder.join(names.name(&page.url)), folder, &text)?;
        pages += 1;
        Ok(())
    })
    .await?;
    Ok(Written {
        pages,
        place: Some(folder.to_owned()),
    })
}

/// Prints a line for each page.
async fn print_lines(download: Download) -> anyhow::Result<Written> {
    let mut pages = 0;
    each_page(download, |page| {
        pages += 1;
        out!("{}\t{}", page.status, page.url)?;
        Ok(())
    })
    .await?;
    Ok(Written { pages, place: None })
}

/// Calls back for each line of an export.
async fn each_page(
    mut download: Download,
    mut visit: impl FnMut(RemotePage) -> anyhow::Result<()> + Send,
) -> anyhow::Result<()> {
    let mut rest = Vec::new();
    while let Some(piece) = download.next().await? {
        rest.extend_from_slice(&piece);
        let mut begin = 0;
        while let Some(length) = rest
            .get(begin..)
            .and_then(|rest| rest.iter().position(|&byte| byte == b'\n'))
        {
            let line = rest.get(begin..begin + length).unwrap_or_default();
            visit(
                serde_json::from_slice(line).context("the export has a line that is not a page")?,
            )?;
            begin += length + 1;
        }
        rest.drain(..begin);
        if rest.len() > LONGEST_LINE {
            bail!("the export has a line of more than {LONGEST_LINE} bytes");
        }
    }
    if !rest.is_empty() {
        bail!("the export broke off");
    }
    Ok(())
}

fn summary(service: &Service, run: &RemoteRun, written: &Written) {
    let seconds = match (run.started_at, run.finished_at) {
        (Some(start), Some(end)) => (end - start).as_seconds_f64(),
        _ => 0.0,
    };
    eprintln!(
        "{}: {} pages, {} errors in {seconds:.1} s; run {} at {}",
        run.status,
        run.page_count,
        run.error_count,
        run.id,
        service.address()
    );
    if let Some(message) = &run.error_message {
        eprintln!("{message}");
    }
    if let Some(place) = &written.place {
        eprintln!("{} pages written to {}", written.pages, place.display());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_ends_at_a_number_that_is_known() {
        assert_eq!(length(12, Some(1_000)), 1_000);
        assert_eq!(length(12, Some(10)), 12);
        assert_eq!(length(12, None), 12);
    }
}
