//! `[signup]`, `[billing]` and `[mail]`.

use std::collections::BTreeMap;

use orbweaver_core::setting::InvalidSetting;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::mail::transport::transport;
use crate::secret::{SafeUrl, Secret};

/// What provider keys begin with that are none.
const PLACEHOLDER: &str = "sk_placeholder";

/// `[signup]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "described in the reference")]
pub struct SignupConfig {
    /// Unset until [`SignupConfig::resolved`]: open while every listener is on loopback.
    pub open: Option<bool>,
    /// The setting's old name; `open` wins.
    #[serde(skip_serializing)]
    pub enabled: Option<bool>,
    pub challenge_secret: Option<Secret>,
    pub challenge_url: String,
    pub attempts_per_ip: u32,
    pub per_day: u32,
}

impl Default for SignupConfig {
    fn default() -> Self {
        Self {
            open: None,
            enabled: None,
            challenge_secret: None,
            challenge_url: "https://challenges.cloudflare.com/turnstile/v0/siteverify".to_owned(),
            attempts_per_ip: 3,
            per_day: 100,
        }
    }
}

/// `[billing]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "described in the reference")]
pub struct BillingConfig {
    pub provider_key: Option<Secret>,
    pub provider_url: String,
    pub webhook_secret: Option<Secret>,
    pub webhook_tolerance_seconds: u32,
    pub prices: BTreeMap<String, String>,
    pub success_url: Option<String>,
    pub cancel_url: Option<String>,
    /// Unset until [`BillingConfig::resolved`]: on while every listener is on loopback.
    pub mock: Option<bool>,
}

impl Default for BillingConfig {
    fn default() -> Self {
        Self {
            provider_key: None,
            provider_url: "https://api.stripe.com".to_owned(),
            webhook_secret: None,
            webhook_tolerance_seconds: 300,
            prices: BTreeMap::new(),
            success_url: None,
            cancel_url: None,
            mock: None,
        }
    }
}

impl BillingConfig {
    /// The provider's key, where there is a real one.
    pub fn provider(&self) -> Option<&Secret> {
        self.provider_key
            .as_ref()
            .filter(|key| !key.expose().is_empty() && !key.expose().starts_with(PLACEHOLDER))
    }
}

/// `[mail]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "described in the reference")]
pub struct MailConfig {
    pub smtp_url: Option<SafeUrl>,
    pub from: String,
    pub timeout_ms: u64,
}

impl Default for MailConfig {
    fn default() -> Self {
        Self {
            smtp_url: None,
            from: "Orbweaver <orbweaver@localhost>".to_owned(),
            timeout_ms: 30_000,
        }
    }
}

impl SignupConfig {
    /// With the default filled in: open only where nobody but this machine reaches the
    /// service.
    pub fn resolved(&self, only_loopback: bool) -> Self {
        Self {
            open: Some(self.open.or(self.enabled).unwrap_or(only_loopback)),
            ..self.clone()
        }
    }

    /// Whether strangers may sign up; not while the default is open.
    pub fn is_open(&self) -> bool {
        self.open.or(self.enabled).unwrap_or(false)
    }

    /// Checks what types alone do not.
    ///
    /// # Errors
    /// The first setting that breaks a rule.
    pub fn validate(&self) -> Result<(), InvalidSetting> {
        http_url("signup.challenge_url", Some(&self.challenge_url))
    }
}

impl BillingConfig {
    /// With the default filled in: a mock only where nobody but this machine reaches the
    /// service.
    pub fn resolved(&self, only_loopback: bool) -> Self {
        Self {
            mock: Some(self.mock.unwrap_or(only_loopback)),
            ..self.clone()
        }
    }

    /// Whether visiting the mock checkout stands for paying: the mock is on, and there is no
    /// provider.
    pub fn is_mock(&self) -> bool {
        self.mock.unwrap_or(false) && self.provider().is_none()
    }

    /// Checks what types alone do not.
    ///
    /// # Errors
    /// The first setting that breaks a rule.
    pub fn validate(&self, mail: &MailConfig) -> Result<(), InvalidSetting> {
        http_url("billing.provider_url", Some(&self.provider_url))?;
        http_url("billing.success_url", self.success_url.as_deref())?;
        http_url("billing.cancel_url", self.cancel_url.as_deref())?;
        InvalidSetting::unless(
            self.provider().is_none() || mail.smtp_url.is_some(),
            "billing.provider_key",
            "needs mail.smtp_url: who has paid gets the key by mail",
        )
    }
}

impl MailConfig {
    /// Checks what types alone do not.
    ///
    /// # Errors
    /// The first setting that breaks a rule.
    pub fn validate(&self) -> Result<(), InvalidSetting> {
        InvalidSetting::unless(
            self.from.parse::<lettre::message::Mailbox>().is_ok(),
            "mail.from",
            "must be an address: Name <name@example.com>",
        )?;
        let smtp = self.smtp_url.as_ref();
        InvalidSetting::unless(
            smtp.is_none_or(|url| transport(url, self.timeout_ms).is_ok()),
            "mail.smtp_url",
            "must be smtp:// or smtps://, with a host, and perhaps ?tls=required",
        )
    }
}

/// Checks that a setting, where it is given, is an http or https URL.
///
/// # Errors
/// The setting, where it is not.
pub fn http_url(setting: &'static str, url: Option<&str>) -> Result<(), InvalidSetting> {
    let is_http = |url: &str| {
        Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
    };
    InvalidSetting::unless(
        url.is_none_or(is_http),
        setting,
        "must be an http or https URL",
    )
}
