//! The target of webhook deliveries by which they are limited: a receiver as a whole.

use url::Url;

/// The event of an actor's run in the background that has ended, done or failed.
pub const ACTOR_RUN_COMPLETE: &str = "actor.run_complete";

/// scheme://host:port of a receiver's URL: a slow receiver is slow for all its URLs.
pub fn target(url: &str) -> String {
    Url::parse(url).map_or_else(
        |_| url.to_owned(),
        |url| {
            format!(
                "{}://{}:{}",
                url.scheme(),
                url.host_str().unwrap_or_default(),
                url.port_or_known_default().unwrap_or_default()
            )
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_scheme_host_and_port() {
        for (url, expected) in [
            ("https://Hooks.example/a?b=c", "https://hooks.example:443"),
            ("http://hooks.example:8080/", "http://hooks.example:8080"),
            ("http://[::1]/x", "http://[::1]:80"),
        ] {
            assert_eq!(target(url), expected);
        }
    }
}
