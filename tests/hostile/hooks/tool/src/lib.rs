//! A hook that does what its configuration says: for each function an object with `do` (`ask`, `trap`,
//! `error`, or a bad deed; absent: nothing bad) and data of the good answer. With `only`, URLs without this text are
//! left alone.

use std::sync::atomic::{AtomicU32, Ordering};

use hostile_support::hook::exports::orbweaver::plugin::hooking::{
    Discovery, FoundLink, Guest, LinkVerdict, Outgoing, RecordVerdict, RequestChange,
    ResponseVerdict, RetryLater, RoleOutput, Visit, WantedUrl,
};
use hostile_support::host::types::Header;
use hostile_support::{Error, Page, deeds, error, host};
use serde_json::{Value, json};

hostile_support::manifest!();

struct Plugin;

static CALLS: AtomicU32 = AtomicU32::new(0);

/// The configuration of one function, after the bad part of it is done; null for other URLs.
fn begin(config: &str, function: &str, url: &str) -> Result<Value, Error> {
    CALLS.fetch_add(1, Ordering::Relaxed);
    let mut config: Value = serde_json::from_str(config).unwrap();
    if config["only"]
        .as_str()
        .is_some_and(|only| !url.contains(only))
    {
        return Ok(Value::Null);
    }
    let own = config[function].take();
    match own["do"].as_str() {
        Some("ask") => loop {
            drop(std::hint::black_box(host::inputs::output("good")));
        },
        Some("trap") => panic!("as told, on {url}"),
        Some("error") => Err(error("failed", format!("as told, on {url}\u{1b}[2J"))),
        Some(what) => match deeds::act(what) {
            Some(Ok(_)) | None => Ok(own),
            Some(Err(error)) => Err(error),
        },
        None => Ok(own),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn wanted(value: &Value) -> WantedUrl {
    WantedUrl {
        url: text(&value["url"]),
        priority: value["priority"].as_i64().unwrap_or(0) as i32,
    }
}

impl Guest for Plugin {
    /// `skip`, `rewrite` and `first` map a part of a URL to a reason, another part, a priority.
    fn discover(
        config: String,
        visit: Visit,
        _page: &Page,
        links: Vec<FoundLink>,
    ) -> Result<Discovery, Error> {
        let own = begin(&config, "discover", &visit.url)?;
        let entry = |map: &str, url: &str| {
            let map = own[map].as_object()?;
            let (part, value) = map.iter().find(|(part, _)| url.contains(part.as_str()))?;
            Some((part.clone(), value.clone()))
        };
        let mut verdicts: Vec<LinkVerdict> = links
            .iter()
            .map(|link| {
                let url = &link.url;
                if let Some((_, reason)) = entry("skip", url) {
                    return LinkVerdict::Skip(text(&reason));
                }
                if let Some((_, reason)) = entry("skip_anchor", &link.anchor) {
                    return LinkVerdict::Skip(text(&reason));
                }
                let priority = entry("first", url).and_then(|(_, value)| value.as_i64());
                let priority = priority.unwrap_or(0) as i32;
                match entry("rewrite", url) {
                    Some((part, to)) => LinkVerdict::Rewrite(WantedUrl {
                        url: url.replace(&part, to.as_str().unwrap_or_default()),
                        priority,
                    }),
                    None => LinkVerdict::Follow(priority),
                }
            })
            .collect();
        if own["short"] == true {
            verdicts.pop();
        }
        let added = own["add"].as_array().into_iter().flatten();
        let mut added: Vec<WantedUrl> = added.map(wanted).collect();
        if let Some(flood) = own["flood"].as_u64() {
            added.extend((0..flood).map(|n| WantedUrl {
                url: format!("{}/flood/{n}", visit.url.trim_end_matches('/')),
                priority: 0,
            }));
        }
        Ok(Discovery { verdicts, added })
    }

    /// `emit` and `replace` are lists of JSON texts, `drop` a reason, `input` a role whose output
    /// becomes the record; otherwise one record says what
    /// the hook sees.
    fn record(
        config: String,
        visit: Visit,
        page: &Page,
        outputs: Vec<RoleOutput>,
        records: Vec<String>,
    ) -> Result<RecordVerdict, Error> {
        let own = begin(&config, "record", &visit.url)?;
        let list = |value: &Value| -> Vec<String> {
            value.as_array().into_iter().flatten().map(text).collect()
        };
        if own.is_null() {
            return Ok(RecordVerdict::Keep);
        }
        if own["drop"].is_string() {
            return Ok(RecordVerdict::Drop(text(&own["drop"])));
        }
        if own["emit"].is_array() {
            return Ok(RecordVerdict::Emit(list(&own["emit"])));
        }
        if own["replace"].is_array() {
            return Ok(RecordVerdict::Replace(list(&own["replace"])));
        }
        if let Some(size) = own["big"].as_u64() {
            let big = "x".repeat(size as usize);
            return Ok(RecordVerdict::Emit(vec![format!("\"{big}\"")]));
        }
        if own["input"].is_string() {
            let said = match host::inputs::output(&text(&own["input"])) {
                Ok(json) => json,
                Err(error) => json!(format!("{error:?}")).to_string(),
            };
            return Ok(RecordVerdict::Emit(vec![said]));
        }
        let seen = json!({
            "url": visit.url,
            "status": visit.status.unwrap_or_default(),
            "depth": visit.depth,
            "attempts": visit.attempts,
            "page_url": page.final_url(),
            "html": page.html().len(),
            "body": page.body().len(),
            "outputs": outputs.iter().map(|output| output.role.clone()).collect::<Vec<_>>(),
            "records": records.len(),
            "calls": CALLS.load(Ordering::Relaxed),
        });
        Ok(RecordVerdict::Emit(vec![seen.to_string()]))
    }

    /// `headers` is an object, `cookies` and `user_agent` texts.
    fn request(config: String, request: Outgoing) -> Result<RequestChange, Error> {
        let own = begin(&config, "request", &request.url)?;
        let headers = own["headers"].as_object().into_iter().flatten();
        let mut headers: Vec<Header> = headers
            .map(|(name, value)| Header {
                name: name.clone(),
                value: text(value),
            })
            .collect();
        if own["attempts"] == true {
            headers.push(Header {
                name: "x-attempts".to_owned(),
                value: request.attempts.to_string(),
            });
        }
        Ok(RequestChange {
            headers,
            cookies: own["cookies"].as_str().map(str::to_owned),
            user_agent: own["user_agent"].as_str().map(str::to_owned),
        })
    }

    /// `retry` is the number of attempts to answer with a retry; `drop` a reason.
    fn response(config: String, visit: Visit, _page: &Page) -> Result<ResponseVerdict, Error> {
        let own = begin(&config, "response", &visit.url)?;
        if own["drop"].is_string() {
            return Ok(ResponseVerdict::Drop(text(&own["drop"])));
        }
        if own["retry"]
            .as_u64()
            .is_some_and(|most| u64::from(visit.attempts) < most)
        {
            return Ok(ResponseVerdict::Retry(RetryLater {
                delay_ms: 1,
                reason: "not yet".to_owned(),
            }));
        }
        Ok(ResponseVerdict::Accept)
    }
}

hostile_support::hook::export_hook!(Plugin with_types_in hostile_support::hook);
