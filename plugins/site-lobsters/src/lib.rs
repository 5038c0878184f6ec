//! Lobsters: lists, tags and threads from the JSON form of its pages.

use orbweaver_sdk::{Call, Error};
use orbweaver_sites::{ListParams, encode, json, parts, text_of, unknown_path};
use serde::{Deserialize, Serialize};

orbweaver_sdk::fetcher! { fetch: fetch }

const SITE: &str = "https://lobste.rs";
/// Stories of a page of the site's lists.
const PER_PAGE: usize = 25;

/// A story or a comment.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Item {
    id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    title: Option<String>,
    url: String,
    text: Option<String>,
    author: Option<String>,
    points: i64,
    comments: Option<u64>,
    tags: Vec<String>,
    created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    depth: Option<u32>,
}

#[derive(Deserialize)]
struct Story {
    short_id: String,
    title: String,
    url: String,
    score: i64,
    comment_count: u64,
    description_plain: Option<String>,
    comments_url: String,
    submitter_user: Name,
    tags: Vec<String>,
    created_at: String,
    #[serde(default)]
    comments: Vec<Comment>,
}

#[derive(Deserialize)]
struct Comment {
    short_id: String,
    short_id_url: String,
    comment: Option<String>,
    comment_plain: Option<String>,
    score: i64,
    parent_comment: Option<String>,
    depth: u32,
    commenting_user: Name,
    created_at: String,
}

/// A name; until 2024 an object with a name.
#[derive(Deserialize)]
#[serde(untagged)]
enum Name {
    Word(String),
    User { username: String },
}

impl Name {
    fn word(self) -> String {
        match self {
            Self::Word(name) | Self::User { username: name } => name,
        }
    }
}

/// Runs one call.
pub async fn fetch(call: Call<ListParams>) -> Result<Vec<Item>, Error> {
    let params = &call.params;
    match parts(&call.path).as_slice() {
        [] | ["hottest"] => {
            let url = |page| match page {
                1 => format!("{SITE}/hottest.json"),
                page => format!("{SITE}/page/{page}.json"),
            };
            list(url, params).await
        }
        ["newest"] => {
            let url = |page| match page {
                1 => format!("{SITE}/newest.json"),
                page => format!("{SITE}/newest/page/{page}.json"),
            };
            list(url, params).await
        }
        ["t", tag] => {
            let tag = encode(tag);
            list(|page| format!("{SITE}/t/{tag}.json?page={page}"), params).await
        }
        ["s", id] | ["s", id, _] => thread(id).await,
        _ => Err(unknown_path(
            &call.path,
            &["hottest", "newest", "t/{tag}", "s/{id}"],
        )),
    }
}

/// A page of a list, from the site's own pages that it lies on. `url` is that of one of these, from 1.
async fn list(url: impl Fn(usize) -> String, params: &ListParams) -> Result<Vec<Item>, Error> {
    let limit = params.limit(25, 100) as usize;
    let start = limit.saturating_mul(params.page() as usize - 1);
    let first = start / PER_PAGE;
    let last = start.saturating_add(limit - 1) / PER_PAGE;
    let mut items = Vec::with_capacity(limit);
    for page in first..=last {
        let stories: Vec<Story> = json(&url(page + 1)).await?;
        let is_last = stories.len() < PER_PAGE;
        let skipped = if page == first { start % PER_PAGE } else { 0 };
        let wanted = limit - items.len();
        items.extend(
            stories
                .into_iter()
                .skip(skipped)
                .take(wanted)
                .map(Item::from),
        );
        if is_last {
            break;
        }
    }
    Ok(items)
}

async fn thread(id: &str) -> Result<Vec<Item>, Error> {
    let mut story: Story = json(&format!("{SITE}/s/{}.json", encode(id))).await?;
    let comments = std::mem::take(&mut story.comments);
    let mut items = vec![Item::from(story)];
    items.extend(comments.into_iter().map(Item::from));
    Ok(items)
}

impl From<Story> for Item {
    fn from(story: Story) -> Self {
        Self {
            id: story.short_id,
            kind: "story",
            title: Some(story.title),
            // A text-only story has no other URL.
            url: Some(story.url)
                .filter(|url| !url.is_empty())
                .unwrap_or(story.comments_url),
            text: story.description_plain.filter(|text| !text.is_empty()),
            author: Some(story.submitter_user.word()),
            points: story.score,
            comments: Some(story.comment_count),
            tags: story.tags,
            created_at: story.created_at,
            ..Self::default()
        }
    }
}

impl From<Comment> for Item {
    fn from(comment: Comment) -> Self {
        let html = comment.comment.as_deref().map(text_of);
        Self {
            id: comment.short_id,
            kind: "comment",
            url: comment.short_id_url,
            text: comment.comment_plain.or(html),
            author: Some(comment.commenting_user.word()),
            points: comment.score,
            created_at: comment.created_at,
            parent: comment.parent_comment,
            depth: Some(comment.depth),
            ..Self::default()
        }
    }
}
