//! Detects insecure settings that an operator may have made by mistake.

use std::os::unix::fs::PermissionsExt as _;

use orbweaver_fetch::Sandbox;

use crate::config::Config;

/// An insecure setting: something that strangers may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsecureSetting {
    /// Short name, for lists.
    pub name: &'static str,
    /// Message: what is insecure, and how to change it.
    pub message: String,
}

/// Facts about this machine that the checks need.
struct Machine {
    /// Whether this process runs as root.
    is_root: bool,
    /// Whether a browser is installed.
    has_browser: bool,
    /// Permission bits of the data folder, if it exists.
    data_mode: Option<u32>,
}

/// The insecure settings of this configuration on this machine: `serve` warns of them at start,
/// `doctor` lists them.
pub fn insecure_settings(config: &Config) -> Vec<InsecureSetting> {
    let meta = std::fs::metadata(&config.data_dir).ok();
    let machine = Machine {
        is_root: rustix::process::geteuid().is_root(),
        has_browser: orbweaver_fetch::find_browser(config.browser.as_deref()).is_some(),
        data_mode: meta.map(|meta| meta.permissions().mode() & 0o777),
    };
    check(config, &machine)
}

fn check(config: &Config, machine: &Machine) -> Vec<InsecureSetting> {
    let is_public = !config.only_loopback();
    let listens_publicly = !config.listen.ip().to_canonical().is_loopback();
    let rate = &config.http.rate;
    let limits = [rate.key, rate.address, rate.keyless];
    let dir = config.data_dir.display();
    let mut found = Vec::new();
    let mut report_if = |is_insecure: bool, name: &'static str, message: String| {
        if is_insecure {
            found.push(InsecureSetting { name, message });
        }
    };
    report_if(
        machine.has_browser
            && match config.rendering.sandbox {
                Sandbox::Auto => machine.is_root,
                Sandbox::Off => true,
                Sandbox::On => false,
            },
        "sandbox",
        "the browser runs without its sandbox, because this process runs as root or \
         rendering.sandbox is off: a page that breaks out of the browser has this user's rights; run as \
         a user other than root, with rendering.sandbox = \"auto\""
            .to_owned(),
    );
    report_if(
        listens_publicly && config.tls_cert.is_none() && config.trusted_proxies.is_empty(),
        "tls",
        format!(
            "keys and answers cross the network unencrypted, because {} is not loopback: set \
             tls_cert and tls_key, or listen on loopback behind a proxy, or name the proxy in \
             trusted_proxies",
            config.listen
        ),
    );
    report_if(
        is_public && config.billing.resolved(false).is_mock(),
        "mock billing",
        "anyone may get a paid tier without paying, because billing.mock is on: set it to false, \
         or set billing.provider_key"
            .to_owned(),
    );
    report_if(
        is_public
            && config.signup.resolved(false).is_open()
            && config.signup.challenge_secret.is_none(),
        "signup",
        "bots may sign up, because signup.open is on without a challenge: set \
         signup.challenge_secret, or signup.open = false"
            .to_owned(),
    );
    report_if(
        is_public && limits.iter().any(|limit| limit.per_second == 0),
        "rate limits",
        "a limit of http.rate is off: one client may send any number of requests".to_owned(),
    );
    report_if(
        listens_publicly && config.metrics.public
            || config
                .metrics
                .listen
                .is_some_and(|at| !at.ip().to_canonical().is_loopback()),
        "metrics",
        "anyone who reaches this machine may read the metrics: set metrics.public = false, and \
         metrics.listen to a loopback address"
            .to_owned(),
    );
    report_if(
        machine.data_mode.is_some_and(|mode| mode & 0o077 != 0),
        "data folder",
        format!(
            "other users of this machine may list {dir} (mode {:03o}): chmod 700 {dir}",
            machine.data_mode.unwrap_or_default()
        ),
    );
    found
}

#[cfg(test)]
mod tests {
    use orbweaver_accounts::secret::Secret;
    use orbweaver_api::config::RateLimit;

    use super::*;

    const SECURE: Machine = Machine {
        is_root: false,
        has_browser: true,
        data_mode: Some(0o700),
    };

    fn names(config: &Config, machine: &Machine) -> Vec<&'static str> {
        check(config, machine)
            .into_iter()
            .map(|setting| setting.name)
            .collect()
    }

    #[test]
    fn the_defaults_are_secure() {
        assert_eq!(names(&Config::default(), &SECURE), [""; 0]);
    }

    #[test]
    fn every_insecure_setting_is_reported() {
        let mut config = Config {
            listen: ([0, 0, 0, 0], 8080).into(),
            ..Config::default()
        };
        assert_eq!(names(&config, &SECURE), ["tls"]);
        config.billing.mock = Some(true);
        config.signup.open = Some(true);
        config.metrics.public = true;
        config.http.rate.key = RateLimit {
            per_second: 0,
            burst: 1,
        };
        let insecure = Machine {
            is_root: true,
            has_browser: true,
            data_mode: Some(0o755),
        };
        let all = [
            "sandbox",
            "tls",
            "mock billing",
            "signup",
            "rate limits",
            "metrics",
            "data folder",
        ];
        assert_eq!(names(&config, &insecure), all);
        config.signup.challenge_secret = Some(Secret::new("s"));
        config.trusted_proxies = vec!["10.0.0.1/32".parse().unwrap()];
        assert_eq!(
            names(&config, &SECURE),
            ["mock billing", "rate limits", "metrics"]
        );
    }
}
