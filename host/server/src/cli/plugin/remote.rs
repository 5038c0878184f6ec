//! `orbweaver plugin install`, `publish`, `versions` and `rollback`: to a folder, or to a running service; registries
//! are in `registry`.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use orbweaver_engine::{Engine, Grants, Source, file_name};
use orbweaver_fetch::Method;
use orbweaver_kit::oci::Reference;
use orbweaver_kit::project::Project;
use serde_json::{Value, json};

use super::super::Common;
use super::super::out::{out, shown};
use super::super::remote::{Server, Service};
use super::registry::{InstallOptions, PublishOptions};

/// Uploads a component and returns the number of its version.
pub(super) async fn upload(
    service: &Service,
    name: &str,
    component: Vec<u8>,
    grants: &[String],
) -> anyhow::Result<i64> {
    let mut path = format!("/v1/plugins/{name}");
    for (i, grant) in grants.iter().enumerate() {
        path.push(if i == 0 { '?' } else { '&' });
        path.push_str("grant=");
        path.extend(url::form_urlencoded::byte_serialize(grant.as_bytes()));
    }
    let answer = service
        .send(Method::PUT, &path, "application/wasm", component)
        .await?;
    let number = answer.get("number").and_then(Value::as_i64);
    number.context("the service did not say which version it is")
}

/// A component: a file, or that of a project, which is built first.
fn component(plugin: &Path) -> anyhow::Result<Vec<u8>> {
    match plugin.is_file() {
        true => super::read(plugin),
        false => Ok(Project::open(plugin)?.build()?.bytes),
    }
}

#[derive(Args)]
pub(in crate::cli) struct Install {
    /// The project's folder, which is built first, a component, or
    /// oci://HOST/REPOSITORY[:TAG][@sha256:…].
    #[arg(default_value = ".")]
    plugin: String,
    #[command(flatten)]
    options: InstallOptions,
}

impl Install {
    pub(super) async fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        if Reference::is_one(&self.plugin) {
            let reference = self.plugin.parse()?;
            return Box::pin(self.options.install(&reference, common)).await;
        }
        if let Some(option) = self.options.given() {
            bail!("{option} is for components of registries (oci://…)");
        }
        let config = common.load()?.config;
        let Some(folder) = config.plugin_dir() else {
            bail!("no plugin folder is configured; set --plugin-dir");
        };
        let bytes = component(Path::new(&self.plugin))?;
        let engine = Engine::new(config.plugins)?;
        let loaded = engine
            .load_bytes(bytes.clone(), Source::Upload, Grants::All)
            .await;
        let plugin = loaded.context("the component would be refused")?;
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        let file = folder.join(file_name(plugin.kind, &plugin.name));
        super::write(&file, &bytes)?;
        out!("{}", file.display())?;
        Ok(ExitCode::SUCCESS)
    }
}

#[derive(Args)]
pub(in crate::cli) struct Publish {
    /// The project's folder, which is built first, or a component [default: the current folder]; and
    /// oci://HOST/REPOSITORY:TAG to store it there and not at a service.
    #[arg(value_name = "PLUGIN | oci://…", num_args = 0..=2)]
    plugin: Vec<String>,
    #[command(flatten)]
    options: PublishOptions,
    #[command(flatten)]
    server: Server,
    /// Permissions to grant: `all`, `http`, `http=PATTERN`, `render` …
    #[arg(long, value_name = "GRANT")]
    grant: Vec<String>,
    /// Publish although it asks for more permissions than the version that serves.
    #[arg(long)]
    yes: bool,
}

impl Publish {
    pub(super) async fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        let is_place = |text: &&String| Reference::is_one(text);
        let plugins: Vec<&String> = self.plugin.iter().filter(|text| !is_place(text)).collect();
        let plugin = match plugins.as_slice() {
            [] => ".",
            [plugin] => plugin,
            _ => bail!("give at most one component and one oci://HOST/REPOSITORY:TAG"),
        };
        let places: Vec<&String> = self.plugin.iter().filter(is_place).collect();
        if let [place] = places.as_slice() {
            let reference: Reference = place.parse()?;
            if !self.grant.is_empty() {
                bail!("--grant is for a running service, and not for a registry");
            }
            let bytes = component(Path::new(plugin))?;
            return Box::pin(self.options.publish(&reference, bytes, common)).await;
        }
        if places.len() > 1 {
            bail!("give only one oci:// reference, not {}", places.len());
        }
        if let Some(option) = self.options.given() {
            bail!("{option} is for registries (oci://…)");
        }
        let bytes = component(Path::new(plugin))?;
        let engine = Engine::new(common.load()?.config.plugins)?;
        let found = engine.inspect(&bytes)?;
        if let Some(why) = engine.verdict(&found).refused {
            bail!("the component would be refused: {why}");
        }
        let manifest = &found.manifest;
        let service = self.server.service()?;
        let list = service.get("/v1/plugins").await?;
        let items = list.get("items").and_then(Value::as_array);
        let serving = items.into_iter().flatten().find(|item| {
            let is =
                |field: &str, value: &str| item.get(field).and_then(Value::as_str) == Some(value);
            is("name", &manifest.name) && is("kind", manifest.kind.as_str())
        });
        let wanted = serde_json::to_value(&manifest.permissions)?;
        let had = serving.and_then(|item| item.get("asked")).cloned();
        let more = additions(had.as_ref().unwrap_or(&Value::Null), &wanted);
        for permission in &more {
            eprintln!("+ {permission}");
        }
        if serving.is_some() && !more.is_empty() && !self.yes {
            bail!(
                "{} asks for more permissions than the version that serves; --yes publishes it",
                manifest.name
            );
        }
        let number = upload(&service, &manifest.name, bytes, &self.grant).await?;
        out!(
            "{} {} serves as version {number}",
            manifest.name,
            shown(&manifest.version)
        )?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Permissions that a manifest asks for and an earlier one did not, one line each.
pub(super) fn additions(had: &Value, wanted: &Value) -> Vec<String> {
    let mut more = Vec::new();
    for (name, value) in wanted.as_object().into_iter().flatten() {
        let before = had.get(name);
        match value {
            Value::Array(values) => {
                let known = before.and_then(Value::as_array);
                let is_new = |value: &&Value| known.is_none_or(|known| !known.contains(value));
                more.extend(
                    values.iter().filter(is_new).map(|value| {
                        shown(&format!("{name}={}", value.as_str().unwrap_or_default()))
                    }),
                );
            }
            Value::Bool(true) if before != Some(&Value::Bool(true)) => more.push(name.clone()),
            _ => {}
        }
    }
    more
}

#[derive(Args)]
pub(in crate::cli) struct Versions {
    /// The plugin's name.
    name: String,
    #[command(flatten)]
    server: Server,
}

impl Versions {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let path = format!("/v1/plugins/{}/versions", self.name);
        let list = self.server.service()?.get(&path).await?;
        for version in list
            .get("items")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let text = |field: &str| match version.get(field) {
                Some(Value::String(text)) => shown(text),
                Some(value) => value.to_string(),
                None => String::new(),
            };
            let serving = version.get("serving") == Some(&Value::Bool(true));
            out!(
                "{:>4} {:<10} {} {}{}",
                text("number"),
                text("version"),
                text("uploaded_at"),
                text("digest").get(..12).unwrap_or_default(),
                if serving { " serves" } else { "" }
            )?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

#[derive(Args)]
pub(in crate::cli) struct Rollback {
    /// The plugin's name.
    name: String,
    /// The version's number [default: the one before the version that serves].
    #[arg(long)]
    number: Option<i64>,
    #[command(flatten)]
    server: Server,
}

impl Rollback {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let path = format!("/v1/plugins/{}/rollback", self.name);
        let body = match self.number {
            Some(number) => json!({ "number": number }),
            None => json!({}),
        };
        let answer = self.server.service()?.post(&path, &body).await?;
        let text = |field: &str| answer.get(field).map(Value::to_string).unwrap_or_default();
        out!("{} serves as version {}", self.name, text("number"))?;
        Ok(ExitCode::SUCCESS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_new_counts_as_more() {
        let had = json!({"http": ["a.org"], "render": true, "state": false});
        let wanted = json!({"http": ["a.org", "b.org"], "render": true, "state": true});
        assert_eq!(additions(&had, &wanted), ["http=b.org", "state"]);
        assert_eq!(additions(&Value::Null, &json!({"http": ["*"]})), ["http=*"]);
        assert!(additions(&wanted, &had).is_empty());
    }
}
