//! Tells a project's receiver of the quarantine of plugins that refuse its calls.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use orbweaver_core::ids::ProjectId;
use orbweaver_core::webhook::PluginEvent;
use orbweaver_engine::{PluginFacts, QuarantineTurn};
use orbweaver_store::webhook::QuarantineNotice;
use orbweaver_store::{StateOwner, Store};
use serde::Serialize;
use uuid::Uuid;

/// The body of an event: the same for every attempt.
#[derive(Debug, Serialize)]
struct Told<'a> {
    event: &'static str,
    project_id: ProjectId,
    plugin: ToldPlugin<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    crashes: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused_ms: Option<u64>,
    at: DateTime<Utc>,
}

#[derive(Debug, Serialize)]
struct ToldPlugin<'a> {
    kind: &'a str,
    name: &'a str,
    scope: &'static str,
    version: &'a str,
    digest: &'a str,
}

/// Tells of a turn of a plugin's quarantine, if the project has a receiver that wants to know. `pause` is the
/// least time between two beginnings.
pub(super) async fn tell(
    store: &Store,
    owner: &StateOwner,
    plugin: &PluginFacts,
    (at, turn): (DateTime<Utc>, QuarantineTurn),
    pause: Duration,
) {
    let event = match turn {
        QuarantineTurn::Closed { .. } => PluginEvent::Quarantined,
        QuarantineTurn::Opened => PluginEvent::Recovered,
    };
    let (crashes, error, refused_ms) = match turn {
        QuarantineTurn::Closed {
            crashes,
            error,
            refused,
        } => {
            let refused = u64::try_from(refused.as_millis()).unwrap_or(u64::MAX);
            (Some(crashes), Some(error), Some(refused))
        }
        QuarantineTurn::Opened => (None, None, None),
    };
    let told = Told {
        event: event.as_str(),
        project_id: owner.project,
        plugin: ToldPlugin {
            kind: &owner.kind,
            name: &owner.name,
            scope: if owner.own { "project" } else { "instance" },
            version: &plugin.version,
            digest: &plugin.digest,
        },
        crashes,
        error,
        refused_ms,
        at,
    };
    let message_id = format!("msg_{}", Uuid::now_v7().simple());
    let notice = QuarantineNotice {
        plugin: owner,
        digest: &plugin.digest,
        event,
        message_id: &message_id,
        // Numbers and text always serialise.
        payload: &serde_json::to_string(&told).unwrap_or_default(),
        at,
        pause: TimeDelta::from_std(pause).unwrap_or(TimeDelta::MAX),
    };
    if let Err(error) = store.tell_quarantine(&notice).await {
        tracing::warn!(%error, plugin = owner.name, "cannot queue the webhook about a quarantine");
    }
}
