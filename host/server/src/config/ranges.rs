//! Ranges of settings. Those that are at least 1: with 0, what they bound would fail always, or never begin.
//! And those with a largest value, above which the service could not start.

use orbweaver_core::setting::InvalidSetting;

use super::settings::Config;

/// Milliseconds of a day.
const DAY_MS: u64 = 86_400_000;

/// Checks the settings of sections that have no rules of their own.
///
/// # Errors
/// The first that is out of its range.
pub(super) fn check(config: &Config) -> Result<(), InvalidSetting> {
    let (fetch, http, rendering) = (&config.fetch.limits, &config.http, &config.rendering);
    let llm = &config.cloud.llm;
    for (setting, value) in [
        (
            "database.acquire_timeout_ms",
            config.database.acquire_timeout_ms.0,
        ),
        ("http.max_body_bytes", http.max_body_bytes as u64),
        ("http.header_timeout_ms", http.header_timeout_ms.0),
        ("http.write_timeout_ms", http.write_timeout_ms.0),
        ("http.body_timeout_ms", http.body_timeout_ms.0),
        ("http.request_timeout_ms", http.request_timeout_ms.0),
        ("fetch.limits.connect_ms", fetch.connect_ms.0),
        ("fetch.limits.first_byte_ms", fetch.first_byte_ms.0),
        ("fetch.limits.total_ms", fetch.total_ms.0),
        ("fetch.limits.max_body_bytes", fetch.max_body_bytes),
        ("fetch.limits.max_headers", fetch.max_headers.into()),
        (
            "fetch.limits.max_header_bytes",
            fetch.max_header_bytes.into(),
        ),
        (
            "plugins.max_component_bytes",
            config.plugins.max_component_bytes,
        ),
        (
            "plugins.compile_timeout_ms",
            config.plugins.compile_timeout_ms.0,
        ),
        (
            "plugins.compile_memory_mib",
            config.plugins.compile_memory_mib,
        ),
        ("rendering.launch_ms", rendering.launch_ms.0),
        ("rendering.max_memory_mib", rendering.max_memory_mib),
        ("rendering.max_page_bytes", rendering.max_page_bytes),
        ("cloud.vendor_timeout_ms", config.cloud.vendor_timeout_ms.0),
        ("cloud.llm.timeout_ms", llm.timeout_ms.0),
        ("cloud.llm.max_text_bytes", llm.max_text_bytes as u64),
        ("mail.timeout_ms", config.mail.timeout_ms.0),
    ] {
        InvalidSetting::unless(value > 0, setting, "must be at least 1")?;
    }
    for (setting, value, most) in [
        ("fetch.limits.idle_ms", fetch.idle_ms.0, DAY_MS),
        (
            "plugins.extractor_threads",
            config.plugins.extractor_threads as u64,
            1_024,
        ),
        (
            "plugins.max_actors",
            config.plugins.max_actors as u64,
            65_536,
        ),
        // Each has four GiB of addresses, and a process 128 TiB.
        (
            "plugins.max_instances",
            config.plugins.max_instances.into(),
            16_384,
        ),
        (
            "database.writer_queue",
            config.database.writer_queue as u64,
            1 << 24,
        ),
        ("rendering.concurrent", rendering.concurrent as u64, 1_024),
    ] {
        let rule = format!("must be at most {most}");
        InvalidSetting::unless(value <= most, setting, rule)?;
    }
    InvalidSetting::unless(
        llm.max_tokens != Some(0),
        "cloud.llm.max_tokens",
        "must be at least 1",
    )
}
