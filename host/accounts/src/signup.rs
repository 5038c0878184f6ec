//! Signup: a free project at once, a paid one after payment.

use std::net::IpAddr;

use orbweaver_core::ids::{IntentId, ProjectId};
use orbweaver_fetch::{Method, Request};
use orbweaver_store::{Attempt, NewSignup, SignedUp, SignupLimits, StoreError};
use serde::Deserialize;

use super::mail::KeyMail;
use super::new_key::FreshKey;
use crate::context::Accounts;
use crate::customer_address::customer;
use crate::outbound::{AGENT, form};
use crate::random;

/// Tiers open to signup; `free` costs nothing.
pub const TIERS: [&str; 4] = ["free", "pro", "agency", "studio"];
/// The tier that needs no payment.
pub const FREE: &str = "free";
/// Label of a first key.
const LABEL: &str = "first key";
/// Largest response of the challenge's verifier, in bytes.
const MAX_ANSWER: u64 = 64 << 10;

/// A request to sign up, whose fields are valid each by itself.
#[derive(Clone, Debug)]
pub struct Applicant {
    /// The project's name.
    pub project_name: String,
    /// Address to which the key is sent.
    pub email: String,
    /// One of [`TIERS`].
    pub tier: String,
    /// Response token of the bot challenge.
    pub challenge: Option<String>,
    /// Address of the client.
    pub ip: Option<IpAddr>,
}

/// Result of a signup.
#[derive(Debug)]
pub enum Outcome {
    /// The new project and its key, which is shown only now.
    Project(ProjectId, FreshKey),
    /// An intent that waits for payment.
    Intent(IntentId),
}

/// Why a signup failed.
#[derive(Debug, thiserror::Error)]
pub enum SignupError {
    /// 422: the field and the rule.
    #[error("{0}: {1}")]
    Refused(&'static str, &'static str),
    /// 502: the challenge's verifier cannot be reached.
    #[error("the challenge cannot be verified now; try again later")]
    Verifier,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An internal error.
    #[error("{0}")]
    Internal(String),
}

/// Signs a client up.
///
/// # Errors
/// See [`SignupError`]; then only the attempt is recorded.
#[crate::boxed]
pub async fn sign_up(accounts: &Accounts, applicant: &Applicant) -> Result<Outcome, SignupError> {
    let settings = &accounts.signup;
    if settings.challenge_secret.is_some() && applicant.challenge.is_none() {
        return Err(SignupError::Refused("turnstile_token", "is required"));
    }
    // An intent that nobody can pay would keep the name from others.
    if applicant.tier != FREE && !accounts.billing.has_price(&applicant.tier) {
        return Err(SignupError::Refused("tier", "cannot be bought here"));
    }
    let limits = SignupLimits {
        attempts: settings.attempts_per_ip,
        successes: settings.per_day,
    };
    let now = accounts.clock.now();
    let origin = applicant
        .ip
        .map_or_else(String::new, |ip| customer(ip).to_string());
    let attempt = match accounts
        .store
        .note_signup_attempt(&origin, limits, now)
        .await?
    {
        Attempt::Noted(attempt) => attempt,
        Attempt::TooMany => {
            return Err(SignupError::Refused(
                "signup",
                "too many attempts from this address; try again in 24 hours",
            ));
        }
        Attempt::Full => return Err(FULL),
    };
    match passes_challenge(accounts, applicant).await {
        Ok(true) => {}
        Ok(false) => {
            return Err(SignupError::Refused(
                "turnstile_token",
                "the challenge was not passed",
            ));
        }
        Err(error) => {
            accounts.store.forget_signup_attempt(attempt).await?;
            return Err(error);
        }
    }
    let new = NewSignup {
        attempt,
        project_name: &applicant.project_name,
        email: &applicant.email,
        tier: &applicant.tier,
    };
    if applicant.tier != FREE {
        let id = random_intent_id()?;
        let done = accounts.store.add_intent(id, &new, limits, now).await?;
        return done_or_refused(done).map(Outcome::Intent);
    }
    let key = FreshKey::generate().map_err(internal)?;
    let mail = key_mail(accounts, &applicant.project_name, FREE, &key)?;
    let queued = mail
        .as_ref()
        .map(|mail| mail.to(&applicant.email, &accounts.seal));
    let row = key.row(Some(LABEL));
    let done = accounts
        .store
        .sign_up(&new, &row, queued.as_ref(), limits, now)
        .await?;
    let project = done_or_refused(done)?;
    accounts.keys.changed();
    accounts.mailer.wake();
    tracing::info!(%project, "a project signed up");
    Ok(Outcome::Project(project, key))
}

/// An id that cannot be guessed: 53 random bits from the operating system, which every JSON
/// parser keeps exactly (RFC 8259, section 6).
fn random_intent_id() -> Result<IntentId, SignupError> {
    loop {
        let bits = u64::from_le_bytes(random::bytes().map_err(internal)?) >> 11;
        match i64::try_from(bits) {
            Ok(0) | Err(_) => {}
            Ok(id) => return Ok(IntentId(id)),
        }
    }
}

/// A project created by a payment.
#[derive(Debug)]
pub struct Completed {
    /// Its id.
    pub project: ProjectId,
    /// Its name.
    pub name: String,
    /// Its first key.
    pub key: FreshKey,
}

/// Creates the project of a paid intent and mails its key; `None` if that was already done.
///
/// # Errors
/// [`SignupError::Refused`] if there is no such intent.
#[crate::boxed]
pub async fn complete(
    accounts: &Accounts,
    intent: IntentId,
) -> Result<Option<Completed>, SignupError> {
    let Some(intent) = accounts.store.intent(intent).await? else {
        return Err(SignupError::Refused(
            "intent_id",
            "the intent does not exist",
        ));
    };
    if intent.completed_at.is_some() {
        return Ok(None);
    }
    // The name is reserved for a day; a later payment still gets a project.
    let taken = accounts.store.project_named(&intent.project_name).await?;
    let name = match taken {
        None => intent.project_name.clone(),
        Some(_) => {
            let suffix = format!("-{}", intent.id);
            let keep = 64_usize.saturating_sub(suffix.len());
            let front = intent.project_name.get(..keep);
            format!("{}{suffix}", front.unwrap_or(&intent.project_name))
        }
    };
    let key = FreshKey::generate().map_err(internal)?;
    let mail = key_mail(accounts, &name, &intent.tier, &key)?;
    let queued = mail
        .as_ref()
        .map(|mail| mail.to(&intent.email, &accounts.seal));
    let row = key.row(Some(LABEL));
    let now = accounts.clock.now();
    let done = accounts
        .store
        .complete_intent(&intent, &name, &row, queued.as_ref(), now)
        .await?;
    let Some(project) = done else {
        return Ok(None);
    };
    accounts.keys.changed();
    accounts.mailer.wake();
    tracing::info!(%project, intent = %intent.id, "a paid signup is complete");
    Ok(Some(Completed { project, name, key }))
}

const FULL: SignupError = SignupError::Refused("signup", "no more signups today; try tomorrow");

fn done_or_refused<T>(done: SignedUp<T>) -> Result<T, SignupError> {
    match done {
        SignedUp::Done(value) => Ok(value),
        SignedUp::NameTaken => Err(SignupError::Refused("project_name", "is taken")),
        SignedUp::Full => Err(FULL),
    }
}

fn key_mail(
    accounts: &Accounts,
    project: &str,
    tier: &str,
    key: &FreshKey,
) -> Result<Option<KeyMail>, SignupError> {
    if !accounts.mailer.is_configured() {
        return Ok(None);
    }
    KeyMail::new(&accounts.seal, project, tier, key.expose())
        .map(Some)
        .map_err(internal)
}

#[derive(Deserialize)]
struct Verdict {
    success: bool,
}

/// Whether the challenge was passed; always true if no challenge is configured.
async fn passes_challenge(accounts: &Accounts, applicant: &Applicant) -> Result<bool, SignupError> {
    let settings = &accounts.signup;
    let (Some(secret), Some(token)) = (&settings.challenge_secret, &applicant.challenge) else {
        return Ok(true);
    };
    let ip = applicant.ip.map(|ip| ip.to_string());
    let mut fields = vec![("secret", secret.expose()), ("response", token.as_str())];
    fields.extend(ip.as_deref().map(|ip| ("remoteip", ip)));
    let form = form(&fields);
    let request = Request {
        headers: vec![(
            "content-type".to_owned(),
            "application/x-www-form-urlencoded".to_owned(),
        )],
        body: Some(form),
        follow_redirects: false,
        max_bytes: Some(MAX_ANSWER),
        user_agent: Some(AGENT.to_owned()),
        ..Request::new(Method::POST, settings.challenge_url.as_str())
    };
    let answer = accounts.fetcher.fetch(request).await.map_err(|error| {
        tracing::error!(%error, "the challenge verifier does not answer");
        SignupError::Verifier
    })?;
    // A verifier's 4xx with a valid body is a verdict too.
    let verdict: Verdict = serde_json::from_slice(&answer.body).map_err(|error| {
        tracing::error!(status = answer.status, %error, "the challenge's verdict is unreadable");
        SignupError::Verifier
    })?;
    Ok(verdict.success)
}

fn internal(error: impl std::fmt::Display) -> SignupError {
    SignupError::Internal(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intent_ids_are_random_and_kept_exactly_in_json() {
        let ids: std::collections::HashSet<i64> = (0..1_000)
            .map(|_| random_intent_id().unwrap().get())
            .collect();
        assert_eq!(ids.len(), 1_000);
        assert!(ids.iter().all(|id| (1..1 << 53).contains(id)));
        // Guessing one of a million intents takes 2^33 tries, because the upper bits are used.
        assert!(ids.iter().any(|id| *id >= 1 << 52));
        assert!(ids.iter().any(|id| *id < 1 << 52));
    }
}
