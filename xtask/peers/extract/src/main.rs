//! A program of its own, so that the product's build never sees these crates.
//!
//! Protocol: one line `{"tool", "url", "html"}` in; one line out, the tool's answer about the
//! page as an object with `text`, `title`, `author`, `published`, `language`, `site_name`,
//! `description` (null where it tells none) and `micros`, the time it took.
//!
//! Every tool runs with its default configuration and gets the page's URL. Only the text of
//! dom_smoothie is asked for with line breaks between blocks: its default glues the last word
//! of a block to the first of the next.

use std::io::{BufRead as _, Write as _};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct Request {
    tool: String,
    url: String,
    html: String,
}

#[derive(Default, Serialize)]
struct Answer {
    text: Option<String>,
    title: Option<String>,
    author: Option<String>,
    published: Option<String>,
    language: Option<String>,
    site_name: Option<String>,
    description: Option<String>,
    micros: f64,
}

fn main() -> Result<()> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let request: Request = serde_json::from_str(&line?).context("a request")?;
        let began = Instant::now();
        let mut answer = match request.tool.as_str() {
            "dom_smoothie" => dom_smoothie(&request),
            "rs-trafilatura" => rs_trafilatura(&request),
            "trafilatura-rs" => trafilatura_rs(&request),
            other => bail!("unknown tool `{other}`"),
        };
        answer.micros = began.elapsed().as_secs_f64() * 1e6;
        writeln!(out, "{}", serde_json::to_string(&answer)?)?;
        out.flush()?;
    }
    Ok(())
}

fn dom_smoothie(request: &Request) -> Answer {
    let config = dom_smoothie::Config {
        text_mode: dom_smoothie::TextMode::Formatted,
        ..dom_smoothie::Config::default()
    };
    // No article in a page is an answer, too.
    let article =
        dom_smoothie::Readability::new(request.html.as_str(), Some(&request.url), Some(config))
            .and_then(|mut reader| reader.parse());
    let Ok(article) = article else {
        return Answer::default();
    };
    Answer {
        text: Some(article.text_content.to_string()),
        title: Some(article.title),
        author: article.byline,
        published: article.published_time,
        language: article.lang,
        site_name: article.site_name,
        description: article.excerpt,
        micros: 0.0,
    }
}

fn rs_trafilatura(request: &Request) -> Answer {
    let options = rs_trafilatura::Options {
        url: Some(request.url.clone()),
        ..rs_trafilatura::Options::default()
    };
    let Ok(found) = rs_trafilatura::extract_with_options(&request.html, &options) else {
        return Answer::default();
    };
    Answer {
        text: Some(found.content_text),
        title: found.metadata.title,
        author: found.metadata.author,
        published: found.metadata.date.map(|date| date.to_rfc3339()),
        language: found.metadata.language,
        site_name: found.metadata.sitename,
        description: found.metadata.description,
        micros: 0.0,
    }
}

fn trafilatura_rs(request: &Request) -> Answer {
    let mut options = trafilatura::Options::default();
    if let Ok(url) = request.url.parse() {
        options = options.with_url(url);
    }
    let Ok(found) = trafilatura::extract(&request.html, &options) else {
        return Answer::default();
    };
    Answer {
        text: Some(found.content_text),
        title: Some(found.metadata.title),
        author: Some(found.metadata.author),
        published: found.metadata.date.map(|date| date.to_string()),
        language: Some(found.metadata.language),
        site_name: Some(found.metadata.sitename),
        description: Some(found.metadata.description),
        micros: 0.0,
    }
}
