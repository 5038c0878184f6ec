//! `orbweaver plugin metrics`, `logs` and `replay`: what a running service knows of a plugin's calls.

use std::process::ExitCode;

use clap::Args;
use serde_json::Value;

use super::super::out::{out, shown};
use super::super::remote::Server;

/// A member of an answer as text; empty if it is missing or null.
fn text(item: &Value, field: &str) -> String {
    match item.pointer(field) {
        Some(Value::String(text)) => shown(text),
        Some(Value::Null) | None => String::new(),
        Some(value) => value.to_string(),
    }
}

/// The members of a list in an answer.
fn items<'a>(answer: &'a Value, field: &str) -> impl DoubleEndedIterator<Item = &'a Value> {
    let items = answer.pointer(field).and_then(Value::as_array);
    items.map(Vec::as_slice).unwrap_or_default().iter()
}

#[derive(Args)]
pub(in crate::cli) struct Metrics {
    /// The plugin's name.
    name: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: Server,
}

impl Metrics {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let path = format!("/v1/plugins/{}/metrics", self.name);
        let answer = self.server.service()?.get(&path).await?;
        if self.json {
            out!("{}", serde_json::to_string_pretty(&answer)?)?;
            return Ok(ExitCode::SUCCESS);
        }
        for version in items(&answer, "/versions") {
            let of = |field: &str| text(version, field);
            let serving = version.get("serving") == Some(&Value::Bool(true));
            out!(
                "{} {}{}",
                of("/version"),
                of("/digest").get(..12).unwrap_or_default(),
                if serving { " serves" } else { "" }
            )?;
            out!("  since    {}", of("/since"))?;
            out!("  calls    {}", of("/calls"))?;
            out!("  failed   {} {}", of("/error_count"), of("/errors"))?;
            out!("  denials  {}", of("/denials"))?;
            out!("  refused  {}", of("/refused"))?;
            for (name, field) in [("wall", "wall_ms"), ("cpu", "cpu_ms")] {
                out!(
                    "  {name:<8} p50 {} ms, p99 {} ms, {} ms in all",
                    of(&format!("/{field}/p50")),
                    of(&format!("/{field}/p99")),
                    of(&format!("/{field}/total")),
                )?;
            }
            out!("  memory   {} bytes at most", of("/peak_memory_bytes"))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

#[derive(Args)]
pub(in crate::cli) struct Logs {
    /// The plugin's name.
    name: String,
    /// Only lines of this level or a more severe one: trace, debug, info, warn, error.
    #[arg(long)]
    level: Option<String>,
    /// Most lines; the newest ones.
    #[arg(long, value_name = "NUMBER", default_value_t = 100)]
    limit: u32,
    /// List the failed calls instead.
    #[arg(long, conflicts_with = "level")]
    calls: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: Server,
}

impl Logs {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let what = if self.calls { "calls" } else { "logs" };
        let mut path = format!("/v1/plugins/{}/{what}?limit={}", self.name, self.limit);
        if let Some(level) = &self.level {
            path.push_str("&level=");
            path.extend(url::form_urlencoded::byte_serialize(level.as_bytes()));
        }
        let answer = self.server.service()?.get(&path).await?;
        if self.json {
            out!("{}", serde_json::to_string_pretty(&answer)?)?;
            return Ok(ExitCode::SUCCESS);
        }
        // The newest stand last, where one reads on.
        for item in items(&answer, "/items").rev() {
            let of = |field: &str| text(item, field);
            let part = match of("/run_id") {
                run if run.is_empty() => of("/request_id"),
                run => format!("{} {run}", of("/run_kind")),
            };
            if self.calls {
                let target = [of("/input/role"), of("/input/domain"), of("/input/point")].concat();
                out!(
                    "{:>6} {} {} {}: {} {} ({part})",
                    of("/id"),
                    of("/at"),
                    target,
                    of("/error/code"),
                    of("/error/message"),
                    of("/input/page/final_url"),
                )?;
            } else {
                out!(
                    "{} {:<5} {} ({part})",
                    of("/at"),
                    of("/level"),
                    of("/message")
                )?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

#[derive(Args)]
pub(in crate::cli) struct Replay {
    /// The plugin's name.
    name: String,
    /// Id of the failed call, as `orbweaver plugin logs NAME --calls` lists it.
    id: i64,
    #[command(flatten)]
    server: Server,
}

impl Replay {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let path = format!("/v1/plugins/{}/calls/{}/replay", self.name, self.id);
        let answer = self.server.service()?.post(&path, &Value::Null).await?;
        if answer.get("ok") == Some(&Value::Bool(true)) {
            let result = answer.get("result").unwrap_or(&Value::Null);
            out!("{}", serde_json::to_string_pretty(result)?)?;
            return Ok(ExitCode::SUCCESS);
        }
        eprintln!(
            "{} {} fails again: {}: {}",
            self.name,
            text(&answer, "/version"),
            text(&answer, "/error/code"),
            text(&answer, "/error/message"),
        );
        Ok(ExitCode::FAILURE)
    }
}
