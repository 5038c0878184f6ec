//! Versions of the WIT package `orbweaver:plugin`: which ones this host runs.
//!
//! A minor version only adds functions, types and interfaces to the one before it, so that a host runs
//! every plugin of its own major version that is not newer than itself. wasmtime's linker finds the
//! host's `pages@1.1.0` for a component that imports `pages@1.0.0`.

use crate::manifest::API_VERSION;

/// Whether this host runs plugins that were built against a version.
pub(crate) fn is_supported(version: &str) -> bool {
    runs(API_VERSION, version)
}

/// What this host runs, for messages.
pub(crate) fn supported() -> String {
    let major = API_VERSION.split('.').next().unwrap_or_default();
    format!("versions {major}.0.0 to {API_VERSION}")
}

/// Whether a host of one version runs plugins of another one.
fn runs(host: &str, plugin: &str) -> bool {
    match (numbers(host), numbers(plugin)) {
        (Some((major, minor)), Some((wanted, least))) => major == wanted && least <= minor,
        _ => false,
    }
}

/// Major and minor number of `MAJOR.MINOR.PATCH`; of a pre-release none.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let number = |text: &str| -> Option<u32> {
        let is_plain = text.bytes().all(|b| b.is_ascii_digit());
        let has_zero = text.len() > 1 && text.starts_with('0');
        text.parse().ok().filter(|_| is_plain && !has_zero)
    };
    let mut parts = version.splitn(3, '.').map(number);
    let (major, minor, patch) = (parts.next()??, parts.next()??, parts.next()??);
    let _ = patch;
    Some((major, minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_runs_plugins_of_its_major_version_that_are_not_newer() {
        for (host, plugin, expected) in [
            ("1.0.0", "1.0.0", true),
            ("1.0.0", "1.0.7", true),
            ("1.2.0", "1.0.0", true),
            ("1.2.0", "1.2.1", true),
            ("1.2.0", "1.3.0", false),
            ("1.0.0", "1.1.0", false),
            ("1.0.0", "0.1.0", false),
            ("1.0.0", "2.0.0", false),
            ("2.0.0", "1.0.0", false),
            ("1.10.0", "1.9.0", true),
        ] {
            assert_eq!(runs(host, plugin), expected, "{plugin} on {host}");
        }
    }

    #[test]
    fn what_is_no_version_is_not_run() {
        for bad in [
            "",
            "1",
            "1.0",
            "1.0.x",
            "1.0.0-rc1",
            "+1.0.0",
            "01.0.0",
            "1.0.0.0",
            " 1.0.0",
            "1..0",
        ] {
            assert!(!runs("1.9.0", bad), "{bad:?}");
        }
    }
}
