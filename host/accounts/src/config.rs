//! `[signup]`, `[billing]` and `[mail]`.

use std::collections::BTreeMap;

use orbweaver_core::setting::{HttpUrl, InvalidSetting, Millis, Seconds};
use orbweaver_core::settings;

use crate::mail::transport::transport;
use crate::secret::{SafeUrl, Secret};

/// What provider keys begin with that are none.
const PLACEHOLDER: &str = "sk_placeholder";

settings! {
    /// `[signup]`.
    pub struct SignupConfig {
        /// Whether strangers may sign up (POST /v1/signup). Unset: only while `listen` and
        /// `metrics.listen` are on loopback.
        #[serde(alias = "enabled")]
        pub open: Option<bool>,
        /// Secret of the bot challenge (Turnstile and alike). Set, `turnstile_token` is required
        /// and verified.
        pub challenge_secret: Option<Secret>,
        /// Where the challenge's tokens are verified: an endpoint that speaks siteverify.
        pub challenge_url: HttpUrl =
            HttpUrl::constant("https://challenges.cloudflare.com/turnstile/v0/siteverify"),
        /// Attempts of one address in 24 hours; of an IPv6 address, of its /64 network.
        pub attempts_per_ip: u32 = 3,
        /// Successful signups of all, per UTC day.
        pub per_day: u32 = 100,
    }
}

settings! {
    /// `[billing]`.
    pub struct BillingConfig {
        /// Secret key of the payment provider (Stripe). Unset or a placeholder
        /// (`sk_placeholder…`), checkout is a mock.
        pub provider_key: Option<Secret>,
        /// Address of the provider's API.
        pub provider_url: HttpUrl = HttpUrl::constant("https://api.stripe.com"),
        /// Secret that the provider signs its webhooks with (POST /v1/billing/webhook).
        pub webhook_secret: Option<Secret>,
        /// How old a signed webhook may be, in seconds.
        pub webhook_tolerance_seconds: Seconds = Seconds(300),
        /// The provider's price by tier: `{ pro = "price_…" }`.
        pub prices: BTreeMap<String, String>,
        /// Where the provider sends who has paid; unset, /docs here.
        pub success_url: Option<HttpUrl>,
        /// Where the provider sends who has not; unset, /docs here.
        pub cancel_url: Option<HttpUrl>,
        /// Whether, without a provider key, visiting the mock checkout URL completes a paid
        /// signup without paying. Unset: only while `listen` and `metrics.listen` are on
        /// loopback.
        pub mock: Option<bool>,
    }
}

settings! {
    /// `[mail]`.
    pub struct MailConfig {
        /// Mail server: `smtp://USER:PASSWORD@HOST:PORT?tls=required` (STARTTLS), smtps://… (TLS
        /// at once) or smtp://… (plain). Unset, no mail is sent.
        pub smtp_url: Option<SafeUrl>,
        /// Sender of mails.
        pub from: String = "Orbweaver <orbweaver@localhost>".to_owned(),
        /// Longest time for the mail server to answer a step, in milliseconds.
        pub timeout_ms: Millis = Millis(30_000),
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

impl SignupConfig {
    /// With the default filled in: open only where nobody but this machine reaches the
    /// service.
    pub fn resolved(&self, only_loopback: bool) -> Self {
        Self {
            open: Some(self.open.unwrap_or(only_loopback)),
            ..self.clone()
        }
    }

    /// Whether strangers may sign up; not while the default is open.
    pub fn is_open(&self) -> bool {
        self.open.unwrap_or(false)
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
            smtp.is_none_or(|url| transport(url, self.timeout_ms.as_duration()).is_ok()),
            "mail.smtp_url",
            "must be smtp:// or smtps://, with a host, and perhaps ?tls=required",
        )
    }
}
