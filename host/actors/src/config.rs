//! `[jobs]`.

use orbweaver_core::setting::{InvalidSetting, Millis};
use orbweaver_core::settings;

settings! {
    /// `[jobs]`: runs of actors in the background (POST /v1/actors/{name}/runs).
    pub struct JobsConfig {
        /// Runs of actors of this process at the same time; further ones wait, or go to other
        /// nodes. Projects take turns, and one project gets at most three quarters of them.
        pub concurrent: usize = 8,
        /// Most queued and running runs of one project; further ones are answered 429.
        pub queue_per_project: u32 = 1_000,
        /// Most MiB of the inputs of these runs; further ones are answered 429.
        pub queue_mib_per_project: u64 = 64,
        /// Time limit of a run, in seconds; an attempt that takes over from a dead process has it
        /// anew. A tier's max_run_seconds may be lower.
        pub max_seconds: u64 = 3_600,
        /// CPU time of a run, in seconds, where the plugin's own limit is not higher; what the host does
        /// for the run (plugins.host_cpu_ms) may take as much again.
        pub max_cpu_seconds: u64 = 600,
        /// How often a run is started whose process dies; then it fails.
        pub max_attempts: u32 = 3,
        /// Time without a heartbeat after which another worker takes a run over, in milliseconds
        /// (1000 to 86400000).
        pub lease_ms: Millis = Millis(10_000),
        /// Time that an actor has to end by itself when its run is cancelled, in milliseconds.
        pub cancel_grace_ms: Millis = Millis(5_000),
        /// Most items of a run.
        pub max_items: u64 = 100_000,
        /// Longest item, in KiB.
        pub max_item_kib: usize = 256,
        /// Size of all items of a run together, in MiB.
        pub max_items_mib: u64 = 256,
    }
}

impl JobsConfig {
    /// Checks the rules that the types do not enforce.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn validate(&self) -> Result<(), InvalidSetting> {
        InvalidSetting::unless(
            (1_000..=86_400_000).contains(&self.lease_ms.0),
            "jobs.lease_ms",
            "must be between 1000 and 86400000",
        )?;
        for (setting, value) in [
            ("jobs.concurrent", self.concurrent as u64),
            ("jobs.queue_per_project", self.queue_per_project.into()),
            ("jobs.queue_mib_per_project", self.queue_mib_per_project),
            ("jobs.max_seconds", self.max_seconds),
            ("jobs.max_attempts", self.max_attempts.into()),
        ] {
            InvalidSetting::unless(value > 0, setting, "must be at least 1")?;
        }
        InvalidSetting::unless(
            (1..=16 << 10).contains(&self.max_item_kib),
            "jobs.max_item_kib",
            "must be between 1 and 16384",
        )
    }
}
