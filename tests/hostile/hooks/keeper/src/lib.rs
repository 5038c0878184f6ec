//! A hook with state: each function does the operations `ops` of its configuration, and tells of them: as a
//! record, as the anchor of a skipped link, as a header, as the reason of a drop. With `for_ever` it asks until it
//! is refused, and fails with that.

use hostile_support::hook::exports::orbweaver::plugin::hooking::{
    Discovery, FoundLink, Guest, LinkVerdict, Outgoing, RecordVerdict, RequestChange,
    ResponseVerdict, RoleOutput, Visit,
};
use hostile_support::host::types::Header;
use hostile_support::host::{crawl, state};
use hostile_support::{Error, Page, values};
use serde_json::{Value, json};

hostile_support::manifest!();

struct Plugin;

/// Results of the operations, and the run.
fn act(config: &str) -> Result<Value, Error> {
    let config: Value = serde_json::from_str(config).unwrap();
    if config["for_ever"] == true {
        loop {
            state::get("a")?;
        }
    }
    let ops = config["ops"].as_array().cloned().unwrap_or_default();
    let results: Vec<Value> = ops.iter().map(values::on_state).collect();
    Ok(json!({ "run": crawl::run_id(), "results": results }))
}

impl Guest for Plugin {
    fn discover(
        config: String,
        _visit: Visit,
        _page: &Page,
        links: Vec<FoundLink>,
    ) -> Result<Discovery, Error> {
        let told = act(&config)?.to_string();
        Ok(Discovery {
            verdicts: links
                .iter()
                .map(|_| LinkVerdict::Skip(told.clone()))
                .collect(),
            added: Vec::new(),
        })
    }

    fn record(
        config: String,
        _visit: Visit,
        _page: &Page,
        _outputs: Vec<RoleOutput>,
        _records: Vec<String>,
    ) -> Result<RecordVerdict, Error> {
        Ok(RecordVerdict::Emit(vec![act(&config)?.to_string()]))
    }

    fn request(config: String, _request: Outgoing) -> Result<RequestChange, Error> {
        let told = act(&config)?.to_string();
        Ok(RequestChange {
            headers: vec![Header {
                name: "x-told".to_owned(),
                value: told,
            }],
            cookies: None,
            user_agent: None,
        })
    }

    fn response(config: String, _visit: Visit, _page: &Page) -> Result<ResponseVerdict, Error> {
        act(&config)?;
        Ok(ResponseVerdict::Accept)
    }
}

hostile_support::hook::export_hook!(Plugin with_types_in hostile_support::hook);
