//! Other people's extractors, each a program of its own that is asked over its standard
//! input and output.
//!
//! Protocol: one line `{"tool", "url", "html"}` in, one line
//! `{"text", "title", "author", "published", "language", "site_name", "description", "micros"}`
//! out. The programs are built by `cargo xtask eval … --peers`, which names them in
//! `ORBWEAVER_EVAL_PEERS`: `tool=program argument …`, one a line.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use serde_json::json;

/// One peer's answer about a page; fields that it does not tell are empty.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Answer {
    /// Main content as plain text.
    pub text: Option<String>,
    /// Title without the site's name.
    pub title: Option<String>,
    /// Author or authors.
    pub author: Option<String>,
    /// Date of publication, `YYYY-MM-DD` first.
    pub published: Option<String>,
    /// Language.
    pub language: Option<String>,
    /// The site's name.
    pub site_name: Option<String>,
    /// Description.
    pub description: Option<String>,
    /// Microseconds in the tool, parsing included.
    pub micros: f64,
}

/// A running peer.
pub struct Peer {
    /// The tool's name.
    pub name: String,
    child: Child,
    asked: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// Starts the peers that the environment names.
///
/// # Errors
/// None is named, or one cannot be started.
pub fn start() -> Result<Vec<Peer>> {
    let listed = std::env::var("ORBWEAVER_EVAL_PEERS")
        .context("--peers: run through `cargo xtask eval`, which builds them")?;
    listed
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(Peer::start)
        .collect()
}

impl Peer {
    fn start(line: &str) -> Result<Self> {
        let (name, command) = line
            .split_once('=')
            .with_context(|| format!("ORBWEAVER_EVAL_PEERS: no `tool=program` in {line:?}"))?;
        let mut words = command.split('\t');
        let program = words.next().unwrap_or_default();
        let mut child = Command::new(program)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start the peer {name}: {program}"))?;
        let (Some(asked), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("{name}: no pipes");
        };
        Ok(Self {
            name: name.to_owned(),
            child,
            asked,
            answers: BufReader::new(answers),
        })
    }

    /// What the peer makes of a page.
    ///
    /// # Errors
    /// The peer ended, or answered what is not of the protocol.
    pub fn ask(&mut self, url: &str, html: &str) -> Result<Answer> {
        let request = json!({ "tool": self.name, "url": url, "html": html });
        let line = format!("{request}\n");
        let mut answer = String::new();
        self.asked
            .write_all(line.as_bytes())
            .and_then(|()| self.asked.flush())
            .and_then(|()| self.answers.read_line(&mut answer))
            .with_context(|| format!("{}: the peer ended on {url}", self.name))?;
        serde_json::from_str(&answer).with_context(|| format!("{}: {answer:?}", self.name))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It has ended, or its work is of no use any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
