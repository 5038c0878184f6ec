//! Payment: checkout sessions of Stripe's HTTPS API and its signed webhooks. Without a
//! configured provider, both are mocked.

use chrono::{DateTime, Utc};
use hmac::{Hmac, KeyInit as _, Mac as _};
use orbweaver_core::ids::IntentId;
use orbweaver_core::setting::HttpUrl;
use orbweaver_fetch::{Method, Request};
use orbweaver_store::{Intent, StoreError};
use serde::Deserialize;
use sha2::Sha256;

use crate::context::Accounts;
use crate::outbound::{AGENT, form};
use crate::secret::Secret;

/// Largest response of the provider, in bytes.
const MAX_ANSWER: u64 = 1 << 20;

/// Why there is no checkout.
#[derive(Debug, thiserror::Error)]
pub enum BillingError {
    /// 404.
    #[error("the intent does not exist")]
    Unknown,
    /// 409.
    #[error("the intent is already paid")]
    Paid,
    /// 501: names what to configure.
    #[error("{0}")]
    NotConfigured(String),
    /// 502: the provider does not answer, or its answer is unusable.
    #[error("{0}")]
    Provider(&'static str),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A checkout page at the payment provider.
#[derive(Debug)]
pub struct Checkout {
    /// The signup intent to be paid.
    pub intent: Intent,
    /// Address of the checkout page.
    pub url: String,
    /// Whether it is a mock: no money is taken.
    pub mock: bool,
}

/// Creates the checkout of an intent. `base` is the public URL of this API, without a
/// trailing slash.
///
/// # Errors
/// See [`BillingError`].
#[crate::boxed]
pub async fn checkout(
    accounts: &Accounts,
    intent: IntentId,
    base: &str,
) -> Result<Checkout, BillingError> {
    let Some(intent) = accounts.store.intent(intent).await? else {
        return Err(BillingError::Unknown);
    };
    if intent.completed_at.is_some() {
        return Err(BillingError::Paid);
    }
    let Some(key) = accounts.billing.provider() else {
        if !accounts.billing.is_mock() {
            return Err(BillingError::NotConfigured(
                "payments are not configured; set billing.provider_key, or billing.mock = true for \
                 testing"
                    .to_owned(),
            ));
        }
        let url = format!(
            "{base}/v1/billing/mock/{}?token={}",
            intent.id,
            accounts.seal.sign(&mock_message(intent.id))
        );
        return Ok(Checkout {
            intent,
            url,
            mock: true,
        });
    };
    let session = create_session(accounts, key, &intent, base).await?;
    accounts
        .store
        .note_checkout(intent.id, &session.id, &session.url)
        .await?;
    Ok(Checkout {
        intent,
        url: session.url,
        mock: false,
    })
}

/// Whether mock checkouts are enabled and `token` belongs to this intent's mock checkout.
pub fn is_mock_token(accounts: &Accounts, intent: IntentId, token: &str) -> bool {
    accounts.billing.is_mock() && accounts.seal.verify(&mock_message(intent), token)
}

fn mock_message(intent: IntentId) -> String {
    format!("checkout:{intent}")
}

#[derive(Deserialize)]
struct Session {
    id: String,
    url: String,
}

async fn create_session(
    accounts: &Accounts,
    key: &Secret,
    intent: &Intent,
    base: &str,
) -> Result<Session, BillingError> {
    let billing = &accounts.billing;
    let Some(price) = billing.prices.get(&intent.tier) else {
        return Err(BillingError::NotConfigured(format!(
            "tier {} has no price; set billing.prices",
            intent.tier
        )));
    };
    let back = format!("{base}/docs");
    let id = intent.id.to_string();
    let form = form(&[
        ("mode", "subscription"),
        ("line_items[0][price]", price),
        ("line_items[0][quantity]", "1"),
        ("client_reference_id", &id),
        ("customer_email", &intent.email),
        ("metadata[intent_id]", &id),
        ("metadata[tier]", &intent.tier),
        (
            "success_url",
            billing.success_url.as_ref().map_or(&*back, HttpUrl::as_str),
        ),
        (
            "cancel_url",
            billing.cancel_url.as_ref().map_or(&*back, HttpUrl::as_str),
        ),
    ]);
    // Sessions and the provider's idempotency keys last a day: a second request on the same
    // day gets the same session.
    let day = accounts.clock.now().format("%Y-%m-%d");
    let url = format!("{}/v1/checkout/sessions", billing.provider_url.base());
    let request = Request {
        headers: vec![
            (
                "content-type".to_owned(),
                "application/x-www-form-urlencoded".to_owned(),
            ),
            (
                "authorization".to_owned(),
                format!("Bearer {}", key.expose()),
            ),
            (
                "idempotency-key".to_owned(),
                format!("orbweaver-intent-{id}-{day}"),
            ),
        ],
        body: Some(form),
        follow_redirects: false,
        max_bytes: Some(MAX_ANSWER),
        user_agent: Some(AGENT.to_owned()),
        ..Request::new(Method::POST, url)
    };
    let answer = accounts.fetcher.fetch(request).await.map_err(|error| {
        tracing::error!(%error, "the payment provider does not answer");
        BillingError::Provider("the payment provider does not answer")
    })?;
    if answer.status != 200 {
        tracing::error!(
            status = answer.status,
            "the payment provider refuses a checkout session"
        );
        return Err(BillingError::Provider(
            "the payment provider made no checkout session",
        ));
    }
    serde_json::from_slice(&answer.body).map_err(|error| {
        tracing::error!(%error, "the payment provider's checkout session cannot be read");
        BillingError::Provider("the payment provider made no checkout session")
    })
}

/// Checks a webhook's `Stripe-Signature`, `t=SECONDS,v1=HEX[,v1=HEX]`: an HMAC-SHA256 over
/// `SECONDS.BODY`. The timestamp may differ from the clock by `tolerance` seconds. An empty secret signs
/// nothing: everybody knows it.
pub fn is_signed(
    secret: &Secret,
    header: &str,
    body: &[u8],
    tolerance: u32,
    now: DateTime<Utc>,
) -> bool {
    if secret.expose().is_empty() {
        return false;
    }
    let fields = || header.split(',').filter_map(|field| field.split_once('='));
    let Some(time) = fields().find(|(name, _)| name.trim() == "t") else {
        return false;
    };
    let Ok(seconds) = time.1.trim().parse::<i64>() else {
        return false;
    };
    if now.timestamp().abs_diff(seconds) > u64::from(tolerance) {
        return false;
    }
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes()) else {
        return false;
    };
    mac.update(time.1.trim().as_bytes());
    mac.update(b".");
    mac.update(body);
    fields()
        .filter(|(name, _)| name.trim() == "v1")
        .filter_map(|(_, signature)| hex::decode(signature.trim()).ok())
        .any(|signature| mac.clone().verify_slice(&signature).is_ok())
}

/// A webhook event of the provider, with the fields that this service reads.
#[derive(Debug, Deserialize)]
pub struct Event {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    data: Data,
}

#[derive(Debug, Default, Deserialize)]
struct Data {
    #[serde(default)]
    object: Object,
}

#[derive(Debug, Default, Deserialize)]
struct Object {
    payment_status: Option<String>,
    /// What [`create_session`] attached. The buyer of a payment link of the same account chooses
    /// its `client_reference_id` in the link's URL, but no metadata.
    metadata: Option<Metadata>,
}

#[derive(Debug, Default, Deserialize)]
struct Metadata {
    intent_id: Option<String>,
}

impl Event {
    /// The intent that this event reports as paid.
    pub fn paid_intent(&self) -> Option<IntentId> {
        let object = &self.data.object;
        let is_paid = match self.kind.as_str() {
            // Some payment methods take days; the provider then sends another event.
            "checkout.session.completed" => object.payment_status.as_deref() != Some("unpaid"),
            "checkout.session.async_payment_succeeded" => true,
            _ => false,
        };
        if !is_paid {
            return None;
        }
        object.metadata.as_ref()?.intent_id.as_deref()?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(secret: &str, seconds: i64, body: &str) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
        mac.update(format!("{seconds}.{body}").as_bytes());
        format!(
            "t={seconds},v1={}",
            hex::encode(mac.finalize().into_bytes())
        )
    }

    #[test]
    fn a_signature_is_valid_for_one_secret_body_and_time() {
        let secret = Secret::new("whsec_1");
        let now = DateTime::from_timestamp(1_000_000, 0).unwrap();
        let good = header("whsec_1", 1_000_000, "{}");
        let check =
            |header: &str, body: &str| is_signed(&secret, header, body.as_bytes(), 300, now);
        assert!(check(&good, "{}"));
        assert!(check(&format!("{good},v1=00,v0=aa"), "{}"));
        assert!(check(&header("whsec_1", 999_700, "{}"), "{}"));
        for bad in [
            header("whsec_2", 1_000_000, "{}"),
            header("whsec_1", 999_699, "{}"),
            header("whsec_1", 1_000_301, "{}"),
            good.replace("v1=", "v0="),
            "v1=00".to_owned(),
            "t=x,v1=00".to_owned(),
            String::new(),
        ] {
            assert!(!check(&bad, "{}"), "{bad}");
        }
        assert!(!check(&good, "{ }"));
        let nothing = Secret::new("");
        let forged = header("", 1_000_000, "{}");
        assert!(!is_signed(&nothing, &forged, b"{}", 300, now));
    }

    #[test]
    fn only_paid_checkouts_count() {
        let event = |kind: &str, status: &str| {
            let json = serde_json::json!({"type": kind, "data": {"object": {
                "metadata": {"intent_id": "7"}, "payment_status": status}}});
            let event: Event = serde_json::from_value(json).unwrap();
            event.paid_intent()
        };
        let completed = "checkout.session.completed";
        assert_eq!(event(completed, "paid"), Some(IntentId(7)));
        assert_eq!(event(completed, "no_payment_required"), Some(IntentId(7)));
        assert_eq!(event(completed, "unpaid"), None);
        assert_eq!(
            event("checkout.session.async_payment_succeeded", "paid"),
            Some(IntentId(7))
        );
        assert_eq!(event("invoice.paid", "paid"), None);
        let bare: Event = serde_json::from_str(r#"{"type":"ping"}"#).unwrap();
        assert_eq!(bare.paid_intent(), None);
    }

    #[test]
    fn what_a_buyer_chooses_names_no_intent() {
        for metadata in [
            serde_json::json!(null),
            serde_json::json!({}),
            serde_json::json!({"tier": "pro"}),
        ] {
            let json = serde_json::json!({"type": "checkout.session.completed", "data": {"object": {
                "client_reference_id": "7", "payment_status": "paid", "payment_link": "plink_1",
                "metadata": metadata}}});
            let event: Event = serde_json::from_value(json).unwrap();
            assert_eq!(event.paid_intent(), None);
        }
    }
}
