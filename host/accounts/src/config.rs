//! `[signup]`, `[billing]` and `[mail]`.

use std::collections::BTreeMap;

use orbweaver_core::setting::{HttpUrl, InvalidSetting, Millis, Seconds};
use orbweaver_core::settings;

use crate::mail::transport::transport;
use crate::secret::{SafeUrl, Secret};

/// Prefix of placeholders: a provider key that begins so counts as unset.
const PLACEHOLDER: &str = "sk_placeholder";

settings! {
    /// `[signup]`.
    pub struct SignupConfig {
        /// Whether anyone may sign up (POST /v1/signup). Unset: only while `listen` and
        /// `metrics.listen` are on loopback.
        #[serde(alias = "enabled")]
        pub open: Option<bool>,
        /// Secret of the bot challenge (Turnstile or compatible). If set, `turnstile_token` is
        /// required and verified.
        pub challenge_secret: Option<Secret>,
        /// Verification endpoint of the challenge (siteverify protocol).
        pub challenge_url: HttpUrl =
            HttpUrl::constant("https://challenges.cloudflare.com/turnstile/v0/siteverify"),
        /// Most signup attempts of one address in 24 hours; for IPv6 counted per /64 network.
        pub attempts_per_ip: u32 = 3,
        /// Most successful signups of all addresses together per UTC day.
        pub per_day: u32 = 100,
    }
}

settings! {
    /// `[billing]`.
    pub struct BillingConfig {
        /// Secret key of the payment provider (Stripe). If unset or a placeholder
        /// (`sk_placeholder…`), checkout is a mock.
        pub provider_key: Option<Secret>,
        /// Base URL of the provider's API.
        pub provider_url: HttpUrl = HttpUrl::constant("https://api.stripe.com"),
        /// Secret that the provider signs its webhooks with (POST /v1/billing/webhook).
        pub webhook_secret: Option<Secret>,
        /// Largest age of a signed webhook, in seconds.
        pub webhook_tolerance_seconds: Seconds = Seconds(300),
        /// The provider's price id of each tier: `{ pro = "price_…" }`.
        pub prices: BTreeMap<String, String>,
        /// Page that the provider shows after payment. Unset: /docs of this service.
        pub success_url: Option<HttpUrl>,
        /// Page that the provider shows after a cancelled payment. Unset: /docs of this service.
        pub cancel_url: Option<HttpUrl>,
        /// Whether, without a provider key, a visit to the mock checkout URL completes a paid
        /// signup without payment. Unset: only while `listen` and `metrics.listen` are on
        /// loopback.
        pub mock: Option<bool>,
    }
}

settings! {
    /// `[mail]`.
    pub struct MailConfig {
        /// Mail server: `smtp://USER:PASSWORD@HOST:PORT?tls=required` (STARTTLS), smtps://… (TLS
        /// from the start) or smtp://… (unencrypted). If unset, no mail is sent.
        pub smtp_url: Option<SafeUrl>,
        /// Sender address of mails.
        pub from: String = "Orbweaver <orbweaver@localhost>".to_owned(),
        /// Longest wait for one response of the mail server, in milliseconds.
        pub timeout_ms: Millis = Millis(30_000),
    }
}

impl BillingConfig {
    /// The provider's key, unless it is unset or a placeholder.
    pub fn provider(&self) -> Option<&Secret> {
        self.provider_key
            .as_ref()
            .filter(|key| !key.expose().is_empty() && !key.expose().starts_with(PLACEHOLDER))
    }

    /// Whether the provider has a price for a paid tier, or there is no provider that needs one.
    pub fn has_price(&self, tier: &str) -> bool {
        self.provider().is_none() || self.prices.contains_key(tier)
    }
}

impl SignupConfig {
    /// Fills in the default of `open`: true only while all listeners are on loopback.
    pub fn resolved(&self, only_loopback: bool) -> Self {
        Self {
            open: Some(self.open.unwrap_or(only_loopback)),
            ..self.clone()
        }
    }

    /// Whether anyone may sign up; false until the default is filled in.
    pub fn is_open(&self) -> bool {
        self.open.unwrap_or(false)
    }
}

impl BillingConfig {
    /// Fills in the default of `mock`: true only while all listeners are on loopback.
    pub fn resolved(&self, only_loopback: bool) -> Self {
        Self {
            mock: Some(self.mock.unwrap_or(only_loopback)),
            ..self.clone()
        }
    }

    /// Whether a visit to the mock checkout counts as payment: the mock is on and no provider
    /// is configured.
    pub fn is_mock(&self) -> bool {
        self.mock.unwrap_or(false) && self.provider().is_none()
    }

    /// Checks the rules that the types do not express.
    ///
    /// # Errors
    /// The first setting that breaks a rule.
    pub fn validate(&self, mail: &MailConfig) -> Result<(), InvalidSetting> {
        InvalidSetting::unless(
            self.provider().is_none() || mail.smtp_url.is_some(),
            "billing.provider_key",
            "needs mail.smtp_url: the key of a paid signup is sent by mail",
        )
    }
}

impl MailConfig {
    /// Checks the rules that the types do not express.
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
            smtp.is_none_or(|url| transport(url, self.timeout_ms.as_duration()).is_ok()),
            "mail.smtp_url",
            "must be smtp:// or smtps://, with a host; ?tls=required is optional",
        )
    }
}
