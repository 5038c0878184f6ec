//! The states of runs and webhooks, as the OpenAPI document lists them.

use utoipa::ToSchema;

/// The state of a deleted run, which only its events tell.
pub(super) const CANCELLED: &str = "cancelled";

/// The state of a run.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "a schema, never constructed")]
pub(crate) enum CrawlStatus {
    /// Waits for a worker.
    Queued,
    /// In progress.
    Running,
    /// Ended with its seed fetched.
    Done,
    /// Ended without its seed.
    Failed,
    /// Deleted: only the last of its events says so.
    Cancelled,
}

/// The state of a run's webhook.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "a schema, never constructed")]
pub(crate) enum WebhookStatus {
    /// An attempt is in progress or scheduled.
    Pending,
    /// The receiver has accepted it.
    Delivered,
    /// It was given up.
    Dead,
    /// Not sent: no change was found. `webhook_last_error` says if that is because the run failed,
    /// so that nothing was compared.
    SuppressedNoChange,
    /// Not sent: there is no run to compare with.
    SuppressedNoBaseline,
}

/// The state of a delivery.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "a schema, never constructed")]
pub(crate) enum DeliveryStatus {
    /// An attempt is in progress or scheduled.
    Pending,
    /// The receiver has accepted it.
    Delivered,
    /// It was given up.
    Dead,
}
