//! `[signup]`, `[billing]` and `[mail]`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use url::Url;

use super::{Config, Invalid, SafeUrl, Secret};

/// What provider keys begin with that are none.
const PLACEHOLDER: &str = "sk_placeholder";

/// `[signup]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "described in the reference")]
pub struct SignupConfig {
    pub enabled: bool,
    pub challenge_secret: Option<Secret>,
    pub challenge_url: String,
    pub attempts_per_ip: u32,
    pub per_day: u32,
}

impl Default for SignupConfig {
    fn default() -> Self {
        Self {
            enabled: true,
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
    pub mock: bool,
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
            mock: true,
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

impl Config {
    pub(super) fn validate_accounts(&self) -> Result<(), Invalid> {
        let invalid = |setting, rule: &str| {
            Err(Invalid {
                setting,
                rule: rule.to_owned(),
            })
        };
        for (setting, url) in [
            ("public_url", self.public_url.as_deref()),
            (
                "signup.challenge_url",
                Some(self.signup.challenge_url.as_str()),
            ),
            (
                "billing.provider_url",
                Some(self.billing.provider_url.as_str()),
            ),
            ("billing.success_url", self.billing.success_url.as_deref()),
            ("billing.cancel_url", self.billing.cancel_url.as_deref()),
        ] {
            let is_http = |url: &str| {
                Url::parse(url)
                    .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            };
            if url.is_some_and(|url| !is_http(url)) {
                return invalid(setting, "must be an http or https URL");
            }
        }
        if self
            .secret_key
            .as_ref()
            .is_some_and(|key| key.expose().len() < 32)
        {
            return invalid("secret_key", "must be at least 32 characters");
        }
        if self.mail.from.parse::<lettre::message::Mailbox>().is_err() {
            return invalid("mail.from", "must be an address: Name <name@example.com>");
        }
        if let Some(url) = &self.mail.smtp_url
            && crate::accounts::mail::transport(url, self.mail.timeout_ms).is_err()
        {
            return invalid(
                "mail.smtp_url",
                "must be smtp:// or smtps://, with a host, and perhaps ?tls=required",
            );
        }
        if self.billing.provider().is_some() && self.mail.smtp_url.is_none() {
            return invalid(
                "billing.provider_key",
                "needs mail.smtp_url: who has paid gets the key by mail",
            );
        }
        if self.signup.enabled && !self.tiers.contains_key("free") {
            return invalid("tiers", "signup needs tier free");
        }
        Ok(())
    }
}
