//! `orbweaver plugin new`, `build`, `run`, `test` and `dev`: what an author does on their own machine.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use orbweaver_engine::{Grants, Kind, Permissions, PluginInfo};
use orbweaver_kit::cases::{Case, Comparison};
use orbweaver_kit::new::NewProject;
use orbweaver_kit::project::{Language, Project};
use orbweaver_kit::watch::Watch;
use orbweaver_kit::web::{Mode, Web};
use orbweaver_kit::{PluginCall, Report, Runner};
use serde_json::Value;

use super::super::Common;
use super::super::out::out;
use super::super::remote::Server;
use super::remote::upload;
use crate::telemetry;

/// The log of a run: what plugins say, and errors of the program.
const LOG: &str = "error,plugin=trace";

#[derive(Args)]
pub(in crate::cli) struct New {
    /// The plugin's name: lower-case letters, digits and hyphens.
    name: String,
    /// What it is.
    #[arg(long, value_enum, default_value = "extractor")]
    kind: KindName,
    /// What it is written in.
    #[arg(long, value_enum, default_value = "rust")]
    language: LanguageName,
    /// Folder to create [default: the plugin's name, in the current folder].
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum KindName {
    /// Turns a page into data.
    Extractor,
    /// Does a task on pages that it fetches through the host.
    Actor,
    /// Returns structured data for its domains.
    Fetcher,
    /// Decides what a crawl follows and stores.
    Hook,
}

#[derive(Clone, Copy, ValueEnum)]
enum LanguageName {
    Rust,
    #[value(name = "javascript", alias = "js")]
    JavaScript,
    #[value(alias = "py")]
    Python,
}

impl New {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let project = NewProject {
            name: self.name,
            kind: match self.kind {
                KindName::Extractor => Kind::Extractor,
                KindName::Actor => Kind::Actor,
                KindName::Fetcher => Kind::Fetcher,
                KindName::Hook => Kind::Hook,
            },
            language: match self.language {
                LanguageName::Rust => Language::Rust,
                LanguageName::JavaScript => Language::JavaScript,
                LanguageName::Python => Language::Python,
            },
            folder: self.dir,
        };
        let folder = project.create()?;
        out!(
            "Created {}. Next: cd {} && orbweaver plugin dev",
            folder.display(),
            folder.display()
        )?;
        Ok(ExitCode::SUCCESS)
    }
}

#[derive(Args)]
pub(in crate::cli) struct Build {
    /// The project's folder.
    #[arg(default_value = ".")]
    project: PathBuf,
}

impl Build {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let built = Project::open(&self.project)?.build()?;
        out!("{} ({} bytes)", built.file.display(), built.bytes.len())?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Which plugin is called, and how.
#[derive(Args)]
pub(in crate::cli) struct Subject {
    /// The project's folder, which is built first, or a component.
    #[arg(default_value = ".")]
    plugin: PathBuf,
    /// A call of the project's fixtures, by its name (`first` for `first.case.json`) [default: the first
    /// one].
    #[arg(long, value_name = "NAME", conflicts_with_all = ["input", "url", "html", "role", "domain", "path", "hook_config", "event", "payload"])]
    case: Option<String>,
    /// Input of an actor, options of an extractor or parameters of a fetcher: JSON, or `@FILE`.
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    /// The page of an extractor or a hook.
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// A file with that page's HTML, or another body such as a PDF, so that it is not fetched.
    #[arg(long, value_name = "FILE")]
    html: Option<String>,
    /// Role of an extractor that has several.
    #[arg(long)]
    role: Option<String>,
    /// Domain of a fetcher [default: its manifest's first].
    #[arg(long)]
    domain: Option<String>,
    /// Path of a fetcher.
    #[arg(long)]
    path: Option<String>,
    /// Configuration of a hook: JSON, or `@FILE`.
    #[arg(long, value_name = "JSON")]
    hook_config: Option<String>,
    /// Event of the webhook that a hook with `deliver` changes [default: crawl.done].
    #[arg(long)]
    event: Option<String>,
    /// Payload of that webhook: JSON, or `@FILE`.
    #[arg(long, value_name = "JSON")]
    payload: Option<String>,
    /// Permissions to grant, as in an upload's `grant`; all that it asks for if none is given.
    #[arg(long, value_name = "GRANT")]
    grant: Vec<String>,
    /// Folder of cases and of kept answers of the web [default: `fixtures` of the project].
    #[arg(long, value_name = "DIR")]
    fixtures: Option<PathBuf>,
}

impl Subject {
    /// The plugin as a project; `None` for a component.
    fn project(&self) -> anyhow::Result<Option<Project>> {
        if self.plugin.is_file() {
            return Ok(None);
        }
        Project::open(&self.plugin).map(Some)
    }

    /// The component, built if it is a project's. Blocks.
    fn component(&self) -> anyhow::Result<Vec<u8>> {
        match self.project()? {
            Some(project) => Ok(project.build()?.bytes),
            None => super::read(&self.plugin),
        }
    }

    fn fixtures(&self) -> anyhow::Result<PathBuf> {
        Ok(match (&self.fixtures, self.project()?) {
            (Some(folder), _) => folder.clone(),
            (None, Some(project)) => project.fixtures(),
            (None, None) => PathBuf::from("fixtures"),
        })
    }

    fn grants(&self) -> anyhow::Result<Grants> {
        if self.grant.is_empty() {
            return Ok(Grants::All);
        }
        let named = Permissions::from_names(&self.grant).map_err(anyhow::Error::msg)?;
        Ok(Grants::Only(named))
    }

    /// The option that says what to call, if one was given.
    fn asked(&self) -> Option<&'static str> {
        let given = [
            ("--input", self.input.is_some()),
            ("--url", self.url.is_some()),
            ("--html", self.html.is_some()),
            ("--role", self.role.is_some()),
            ("--domain", self.domain.is_some()),
            ("--path", self.path.is_some()),
            ("--hook-config", self.hook_config.is_some()),
            ("--event", self.event.is_some()),
            ("--payload", self.payload.is_some()),
        ];
        given.into_iter().find_map(|(name, is)| is.then_some(name))
    }

    /// The call: that of the command line, else a case. Files that it names are relative to the folder.
    fn call(&self, kind: Kind, fixtures: &Path) -> anyhow::Result<(PluginCall, PathBuf)> {
        if let Some(name) = &self.case {
            return Ok((Case::read(fixtures, name)?.call, fixtures.to_owned()));
        }
        let input = self
            .input
            .as_deref()
            .map(|text| json("input", text))
            .transpose()?;
        let config = self
            .hook_config
            .as_deref()
            .map(|text| json("hook-config", text))
            .transpose()?;
        let payload = self
            .payload
            .as_deref()
            .map(|text| json("payload", text))
            .transpose()?;
        let html = self.html.as_deref().map(html_file).transpose()?;
        let (folder, html) = html.unzip();
        let mut call = PluginCall {
            url: self.url.clone(),
            html,
            role: self.role.clone(),
            domain: self.domain.clone(),
            path: self.path.clone(),
            config,
            event: self.event.clone(),
            payload,
            ..PluginCall::default()
        };
        match kind {
            Kind::Actor => call.input = input,
            Kind::Fetcher => call.params = input,
            Kind::Extractor => call.options = input,
            Kind::Hook if input.is_some() => {
                bail!("--input does not apply to hooks; use --hook-config")
            }
            Kind::Hook => {}
        }
        if call == PluginCall::default()
            && let Some(first) = Case::find(fixtures)?.into_iter().next()
        {
            eprintln!("using the call of case {}", first.name);
            return Ok((first.call, fixtures.to_owned()));
        }
        Ok((call, folder.unwrap_or_else(|| PathBuf::from("."))))
    }
}

/// The folder of a file, and its name there.
fn html_file(file: &str) -> anyhow::Result<(PathBuf, String)> {
    let read = std::fs::canonicalize(file);
    let path = read.with_context(|| format!("--html: cannot read {file}"))?;
    let no_file = || format!("--html: {file} is not a file");
    let folder = path.parent().with_context(no_file)?.to_owned();
    let name = path.file_name().with_context(no_file)?;
    Ok((folder, name.to_string_lossy().into_owned()))
}

/// JSON as an argument, or in a file.
fn json(field: &str, text: &str) -> anyhow::Result<Value> {
    let text = match text.strip_prefix('@') {
        Some(file) => std::fs::read_to_string(file)
            .with_context(|| format!("--{field}: cannot read {file}"))?,
        None => text.to_owned(),
    };
    serde_json::from_str(&text).with_context(|| format!("--{field}: not JSON"))
}

#[derive(Args)]
pub(in crate::cli) struct Run {
    #[command(flatten)]
    subject: Subject,
    /// Keep what the web answers in the fixtures.
    #[arg(long, conflicts_with = "offline")]
    record: bool,
    /// Answer requests from the fixtures alone.
    #[arg(long)]
    offline: bool,
}

impl Run {
    fn mode(&self) -> Mode {
        match (self.record, self.offline) {
            (true, _) => Mode::Record,
            (_, true) => Mode::Replay,
            _ => Mode::Live,
        }
    }

    pub(super) async fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        let mode = self.mode();
        let session = Session::start(common, &self.subject, mode).await?;
        let report = session.call(&self.subject).await?;
        show(&report, None)?;
        Ok(match report.answer {
            Ok(_) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        })
    }
}

/// A runner with what its calls have in common.
struct Session {
    runner: Runner,
    fixtures: PathBuf,
    web: Arc<Web>,
}

impl Session {
    async fn start(common: &Common, subject: &Subject, mode: Mode) -> anyhow::Result<Self> {
        let mut config = common.load()?.config;
        if config.log.filter == "info" {
            config.log.filter = LOG.to_owned();
        }
        telemetry::start_logs(&config.log)?;
        let mut settings = config.pipeline();
        let folder = &mut settings.plugins.plugin_dir;
        if let Some(missing) = folder.take_if(|folder| !folder.exists()) {
            eprintln!(
                "roles: no other plugin serves them here, because the folder {} does not exist; \
                 --plugin-dir names another one",
                missing.display()
            );
        }
        let runner = Runner::start(settings).await?;
        let fixtures = subject.fixtures()?;
        let web = runner.web(mode, &fixtures);
        Ok(Self {
            runner,
            fixtures,
            web,
        })
    }

    /// Builds and loads the component.
    async fn load(&self, subject: &Subject) -> anyhow::Result<(PluginInfo, Vec<u8>)> {
        let bytes = tokio::task::block_in_place(|| subject.component())?;
        let plugin = self.runner.load(bytes.clone(), subject.grants()?).await?;
        for cut in &plugin.limits_cut {
            eprintln!("limit: {cut}");
        }
        Ok((plugin, bytes))
    }

    async fn call(&self, subject: &Subject) -> anyhow::Result<Report> {
        let (plugin, _) = self.load(subject).await?;
        self.call_loaded(subject, &plugin).await
    }

    async fn call_loaded(&self, subject: &Subject, plugin: &PluginInfo) -> anyhow::Result<Report> {
        let (call, folder) = subject.call(plugin.kind, &self.fixtures)?;
        self.runner.call(plugin, &call, &folder, &self.web).await
    }
}

/// Prints the answer, and to standard error what the call did and used.
fn show(report: &Report, before: Option<&Report>) -> anyhow::Result<()> {
    for call in &report.host_calls {
        let mark = if call.is_failure { "failed: " } else { "" };
        eprintln!("host: {} → {mark}{}", call.asked, call.got);
    }
    for item in &report.items {
        eprintln!("item: {item}");
    }
    match &report.answer {
        Ok(answer) => out!("{}", serde_json::to_string_pretty(answer)?)?,
        Err(error) => eprintln!("failed: {error}"),
    }
    eprintln!("used: {}", report.figures(before));
    Ok(())
}

#[derive(Args)]
pub(in crate::cli) struct Test {
    #[command(flatten)]
    subject: Subject,
    /// Make today's answers the expected ones.
    #[arg(long)]
    accept: bool,
}

impl Test {
    pub(super) async fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        if let Some(option) = self.subject.asked() {
            bail!(
                "{option} is for `orbweaver plugin run`: a test makes the calls of its cases, of which --case \
                 names one"
            );
        }
        let session = Session::start(common, &self.subject, Mode::Replay).await?;
        let cases = match &self.subject.case {
            Some(name) => vec![Case::read(&session.fixtures, name)?],
            None => Case::find(&session.fixtures)?,
        };
        if cases.is_empty() {
            bail!(
                "{} has no cases; a case is a file NAME.case.json with a call, such as {{\"url\": …}}",
                session.fixtures.display()
            );
        }
        let (plugin, _) = session.load(&self.subject).await?;
        let (mut same, mut other) = (0, 0);
        for case in &cases {
            let call = &case.call;
            let report = session
                .runner
                .call(&plugin, call, &session.fixtures, &session.web)
                .await
                .with_context(|| case.name.clone())?;
            let (word, is_same) = match case.compare(&report)? {
                Comparison::Same => ("ok".to_owned(), true),
                _ if self.accept => {
                    case.accept(&report)?;
                    ("accepted".to_owned(), true)
                }
                Comparison::New => (
                    "new; --accept makes this answer the expected one".to_owned(),
                    false,
                ),
                Comparison::Different(diff) => (format!("different\n{diff}"), false),
            };
            out!("{}: {word}", case.name)?;
            if !is_same {
                show(&report, None)?;
            }
            same += u32::from(is_same);
            other += u32::from(!is_same);
        }
        out!("{same} as expected, {other} not")?;
        Ok(if other == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }
}

#[derive(Args)]
pub(in crate::cli) struct Dev {
    #[command(flatten)]
    call: Run,
    // With --server alone, not after a login: nobody means to publish by saving a file.
    #[command(flatten)]
    server: Server,
}

impl Dev {
    pub(super) async fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        let subject = &self.call.subject;
        let Some(project) = subject.project()? else {
            bail!(
                "{} is a component; dev needs a project",
                subject.plugin.display()
            );
        };
        let session = Session::start(common, subject, self.call.mode()).await?;
        let watch = Watch::start(project.folder())?;
        let mut before = None;
        loop {
            // A fault of the author's is shown, and mended while this runs on.
            match self.once(&session, before.as_ref()).await {
                Ok(report) => before = Some(report),
                Err(error) => eprintln!("{error:#}"),
            }
            eprintln!("waiting for changes in {} …", project.folder().display());
            tokio::task::block_in_place(|| watch.changed())?;
        }
    }

    async fn once(&self, session: &Session, before: Option<&Report>) -> anyhow::Result<Report> {
        let subject = &self.call.subject;
        let (plugin, bytes) = session.load(subject).await?;
        if self.server.is_given() {
            let service = self.server.service()?;
            let uploaded = upload(&service, &plugin.name, bytes, &subject.grant).await?;
            eprintln!("uploaded: version {uploaded}");
        }
        let report = session.call_loaded(subject, &plugin).await?;
        show(&report, before)?;
        Ok(report)
    }
}
