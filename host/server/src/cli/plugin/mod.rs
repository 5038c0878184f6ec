//! `orbweaver plugin`: what a server does with components; `author`, `remote`, `registry` and `records`
//! have the commands of authors.

mod author;
mod records;
mod registry;
mod remote;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use orbweaver_engine::{
    Engine, Grants, Inspection, Permissions, Source, Verdict, file_name, manifest, write_bundle,
};

use super::Common;
use super::doctor::plugin_place;
use super::out::{OutError, out, shown};
use crate::config::PROGRAM;
use crate::telemetry;
use orbweaver_pipeline::Pipeline;

/// Write, try and publish plugins; list, inspect and pack them.
#[derive(Subcommand)]
pub(super) enum Plugin {
    /// Create a plugin project that builds and passes its tests, with the SDK beside it.
    #[command(after_help = "Example:\n  orbweaver plugin new image-alts --kind extractor")]
    New(author::New),
    /// Build a project's component, with its manifest.
    Build(author::Build),
    /// Call a plugin without a service, and show its answer, its requests and what it used.
    #[command(after_help = "Examples:\n  \
        orbweaver plugin run --url https://example.com/\n  \
        orbweaver plugin run actor-title.wasm --input '{\"url\": \"https://example.com/\"}' --record")]
    Run(Box<author::Run>),
    /// Call a plugin with every case of its fixtures, without the web, and compare the answers.
    Test(Box<author::Test>),
    /// Build and call a project's plugin again whenever one of its files changes.
    Dev(Box<author::Dev>),
    /// Copy a component, of a project, a file or an OCI registry, into the plugin folder, after checking it.
    #[command(after_help = "Examples:\n  \
        orbweaver plugin install extract-prices.wasm\n  \
        orbweaver plugin install oci://ghcr.io/example/prices:1.2 --key example.pub")]
    Install(remote::Install),
    /// Upload a component to a running service, or store it in an OCI registry.
    #[command(after_help = "Examples:\n  \
        orbweaver plugin publish --server http://127.0.0.1:8080 --grant http\n  \
        orbweaver plugin publish oci://ghcr.io/example/prices:1.2 --sign-key example.pem")]
    Publish(remote::Publish),
    /// List the kept versions of an uploaded plugin.
    Versions(remote::Versions),
    /// Serve an earlier version of an uploaded plugin again.
    Rollback(remote::Rollback),
    /// Show what the calls of a plugin used, by version.
    Metrics(records::Metrics),
    /// Show what a plugin logged, and its failed calls.
    #[command(after_help = "Examples:\n  \
        orbweaver plugin logs image-alts --level warn\n  \
        orbweaver plugin logs image-alts --calls")]
    Logs(records::Logs),
    /// Make a failed call again, with its kept input and the version that serves now.
    #[command(after_help = "Example:\n  orbweaver plugin replay image-alts 17")]
    Replay(records::Replay),
    /// Load the plugin folder and list which plugins loaded, and which failed and why.
    List(List),
    /// Show a component's manifest and interface, without running it.
    #[command(after_help = "Example:\n  orbweaver plugin inspect extract-markdown.wasm")]
    Inspect(Inspect),
    /// Compile a component and run its self-test, as loading it does, and say all that the host
    /// would refuse.
    #[command(after_help = "Example:\n  orbweaver plugin check hook-news.wasm")]
    Check(Check),
    /// Embed a manifest in a component, for tool chains that cannot.
    #[command(after_help = "Example:\n  \
        orbweaver plugin pack word-count.wasm --manifest plugin.toml -o plugins/actor-word-count.wasm")]
    Pack(Pack),
    /// Write a copy of this program with plugins and their compiled code inside: one file that
    /// serves without a plugin folder.
    #[command(after_help = "Example:\n  \
        orbweaver plugin embed --plugin-dir my-plugins --output orbweaver-mine")]
    Embed(Embed),
}

#[derive(Args)]
pub(super) struct List {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(super) struct Inspect {
    /// The component.
    file: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(super) struct Check {
    /// The component.
    file: PathBuf,
    /// Permissions to grant, as in an upload's `grant`; all that it asks for if none is given.
    #[arg(long, value_name = "GRANT")]
    grant: Vec<String>,
}

#[derive(Args)]
pub(super) struct Pack {
    /// The component.
    input: PathBuf,
    /// Its manifest.
    #[arg(long, value_name = "FILE", default_value = "plugin.toml")]
    manifest: PathBuf,
    /// Output file; default: the name required in the plugin folder, in the current folder.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Args)]
pub(super) struct Embed {
    /// The file to write. It has the plugins of the folder, and those inside this program
    /// that the folder does not override.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Replace the file if it exists.
    #[arg(long)]
    force: bool,
}

impl Plugin {
    pub(super) async fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        match self {
            Self::New(new) => new.run(),
            Self::Build(build) => build.run(),
            Self::Run(run) => run.run(common).await,
            Self::Test(test) => test.run(common).await,
            Self::Dev(dev) => dev.run(common).await,
            Self::Install(install) => install.run(common).await,
            Self::Publish(publish) => publish.run(common).await,
            Self::Versions(versions) => versions.run().await,
            Self::Rollback(rollback) => rollback.run().await,
            Self::Metrics(metrics) => metrics.run().await,
            Self::Logs(logs) => logs.run().await,
            Self::Replay(replay) => replay.run().await,
            Self::List(list) => list.run(common).await,
            Self::Inspect(inspect) => inspect.run(common),
            Self::Check(check) => check.run(common).await,
            Self::Pack(pack) => pack.run(common),
            Self::Embed(embed) => embed.run(common).await,
        }
    }
}

impl List {
    async fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        let mut config = common.load()?.config;
        config.log.filter = "off".to_owned();
        telemetry::start_logs(&config.log)?;
        let engine = Pipeline::start(config.pipeline()).await?.engine;
        let plugins = engine.plugins();
        let refused = engine.refused();
        if self.json {
            out!("{}", serde_json::to_string_pretty(&plugins)?)?;
        } else {
            out!(
                "{:<10} {:<18} {:<9} {:>8} {:<14} DESCRIPTION",
                "KIND",
                "NAME",
                "VERSION",
                "KIB",
                "DIGEST"
            )?;
            for plugin in &plugins {
                out!(
                    "{:<10} {:<18} {:<9} {:>8} {:<14} {}",
                    plugin.kind.as_str(),
                    plugin.name,
                    shown(&plugin.version),
                    plugin.size.div_ceil(1_024),
                    plugin.digest.get(..12).unwrap_or_default(),
                    shown(&plugin.description),
                )?;
            }
        }
        for (file, why) in &refused {
            eprintln!("refused: {}: {why}", shown(&file.display().to_string()));
        }
        if plugins.is_empty() && refused.is_empty() {
            eprintln!(
                "There are no plugins in {}; `cargo xtask plugins` builds them, --plugin-dir names \
                 another folder.",
                plugin_place(&config)
            );
        }
        Ok(if refused.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }
}

impl Inspect {
    fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        let config = common.load()?.config;
        let bytes = read(&self.file)?;
        let engine = Engine::new(config.plugins)?;
        let found = engine
            .inspect(&bytes)
            .with_context(|| format!("{} is not a plugin", self.file.display()))?;
        let verdict = engine.verdict(&found);
        let is_refused = verdict.refused.is_some();
        if self.json {
            let mut shown = serde_json::to_value(&found)?;
            if let Some(fields) = shown.as_object_mut() {
                fields.insert("verdict".to_owned(), serde_json::to_value(&verdict)?);
            }
            out!("{}", serde_json::to_string_pretty(&shown)?)?;
        } else {
            show(&found)?;
            show_verdict(&verdict)?;
        }
        Ok(if is_refused {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        })
    }
}

fn show_verdict(verdict: &Verdict) -> Result<(), OutError> {
    for cut in &verdict.limits_cut {
        out!("limit        {cut}")?;
    }
    match &verdict.refused {
        Some(why) => out!("verdict      refused: {why}"),
        None => out!("verdict      may be loaded; `orbweaver plugin check` compiles and tests it"),
    }
}

impl Check {
    async fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        let config = common.load()?.config;
        let bytes = read(&self.file)?;
        let engine = Engine::new(config.plugins)?;
        let grants = if self.grant.is_empty() {
            Grants::All
        } else {
            Grants::Only(Permissions::from_names(&self.grant).map_err(anyhow::Error::msg)?)
        };
        match engine.load_bytes(bytes, Source::Upload, grants).await {
            Ok(plugin) => {
                for cut in &plugin.limits_cut {
                    out!("limit        {cut}")?;
                }
                let (kind, name, version) = (plugin.kind, &plugin.name, shown(&plugin.version));
                out!("{kind} {name} {version} loads and passes its self-test")?;
                Ok(ExitCode::SUCCESS)
            }
            Err(error) => {
                eprintln!("{} would be refused: {error}", self.file.display());
                Ok(ExitCode::FAILURE)
            }
        }
    }
}

fn show(found: &Inspection) -> Result<(), OutError> {
    let manifest = &found.manifest;
    out!(
        "{} {} ({})",
        manifest.name,
        shown(&manifest.version),
        manifest.kind.as_str()
    )?;
    if !manifest.description.is_empty() {
        out!("{}", shown(&manifest.description))?;
    }
    out!()?;
    out!("file name    {}", file_name(manifest.kind, &manifest.name))?;
    out!("api          {}", manifest.api)?;
    out!("size         {} bytes", found.size)?;
    out!("sha-256      {}", found.digest)?;
    if !manifest.roles.is_empty() {
        out!("roles        {}", manifest.roles.join(", "))?;
    }
    out!("asks for     {}", permissions(&manifest.permissions))?;
    out!("functions    {}", found.shape.functions)?;
    out!(
        "memory       {} bytes at the start",
        found.shape.initial_memory
    )?;
    for import in &found.imports {
        out!("imports      {}", shown(import))?;
    }
    for export in &found.exports {
        out!("exports      {}", shown(export))?;
    }
    Ok(())
}

fn permissions(asked: &Permissions) -> String {
    let mut parts: Vec<String> = Vec::new();
    parts.extend(asked.http.iter().map(|host| format!("http={host}")));
    parts.extend(asked.extract.iter().map(|role| format!("extract={role}")));
    if asked.render {
        parts.push("render".to_owned());
    }
    if asked.crawl_data {
        parts.push("crawl-data".to_owned());
    }
    if asked.state {
        parts.push("state".to_owned());
    }
    parts.extend(asked.secrets.iter().map(|name| format!("secret={name}")));
    parts.extend(
        asked
            .wasi
            .iter()
            .map(|capability| format!("wasi={capability}")),
    );
    if parts.is_empty() {
        "nothing".to_owned()
    } else {
        shown(&parts.join(", "))
    }
}

impl Pack {
    fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        let component = read(&self.input)?;
        let text = std::fs::read_to_string(&self.manifest).with_context(|| {
            format!(
                "cannot read {}; give the manifest with --manifest",
                self.manifest.display()
            )
        })?;
        let parsed = manifest::Manifest::parse(&text)
            .with_context(|| self.manifest.display().to_string())?;
        let packed =
            manifest::embed(&component, &text).with_context(|| self.input.display().to_string())?;
        // A manifest of another kind than the component's would be refused by every server.
        let engine = Engine::new(common.load()?.config.plugins)?;
        let found = engine.inspect(&packed)?;
        if let Some(why) = engine.verdict(&found).refused {
            bail!("{} would be refused: {why}", self.input.display());
        }
        let wanted = file_name(parsed.kind, &parsed.name);
        let output = self.output.unwrap_or_else(|| PathBuf::from(&wanted));
        write(&output, &packed)?;
        eprintln!("Wrote {} ({} bytes).", output.display(), packed.len());
        if output
            .file_name()
            .is_none_or(|name| name != wanted.as_str())
        {
            eprintln!("In the plugin folder it must be named {wanted}.");
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Embed {
    async fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        if !self.force && self.output.exists() {
            bail!("{} exists; --force replaces it", self.output.display());
        }
        let config = common.load()?.config;
        let plugins = config.pipeline().plugins;
        let report = write_bundle(plugins, Path::new(PROGRAM), &self.output)
            .await
            .with_context(|| format!("cannot write {}", self.output.display()))?;
        eprintln!(
            "Wrote {}: {} plugin(s), {} bytes, {} of them the program.",
            self.output.display(),
            report.plugins.len(),
            report.total_bytes,
            report.program_bytes,
        );
        Ok(ExitCode::SUCCESS)
    }
}

fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}

/// Writes by rename, so that a running service never reads a partial file.
fn write(file: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let Some(name) = file.file_name() else {
        bail!("{} is not a file name", file.display());
    };
    let partial = file.with_file_name(format!(".{}.new", name.to_string_lossy()));
    std::fs::write(&partial, bytes)
        .and_then(|()| std::fs::rename(&partial, file))
        .with_context(|| format!("cannot write {}", file.display()))
}
