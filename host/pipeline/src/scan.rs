//! Runs a scan: finds the page, runs its roles, assembles the answer, stores and bills it.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures::FutureExt as _;
use orbweaver_core::content::Kind;
use orbweaver_core::ids::{PageId, ProjectId};
use orbweaver_engine::PluginRef;
use orbweaver_fetch::Personal;
use orbweaver_store::{CloudMode, Principal, Store};
use url::Url;

use crate::answer::{Besides, assemble};
use crate::answer_budget::AnswerBudget;
use crate::blocking::sized;
use crate::charge::{Bill, Charge, base_amount};
use crate::cloud::backend::project_proxy;
use crate::cloud::{Answered, NO_MODEL};
use crate::context::Scans;
use crate::conversion::DOCUMENT_ROLE;
use crate::document::Document;
use crate::error::ScanError;
use crate::extract_fields::PromptSpec;
use crate::kept_answers::{KeptAnswer, PageKey, SHARED};
use crate::picture;
use crate::pipeline::Pipeline;
use crate::roles::Outcome;
use crate::site::Site;
use crate::site_lookup::{Lookup, look_up};
use crate::source::{self, PageRow, SourcedPage};
use crate::spec::{Content, ScanSpec};

/// Scans a page and returns the answer's JSON. It is stored and billed when this returns.
///
/// # Errors
/// Why it failed. Then nothing is stored, and a page is billed only if the bill says so; what was paid
/// for it is billed in any case.
#[crate::boxed]
pub async fn scan(
    scans: &Scans,
    principal: &Arc<Principal>,
    spec: &ScanSpec,
    bill: Bill,
) -> Result<Bytes, ScanError> {
    source::check_mode(scans, spec.cloud_mode)?;
    let extract = spec.content.extract.as_ref();
    if extract.is_some_and(|extract| extract.prompt.is_some()) && !scans.cloud.llm().is_configured()
    {
        return Err(ScanError::NotConfigured(NO_MODEL.into()));
    }
    let room = bill.room.as_deref();
    if let Some(room) = room {
        room.check()?;
    }
    let amount = base_amount(spec.cloud_mode);
    let reserved = match bill.reserved {
        Some(reserved) => reserved,
        None => {
            let (quota, project) = (&scans.quota, principal.project);
            quota.reserve_for(project, amount, &bill.token).await?
        }
    };
    let mut charge = Charge::new(&scans.store, reserved, bill.token, bill.call, amount);
    match run(scans, principal, spec, &mut charge, room).await {
        Err(error) => {
            let has_page = bill.always && !matches!(error, ScanError::NoRoom(_));
            match has_page {
                true => charge.bill().await?,
                false => charge.bill_in_vain().await?,
            }
            Err(error)
        }
        done => done,
    }
}

async fn run(
    scans: &Scans,
    principal: &Arc<Principal>,
    spec: &ScanSpec,
    charge: &mut Charge,
    room: Option<&AnswerBudget>,
) -> Result<Bytes, ScanError> {
    let project = principal.project;
    let pipeline = &scans.pipeline.of_project(project);
    // A stored page is served only if its URL may be fetched now.
    let judged = pipeline.fetcher.judge(&spec.url);
    judged.map_err(|refusal| ScanError::Refused(refusal.to_string()))?;
    // Before the page is looked up, so that none that is removed meanwhile is kept.
    let removals = scans.store.removals();
    let own = Personal::by(project_proxy(principal)?);
    if let Some(since) = source::since(scans, spec)
        && let Some((json, mode)) = kept_answer(pipeline, &scans.store, project, spec, since, &own)
    {
        take(room, &json)?;
        charge.came_by(mode);
        charge.bill().await?;
        return Ok(json);
    }
    let _slot = scans.slots.acquire(project).await?;
    // Others may have filled the answer meanwhile.
    if let Some(room) = room {
        room.check()?;
    }
    let MadeAnswer {
        parts,
        page_key,
        row,
        plugins,
    } = answer(scans, pipeline, principal, spec, charge, own).await?;
    let bytes = parts.bytes();
    let write = move || parts.json().map(|json| (json, parts));
    let (json, parts) = sized(bytes, write).await??;
    take(room, &json)?;
    let Some(page) = store_and_bill(scans, row, charge).await? else {
        return Ok(json);
    };
    pipeline.answers.note_page(page_key, page);
    if parts.is_repeatable()
        && let Ok(final_url) = Url::parse(&parts.document.final_url)
    {
        let kept = KeptAnswer {
            json: json.clone(),
            page_key,
            page,
            fetched_at: parts.document.fetched_at,
            final_url,
            site: parts.site,
            plugins,
            at: Instant::now(),
            removals,
        };
        pipeline.answers.keep(project, spec, kept);
    }
    Ok(json)
}

/// Takes the bytes of an answer from what is left for it.
fn take(room: Option<&AnswerBudget>, json: &Bytes) -> Result<(), ScanError> {
    room.map_or(Ok(()), |room| room.take(json.len()))
}

/// An answer that was made anew, before it is written.
struct MadeAnswer {
    parts: AnswerParts,
    page_key: PageKey,
    row: PageRow,
    /// The plugins that it depends on, by role.
    plugins: Vec<(String, Option<PluginRef>)>,
}

/// Finds the page and runs its roles, the screenshot and the prompt. The files of its site are asked for
/// in the caller's own way.
async fn answer(
    scans: &Scans,
    pipeline: &Pipeline,
    principal: &Arc<Principal>,
    spec: &ScanSpec,
    charge: &mut Charge,
    own: Personal,
) -> Result<MadeAnswer, ScanError> {
    let site = Lookup::start(pipeline, &spec.url, own);
    let SourcedPage {
        mut document,
        page_key,
        row,
        picture,
        screenshots,
        is_cut,
        unrendered,
    } = source::find(scans, principal, spec, charge).await?;
    let final_url = document.final_url.clone();
    let site = site.finish(pipeline, &final_url);
    let roles = spec.content.roles(&pipeline.extras);
    let converter = (document.kind == Kind::Document).then_some(DOCUMENT_ROLE);
    let plugins = roles
        .iter()
        .map(|request| request.role.as_str())
        .chain(converter)
        .map(|role| (role.to_owned(), pipeline.engine.role(role)))
        .collect();
    let (site, outcome, picture) = tokio::join!(
        site,
        pipeline.extract(&mut document, &roles),
        picture::screenshot(scans, principal, spec, picture, charge),
    );
    let outcome = outcome?;
    let (picture, is_cut) = match picture {
        Some((picture, cut)) => (Some(picture), is_cut || cut),
        None => (None, is_cut),
    };
    let prompted = ask_model(
        scans,
        pipeline,
        principal.project,
        spec,
        &mut document,
        charge,
    )
    .await;
    let parts = AnswerParts {
        mode: page_key.mode,
        content: spec.content.clone(),
        document,
        outcome,
        site,
        besides: Besides {
            picture,
            screenshots,
            is_cut,
            prompted,
            unrendered,
        },
    };
    Ok(MadeAnswer {
        parts,
        page_key,
        row,
        plugins,
    })
}

/// The language model's answer to the request's prompt, if it has one.
async fn ask_model(
    scans: &Scans,
    pipeline: &Pipeline,
    project: ProjectId,
    spec: &ScanSpec,
    document: &mut Document,
    charge: &Charge,
) -> Option<Answered> {
    let extract = spec.content.extract.as_ref()?;
    let PromptSpec { prompt, schema } = extract.prompt.as_ref()?;
    let (llm, schema) = (scans.cloud.llm(), schema.as_deref());
    let answered = llm.extract(project, pipeline, document, prompt, schema, &charge.spent);
    Some(answered.await)
}

/// Bills the scan, together with the page where that is new. Returns the page, if it is stored.
async fn store_and_bill(
    scans: &Scans,
    row: PageRow,
    charge: &mut Charge,
) -> Result<Option<PageId>, ScanError> {
    Ok(match row {
        PageRow::New(page) => {
            let saved = charge.save(Some(*page)).await?;
            scans.pipeline.index_backlog.hurry();
            saved
        }
        PageRow::Stored(page) => {
            charge.bill().await?;
            Some(page)
        }
    })
}

/// What an answer is made of.
struct AnswerParts {
    document: Document,
    mode: CloudMode,
    content: Content,
    outcome: Outcome,
    site: Site,
    besides: Besides,
}

impl AnswerParts {
    /// Bytes of the answer, roughly.
    fn bytes(&self) -> usize {
        let picture = self.besides.picture.iter().flatten().map(String::len);
        let screenshots = self.besides.screenshots.iter().map(Bytes::len);
        self.outcome.size() + picture.chain(screenshots).sum::<usize>()
    }

    fn json(&self) -> Result<Bytes, ScanError> {
        let (outcome, site, besides) = (&self.outcome, &self.site, &self.besides);
        assemble(
            &self.document,
            self.mode,
            &self.content,
            outcome,
            site,
            besides,
        )
    }

    /// Whether the same request would get the same answer: not if a plugin failed, or one whose output
    /// another needs, because it may succeed next time, nor with screenshots, which are always taken anew.
    fn is_repeatable(&self) -> bool {
        let prompted = self.besides.prompted.as_ref();
        self.outcome.errors.is_empty()
            && !self.outcome.is_partial
            && self.besides.unrendered.is_none()
            && self.besides.picture.is_none()
            && self.besides.screenshots.is_empty()
            && prompted.is_none_or(|answered| answered.result.is_ok())
    }
}

/// The cached answer and where its page came from, if it is still valid and its page is no
/// older than `since`.
fn kept_answer(
    pipeline: &Pipeline,
    store: &Store,
    project: ProjectId,
    spec: &ScanSpec,
    since: DateTime<Utc>,
    own: &Personal,
) -> Option<(Bytes, CloudMode)> {
    if spec.content.screenshot {
        // Screenshots are always taken anew.
        return None;
    }
    let kept = pipeline.answers.get(project, spec)?;
    let holds = kept.fetched_at >= since
        && kept.removals == store.removals()
        && (!store.is_shared() || kept.at.elapsed() < SHARED)
        && pipeline.answers.is_youngest(&kept.page_key, kept.page)
        && kept
            .plugins
            .iter()
            .all(|(role, plugin)| pipeline.engine.role(role) == *plugin);
    // Only if the site's files are cached: else the full path fetches them.
    let site = holds.then(|| look_up(pipeline, &kept.final_url, own).now_or_never())??;
    site.is_same(&kept.site)
        .then(|| (kept.json.clone(), kept.page_key.mode))
}
