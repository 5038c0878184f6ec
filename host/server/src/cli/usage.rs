//! `orbweaver usage`; can be used while the service runs. At the service of a login: its project's.

use std::process::ExitCode;

use chrono::Days;
use clap::Args;
use orbweaver_store::{Project, Store};

use serde_json::Value;

use super::Common;
use super::out::{OutError, out};
use super::remote::{Place, Service};
use orbweaver_accounts::clock::Clock;
use orbweaver_accounts::tiers::Cap;
use orbweaver_accounts::usage::{Usage, dollars};

use crate::config::Config;

/// Show usage of today and this month against the caps; for a single project also day by
/// day.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    orbweaver usage\n  \
    orbweaver usage shop --days 7")]
pub(super) struct UsageCommand {
    /// The project; default: all.
    project: Option<String>,
    /// Number of days to list for a single project, including today.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=365))]
    days: u32,
    #[command(flatten)]
    place: Place,
}

impl UsageCommand {
    pub(super) async fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        if let Some(service) = self.place.service(common)? {
            return self.at(&service).await.map(|()| ExitCode::SUCCESS);
        }
        let loaded = common.load()?;
        loaded.config.create_data_dir()?;
        let store = Store::open(&loaded.config.store_options()).await?;
        let done = self.show(&loaded.config, &store).await;
        store.close().await;
        done.map(|()| ExitCode::SUCCESS)
    }

    /// Usage of the key's project, day by day.
    async fn at(&self, service: &Service) -> anyhow::Result<()> {
        if self.project.is_some() {
            anyhow::bail!("a service shows only the usage of the key's own project");
        }
        let usage = service.get("/v1/usage").await?;
        let text = |path: &str| match usage.pointer(path) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => "-".to_owned(),
            Some(value) => value.to_string(),
        };
        out!("{} (tier {})", service.address(), text("/tier"))?;
        out!("{:<14} {:>12} {:>12}", "", "USED", "CAP")?;
        for (name, used, cap) in [
            // The caps are of all pages, cloud pages among them.
            ("pages today", "/daily_pages/used", "/caps/pages_per_day"),
            (
                "pages a month",
                "/monthly_pages/used",
                "/caps/pages_per_month",
            ),
            (
                "cloud today",
                "/today/cloud_pages",
                "/caps/cloud_pages_per_day",
            ),
        ] {
            out!("{name:<14} {:>12} {:>12}", text(used), text(cap))?;
        }
        let path = format!("/v1/usage/history?days={}", self.days);
        let history = service.get(&path).await?;
        heading()?;
        let days = history.get("days").and_then(Value::as_array);
        for day in days.into_iter().flatten() {
            let number = |name: &str| day.get(name).and_then(Value::as_u64).unwrap_or_default();
            out!(
                "{:<12} {:>10} {:>12} {:>12.4}",
                day.get("date").and_then(Value::as_str).unwrap_or_default(),
                number("pages"),
                number("cloud_pages"),
                day.get("cloud_cost_usd")
                    .and_then(Value::as_f64)
                    .unwrap_or_default()
            )?;
        }
        Ok(())
    }

    async fn show(&self, config: &Config, store: &Store) -> anyhow::Result<()> {
        let projects = match &self.project {
            Some(name) => vec![super::project_named(store, name).await?],
            None => store.projects().await?,
        };
        summary(config, store, &projects).await?;
        if self.project.is_some() {
            for project in &projects {
                self.days(store, project).await?;
            }
        }
        Ok(())
    }

    async fn days(&self, store: &Store, project: &Project) -> anyhow::Result<()> {
        let today = Clock::system().now().date_naive();
        let back = Days::new(u64::from(self.days.saturating_sub(1)));
        let first = today.checked_sub_days(back).unwrap_or(today);
        heading()?;
        for day in store.usage_days(project.id, first).await? {
            out!(
                "{:<12} {:>10} {:>12} {:>12.4}",
                day.date,
                day.pages,
                day.cloud_pages,
                dollars(day.cost_micros)
            )?;
        }
        Ok(())
    }
}

/// The columns of the table of days.
fn heading() -> Result<(), OutError> {
    out!(
        "\n{:<12} {:>10} {:>12} {:>12}",
        "DAY",
        "PAGES",
        "CLOUD PAGES",
        "CLOUD USD"
    )
}

async fn summary(config: &Config, store: &Store, projects: &[Project]) -> anyhow::Result<()> {
    out!(
        "{:<32} {:<12} {:>16} {:>18} {:>16} {:>8}",
        "NAME",
        "TIER",
        "PAGES TODAY",
        "PAGES THIS MONTH",
        "CLOUD TODAY",
        "RUNS"
    )?;
    let usage = Usage::new(store.clone());
    let now = Clock::system().now();
    for project in projects {
        let used = usage.current(project.id, now).await?;
        let tier = config.tiers.get(&project.tier);
        let of = |used: u64, cap: Option<Cap>| match cap.and_then(|cap| cap.0) {
            Some(cap) => format!("{used}/{cap}"),
            None => used.to_string(),
        };
        let today = used.today.amount;
        out!(
            "{:<32} {:<12} {:>16} {:>18} {:>16} {:>8}",
            project.name,
            project.tier,
            of(today.total(), tier.map(|tier| tier.pages_per_day)),
            of(
                used.month.amount.total(),
                tier.map(|tier| tier.pages_per_month)
            ),
            of(today.cloud_pages, tier.map(|tier| tier.cloud_pages_per_day)),
            of(
                u64::from(used.concurrent_runs),
                tier.map(|tier| tier.concurrent_runs)
            ),
        )?;
    }
    Ok(())
}
