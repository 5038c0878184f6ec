//! The background task that sends queued mails.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use orbweaver_store::{DueMail, StoreError};

use super::mailer::{Connected, PURPOSE};
use crate::context::Accounts;

/// Lease of an attempt: after this time another process may try.
const CLAIM: TimeDelta = TimeDelta::minutes(5);
/// Waits between attempts; the last one repeats.
const DELAYS: [TimeDelta; 5] = [
    TimeDelta::seconds(10),
    TimeDelta::minutes(1),
    TimeDelta::minutes(5),
    TimeDelta::minutes(15),
    TimeDelta::hours(1),
];
/// Age at which an undelivered mail is given up.
const GIVEN_UP: TimeDelta = TimeDelta::days(3);
/// Longest sleep of the task: another process may have queued a mail.
const MAX_SLEEP: Duration = Duration::from_secs(30);
/// Sleep after a database error.
const PAUSE: Duration = Duration::from_secs(5);

/// Sends due mails for as long as the process runs; returns at once if mail is not
/// configured.
#[crate::boxed]
pub async fn run(accounts: Accounts) {
    let Some(inner) = accounts.mailer.0.clone() else {
        return;
    };
    loop {
        let nap = match empty(&accounts, &inner).await {
            Ok(nap) => nap,
            Err(error) => {
                tracing::warn!(%error, "cannot read the mail outbox");
                PAUSE
            }
        };
        let _ = tokio::time::timeout(nap, inner.wake.notified()).await;
    }
}

/// Sends all due mails; returns the time until the next one is due.
async fn empty(accounts: &Accounts, inner: &Arc<Connected>) -> Result<Duration, StoreError> {
    let seal = accounts.seal.id();
    loop {
        let now = accounts.clock.now();
        let Some(mail) = accounts.store.claim_mail(seal, now, now + CLAIM).await? else {
            break;
        };
        deliver(accounts, inner, mail).await?;
    }
    let next = accounts.store.next_mail_at(seal).await?;
    Ok(next.map_or(MAX_SLEEP, |at| {
        (at - accounts.clock.now())
            .to_std()
            .unwrap_or(Duration::ZERO)
            .clamp(Duration::from_millis(50), MAX_SLEEP)
    }))
}

async fn deliver(accounts: &Accounts, inner: &Connected, mail: DueMail) -> Result<(), StoreError> {
    let Some(text) = accounts.seal.open(&mail.sealed, PURPOSE) else {
        tracing::error!(mail = %mail.id, "a queued mail does not decrypt with this secret");
        return accounts.store.remove_mail(mail.id).await;
    };
    match inner.send(&mail.recipient, &mail.subject, text).await {
        Ok(()) => {
            tracing::info!(mail = %mail.id, attempts = mail.attempts, "mail sent");
            accounts.store.remove_mail(mail.id).await
        }
        Err(error) => {
            let now = accounts.clock.now();
            let error = format!("{error:#}");
            if is_given_up(&mail, now) {
                tracing::error!(mail = %mail.id, error, "mail given up");
                return accounts.store.remove_mail(mail.id).await;
            }
            tracing::warn!(mail = %mail.id, attempts = mail.attempts, error, "mail not sent yet");
            let next = now + delay(mail.attempts);
            accounts.store.postpone_mail(mail.id, &error, next).await
        }
    }
}

fn is_given_up(mail: &DueMail, now: DateTime<Utc>) -> bool {
    now - mail.created_at > GIVEN_UP
}

fn delay(attempts: u32) -> TimeDelta {
    let index = usize::try_from(attempts.saturating_sub(1)).unwrap_or(usize::MAX);
    let last = DELAYS.last().copied().unwrap_or_default();
    DELAYS.get(index).copied().unwrap_or(last)
}
