//! Report of a call: its answer, its host calls and the resources that it used.

use std::time::Duration;

use serde_json::Value;

/// One request of a plugin to its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostCall {
    /// What was asked for, such as `GET https://example.org/`.
    pub asked: String,
    /// What it got, such as `200, 1,256 bytes`, or why it failed.
    pub got: String,
    /// Whether it failed.
    pub is_failure: bool,
}

/// A finished call.
#[derive(Clone, Debug)]
pub struct Report {
    /// The answer, or why there is none.
    pub answer: Result<Value, String>,
    /// Items that an actor emitted, in their order.
    pub items: Vec<Value>,
    /// What the plugin asked of its host, in the order in which the answers arrived.
    pub host_calls: Vec<HostCall>,
    /// CPU time.
    pub cpu: Duration,
    /// Time from the call to its answer; for an extractor or a hook without the time of the page's fetch.
    pub wall: Duration,
    /// Largest memory: the plugin's own, and what the host held for it, in bytes.
    pub memory: u64,
}

impl Report {
    /// Two lines of figures, each in comparison with another call's if there is one.
    pub fn figures(&self, before: Option<&Self>) -> String {
        let ms = |time: Duration| time.as_secs_f64() * 1_000.0;
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let one = |name: &str, unit: &str, now: f64, then: Option<f64>| match then {
            Some(then) => format!("{name} {now:.2} {unit} (before {then:.2})"),
            None => format!("{name} {now:.2} {unit}"),
        };
        [
            one("CPU", "ms", ms(self.cpu), before.map(|then| ms(then.cpu))),
            one(
                "time",
                "ms",
                ms(self.wall),
                before.map(|then| ms(then.wall)),
            ),
            one(
                "memory",
                "MiB",
                mib(self.memory),
                before.map(|then| mib(then.memory)),
            ),
        ]
        .join(", ")
    }
}
