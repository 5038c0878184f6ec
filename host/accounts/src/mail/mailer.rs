//! The connection to the mail server, and mails to be queued.

use std::fmt;
use std::sync::Arc;

use anyhow::Context as _;
use lettre::message::Mailbox;
use lettre::message::header::ContentType;
use lettre::{AsyncTransport as _, Message};
use tokio::sync::Notify;

use super::transport::{Smtp, transport};
use crate::config::MailConfig;
use crate::seal::Seal;

/// The sealing purpose of mails.
pub(super) const PURPOSE: &str = "mail";

/// The connection to the mail server. Cheap to clone.
#[derive(Clone)]
pub struct Mailer(pub(super) Option<Arc<Connected>>);

/// A configured mail server.
pub(super) struct Connected {
    smtp: Smtp,
    from: Mailbox,
    pub(super) wake: Notify,
}

impl fmt::Debug for Mailer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailer")
            .field("configured", &self.is_configured())
            .finish()
    }
}

impl Mailer {
    /// Creates it from the configuration. Without a mail server, nothing is ever queued.
    ///
    /// # Errors
    /// When a setting cannot be used.
    pub fn new(config: &MailConfig) -> anyhow::Result<Self> {
        let Some(url) = &config.smtp_url else {
            return Ok(Self(None));
        };
        Ok(Self(Some(Arc::new(Connected {
            smtp: transport(url, config.timeout_ms.as_duration())?,
            from: config.from.parse().context("mail.from")?,
            wake: Notify::new(),
        }))))
    }

    /// Whether a mail server is configured.
    pub const fn is_configured(&self) -> bool {
        self.0.is_some()
    }

    /// Wakes the sending task, because a mail was queued.
    pub fn wake(&self) {
        if let Some(inner) = &self.0 {
            inner.wake.notify_one();
        }
    }
}

impl Connected {
    /// Sends a mail.
    pub(super) async fn send(
        &self,
        recipient: &str,
        subject: &str,
        text: String,
    ) -> anyhow::Result<()> {
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

/// A mail with a key, to be queued where mail is configured.
#[derive(Debug)]
pub struct KeyMail {
    subject: String,
    sealed: Vec<u8>,
}

impl KeyMail {
    /// Seals the text that holds the key.
    ///
    /// # Errors
    /// When the system has no random source.
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
