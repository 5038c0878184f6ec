//! A call of a tool: its arguments become a request to the API, the answer becomes its result.

mod arguments;

use orbweaver_fetch::PictureFormat;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Resource};
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::follow::{self, Progress};
use super::resources;
use super::tools::{Endpoint, Form, MAX_ITEMS, ROLES, SCAN_PARTS, takes_chars};
use crate::bounds::{self, DEFAULT_CHARS, MIN_CHARS};
use crate::context::Ctx;
use crate::error::ApiError;
use crate::inside::{Call, Failure, Inside, segment};
use arguments::{argument, chars, given, integral, invalid, offset, request, wait, whole};
use orbweaver_engine::PluginInfo;
use orbweaver_pipeline::blocking;

/// Largest screenshot that a result carries, in characters of base64.
const MAX_IMAGE: usize = 4 << 20;
/// Pages that a finished run's result lists and links to.
const FIRST_PAGES: u64 = 20;
/// Resource links in one result.
const MAX_LINKS: usize = 20;

/// What an answer becomes before it is cut.
struct Output {
    value: Value,
    blocks: Vec<ContentBlock>,
    chars: usize,
    rest: String,
    /// A member that has its length already.
    text: Option<(&'static str, String)>,
}

impl Output {
    fn new(value: Value, chars: usize, rest: &str) -> Self {
        Self {
            value,
            blocks: Vec::new(),
            chars,
            rest: rest.to_owned(),
            text: None,
        }
    }
}

/// Calls the tool of an endpoint.
pub(super) async fn endpoint(
    inside: &Inside,
    ctx: &Ctx,
    endpoint: &Endpoint,
    arguments: JsonObject,
    progress: Option<&Progress>,
) -> CallToolResult {
    finish(run_endpoint(inside, ctx, endpoint, arguments, progress).await).await
}

/// Calls the tool of an actor.
pub(super) async fn actor(
    inside: &Inside,
    ctx: &Ctx,
    actor: &PluginInfo,
    arguments: JsonObject,
) -> CallToolResult {
    finish(run_actor(inside, ctx, actor, arguments).await).await
}

async fn run_actor(
    inside: &Inside,
    ctx: &Ctx,
    actor: &PluginInfo,
    arguments: JsonObject,
) -> Result<Output, Failure> {
    // Null is the endpoint's matter, which has the actor's schema.
    let mut arguments = integral(arguments);
    let chars = match takes_chars(actor.input_schema.as_ref()) {
        true => chars(&mut arguments)?,
        false => DEFAULT_CHARS,
    };
    let path = format!("/v1/actors/{}", segment(&actor.name));
    let call = Call::post(path, Value::Object(arguments));
    let value = inside.json(ctx, call).await?;
    let rest = "call again with a larger `max_chars` (at most 200000), or narrow the input";
    Ok(Output::new(value, chars, rest))
}

async fn run_endpoint(
    inside: &Inside,
    ctx: &Ctx,
    endpoint: &Endpoint,
    arguments: JsonObject,
    progress: Option<&Progress>,
) -> Result<Output, Failure> {
    let mut arguments = given(arguments);
    let chars = chars(&mut arguments)?;
    match endpoint.form {
        Form::Plain => {
            let value = inside.json(ctx, request(endpoint, arguments)?).await?;
            Ok(Output::new(value, chars, endpoint.rest))
        }
        Form::Scan => scan(inside, ctx, endpoint, arguments, chars).await,
        Form::Extract => extract(inside, ctx, endpoint, arguments, chars).await,
        Form::Start => {
            let seconds = wait(&mut arguments, follow::DEFAULT_WAIT)?;
            let started = inside.json(ctx, request(endpoint, arguments)?).await?;
            let Some(run) = started.get("id").map(Value::to_string) else {
                // A monitor was made.
                return Ok(Output::new(started, chars, endpoint.rest));
            };
            let call = Call::get(run_path(&run));
            let (wait, bound) = ((seconds, progress), (chars, endpoint.rest));
            let mut output = followed(inside, ctx, &run, call, wait, bound).await?;
            pass_warnings(&started, &mut output.value);
            Ok(output)
        }
        Form::Follow => {
            let seconds = wait(&mut arguments, 0)?;
            let run = argument(&arguments, "id")?;
            let call = request(endpoint, arguments)?;
            let (wait, bound) = ((seconds, progress), (chars, endpoint.rest));
            followed(inside, ctx, &run, call, wait, bound).await
        }
        Form::List | Form::Pages => {
            whole(&arguments, "limit", 1, MAX_ITEMS)?;
            // The tool has no such argument: a table would be no result that can be cut.
            arguments.remove("format");
            let offset = offset(&arguments);
            let mut value = inside.json(ctx, request(endpoint, arguments)?).await?;
            let kept = continued(&mut value, offset, chars);
            let mut output = Output::new(value, chars, endpoint.rest);
            if let Some(cut) = kept {
                output.value["truncated"] = json!([cut]);
                output.value["rest"] = json!(endpoint.rest);
            }
            if endpoint.form == Form::Pages {
                output.blocks = page_links(&output.value["items"]);
            }
            Ok(output)
        }
        Form::Page => page(inside, ctx, endpoint, arguments, chars).await,
    }
}

/// The parts of a scan that were asked for; a screenshot as an image.
async fn scan(
    inside: &Inside,
    ctx: &Ctx,
    endpoint: &Endpoint,
    mut arguments: JsonObject,
    chars: usize,
) -> Result<Output, Failure> {
    let include = include(arguments.remove("include"))?;
    let format = arguments
        .get("screenshot")
        .and_then(|options| options.get("format"));
    let format = PictureFormat::deserialize(format.unwrap_or(&Value::Null)).unwrap_or_default();
    let mut answer = inside.json(ctx, request(endpoint, arguments)?).await?;
    let mut blocks = Vec::new();
    if let Some(answer) = answer.as_object_mut() {
        answer.retain(|name, _| !is_part(name) || include.iter().any(|part| part == name));
        if let Some(Value::String(image)) = answer.remove("screenshot") {
            if image.len() <= MAX_IMAGE {
                blocks.push(ContentBlock::image(image, format.media_type()));
            } else {
                let why = "the screenshot is too large for a result; POST /v1/scan returns it";
                answer.insert("screenshot_error".to_owned(), json!(why));
            }
        }
    }
    Ok(Output {
        blocks,
        ..Output::new(answer, chars, endpoint.rest)
    })
}

fn is_part(name: &str) -> bool {
    SCAN_PARTS.contains(&name) && name != "errors"
}

fn include(given: Option<Value>) -> Result<Vec<String>, Failure> {
    let Some(given) = given.filter(|given| !given.is_null()) else {
        return Ok(vec!["markdown".to_owned(), "metadata".to_owned()]);
    };
    let parts: Option<Vec<String>> = given.as_array().and_then(|parts| {
        let known = |part: &Value| {
            let part = part.as_str()?;
            SCAN_PARTS.contains(&part).then(|| part.to_owned())
        };
        parts.iter().map(known).collect()
    });
    parts.ok_or_else(|| invalid("include", format!("must be an array of {SCAN_PARTS:?}")))
}

/// What one role or extractor makes of a page.
async fn extract(
    inside: &Inside,
    ctx: &Ctx,
    endpoint: &Endpoint,
    mut arguments: JsonObject,
    chars: usize,
) -> Result<Output, Failure> {
    let Some(Value::String(role)) = arguments.remove("role") else {
        return Err(invalid("role", "is required, and must be a string"));
    };
    let needs_text = matches!(role.as_str(), "markdown" | "article" | "article_html");
    arguments.insert("metadata_only".to_owned(), json!(!needs_text));
    if role == "links" {
        arguments.insert("include_links".to_owned(), json!(true));
    }
    let is_extractor = !ROLES.contains(&role.as_str());
    if is_extractor {
        arguments.insert("extractors".to_owned(), json!([role]));
    }
    let answer = inside.json(ctx, request(endpoint, arguments)?).await?;
    let data = match is_extractor {
        true => &answer["extensions"][&role],
        false => &answer[&role],
    };
    let mut value = json!({
        "url": answer["url"],
        "final_url": answer["final_url"],
        "status": answer["status"],
        "role": role,
        "data": data,
        "errors": answer["errors"],
    });
    pass_warnings(&answer, &mut value);
    Ok(Output::new(value, chars, endpoint.rest))
}

/// Adds what an answer warns of to a value that is made of it.
fn pass_warnings(answer: &Value, value: &mut Value) {
    if let Some(warnings) = answer.get("warnings") {
        value["warnings"] = warnings.clone();
    }
}

/// The path of a run.
fn run_path(run: &str) -> String {
    format!("/v1/crawls/{}", segment(run))
}

/// A run, which `call` asks for, once it ended or was waited for, with its first pages.
async fn followed(
    inside: &Inside,
    ctx: &Ctx,
    run: &str,
    call: Call,
    (seconds, progress): (u64, Option<&Progress>),
    (chars, rest): (usize, &str),
) -> Result<Output, Failure> {
    if seconds > 0 {
        follow::follow(inside, ctx, run, seconds, progress).await?;
    }
    let mut value = inside.json(ctx, call).await?;
    let pages =
        Call::get(format!("{}/pages", run_path(run))).with("limit", &FIRST_PAGES.to_string());
    let mut pages = inside.json(ctx, pages).await?;
    let items = pages["items"].take();
    let blocks = page_links(&items);
    if matches!(value["status"].as_str(), Some("queued" | "running")) {
        value["next"] = json!("`crawl_status` with `wait_seconds` waits on");
    }
    value["pages"] = items;
    value["more_pages"] = json!(!pages["next_offset"].is_null());
    Ok(Output {
        blocks,
        ..Output::new(value, chars, rest)
    })
}

/// A window of a stored page's text.
async fn page(
    inside: &Inside,
    ctx: &Ctx,
    endpoint: &Endpoint,
    mut arguments: JsonObject,
    chars: usize,
) -> Result<Output, Failure> {
    let offset = whole(&arguments, "offset", 0, u64::from(u32::MAX))?.unwrap_or(0);
    arguments.remove("offset");
    let format = arguments
        .entry("format")
        .or_insert_with(|| json!("markdown"));
    let text = match format.as_str() {
        Some("article") => "article_text",
        Some("html") => "html",
        _ => "markdown",
    };
    let mut value = inside.json(ctx, request(endpoint, arguments)?).await?;
    let Some(Value::String(body)) = value.get_mut(text).map(Value::take) else {
        return Ok(Output::new(value, chars, endpoint.rest));
    };
    // Half of the room at least is the text's; metadata longer than the other half is cut.
    let others = bounds::size(&value).min(chars / 2);
    let total = body.chars().count();
    let skip = usize::try_from(offset).unwrap_or(usize::MAX);
    let part: String = body.chars().skip(skip).take(chars - others).collect();
    let end = skip.saturating_add(part.chars().count());
    value["total_chars"] = json!(total);
    value["next_offset"] = match end < total {
        true => json!(end),
        false => Value::Null,
    };
    // The part was counted in characters, and may be longer as JSON: it is not cut again.
    let mut output = Output::new(value, others.max(MIN_CHARS), endpoint.rest);
    output.text = Some((text, part));
    Ok(output)
}

/// Cuts a list so that its `next_offset` still leads to what was cut.
fn continued(value: &mut Value, offset: u64, chars: usize) -> Option<bounds::Cut> {
    /// For what tells of the cut.
    const ROOM: usize = 200;
    let whole = bounds::size(value);
    let items = value.get_mut("items")?.as_array_mut()?;
    let of = items.len();
    let in_items: usize = items.iter().map(|item| bounds::size(item) + 1).sum();
    if whole <= chars {
        return None;
    }
    let others = whole.saturating_sub(in_items) + ROOM;
    let mut left = chars.saturating_sub(others);
    let kept = items
        .iter()
        .take_while(|item| {
            let size = bounds::size(item) + 1;
            let fits = size <= left;
            left = left.saturating_sub(size);
            fits
        })
        .count()
        .max(1);
    if kept >= of {
        return None;
    }
    items.truncate(kept);
    value["next_offset"] = json!(offset + kept as u64);
    Some(bounds::Cut {
        field: "/items".to_owned(),
        kept,
        of,
        unit: "items",
    })
}

fn page_links(items: &Value) -> Vec<ContentBlock> {
    let items = items.as_array().into_iter().flatten();
    let link = |item: &Value| {
        let (id, url) = (item.get("id")?.as_i64()?, item.get("url")?.as_str()?);
        let link = Resource::new(resources::page_uri(id), url).with_mime_type("text/markdown");
        Some(ContentBlock::resource_link(link))
    };
    items.filter_map(link).take(MAX_LINKS).collect()
}

/// The result of a call: cut to its length, or the API's error.
async fn finish(done: Result<Output, Failure>) -> CallToolResult {
    let output = match done {
        Ok(output) => output,
        Err(failure) => return error(&failure),
    };
    let cutting = blocking(move || {
        let Output {
            mut value,
            blocks,
            chars,
            rest,
            text,
        } = output;
        let cuts = bounds::bound(&mut value, chars);
        if !cuts.is_empty() {
            let mut object = match value {
                Value::Object(object) => object,
                other => Map::from_iter([("result".to_owned(), other)]),
            };
            object.insert("truncated".to_owned(), json!(cuts));
            object.insert("rest".to_owned(), json!(rest));
            value = Value::Object(object);
        }
        if let Some((name, text)) = text {
            value[name] = json!(text);
        }
        // Structured content is an object (MCP 2025-06-18, "Structured Content").
        if !value.is_object() {
            value = json!({"result": value});
        }
        let mut result = CallToolResult::structured(value);
        result.content.extend(blocks);
        result
    });
    match cutting.await {
        Ok(result) => result,
        Err(failed) => error(&ApiError::from(failed).into()),
    }
}

/// An error as a tool's result: the model reads it and may do better.
pub(super) fn error(failure: &Failure) -> CallToolResult {
    CallToolResult::structured_error(json!({"error": failure.error}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_is_cut_goes_on_where_it_was_cut() {
        let items: Vec<Value> = (0..100).map(|id| json!({"id": id})).collect();
        let mut value = json!({"items": items, "next_offset": null});
        let cut = continued(&mut value, 40, 100).unwrap();
        assert_eq!((cut.of, cut.unit), (100, "items"));
        assert_eq!(value["items"].as_array().unwrap().len(), cut.kept);
        assert_eq!(value["next_offset"], 40 + cut.kept as u64);
        assert_eq!(continued(&mut value, 40, 10_000), None);
    }
}
