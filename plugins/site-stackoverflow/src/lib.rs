//! Stack Overflow: questions, answers and people from the Stack Exchange API.

use orbweaver_sdk::{Call, Error};
use orbweaver_sites::{ListParams, encode, json, number, parts, rfc3339, text_of, unknown_path};
use serde::{Deserialize, Serialize};

orbweaver_sdk::fetcher! { fetch: fetch }

const API: &str = "https://api.stackexchange.com/2.3";
/// Includes the posts' text, which the default leaves out.
const SITE: &str = "site=stackoverflow&filter=withbody";
const PATHS: [&str; 5] = [
    "questions",
    "questions/tagged/{tag}",
    "questions/{id}",
    "users/{id}",
    "search",
];

/// A question, an answer or a person.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Item {
    #[serde(rename = "type")]
    kind: &'static str,
    id: u64,
    title: Option<String>,
    url: String,
    text: Option<String>,
    html: Option<String>,
    author: Option<String>,
    score: i64,
    tags: Vec<String>,
    answers: Option<u64>,
    views: Option<u64>,
    /// For a question: whether it has an accepted answer; for an answer: whether it is accepted.
    accepted: Option<bool>,
    created_at: String,
    active_at: Option<String>,
}

#[derive(Deserialize)]
struct Answer<T> {
    items: Vec<T>,
}

#[derive(Deserialize)]
struct Owner {
    display_name: Option<String>,
}

#[derive(Deserialize)]
struct Question {
    question_id: u64,
    title: String,
    link: String,
    body: Option<String>,
    owner: Option<Owner>,
    score: i64,
    tags: Vec<String>,
    answer_count: u64,
    view_count: u64,
    accepted_answer_id: Option<u64>,
    creation_date: i64,
    last_activity_date: i64,
}

#[derive(Deserialize)]
struct Reply {
    answer_id: u64,
    question_id: u64,
    body: Option<String>,
    owner: Option<Owner>,
    score: i64,
    is_accepted: bool,
    creation_date: i64,
    last_activity_date: i64,
}

#[derive(Deserialize)]
struct User {
    user_id: u64,
    display_name: String,
    link: String,
    reputation: i64,
    creation_date: i64,
    last_access_date: Option<i64>,
}

/// Runs one call.
pub async fn fetch(call: Call<ListParams>) -> Result<Vec<Item>, Error> {
    let params = &call.params;
    match parts(&call.path).as_slice() {
        [] | ["questions"] => {
            questions(&format!(
                "{API}/questions?order=desc&sort=hot&{}",
                page(params)
            ))
            .await
        }
        ["questions", "tagged", tag] => {
            let tag = encode(tag);
            let order = "order=desc&sort=activity";
            questions(&format!(
                "{API}/questions?tagged={tag}&{order}&{}",
                page(params)
            ))
            .await
        }
        // The part after the number is the title, for readers.
        ["questions", id] | ["questions", id, _] => thread(number("path", id)?, params).await,
        ["users", id] | ["users", id, _] => user(number("path", id)?).await,
        ["search"] => {
            let query = encode(params.query()?);
            let order = "order=desc&sort=relevance";
            questions(&format!(
                "{API}/search/advanced?q={query}&{order}&{}",
                page(params)
            ))
            .await
        }
        _ => Err(unknown_path(&call.path, &PATHS)),
    }
}

fn page(params: &ListParams) -> String {
    format!(
        "pagesize={}&page={}&{SITE}",
        params.limit(30, 100),
        params.page()
    )
}

async fn questions(url: &str) -> Result<Vec<Item>, Error> {
    let answer: Answer<Question> = json(url).await?;
    Ok(answer.items.into_iter().map(Item::from).collect())
}

async fn thread(id: u64, params: &ListParams) -> Result<Vec<Item>, Error> {
    let mut items = questions(&format!("{API}/questions/{id}?{SITE}")).await?;
    if items.is_empty() {
        return Err(Error::invalid(format!(
            "path: Stack Overflow has no question {id}"
        )));
    }
    let order = "order=desc&sort=votes";
    let url = format!("{API}/questions/{id}/answers?{order}&{}", page(params));
    let answers: Answer<Reply> = json(&url).await?;
    items.extend(answers.items.into_iter().map(Item::from));
    Ok(items)
}

async fn user(id: u64) -> Result<Vec<Item>, Error> {
    let answer: Answer<User> = json(&format!("{API}/users/{id}?site=stackoverflow")).await?;
    let Some(user) = answer.items.into_iter().next() else {
        return Err(Error::invalid(format!(
            "path: Stack Overflow has no user {id}"
        )));
    };
    Ok(vec![Item {
        kind: "user",
        id: user.user_id,
        url: user.link,
        author: Some(text_of(&user.display_name)),
        score: user.reputation,
        created_at: rfc3339(user.creation_date),
        active_at: user.last_access_date.map(rfc3339),
        ..Item::default()
    }])
}

/// Decodes a name; the API escapes names and titles.
fn name(owner: Option<Owner>) -> Option<String> {
    owner?.display_name.as_deref().map(text_of)
}

impl From<Question> for Item {
    fn from(question: Question) -> Self {
        Self {
            kind: "question",
            id: question.question_id,
            title: Some(text_of(&question.title)),
            url: question.link,
            text: question.body.as_deref().map(text_of),
            html: question.body,
            author: name(question.owner),
            score: question.score,
            tags: question.tags,
            answers: Some(question.answer_count),
            views: Some(question.view_count),
            accepted: Some(question.accepted_answer_id.is_some()),
            created_at: rfc3339(question.creation_date),
            active_at: Some(rfc3339(question.last_activity_date)),
        }
    }
}

impl From<Reply> for Item {
    fn from(reply: Reply) -> Self {
        Self {
            kind: "answer",
            id: reply.answer_id,
            url: format!(
                "https://stackoverflow.com/questions/{}#{}",
                reply.question_id, reply.answer_id
            ),
            text: reply.body.as_deref().map(text_of),
            html: reply.body,
            author: name(reply.owner),
            score: reply.score,
            accepted: Some(reply.is_accepted),
            created_at: rfc3339(reply.creation_date),
            active_at: Some(rfc3339(reply.last_activity_date)),
            ..Self::default()
        }
    }
}
