//! The tools: one per endpoint that helps an agent, and one per loaded actor.

use std::borrow::Cow;
use std::sync::Arc;

use orbweaver_engine::PluginInfo;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::follow::{DEFAULT_WAIT, MAX_WAIT};
use crate::actors::published;
use crate::bounds::{DEFAULT_CHARS, MAX_CHARS, MIN_CHARS};
use crate::operation_input as schema;

/// Before the name of an actor's tool.
const ACTOR: &str = "actor_";
/// Argument of every tool: how long its result may be.
pub(super) const CHARS_ARGUMENT: &str = "max_chars";

/// A tool that stands for an endpoint.
#[derive(Debug)]
pub(super) struct Endpoint {
    pub(super) name: &'static str,
    title: &'static str,
    description: &'static str,
    /// In lower case, as in the OpenAPI document.
    pub(super) method: &'static str,
    /// The path in the OpenAPI document.
    pub(super) path: &'static str,
    /// How the arguments differ from the endpoint's.
    pub(super) form: Form,
    effect: Effect,
    /// How to get the rest of an answer that was cut.
    pub(super) rest: &'static str,
}

/// What a tool does besides passing its arguments on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Nothing.
    Plain,
    /// Chooses parts of a scan's answer (`include`).
    Scan,
    /// Names one role or extractor (`role`).
    Extract,
    /// May wait for the run that it starts (`wait_seconds`).
    Start,
    /// May wait for the run that it looks at (`wait_seconds`).
    Follow,
    /// A list of at most [`MAX_ITEMS`] a call.
    List,
    /// A list of pages, each with a resource link.
    Pages,
    /// A window of a page's text (`offset`).
    Page,
}

/// What a tool does to the world.
#[derive(Clone, Copy, Debug)]
enum Effect {
    /// Reads what is stored.
    Read,
    /// Fetches from the internet and is billed.
    Fetch,
    /// Removes something.
    Remove,
}

/// Most items that a tool lists in one call.
pub(super) const MAX_ITEMS: u64 = 1_000;
/// Parts of a scan's answer that a tool can give.
pub(super) const SCAN_PARTS: [&str; 9] = [
    "markdown",
    "article",
    "article_html",
    "metadata",
    "signals",
    "ai_bot_policy",
    "llms_txt",
    "llms_full_txt",
    "errors",
];
/// Roles that a scan always knows.
pub(super) const ROLES: [&str; 6] = [
    "markdown",
    "article",
    "article_html",
    "metadata",
    "signals",
    "links",
];

const NEXT_PART: &str = "call again with the next `offset`";
const LARGER: &str = "call again with a larger `max_chars` (at most 200000); `max_age_seconds` \
                      answers from the stored page";

pub(super) const ENDPOINTS: [Endpoint; 15] = [
    Endpoint {
        name: "scan",
        title: "Scan a page",
        description: "Fetch one URL and return its content as Markdown with metadata. Use \
                      `include` for other parts (article text, SEO signals, AI-bot policy, \
                      llms.txt), `include_links` for its links, `screenshot_inline` for an image. \
                      Billed one page.",
        method: "post",
        path: "/v1/scan",
        form: Form::Scan,
        effect: Effect::Fetch,
        rest: LARGER,
    },
    Endpoint {
        name: "extract",
        title: "Extract one thing from a page",
        description: "Fetch one URL and return what one role or extractor makes of it: \
                      `markdown`, `article`, `article_html`, `metadata`, `signals`, `links`, or \
                      the name of a loaded extractor such as `structured-data`. Billed one page.",
        method: "post",
        path: "/v1/scan",
        form: Form::Extract,
        effect: Effect::Fetch,
        rest: LARGER,
    },
    Endpoint {
        name: "map",
        title: "List a site's URLs",
        description: "List the URLs of a site without fetching every page.",
        method: "post",
        path: "/v1/map",
        form: Form::Plain,
        effect: Effect::Fetch,
        rest: "call again with a larger `max_chars`, or narrow the request",
    },
    Endpoint {
        name: "search",
        title: "Search",
        description: "Search the web where a search engine is configured, else the pages that \
                      this project has scanned and crawled. Returns title, URL and content, best \
                      first. Billed one cloud page per result.",
        method: "post",
        path: "/v1/cloud/search",
        form: Form::Plain,
        effect: Effect::Fetch,
        rest: "call again with a smaller `limit`, or scan a result's URL",
    },
    Endpoint {
        name: "crawl",
        title: "Crawl a site",
        description: "Crawl a site in the background and store its pages. Waits up to \
                      `wait_seconds` for the end, with progress, and then returns the run's \
                      counts and first pages; `crawl_status` waits on. With `cron` it makes a \
                      monitor instead. Billed one page for every page stored.",
        method: "post",
        path: "/v1/crawls",
        form: Form::Start,
        effect: Effect::Fetch,
        rest: "`crawl_pages` lists all pages",
    },
    Endpoint {
        name: "crawl_status",
        title: "Status of a crawl",
        description: "A crawl's status and counts; waits up to `wait_seconds` for its end.",
        method: "get",
        path: "/v1/crawls/{id}",
        form: Form::Follow,
        effect: Effect::Read,
        rest: "`crawl_pages` lists all pages",
    },
    Endpoint {
        name: "crawl_list",
        title: "Crawls of this project",
        description: "The project's crawls, the youngest first.",
        method: "get",
        path: "/v1/crawls",
        form: Form::List,
        effect: Effect::Read,
        rest: NEXT_PART,
    },
    Endpoint {
        name: "crawl_pages",
        title: "Pages of a crawl",
        description: "The pages of a crawl: id, URL, HTTP status, bytes. `page` reads one.",
        method: "get",
        path: "/v1/crawls/{id}/pages",
        form: Form::Pages,
        effect: Effect::Read,
        rest: NEXT_PART,
    },
    Endpoint {
        name: "crawl_errors",
        title: "Failed URLs of a crawl",
        description: "The URLs of a crawl that gave no answer, with the cause and the pages that \
                      link to them.",
        method: "get",
        path: "/v1/crawls/{id}/errors",
        form: Form::List,
        effect: Effect::Read,
        rest: NEXT_PART,
    },
    Endpoint {
        name: "crawl_links",
        title: "Links of a crawl",
        description: "The links on a crawl's pages, with anchor text and rel.",
        method: "get",
        path: "/v1/crawls/{id}/links",
        form: Form::List,
        effect: Effect::Read,
        rest: NEXT_PART,
    },
    Endpoint {
        name: "crawl_delete",
        title: "Cancel and delete a crawl",
        description: "Cancel a crawl if it is running, and delete it with all its pages.",
        method: "delete",
        path: "/v1/crawls/{id}",
        form: Form::Plain,
        effect: Effect::Remove,
        rest: "",
    },
    Endpoint {
        name: "page",
        title: "Read a stored page",
        description: "A stored page by its id, as Markdown or in another format. A long text \
                      comes in parts: `next_offset` says where the next one begins.",
        method: "get",
        path: "/v1/pages/{id}",
        form: Form::Page,
        effect: Effect::Read,
        rest: NEXT_PART,
    },
    Endpoint {
        name: "diff",
        title: "Compare two crawls",
        description: "What changed between two crawls of a site: pages added, removed, changed, \
                      gone. `text` adds what changed in their text.",
        method: "get",
        path: "/v1/crawls/{old_id}/diff/{new_id}",
        form: Form::Plain,
        effect: Effect::Read,
        rest: "call again with `url` for one page, or a larger `max_chars`",
    },
    Endpoint {
        name: "robots_policy",
        title: "Robots and AI-bot policy",
        description: "A site's robots.txt, llms.txt, and which AI crawlers it admits.",
        method: "get",
        path: "/v1/robots-policy",
        form: Form::Plain,
        effect: Effect::Fetch,
        rest: "call again with a larger `max_chars`",
    },
    Endpoint {
        name: "usage",
        title: "Usage",
        description: "What this project used today and this month, and its caps.",
        method: "get",
        path: "/v1/usage",
        form: Form::Plain,
        effect: Effect::Read,
        rest: "",
    },
];

/// The endpoint that a tool stands for, where this version serves it.
pub(super) fn endpoint(document: &Value, name: &str) -> Option<&'static Endpoint> {
    let endpoint = ENDPOINTS.iter().find(|endpoint| endpoint.name == name)?;
    let path = document.get("paths")?.get(endpoint.path)?;
    path.get(endpoint.method).map(|_| endpoint)
}

/// The actor that a tool stands for.
pub(super) fn actor(name: &str) -> Option<&str> {
    name.strip_prefix(ACTOR)
}

/// All tools: those of endpoints that this version serves, then the actors by name.
pub(super) fn list(document: &Value, actors: &[PluginInfo]) -> Vec<Tool> {
    let endpoints = ENDPOINTS
        .iter()
        .filter_map(|endpoint| of_endpoint(document, endpoint));
    endpoints.chain(actors.iter().map(of_actor)).collect()
}

/// The tool of this name.
pub(super) fn tool(document: &Value, actors: &[PluginInfo], name: &str) -> Option<Tool> {
    if let Some(endpoint) = endpoint(document, name) {
        return of_endpoint(document, endpoint);
    }
    let name = actor(name)?;
    actors.iter().find(|actor| actor.name == name).map(of_actor)
}

fn of_endpoint(document: &Value, endpoint: &Endpoint) -> Option<Tool> {
    let input = schema::of_operation(document, endpoint.method, endpoint.path)?;
    let mut input = formed(input, endpoint.form);
    with_chars(&mut input);
    let Value::Object(input) = input else {
        return None;
    };
    let annotations = match endpoint.effect {
        Effect::Read => ToolAnnotations::new().read_only(true).open_world(false),
        Effect::Fetch => ToolAnnotations::new()
            .read_only(false)
            .destructive(false)
            .open_world(true),
        Effect::Remove => ToolAnnotations::new()
            .read_only(false)
            .destructive(true)
            .idempotent(true)
            .open_world(false),
    };
    let tool = Tool::new(endpoint.name, endpoint.description, Arc::new(input))
        .with_title(endpoint.title)
        .with_annotations(annotations);
    Some(tool)
}

fn of_actor(actor: &PluginInfo) -> Tool {
    let mut input = match &actor.input_schema {
        Some(schema @ Value::Object(_)) => published(schema),
        _ => json!({}),
    };
    if let Some(input) = input.as_object_mut() {
        // A tool's schema is that of an object (MCP specification, "Tool").
        input.insert("type".to_owned(), json!("object"));
    }
    with_chars(&mut input);
    let input: JsonObject = match input {
        Value::Object(input) => input,
        _ => JsonObject::new(),
    };
    let name: Cow<'static, str> = format!("{ACTOR}{}", actor.name).into();
    Tool::new(name, actor.description.clone(), Arc::new(input))
        .with_title(format!("Actor {}", actor.name))
        .with_annotations(
            ToolAnnotations::new()
                .read_only(false)
                .destructive(false)
                .open_world(true),
        )
}

/// Whether the result's length may be given under its usual name: an actor may have an input of
/// the same name, which is then the actor's.
pub(super) fn takes_chars(schema: Option<&Value>) -> bool {
    let known = schema.and_then(|schema| schema.pointer("/properties"));
    known.and_then(|known| known.get(CHARS_ARGUMENT)).is_none()
}

fn with_chars(input: &mut Value) {
    if !takes_chars(Some(input)) {
        return;
    }
    let property = json!({
        "type": "integer",
        "minimum": MIN_CHARS,
        "maximum": MAX_CHARS,
        "default": DEFAULT_CHARS,
        "description": "Length of the result; what is longer is cut, and `truncated` says where.",
    });
    schema::insert(input, CHARS_ARGUMENT, property);
}

/// An endpoint's input as its tool takes it.
fn formed(mut input: JsonObject, form: Form) -> Value {
    if matches!(form, Form::List | Form::Pages) {
        schema::remove(&mut input, "format");
    }
    if form == Form::Extract {
        for name in [
            "metadata_only",
            "include_links",
            "screenshot_inline",
            "extractors",
        ] {
            schema::remove(&mut input, name);
        }
    }
    let mut input = Value::Object(input);
    match form {
        Form::Plain => {}
        Form::Scan => schema::insert(
            &mut input,
            "include",
            json!({
                "type": "array",
                "items": {"type": "string", "enum": SCAN_PARTS},
                "default": ["markdown", "metadata"],
                "description": "Parts of the answer.",
            }),
        ),
        Form::Extract => {
            schema::insert(
                &mut input,
                "role",
                json!({
                    "type": "string",
                    "description": "markdown, article, article_html, metadata, signals, links, or \
                                    the name of a loaded extractor.",
                }),
            );
            if let Some(required) = input.get_mut("required").and_then(Value::as_array_mut) {
                required.push(json!("role"));
            }
        }
        Form::Start | Form::Follow => schema::insert(
            &mut input,
            "wait_seconds",
            json!({
                "type": "integer",
                "minimum": 0,
                "maximum": MAX_WAIT,
                "default": if form == Form::Start { DEFAULT_WAIT } else { 0 },
                "description": "How long to wait for the run's end.",
            }),
        ),
        Form::List | Form::Pages => schema::insert(
            &mut input,
            "limit",
            json!({
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_ITEMS,
                "default": 100,
                "description": "How many items.",
            }),
        ),
        Form::Page => {
            schema::insert(
                &mut input,
                "format",
                json!({
                    "type": "string",
                    "enum": ["markdown", "article", "html", "signals"],
                    "default": "markdown",
                    "description": "What of the page is returned.",
                }),
            );
            schema::insert(
                &mut input,
                "offset",
                json!({
                    "type": "integer",
                    "minimum": 0,
                    "default": 0,
                    "description": "Characters of the text to leave out: `next_offset` of the part \
                                    before.",
                }),
            );
        }
    }
    input
}
