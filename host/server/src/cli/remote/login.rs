//! `orbweaver login` and `orbweaver logout`.

use std::io::{BufRead as _, IsTerminal as _};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::Value;

use super::{Failure, Saved, Service, key_of_environment};

/// Let scan, crawl, usage, plugin and mcp run at a service from now on. Asks for a key, which is kept
/// in ~/.config/orbweaver/login.toml, readable by you alone.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    orbweaver login https://crawl.example.com\n  \
    orbweaver login http://127.0.0.1:8080 < key.txt\n  \
    orbweaver scan https://example.com --local")]
pub(in crate::cli) struct Login {
    /// The service's address.
    url: String,
    /// Send the key over http to another machine: whoever sees the traffic can read it.
    #[arg(long)]
    insecure: bool,
}

impl Login {
    pub(in crate::cli) async fn run(self) -> anyhow::Result<ExitCode> {
        // Checked before the key is typed.
        if Service::new(&self.url, None)?.is_in_clear() && !self.insecure {
            bail!(
                "{}: http would send the key in clear text; use https, or --insecure",
                self.url
            );
        }
        let key = match key_of_environment() {
            Some(key) => key,
            None => ask(&self.url)?,
        };
        let service = Service::new(&self.url, Some(key.clone()))?;
        let usage = match service.get("/v1/usage").await {
            Ok(usage) => usage,
            Err(Failure::Refused { status: 401, .. }) => {
                bail!("{} does not know this key", service.address())
            }
            Err(failure) => return Err(failure.into()),
        };
        let Some(tier) = usage.get("tier").and_then(Value::as_str) else {
            bail!("{} is not an Orbweaver service", service.address());
        };
        let saved = Saved {
            server: service.address().to_owned(),
            key,
        };
        let file = saved.write()?;
        eprintln!(
            "Logged in to {} (tier {tier}); the key is in {}. scan, crawl, usage, plugin and \
             mcp run there now; --local runs a command here, `orbweaver logout` ends it.",
            service.address(),
            file.display()
        );
        Ok(ExitCode::SUCCESS)
    }
}

/// Asks for the key: hidden at a terminal, else the first line of standard input.
fn ask(url: &str) -> anyhow::Result<String> {
    let line = if std::io::stdin().is_terminal() {
        let terminal = console::Term::stderr();
        terminal.write_str(&format!("Key for {url} (not shown): "))?;
        terminal.read_secure_line().context("cannot read the key")?
    } else {
        let mut line = String::new();
        std::io::stdin()
            .lock()
            .read_line(&mut line)
            .context("cannot read the key from standard input")?;
        line
    };
    let key = line.trim();
    if key.is_empty() {
        bail!("no key was given: type it, send it to standard input, or set ORBWEAVER_KEY");
    }
    Ok(key.to_owned())
}

/// Forget the service of `orbweaver login`, and its key.
#[derive(Args)]
pub(in crate::cli) struct Logout {}

impl Logout {
    #[expect(clippy::unused_self, reason = "as every command")]
    pub(in crate::cli) fn run(self) -> anyhow::Result<ExitCode> {
        match Saved::forget()? {
            Some(server) => eprintln!("Logged out of {server}. The key still works there."),
            None => eprintln!("There was no login."),
        }
        Ok(ExitCode::SUCCESS)
    }
}
