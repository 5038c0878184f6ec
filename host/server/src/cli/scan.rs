//! `orbweaver scan`: runs one page through the pipeline, without database or server, or at the
//! service of the login.

mod remote;

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use orbweaver_core::content;
use orbweaver_core::guard::parse_strict;
use orbweaver_engine::{EngineConfig, Kind, file_name};
use orbweaver_fetch::{Request, SubKind};
use orbweaver_store::CloudMode;
use serde_json::Value;

use super::Common;
use super::out::out_bytes;
use super::remote::Place;
use crate::telemetry;
use orbweaver_accounts::clock::Clock;
use orbweaver_pipeline::{
    self as pipeline, Besides, Content, DOCUMENT_ROLE, Document, Pipeline, PipelineSettings,
    RoleRequest, Site,
};

/// A start that takes longer than this prints the reason.
const SILENCE: Duration = Duration::from_millis(800);

/// Scan one page, or an HTML file, and print the result.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    orbweaver scan https://example.com\n  \
    orbweaver scan https://example.com --format json --include-links\n  \
    orbweaver scan page.html --url https://example.com/page --format article\n  \
    curl -s https://example.com | orbweaver scan - --format metadata\n  \
    orbweaver scan https://example.com --out page.md --fail\n  \
    orbweaver scan http://127.0.0.1:8000/ --allow-net 127.0.0.0/8")]
pub(super) struct Scan {
    /// URL, path of an HTML file, or `-` for HTML from standard input.
    source: String,
    /// What to print [default: by the end of the file's name in --out, else markdown].
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Short for --format json.
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// File to write to, `-` for standard output. The end of its name chooses the format: .md,
    /// .txt (article), .html (article-html), .json.
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Exit with 1 and print nothing if the page's HTTP status is 400 or above.
    #[arg(long, short)]
    fail: bool,
    /// URL of the file's content: base of its relative links.
    #[arg(long, value_name = "URL", default_value = "https://example.com/", value_parser = file_url)]
    url: String,
    /// Markdown without navigation, footer and sidebars.
    #[arg(long)]
    only_main_content: bool,
    /// Include the links in --format json.
    #[arg(long)]
    include_links: bool,
    /// Follow the page's refresh (header or meta) as a redirect.
    #[arg(long)]
    follow_refresh: bool,
    /// User agent to send [default: a current browser's].
    #[arg(long, value_name = "TEXT")]
    user_agent: Option<String>,
    #[command(flatten)]
    place: Place,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// The page as Markdown.
    Markdown,
    /// The main content as plain text.
    Article,
    /// The main content as HTML.
    ArticleHtml,
    /// The answer of POST /v1/scan.
    Json,
    /// Title, description, Open Graph …
    Metadata,
    /// Signals that search engines use.
    Signals,
    /// JSON-LD, microdata, RDFa …
    StructuredData,
    /// One link per line: URL, tab, text.
    Links,
}

/// The URL of a file's content. It is not fetched, so that it may be one of a private network.
fn file_url(given: &str) -> Result<String, String> {
    if !is_url(given) {
        return Err("must start with http:// or https://".to_owned());
    }
    let checked = parse_strict(given).map_err(|refusal| refusal.to_string());
    checked.map(|_| given.trim().to_owned())
}

impl Format {
    /// The format of a file, by the end of its name.
    fn for_file(path: &Path) -> Option<Self> {
        let end = path.extension()?.to_str()?.to_ascii_lowercase();
        match end.as_str() {
            "md" | "markdown" => Some(Self::Markdown),
            "txt" => Some(Self::Article),
            "html" | "htm" => Some(Self::ArticleHtml),
            "json" => Some(Self::Json),
            _ => None,
        }
    }

    /// The role that provides it; `None` for the whole answer.
    const fn role(self) -> Option<&'static str> {
        match self {
            Self::Markdown => Some("markdown"),
            Self::Article | Self::ArticleHtml => Some("article"),
            Self::Json => None,
            Self::Metadata => Some("metadata"),
            Self::Signals => Some("signals"),
            Self::StructuredData => Some("structured-data"),
            Self::Links => Some("links"),
        }
    }
}

impl Scan {
    pub(super) async fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        // A file is read here, whoever scans the web.
        let service = match is_url(&self.source) {
            true => self.place.service(common)?,
            false => None,
        };
        let text = match service {
            Some(service) => self.at(&service).await?,
            None => self.here(common).await?,
        };
        let text = format!("{}\n", text.trim_end_matches('\n'));
        match self.file() {
            Some(path) => std::fs::write(path, text)
                .with_context(|| format!("cannot write {}", path.display()))?,
            None => out_bytes(text.as_bytes())?,
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The page in the chosen format, by this process.
    async fn here(&self, common: &Common) -> anyhow::Result<String> {
        let mut config = common.load()?.config;
        // Hides log lines, since the output is the result; plugin errors are printed below.
        if config.log.filter == "info" {
            config.log.filter = "error".to_owned();
        }
        telemetry::start_logs(&config.log)?;
        let mut settings = config.pipeline();
        settings.plugins.only_files = Some(self.files(&settings.plugins));
        let mut pipeline = start(settings.clone()).await?;
        let remote = is_url(&self.source);
        let mut document = if remote {
            self.fetch(&pipeline).await?
        } else {
            self.read().await?
        };
        if self.fail && document.status >= 400 {
            bail!("{} answers with status {}", self.source, document.status);
        }
        // Few sources need the converter, and no plugin takes longer to compile.
        if document.kind == content::Kind::Document {
            let converter = extractor_file(&settings.plugins, DOCUMENT_ROLE);
            let files = &mut settings.plugins.only_files;
            files.get_or_insert_default().push(converter);
            pipeline = start(settings).await?;
        }
        match self.format().role() {
            None => self.whole(&pipeline, &mut document, remote).await,
            Some(role) => self.role(&pipeline, &mut document, role).await,
        }
    }

    /// The file to write to; none for standard output.
    fn file(&self) -> Option<&Path> {
        self.out.as_deref().filter(|path| *path != Path::new("-"))
    }

    fn format(&self) -> Format {
        if self.json {
            return Format::Json;
        }
        self.format
            .or_else(|| Format::for_file(self.file()?))
            .unwrap_or(Format::Markdown)
    }

    /// The plugins that the format needs: others need not be compiled.
    fn files(&self, plugins: &EngineConfig) -> Vec<String> {
        let roles = match self.format().role() {
            Some(role) => vec![role.to_owned()],
            None => {
                let content = self.content();
                let requests = content.roles(&[]).into_iter();
                requests.map(|request| request.role).collect()
            }
        };
        let roles = roles.iter();
        roles.map(|role| extractor_file(plugins, role)).collect()
    }

    fn content(&self) -> Content {
        Content {
            only_main_content: self.only_main_content,
            include_links: self.include_links,
            ..Content::default()
        }
    }

    async fn fetch(&self, pipeline: &Pipeline) -> anyhow::Result<Document> {
        let request = Request {
            user_agent: self.user_agent.clone(),
            follow_refresh: self.follow_refresh,
            ..Request::get(&self.source)
        };
        let response = Box::pin(pipeline.fetcher.fetch(request))
            .await
            .map_err(|error| {
                let hint = match error.sub {
                    Some(SubKind::Rule(rule)) if rule.is_private_network() => {
                        "; use --allow-net to allow a private network"
                    }
                    _ => "",
                };
                anyhow::anyhow!("{}: {error}{hint}", self.source)
            })?;
        let now = Clock::system().now();
        Ok(pipeline::blocking(move || Document::from_response(response, now).0).await?)
    }

    async fn read(&self) -> anyhow::Result<Document> {
        let body = if self.source == "-" {
            let mut body = Vec::new();
            std::io::stdin()
                .lock()
                .read_to_end(&mut body)
                .context("cannot read standard input")?;
            body
        } else {
            std::fs::read(&self.source).with_context(|| {
                format!(
                    "{} is neither an http(s) URL nor a readable file",
                    self.source
                )
            })?
        };
        let url = self.url.clone();
        let now = Clock::system().now();
        Ok(pipeline::blocking(move || Document::from_file(&url, body, now)).await?)
    }

    async fn whole(
        &self,
        pipeline: &Pipeline,
        document: &mut Document,
        remote: bool,
    ) -> anyhow::Result<String> {
        let content = self.content();
        let site = if remote {
            pipeline.site(&document.final_url).await
        } else {
            Site::default()
        };
        let outcome = pipeline.extract(document, &content.roles(&[])).await?;
        let json = pipeline::assemble(
            document,
            CloudMode::None,
            &content,
            &outcome,
            &site,
            &Besides::default(),
        )?;
        Ok(String::from_utf8(json.into())?)
    }

    async fn role(
        &self,
        pipeline: &Pipeline,
        document: &mut Document,
        role: &str,
    ) -> anyhow::Result<String> {
        let options = if role == "markdown" && self.only_main_content {
            r#"{"only_main_content":true}"#
        } else {
            ""
        };
        let request = RoleRequest::new(role, options);
        let outcome = pipeline
            .extract(document, std::slice::from_ref(&request))
            .await?;
        if let Some(error) = outcome.errors.first() {
            bail!("{role}: {}", error.message);
        }
        let Some(json) = outcome.role(role) else {
            return Err(self.has_no(role, document.notice().as_deref()));
        };
        self.show(json.get())
    }

    /// The error of a source that gives nothing in the chosen format.
    fn has_no(&self, role: &str, notice: Option<&str>) -> anyhow::Error {
        match notice {
            Some(notice) => anyhow::anyhow!("{} has no {role}: {notice}", self.source),
            None => anyhow::anyhow!("{} has no {role}", self.source),
        }
    }

    fn show(&self, json: &str) -> anyhow::Result<String> {
        let value: Value = serde_json::from_str(json)?;
        let field = |name: &str| {
            value
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        Ok(match self.format() {
            Format::Markdown => value.as_str().unwrap_or_default().to_owned(),
            Format::Article => field("text"),
            Format::ArticleHtml => field("html"),
            Format::Links => {
                let links = value.as_array().map(Vec::as_slice).unwrap_or_default();
                links.iter().map(line).collect::<Vec<_>>().join("\n")
            }
            _ => serde_json::to_string_pretty(&value)?,
        })
    }
}

/// Starts the pipeline; prints a message if plugins are compiled, which takes seconds and happens
/// once.
async fn start(settings: PipelineSettings) -> anyhow::Result<Pipeline> {
    let mut starting = std::pin::pin!(Pipeline::start(settings));
    match tokio::time::timeout(SILENCE, &mut starting).await {
        Ok(started) => started,
        Err(_) => {
            eprintln!("compiling plugins, as they run here for the first time …");
            starting.await
        }
    }
}

/// The file of the plugin that serves a role.
fn extractor_file(plugins: &EngineConfig, role: &str) -> String {
    let name = plugins.roles.get(role).map_or(role, String::as_str);
    file_name(Kind::Extractor, name)
}

/// A link's line. Its text is without control characters, as in Markdown: the line may go to a terminal.
fn line(link: &Value) -> String {
    let text = |name: &str| {
        let text = link.get(name).and_then(Value::as_str).unwrap_or_default();
        text.replace(char::is_control, "")
    };
    format!("{}\t{}", text("to"), text("anchor"))
}

fn is_url(source: &str) -> bool {
    let source = source.trim_start().to_ascii_lowercase();
    source.starts_with("http://") || source.starts_with("https://")
}
