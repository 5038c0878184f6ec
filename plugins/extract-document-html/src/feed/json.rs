//! JSON Feed (jsonfeed.org, versions 1 and 1.1).

use orbweaver_sdk::Error;
use orbweaver_sdk::serde_json::{self, Value};

use super::{Content, Entry, Feed, MAX_ENTRIES};

pub(super) fn read(text: &str) -> Result<Feed, Error> {
    let value: Value = serde_json::from_str(text)
        .map_err(|error| Error::failed(format!("the JSON feed is damaged: {error}")))?;
    let version = string(&value, "version");
    if !version.contains("jsonfeed.org/version/") {
        return Err(Error::failed(
            "the JSON is no feed: it names no version of JSON Feed",
        ));
    }
    let mut about = entry(&value);
    about.link = string(&value, "home_page_url");
    about.summary = Content::plain(string(&value, "description"));
    about.lang = string(&value, "language");
    let items = value.get("items").and_then(Value::as_array);
    Ok(Feed {
        format: "json-feed",
        about,
        entries: items
            .into_iter()
            .flatten()
            .take(MAX_ENTRIES)
            .map(entry)
            .collect(),
        damaged: false,
    })
}

fn entry(item: &Value) -> Entry {
    let html = string(item, "content_html");
    let mut authors: Vec<String> = objects(item, "authors")
        .map(|one| string(one, "name"))
        .collect();
    authors.extend(item.get("author").map(|one| string(one, "name")));
    authors.retain(|name| !name.is_empty());
    authors.dedup();
    let link = ["url", "external_url"].map(|name| string(item, name));
    let tags = item
        .get("tags")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    Entry {
        title: Content::plain(string(item, "title")),
        link: link
            .into_iter()
            .find(|url| !url.is_empty())
            .unwrap_or_default(),
        published: string(item, "date_published"),
        updated: string(item, "date_modified"),
        authors,
        summary: Content::plain(string(item, "summary")),
        content: match html.is_empty() {
            true => Content::plain(string(item, "content_text")),
            false => Content::html(html),
        },
        files: objects(item, "attachments")
            .map(|one| string(one, "url"))
            .collect(),
        tags: tags.filter_map(Value::as_str).map(str::to_owned).collect(),
        lang: String::new(),
    }
}

fn objects<'v>(value: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> {
    value
        .get(name)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn string(value: &Value, name: &str) -> String {
    value
        .get(name)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .trim()
        .to_owned()
}
