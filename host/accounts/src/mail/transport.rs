//! SMTP connections, and the rule for addresses that mail can be sent to.

use std::time::Duration;

use lettre::Tokio1Executor;
use lettre::transport::smtp::AsyncSmtpTransport;

use crate::secret::SafeUrl;

/// A pool of connections to a mail server.
pub type Smtp = AsyncSmtpTransport<Tokio1Executor>;

/// A connection pool to the server of `url`; connects when it first sends.
///
/// # Errors
/// When the URL is not that of a mail server.
pub fn transport(url: &SafeUrl, timeout: Duration) -> anyhow::Result<Smtp> {
    // The URL may carry a password, so the error leaves it out.
    let builder = Smtp::from_url(url.expose())
        .map_err(|_| anyhow::anyhow!("mail.smtp_url is not the URL of a mail server"))?;
    Ok(builder.timeout(Some(timeout)).build())
}

/// Whether mail can be sent to this address over the internet: it satisfies the mail
/// library's rule, and its domain has a dot.
pub fn is_public_address(email: &str) -> bool {
    email
        .parse::<lettre::Address>()
        .is_ok_and(|address| address.domain().contains('.'))
}
