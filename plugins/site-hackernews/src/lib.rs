//! Hacker News: lists and people from its Firebase API, threads and searches from Algolia's.

use orbweaver_sdk::{Call, Error, join_all};
use orbweaver_sites::{ListParams, encode, json, number, parts, rfc3339, text_of, unknown_path};
use serde::{Deserialize, Serialize};

orbweaver_sdk::fetcher! { fetch: fetch }

const FIREBASE: &str = "https://hacker-news.firebaseio.com/v0";
const ALGOLIA: &str = "https://hn.algolia.com/api/v1";
const PATHS: [&str; 9] = [
    "top",
    "new",
    "best",
    "ask",
    "show",
    "jobs",
    "item/{id}",
    "user/{name}",
    "search",
];

/// One item of an answer.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Item {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    title: Option<String>,
    url: Option<String>,
    text: Option<String>,
    author: Option<String>,
    points: Option<i64>,
    comments: Option<u64>,
    created_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    depth: Option<u32>,
}

/// An item of the Firebase API.
#[derive(Deserialize)]
struct Story {
    id: u64,
    #[serde(rename = "type")]
    kind: String,
    title: Option<String>,
    url: Option<String>,
    text: Option<String>,
    by: Option<String>,
    score: Option<i64>,
    descendants: Option<u64>,
    time: Option<i64>,
}

/// A person of the Firebase API.
#[derive(Deserialize)]
struct User {
    id: String,
    created: i64,
    karma: i64,
    about: Option<String>,
}

/// An item of Algolia's API, with everything below it.
#[derive(Deserialize)]
struct Thread {
    id: u64,
    #[serde(rename = "type")]
    kind: String,
    title: Option<String>,
    url: Option<String>,
    text: Option<String>,
    author: Option<String>,
    points: Option<i64>,
    parent_id: Option<u64>,
    created_at: Option<String>,
    children: Vec<Thread>,
}

#[derive(Deserialize)]
struct Found {
    hits: Vec<Hit>,
}

#[derive(Deserialize)]
struct Hit {
    #[serde(rename = "objectID")]
    id: String,
    title: Option<String>,
    url: Option<String>,
    story_text: Option<String>,
    author: Option<String>,
    points: Option<i64>,
    num_comments: Option<u64>,
    created_at: Option<String>,
}

/// Runs one call.
pub async fn fetch(call: Call<ListParams>) -> Result<Vec<Item>, Error> {
    let params = &call.params;
    match parts(&call.path).as_slice() {
        [] | ["top" | "news"] => list("topstories", params).await,
        ["new" | "newest"] => list("newstories", params).await,
        ["best"] => list("beststories", params).await,
        ["ask"] => list("askstories", params).await,
        ["show"] => list("showstories", params).await,
        ["jobs"] => list("jobstories", params).await,
        ["item", id] => thread(number("path", id)?, params).await,
        ["user", name] => user(name).await,
        ["search"] => search(params).await,
        _ => Err(unknown_path(&call.path, &PATHS)),
    }
}

async fn list(name: &str, params: &ListParams) -> Result<Vec<Item>, Error> {
    let ids: Vec<u64> = json(&format!("{FIREBASE}/{name}.json")).await?;
    let limit = params.limit(30, 100) as usize;
    let skipped = limit.saturating_mul(params.page() as usize - 1);
    let wanted = ids.into_iter().skip(skipped).take(limit);
    let stories = join_all(wanted.map(|id| async move {
        // Null for an item that was deleted meanwhile.
        json::<Option<Story>>(&format!("{FIREBASE}/item/{id}.json")).await
    }));
    let stories = stories.await.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(stories.into_iter().flatten().map(Item::from).collect())
}

async fn user(name: &str) -> Result<Vec<Item>, Error> {
    let user: Option<User> = json(&format!("{FIREBASE}/user/{}.json", encode(name))).await?;
    let user = user.ok_or_else(|| Error::invalid("path: Hacker News does not have this user"))?;
    Ok(vec![Item {
        kind: "user".to_owned(),
        url: Some(format!(
            "https://news.ycombinator.com/user?id={}",
            encode(&user.id)
        )),
        author: Some(user.id.clone()),
        id: user.id,
        text: text(user.about),
        points: Some(user.karma),
        created_at: Some(rfc3339(user.created)),
        ..Item::default()
    }])
}

async fn thread(id: u64, params: &ListParams) -> Result<Vec<Item>, Error> {
    let root: Thread = json(&format!("{ALGOLIA}/items/{id}")).await?;
    let limit = params.limit(1_000, 1_000) as usize;
    let mut items = Vec::new();
    // In the order of the thread, without recursion: its depth is untrusted.
    let mut open = vec![(root, 0)];
    while let Some((mut thread, depth)) = open.pop() {
        if items.len() == limit {
            break;
        }
        let children = std::mem::take(&mut thread.children);
        open.extend(children.into_iter().rev().map(|child| (child, depth + 1)));
        items.push(Item {
            id: thread.id.to_string(),
            kind: thread.kind,
            title: filled(thread.title),
            url: filled(thread.url).or_else(|| Some(page(thread.id))),
            text: text(thread.text),
            author: thread.author,
            points: thread.points,
            comments: None,
            created_at: thread.created_at,
            parent: thread.parent_id.map(|id| id.to_string()),
            depth: Some(depth),
        });
    }
    Ok(items)
}

async fn search(params: &ListParams) -> Result<Vec<Item>, Error> {
    let url = format!(
        "{ALGOLIA}/search?query={}&tags=story&hitsPerPage={}&page={}",
        encode(params.query()?),
        params.limit(30, 100),
        params.page() - 1
    );
    let found: Found = json(&url).await?;
    Ok(found.hits.into_iter().map(Item::from).collect())
}

/// The APIs leave a field out, or answer with null or an empty string, where there is nothing.
fn filled(field: Option<String>) -> Option<String> {
    field.filter(|text| !text.is_empty())
}

fn text(html: Option<String>) -> Option<String> {
    filled(html.as_deref().map(text_of))
}

fn page(id: u64) -> String {
    format!("https://news.ycombinator.com/item?id={id}")
}

impl From<Story> for Item {
    fn from(story: Story) -> Self {
        Self {
            url: filled(story.url).or_else(|| Some(page(story.id))),
            id: story.id.to_string(),
            kind: story.kind,
            title: filled(story.title),
            text: text(story.text),
            author: story.by,
            points: story.score,
            comments: story.descendants,
            created_at: story.time.map(rfc3339),
            ..Self::default()
        }
    }
}

impl From<Hit> for Item {
    fn from(hit: Hit) -> Self {
        let page = format!("https://news.ycombinator.com/item?id={}", hit.id);
        Self {
            url: filled(hit.url).or(Some(page)),
            id: hit.id,
            kind: "story".to_owned(),
            title: filled(hit.title),
            text: text(hit.story_text),
            author: hit.author,
            points: hit.points,
            comments: hit.num_comments,
            created_at: hit.created_at,
            ..Self::default()
        }
    }
}
