//! Loads components and calls them, outside the service.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use orbweaver_engine::{
    CallOutput, Delivery, FoundLink, Grants, HookFailure, HookPoint, HookPoints, HookUse, Kind,
    Page, PageFate, PageParts, PageVerdict, PageWork, PluginError, PluginInfo, RoleCall, Source,
    Visit,
};
use orbweaver_pipeline::{DOCUMENT_ROLE, Document, Pipeline, PipelineSettings, readable_page};
use serde_json::{Value, json};

use crate::call::{PluginCall, object};
use crate::files::within;
use crate::host::{CallHost, page_line};
use crate::report::{HostCall, Report};
use crate::state::HookValues;
use crate::web::{Mode, Web};

/// Base of a page from a file that names no URL, and the URL of a crawl.
const DEFAULT_URL: &str = "https://example.com/";
/// The event of a webhook that names none.
const DEFAULT_EVENT: &str = "crawl.done";

/// Status of a page from a file, for hooks: in a crawl each page has one, and what has none is no page.
const FILE_STATUS: u16 = 200;

/// The role that lists a page's links, for hooks.
const LINKS: &str = "links";

/// Runs components.
pub struct Runner {
    pipeline: Pipeline,
    hook_values: Arc<HookValues>,
}

/// The page of a call, with the request that it took.
struct Subject {
    page: Arc<Page>,
    asked: Option<HostCall>,
}

impl Runner {
    /// Starts with the service's settings. The plugins of the program and of its folder are there for roles
    /// that a component asks for; they are compiled when they are needed.
    ///
    /// # Errors
    /// When a setting cannot be used.
    pub async fn start(settings: PipelineSettings) -> Result<Self> {
        let settings = PipelineSettings {
            load_behind: true,
            ..settings
        };
        let pipeline = Pipeline::start(settings).await?;
        let hook_values = Arc::new(HookValues::default());
        pipeline
            .engine
            .set_hook_hosts(Arc::<HookValues>::clone(&hook_values));
        Ok(Self {
            pipeline,
            hook_values,
        })
    }

    /// Loads a component as an upload with these permissions. It replaces one of its kind and name.
    ///
    /// # Errors
    /// Why the service would refuse it.
    pub async fn load(&self, bytes: Vec<u8>, grants: Grants) -> Result<PluginInfo> {
        let loaded = self
            .pipeline
            .engine
            .load_bytes(bytes, Source::Upload, grants)
            .await;
        loaded.context("the component would be refused")
    }

    /// The web for calls, with exchanges in a folder of fixtures.
    pub fn web(&self, mode: Mode, fixtures: &Path) -> Arc<Web> {
        Arc::new(Web::new(mode, fixtures, self.pipeline.fetcher.clone()))
    }

    /// Calls a loaded plugin; files that the call names are in `folder` or below it.
    ///
    /// # Errors
    /// A call that does not fit the plugin's kind, or a page that cannot be had. What the plugin itself
    /// reports is in the [`Report`].
    pub async fn call(
        &self,
        plugin: &PluginInfo,
        call: &PluginCall,
        folder: &Path,
        web: &Arc<Web>,
    ) -> Result<Report> {
        let delivers = plugin.hooks.contains(&HookPoint::Deliver);
        if let Some(field) = call.misplaced(plugin.kind, &plugin.hooks).first() {
            let of = if delivers { " with `deliver`" } else { "" };
            bail!(
                "{field}: not supported for plugins of kind {}{of}",
                plugin.kind
            );
        }
        let before = self.used(plugin);
        let host = Arc::new(CallHost::new(self.pipeline.engine.clone(), Arc::clone(web)));
        let mut calls = Vec::new();
        let started;
        let answer = match plugin.kind {
            Kind::Actor => {
                started = Instant::now();
                let input = object(call.input.as_ref());
                let engine = &self.pipeline.engine;
                output(
                    engine
                        .run_actor(&plugin.name, &input, Arc::<CallHost>::clone(&host))
                        .await,
                )
            }
            Kind::Fetcher => {
                started = Instant::now();
                self.fetcher(plugin, call, &host).await?
            }
            Kind::Extractor => {
                let subject = self.subject(call, folder, web, 0).await?;
                calls.extend(subject.asked);
                let first = || plugin.roles.first().unwrap_or(&plugin.name).clone();
                let role = call.role.clone().unwrap_or_else(first);
                let page = match role.as_str() {
                    // It makes the HTML that the others read.
                    DOCUMENT_ROLE => subject.page,
                    _ => readable_page(&self.pipeline.engine, subject.page).await,
                };
                started = Instant::now();
                self.extractor(role, call, &page).await
            }
            Kind::Hook if delivers => {
                let payload = call.payload.as_ref();
                let payload = payload
                    .context("payload: required; the webhook body that the hook is given")?;
                started = Instant::now();
                self.delivery(plugin, call, payload).await
            }
            Kind::Hook => {
                let subject = self.subject(call, folder, web, FILE_STATUS).await?;
                calls.extend(subject.asked);
                let page = readable_page(&self.pipeline.engine, subject.page).await;
                let links = self.links(&page).await?;
                self.hook_values.begin();
                started = Instant::now();
                self.hook(plugin, call, page, links).await
            }
        };
        let wall = started.elapsed();
        let after = self.used(plugin);
        calls.extend(host.calls());
        Ok(Report {
            answer,
            items: host.items(),
            host_calls: calls,
            cpu: after.0.saturating_sub(before.0),
            wall,
            memory: after.1,
        })
    }

    /// CPU time so far, and the largest memory of a call.
    fn used(&self, plugin: &PluginInfo) -> (Duration, u64) {
        let info = self.pipeline.engine.plugin(plugin.kind, &plugin.name);
        info.map(|info| (info.cpu, info.peak_memory))
            .unwrap_or_default()
    }

    async fn fetcher(
        &self,
        plugin: &PluginInfo,
        call: &PluginCall,
        host: &Arc<CallHost>,
    ) -> Result<Result<Value, String>> {
        let first = || plugin.fetcher.as_ref()?.domains.first().cloned();
        let domain = call.domain.clone().or_else(first);
        let domain = domain.context("domain: required (the manifest lists none)")?;
        let path = call.path.as_deref().unwrap_or_default();
        let params = object(call.params.as_ref());
        let engine = &self.pipeline.engine;
        let host = Arc::<CallHost>::clone(host);
        Ok(output(
            engine.run_fetcher(&domain, path, &params, host).await,
        ))
    }

    async fn extractor(
        &self,
        role: String,
        call: &PluginCall,
        page: &Arc<Page>,
    ) -> Result<Value, String> {
        let engine = &self.pipeline.engine;
        let options = match &call.options {
            Some(options) => engine.checked_options(&role, &options.to_string()).await,
            None => Ok(String::new()),
        };
        let options = options.map_err(|error| error.told())?;
        let answers = engine.extract(page, vec![RoleCall { role, options }]);
        match answers.await.into_iter().next() {
            Some(Ok(json)) => parsed(&json),
            Some(Err(error)) => Err(error.told()),
            None => Err("no answer".to_owned()),
        }
    }

    /// A hook with its configuration, if that satisfies its schema.
    async fn hook_use(
        &self,
        plugin: &PluginInfo,
        call: &PluginCall,
    ) -> Result<[HookUse; 1], String> {
        let config = object(call.config.as_ref());
        let engine = &self.pipeline.engine;
        let checked = engine.check_input(Kind::Hook, &plugin.name, &config).await;
        checked.map_err(|error| error.told())?;
        Ok([HookUse {
            name: plugin.name.clone(),
            config: Arc::from(config.to_string()),
        }])
    }

    async fn delivery(
        &self,
        plugin: &PluginInfo,
        call: &PluginCall,
        payload: &Value,
    ) -> Result<Value, String> {
        let hooks = self.hook_use(plugin, call).await?;
        let about = Delivery {
            event: call.event.as_deref().unwrap_or(DEFAULT_EVENT).to_owned(),
            // The same in every call, as an actor's run.
            run_id: 1,
            run_url: call.url.as_deref().unwrap_or(DEFAULT_URL).to_owned(),
        };
        let engine = &self.pipeline.engine;
        let delivered = engine.delivery_hooks(&hooks, &about, payload.to_string());
        let (changed, failures) = delivered.await;
        match failures.first() {
            Some(failure) => Err(failed(failure)),
            None => parsed(&changed),
        }
    }

    async fn hook(
        &self,
        plugin: &PluginInfo,
        call: &PluginCall,
        page: Arc<Page>,
        links: Vec<FoundLink>,
    ) -> Result<Value, String> {
        let hooks = self.hook_use(plugin, call).await?;
        let engine = &self.pipeline.engine;
        let url = page.parts().final_url.clone();
        let depth = call.depth.unwrap_or_default();
        let mut answer = serde_json::Map::new();
        if plugin.hooks.contains(&HookPoint::Request) {
            let (changes, failures) = engine.request_hooks(&hooks, &url, depth, 0).await;
            if let Some(failure) = failures.first() {
                return Err(failed(failure));
            }
            let changes = changes.into_iter().map(|(_, change)| {
                json!({
                    "headers": change.headers,
                    "cookies": change.cookies,
                    "user_agent": change.user_agent,
                })
            });
            answer.insert("request".to_owned(), changes.collect());
        }
        let visit = Visit {
            status: page.parts().status,
            url,
            depth,
            attempts: 0,
        };
        let work = PageWork {
            page,
            visit,
            points: HookPoints::of(&plugin.hooks),
            outputs: Vec::new(),
            links,
            retry_within: Some(std::time::Duration::from_secs(120)),
        };
        let verdict = engine.page_hooks(&hooks, work).await;
        if let Some(failure) = verdict.failures.first() {
            return Err(failed(failure));
        }
        answer.extend(judged(verdict)?);
        Ok(Value::Object(answer))
    }

    /// The page that a call is made for; one from a file has this status.
    async fn subject(
        &self,
        call: &PluginCall,
        folder: &Path,
        web: &Arc<Web>,
        file_status: u16,
    ) -> Result<Subject> {
        if let Some(file) = &call.html {
            let path = within(folder, file).context("html")?;
            let body =
                fs::read(&path).with_context(|| format!("html: cannot read {}", path.display()))?;
            let url = call.url.as_deref().unwrap_or(DEFAULT_URL).to_owned();
            let page = move || {
                Document::page_of(PageParts {
                    final_url: url.clone(),
                    url,
                    status: file_status,
                    body: body.into(),
                    ..PageParts::default()
                })
            };
            let page = orbweaver_pipeline::blocking(page).await?;
            return Ok(Subject { page, asked: None });
        }
        let Some(url) = &call.url else {
            bail!("url or html: one of them is required");
        };
        let page = web.page(url).await;
        let page = page.with_context(|| format!("url: cannot fetch {url}"))?;
        let asked = Some(HostCall {
            asked: format!("GET {url}"),
            got: page_line(&page),
            is_failure: false,
        });
        Ok(Subject { page, asked })
    }

    /// The links of a page, as a crawl finds them.
    async fn links(&self, page: &Arc<Page>) -> Result<Vec<FoundLink>> {
        let call = RoleCall {
            role: LINKS.to_owned(),
            options: String::new(),
        };
        let answers = self.pipeline.engine.extract(page, vec![call]).await;
        let answer = answers.into_iter().next().context("links: no answer")?;
        let links: Value = match answer {
            Ok(json) => serde_json::from_str(&json)?,
            // Without that plugin the page has no links.
            Err(PluginError::NotFound { .. }) => Value::Null,
            Err(error) => bail!("links: {error}"),
        };
        let links = links.as_array().map(Vec::as_slice).unwrap_or_default();
        let text = |link: &Value, name: &str| {
            let value = link.get(name).and_then(Value::as_str);
            value.unwrap_or_default().to_owned()
        };
        let found = links.iter().map(|link| FoundLink {
            url: text(link, "to"),
            anchor: text(link, "anchor"),
            rel: text(link, "rel"),
            nofollow: link
                .get("nofollow")
                .and_then(Value::as_bool)
                .unwrap_or_default(),
        });
        Ok(found.filter(|link| link.url.starts_with("http")).collect())
    }
}

fn failed(failure: &HookFailure) -> String {
    format!("{}: {}", failure.point.as_str(), failure.error.told())
}

fn output(done: Result<CallOutput, PluginError>) -> Result<Value, String> {
    match done {
        Ok(output) => parsed(&output.json),
        Err(error) => Err(error.told()),
    }
}

fn parsed(json: &str) -> Result<Value, String> {
    serde_json::from_str(json).map_err(|error| error.to_string())
}

/// A verdict as the answer of a hook.
fn judged(verdict: PageVerdict) -> Result<serde_json::Map<String, Value>, String> {
    let links = verdict.links.into_iter().map(|link| {
        let mut shown = json!({"url": link.url, "priority": link.priority});
        if let (Some(skipped), Some(fields)) = (link.skipped, shown.as_object_mut()) {
            fields.insert("skipped".to_owned(), skipped.reason.into());
        }
        shown
    });
    let links: Value = links.collect();
    let records: Result<Vec<Value>, String> = verdict
        .records
        .iter()
        .map(|record| parsed(&record.data))
        .collect();
    let fate = match verdict.fate {
        PageFate::Kept => json!("kept"),
        PageFate::Retry(delay_ms, why) => {
            json!({"retry": {"delay_ms": delay_ms, "reason": why.reason}})
        }
        PageFate::Dropped(why) => json!({"dropped": why.reason}),
    };
    let mut answer = serde_json::Map::new();
    answer.insert("page".to_owned(), fate);
    answer.insert("records".to_owned(), records?.into());
    answer.insert("links".to_owned(), links);
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use orbweaver_engine::{HookReason, HookRecord, JudgedLink};

    #[test]
    fn a_verdict_is_shown_with_its_reasons() {
        let verdict = PageVerdict {
            links: vec![JudgedLink {
                url: "https://example.com/a".to_owned(),
                skipped: Some(HookReason {
                    hook: "h".to_owned(),
                    reason: "old".to_owned(),
                }),
                ..JudgedLink::default()
            }],
            records: vec![HookRecord {
                hook: "h".to_owned(),
                data: "{\"a\":1}".to_owned(),
            }],
            ..PageVerdict::default()
        };
        let answer = Value::Object(judged(verdict).unwrap());
        assert_eq!(
            answer,
            json!({
                "page": "kept",
                "records": [{"a": 1}],
                "links": [{"url": "https://example.com/a", "priority": 0, "skipped": "old"}],
            })
        );
    }
}
