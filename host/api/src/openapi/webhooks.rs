//! The section `webhooks` of the document: what the service sends.

use chrono::{DateTime, Utc};
use orbweaver_core::webhook::{ACTOR_RUN_COMPLETE, Event, PluginEvent};
use serde_json::{Map, Value, json};
use utoipa::openapi::{Components, RefOr};
use utoipa::{PartialSchema as _, ToSchema};

use crate::actors::runs::answer::{Billing, Failure, Status};
use crate::crawls::words::CrawlStatus;

/// The body of a webhook. Times have at most milliseconds.
#[derive(ToSchema)]
#[expect(dead_code, reason = "a schema, never constructed")]
struct WebhookEvent {
    /// The event's name.
    event: String,
    /// The run.
    id: i64,
    /// The run's project.
    project_id: i64,
    /// The seed as it was asked for.
    url: String,
    status: CrawlStatus,
    /// Pages stored, whatever their HTTP status.
    page_count: u64,
    /// URLs that could not be fetched.
    error_count: u64,
    /// When a worker first took it.
    #[schema(required)]
    started_at: Option<DateTime<Utc>>,
    /// When it ended.
    #[schema(required)]
    finished_at: Option<DateTime<Utc>>,
    /// Why it failed, or ended early.
    #[schema(required)]
    error_message: Option<String>,
    /// When this attempt was made.
    delivered_at: DateTime<Utc>,
    /// The monitor that started the run; absent for other runs.
    #[schema(required = false, nullable = false)]
    monitor_id: Option<i64>,
    /// The run that it is compared with; absent if there is none.
    #[schema(required = false, nullable = false)]
    previous_run_id: Option<i64>,
    /// The number of pages that differ; absent if nothing was compared.
    #[schema(required = false, nullable = false)]
    diff: Option<WebhookDiff>,
    /// URLs of the first pages that differ, and of those that are unavailable; absent where none differ.
    #[schema(required = false, nullable = false)]
    diff_urls: Option<WebhookDiffUrls>,
}

/// The body of a webhook of pages, in the order in which they were stored. Every page is in one
/// delivery, the next one is made when this one is accepted.
#[derive(ToSchema)]
#[expect(dead_code, reason = "a schema, never constructed")]
struct WebhookPages {
    /// The event's name.
    event: String,
    /// The run.
    id: i64,
    /// The run's project.
    project_id: i64,
    /// The seed as it was asked for.
    url: String,
    /// The monitor that started the run; absent for other runs.
    #[schema(required = false, nullable = false)]
    monitor_id: Option<i64>,
    /// When this attempt was made.
    delivered_at: DateTime<Utc>,
    #[schema(max_items = 500)]
    pages: Vec<WebhookPage>,
}

/// A page that a run has stored.
#[derive(ToSchema)]
#[expect(dead_code, reason = "a schema, never constructed")]
struct WebhookPage {
    /// The page's global id.
    id: i64,
    url: String,
    /// The URL that answered.
    final_url: String,
    /// HTTP status.
    status: u16,
    /// Length of the decoded body.
    bytes: u64,
    /// When the response arrived.
    fetched_at: DateTime<Utc>,
    #[schema(required)]
    title: Option<String>,
    /// Number of links from the seed.
    #[schema(required)]
    depth: Option<u32>,
    /// The header as received.
    #[schema(required)]
    content_type: Option<String>,
    /// Hash of the visible content.
    #[schema(required)]
    content_hash: Option<String>,
    /// Duration of the fetch, redirects included.
    #[schema(required)]
    elapsed_ms: Option<u64>,
}

/// Numbers of pages that differ from the run before.
#[derive(ToSchema)]
#[expect(dead_code, reason = "a schema, never constructed")]
struct WebhookDiff {
    /// Pages of the new run that are not in the old one.
    added: u64,
    /// Pages of the old run that are not in the new one.
    removed: u64,
    /// Pages of both whose content differs, except those that are gone.
    changed: u64,
    /// Pages of both runs with the same content.
    unchanged: u64,
    /// Pages that answered 2xx in the old run and answer 404 or 410 in the new one.
    gone: u64,
    /// Pages of the old run that the new one did not come to.
    unvisited: u64,
    /// Pages that answered 408, 425, 429 or 5xx in one of the runs, or in both: their content is not
    /// compared, and they are no difference.
    unavailable: u64,
}

/// URLs of the first pages that differ from the run before, and of those that are unavailable.
#[derive(ToSchema)]
#[expect(dead_code, reason = "a schema, never constructed")]
struct WebhookDiffUrls {
    added: Vec<String>,
    removed: Vec<String>,
    changed: Vec<String>,
    gone: Vec<String>,
    unavailable: Vec<String>,
    /// Whether the lists are complete.
    complete: bool,
}

/// The body of the webhook of an actor's run in the background.
#[derive(ToSchema)]
#[expect(dead_code, reason = "a schema, never constructed")]
struct ActorRunEnded {
    /// The event's name.
    event: String,
    /// The run.
    id: i64,
    /// The run's project.
    project_id: i64,
    /// The actor.
    actor: String,
    status: Status,
    /// Number of items stored.
    item_count: u64,
    /// How often it was started.
    attempts: u32,
    /// Null unless it failed.
    #[schema(required)]
    error: Option<Failure>,
    billing: Billing,
    /// The X-Request-Id of the request that queued it.
    request_id: String,
    enqueued_at: DateTime<Utc>,
    #[schema(required)]
    started_at: Option<DateTime<Utc>>,
    finished_at: DateTime<Utc>,
}

/// The body of a webhook about the quarantine of a plugin, for the project whose calls it refuses.
#[derive(ToSchema)]
#[expect(dead_code, reason = "a schema, never constructed")]
struct PluginQuarantineEvent {
    /// The event's name.
    event: String,
    /// The project.
    project_id: i64,
    plugin: WebhookPlugin,
    /// Crashes in a row; of `plugin.quarantined` only.
    #[schema(required = false, nullable = false)]
    crashes: Option<u32>,
    /// How the last one ended: `trap` or `limit`; of `plugin.quarantined` only.
    #[schema(required = false, nullable = false)]
    error: Option<String>,
    /// Milliseconds until a call is let through on trial; of `plugin.quarantined` only.
    #[schema(required = false, nullable = false)]
    refused_ms: Option<u64>,
    /// When it happened.
    at: DateTime<Utc>,
}

/// A plugin.
#[derive(ToSchema)]
#[expect(dead_code, reason = "a schema, never constructed")]
struct WebhookPlugin {
    /// `extractor`, `actor`, `fetcher` or `hook`.
    kind: String,
    name: String,
    /// `project` for the project's own plugin, `instance` for one of the operator.
    scope: String,
    /// Its manifest's version.
    version: String,
    /// SHA-256 of the component, in hexadecimal.
    digest: String,
}

/// Adds the components that [`section`] refers to.
pub(super) fn describe(components: &mut Components) {
    let mut add = |name: &str, schema: RefOr<utoipa::openapi::Schema>| {
        components.schemas.insert(name.to_owned(), schema);
    };
    add("WebhookEvent", WebhookEvent::schema());
    add("WebhookPages", WebhookPages::schema());
    add("WebhookPage", WebhookPage::schema());
    add("WebhookDiff", WebhookDiff::schema());
    add("WebhookDiffUrls", WebhookDiffUrls::schema());
    add("CrawlStatus", CrawlStatus::schema());
    add("ActorRunEnded", ActorRunEnded::schema());
    add("PluginQuarantineEvent", PluginQuarantineEvent::schema());
    add("WebhookPlugin", WebhookPlugin::schema());
}

/// One operation for each event.
pub(super) fn section() -> Value {
    let events = Event::ALL.map(|event| {
        let when = match event {
            Event::Done => "A run has ended, done or failed.",
            Event::DiffDetected => "A monitor's run differs from the run before.",
            Event::Page => "A run has stored pages.",
        };
        let body = match event {
            Event::Done | Event::DiffDetected => "WebhookEvent",
            Event::Page => "WebhookPages",
        };
        (event.as_str(), when, body, RUN)
    });
    let ended = "An actor's run in the background is done or has failed.";
    let all = events
        .into_iter()
        .chain([(ACTOR_RUN_COMPLETE, ended, "ActorRunEnded", ACTOR_RUN)]);
    let plugins = PluginEvent::ALL.map(|event| {
        let when = match event {
            PluginEvent::Quarantined => {
                "Calls of a plugin are refused for a while: the last ones crashed."
            }
            PluginEvent::Recovered => "Calls of a plugin are let through again.",
        };
        (event.as_str(), when, "PluginQuarantineEvent", PLUGIN)
    });
    let all = all.chain(plugins);
    let operations = all.map(|(event, when, body, subject)| {
        let operation = operation(event, when, body, subject);
        (event.to_owned(), json!({"post": operation}))
    });
    Value::Object(Map::from_iter(operations))
}

/// What an event is about: the header that names it, its description, and where the event is sent.
type Subject = (&'static str, &'static str, &'static str);

const RUN: Subject = ("X-Crawler-Run-Id", "The run", "the request's `webhook_url`");
const ACTOR_RUN: Subject = (
    "X-Crawler-Actor-Run-Id",
    "The run",
    "the request's `webhook_url`",
);
const PLUGIN: Subject = (
    "X-Crawler-Event",
    "The event's name",
    "the project's receiver (`PUT /v1/webhook`)",
);

fn operation(event: &str, when: &str, body: &str, subject: Subject) -> Value {
    let (header_name, header_meaning, receiver) = subject;
    let header = |name: &str, description: &str| {
        json!({"name": name, "in": "header", "required": true, "description": description,
               "schema": {"type": "string"}})
    };
    json!({
        "operationId": format!("webhook-{event}"),
        "tags": ["Webhooks"],
        "summary": when,
        "description": format!("{when} Sent to {receiver}, again and again \
            until the receiver accepts it or the attempts are used up."),
        "security": [],
        "parameters": [
            header("X-Crawler-Signature", "`sha256=` and the HMAC-SHA256 of the body, in \
                hexadecimal, by the project's webhook secret"),
            header(header_name, header_meaning),
            header("webhook-id", "The same for all attempts of one delivery"),
            header("webhook-timestamp", "Time of this attempt, in seconds since 1970"),
            header("webhook-signature", "`v1,` and the HMAC-SHA256 of `id.timestamp.body`, in \
                base64 (Standard Webhooks)"),
        ],
        "requestBody": {"required": true, "content": {"application/json": {
            "schema": {"$ref": format!("#/components/schemas/{body}")}}}},
        "responses": {
            "2XX": {"description": "The receiver has accepted it"},
            "410": {"description": "The receiver wants no more attempts of this delivery"},
        },
    })
}
