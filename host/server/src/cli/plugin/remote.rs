//! `orbweaver plugin install`, `publish`, `versions` and `rollback`: to a folder, or to a running service.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use orbweaver_engine::{Engine, Grants, Source, file_name};
use orbweaver_fetch::{FetchConfig, Fetcher, Method, Request};
use orbweaver_kit::project::Project;
use serde_json::{Value, json};

use super::super::Common;
use super::super::out::out;

/// Longest time of a request: a large component is compiled before its upload is answered.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A running service.
#[derive(Args)]
pub(in crate::cli) struct Server {
    /// Address of a running service.
    #[arg(long, value_name = "URL", env = "ORBWEAVER_SERVER")]
    server: Option<String>,
    /// Key for it: an administrator's, or a project's for the project's own plugins.
    #[arg(
        long,
        value_name = "KEY",
        env = "ORBWEAVER_KEY",
        hide_env_values = true,
        requires = "server"
    )]
    key: Option<String>,
}

impl Server {
    /// Whether a service is named.
    pub(super) const fn is_given(&self) -> bool {
        self.server.is_some()
    }

    /// Uploads a component and returns the number of its version.
    pub(super) async fn upload(
        &self,
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
        let answer = self
            .send(Method::PUT, &path, "application/wasm", component)
            .await?;
        let number = answer.get("number").and_then(Value::as_i64);
        number.context("the service did not say which version it is")
    }

    /// Sends a request without a body and returns the answer's JSON.
    pub(super) async fn ask(&self, method: Method, path: &str) -> anyhow::Result<Value> {
        self.send(method, path, "application/json", Vec::new())
            .await
    }

    /// Sends a request and returns the answer's JSON; an error's message if it is one.
    async fn send(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Vec<u8>,
    ) -> anyhow::Result<Value> {
        let Some(server) = &self.server else {
            bail!("--server: which service, such as http://127.0.0.1:8080");
        };
        let url = format!("{}{path}", server.trim_end_matches('/'));
        // Whoever runs this chose the address, which may be this machine.
        let nets = ["0.0.0.0/0", "::/0"].map(str::parse);
        let config = FetchConfig {
            allow_nets: nets.into_iter().collect::<Result<_, _>>()?,
            ..FetchConfig::default()
        };
        let mut headers = vec![
            ("accept".to_owned(), "application/json".to_owned()),
            ("content-type".to_owned(), content_type.to_owned()),
        ];
        if let Some(key) = &self.key {
            headers.push(("authorization".to_owned(), format!("Bearer {key}")));
        }
        let request = Request {
            headers,
            body: Some(body.into()),
            follow_redirects: false,
            timeout: Some(TIMEOUT),
            ..Request::new(method, &url)
        };
        let fetcher = Fetcher::new(config)?;
        let response = Box::pin(fetcher.fetch(request)).await;
        let response = response.with_context(|| url.clone())?;
        let answer: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        if response.status < 300 {
            return Ok(answer);
        }
        let message = answer.pointer("/error/message").and_then(Value::as_str);
        bail!(
            "{url} answers {}{}",
            response.status,
            message.map_or_else(String::new, |message| format!(": {message}"))
        )
    }
}

/// A component: a file, or that of a project.
#[derive(Args)]
pub(in crate::cli) struct Component {
    /// The project's folder, which is built first, or a component.
    #[arg(default_value = ".")]
    plugin: PathBuf,
}

impl Component {
    fn read(&self) -> anyhow::Result<Vec<u8>> {
        match self.plugin.is_file() {
            true => super::read(&self.plugin),
            false => Ok(Project::open(&self.plugin)?.build()?.bytes),
        }
    }
}

#[derive(Args)]
pub(in crate::cli) struct Install {
    #[command(flatten)]
    component: Component,
}

impl Install {
    pub(super) async fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        let config = common.load()?.config;
        let Some(folder) = config.plugin_dir() else {
            bail!("--plugin-dir: the folder to install into");
        };
        let bytes = self.component.read()?;
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
    #[command(flatten)]
    component: Component,
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
        let bytes = self.component.read()?;
        let engine = Engine::new(common.load()?.config.plugins)?;
        let found = engine.inspect(&bytes)?;
        if let Some(why) = engine.verdict(&found).refused {
            bail!("the component would be refused: {why}");
        }
        let manifest = &found.manifest;
        let list = self
            .server
            .send(Method::GET, "/v1/plugins", "application/json", Vec::new())
            .await?;
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
        let number = self
            .server
            .upload(&manifest.name, bytes, &self.grant)
            .await?;
        out!(
            "{} {} serves as version {number}",
            manifest.name,
            manifest.version
        )?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Permissions that a manifest asks for and an earlier one did not, one line each.
fn additions(had: &Value, wanted: &Value) -> Vec<String> {
    let mut more = Vec::new();
    for (name, value) in wanted.as_object().into_iter().flatten() {
        let before = had.get(name);
        match value {
            Value::Array(values) => {
                let known = before.and_then(Value::as_array);
                let is_new = |value: &&Value| known.is_none_or(|known| !known.contains(value));
                more.extend(
                    values
                        .iter()
                        .filter(is_new)
                        .map(|value| format!("{name}={}", value.as_str().unwrap_or_default())),
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
        let list = self
            .server
            .send(Method::GET, &path, "application/json", Vec::new())
            .await?;
        for version in list
            .get("items")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let text = |field: &str| match version.get(field) {
                Some(Value::String(text)) => text.clone(),
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
        let answer = self
            .server
            .send(
                Method::POST,
                &path,
                "application/json",
                body.to_string().into_bytes(),
            )
            .await?;
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
