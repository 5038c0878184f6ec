//! Mails: written into the durable outbox with what they are about, sent by a task.

mod courier;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use lettre::message::Mailbox;
use lettre::message::header::ContentType;
use lettre::transport::smtp::AsyncSmtpTransport;
use lettre::{AsyncTransport as _, Message, Tokio1Executor};
use tokio::sync::Notify;

use super::seal::Seal;
use crate::config::MailConfig;
use crate::secret::SafeUrl;

pub use courier::run;

type Smtp = AsyncSmtpTransport<Tokio1Executor>;

/// What sealed texts are sealed for.
const PURPOSE: &str = "mail";

/// The way to the mail server. Cheap to clone.
#[derive(Clone)]
pub struct Mailer(Option<Arc<Inner>>);

struct Inner {
    smtp: Smtp,
    from: Mailbox,
    wake: Notify,
}

impl fmt::Debug for Mailer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailer")
            .field("configured", &self.is_configured())
            .finish()
    }
}

/// A connection pool to the server of `url`; connects when it first sends.
///
/// # Errors
/// When the URL is none of a mail server.
pub fn transport(url: &SafeUrl, timeout_ms: u64) -> anyhow::Result<Smtp> {
    // The URL may carry a password, so the error leaves it out.
    let builder = Smtp::from_url(url.expose())
        .map_err(|_| anyhow::anyhow!("mail.smtp_url is no URL of a mail server"))?;
    Ok(builder
        .timeout(Some(Duration::from_millis(timeout_ms)))
        .build())
}

/// Whether mail can be sent to this address over the internet: the mail library's own rule,
/// and a domain with a dot.
pub fn is_public_address(email: &str) -> bool {
    email
        .parse::<lettre::Address>()
        .is_ok_and(|address| address.domain().contains('.'))
}

impl Mailer {
    /// As the configuration says; without a server, nothing is ever queued.
    ///
    /// # Errors
    /// A setting that cannot be used.
    pub fn new(config: &MailConfig) -> anyhow::Result<Self> {
        let Some(url) = &config.smtp_url else {
            return Ok(Self(None));
        };
        Ok(Self(Some(Arc::new(Inner {
            smtp: transport(url, config.timeout_ms)?,
            from: config.from.parse().context("mail.from")?,
            wake: Notify::new(),
        }))))
    }

    /// Whether mails are sent at all.
    pub const fn is_configured(&self) -> bool {
        self.0.is_some()
    }

    /// Says that something was queued.
    pub fn wake(&self) {
        if let Some(inner) = &self.0 {
            inner.wake.notify_one();
        }
    }
}

impl Inner {
    async fn send(&self, recipient: &str, subject: &str, text: String) -> anyhow::Result<()> {
        let message = Message::builder()
            .from(self.from.clone())
            .to(recipient.parse().context("recipient")?)
            .subject(subject)
            .header(ContentType::TEXT_PLAIN)
            .body(text)?;
        self.smtp.send(message).await?;
        Ok(())
    }
}

/// A mail that brings a key, ready to be queued where mail is configured.
#[derive(Debug)]
pub struct KeyMail {
    subject: String,
    sealed: Vec<u8>,
}

impl KeyMail {
    /// Seals the text around the key.
    ///
    /// # Errors
    /// When the system has no randomness.
    pub fn new(seal: &Seal, project: &str, tier: &str, key: &str) -> anyhow::Result<Self> {
        let text = format!(
            "Hello,\n\n\
             your Orbweaver project is ready.\n\n\
             Project: {project}\n\
             Tier: {tier}\n\
             API key:\n\n\
             {key}\n\n\
             Keep it secret and out of browser code. It is stored as a hash only and can't be\n\
             shown again; POST /v1/keys/rotate replaces it.\n"
        );
        Ok(Self {
            subject: format!("Your Orbweaver project {project}"),
            sealed: seal.seal(&text, PURPOSE)?,
        })
    }

    /// The row for the outbox.
    pub fn to<'a>(&'a self, recipient: &'a str, seal: &'a Seal) -> orbweaver_store::NewMail<'a> {
        orbweaver_store::NewMail {
            recipient,
            subject: &self.subject,
            sealed: &self.sealed,
            seal_id: seal.id(),
        }
    }
}
