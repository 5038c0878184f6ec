//! The form of a crawl, and of a monitor, which is a crawl with a schedule.

use serde_json::Value;

use super::forms::{self, Field};
use crate::inside::Inside;
use crate::operation_input::input_schema;

/// Fields of a crawl that stand first.
const FIRST: [&str; 6] = [
    "url",
    "max_pages",
    "depth",
    "delay_ms",
    "include_paths",
    "exclude_paths",
];
/// Fields of a monitor that stand first.
const FIRST_OF_MONITOR: [&str; 6] = [
    "url",
    "cron",
    "webhook_url",
    "return_only_changed",
    "max_pages",
    "depth",
];

/// The fields of a crawl: those that stand first, and the others.
pub(super) fn crawl(inside: &Inside, input: &Value) -> (Vec<Field>, Vec<Field>) {
    fields(inside, &FIRST, input)
}

fn fields(inside: &Inside, first: &[&str], input: &Value) -> (Vec<Field>, Vec<Field>) {
    let schema = input_schema(inside.document(), "post", "/v1/crawls");
    forms::fields(&schema, first, input)
        .into_iter()
        .filter(|field| field.name() != "cron" || first.contains(&"cron"))
        .partition(|field| first.contains(&field.name()))
}

/// The fields of a monitor.
pub(super) fn monitor(inside: &Inside, input: &Value) -> (Vec<Field>, Vec<Field>) {
    let (mut first, more) = fields(inside, &FIRST_OF_MONITOR, input);
    first.iter_mut().for_each(|field| {
        if field.name() == "cron" {
            field.require();
        }
    });
    (first, more)
}
