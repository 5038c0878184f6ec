//! The identity of a request, passed through the service.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};

use chrono::{DateTime, Utc};
use orbweaver_accounts::random;
use orbweaver_store::Principal;

use crate::app::App;
use crate::memory_limit::Held;
use crate::rates::Verdict;
use crate::warnings::UnknownNames;

/// One request's identity. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Scope(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    id: String,
    client: Arc<str>,
    is_peer_trusted: bool,
    known: OnceLock<(Arc<Principal>, DateTime<Utc>)>,
    rate: OnceLock<Verdict>,
    unknown: OnceLock<UnknownNames>,
    /// What else its answer says in `warnings`.
    warnings: Mutex<Vec<String>>,
    /// Memory that its body holds.
    body: Mutex<Option<Held>>,
    /// Memory that its body's values hold.
    values: Mutex<Option<Held>>,
    /// Memory that its answer holds while it is made.
    answer: Mutex<Option<Held>>,
}

impl Scope {
    pub(super) fn new(client: Arc<str>, is_peer_trusted: bool) -> Self {
        Self(Arc::new(Inner {
            id: fresh_id(),
            client,
            is_peer_trusted,
            known: OnceLock::new(),
            rate: OnceLock::new(),
            unknown: OnceLock::new(),
            warnings: Mutex::default(),
            body: Mutex::default(),
            values: Mutex::default(),
            answer: Mutex::default(),
        }))
    }

    /// For a further request to the API that this one causes: the same id, client and key, its
    /// own rate limit, unknown names and warnings.
    pub(super) fn inside(&self) -> Self {
        Self(Arc::new(Inner {
            id: self.0.id.clone(),
            client: Arc::clone(&self.0.client),
            is_peer_trusted: self.0.is_peer_trusted,
            known: self.0.known.clone(),
            rate: OnceLock::new(),
            unknown: OnceLock::new(),
            warnings: Mutex::default(),
            body: Mutex::default(),
            values: Mutex::default(),
            answer: Mutex::default(),
        }))
    }

    /// The request's id, as in `X-Request-Id`.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// The client's address: the peer's, or the one that trusted proxies state.
    pub fn client(&self) -> &str {
        &self.0.client
    }

    /// The same as an address.
    pub(super) fn client_ip(&self) -> Option<IpAddr> {
        self.0.client.parse().ok()
    }

    /// Whether the connection comes from this machine or from a trusted proxy.
    pub(super) fn is_peer_trusted(&self) -> bool {
        self.0.is_peer_trusted
    }

    /// Records the authenticated caller and the time.
    pub(super) fn identify(&self, principal: &Arc<Principal>, at: DateTime<Utc>) {
        let _ = self.0.known.set((Arc::clone(principal), at));
    }

    /// The caller, once the key is accepted.
    pub(super) fn principal(&self) -> Option<&Arc<Principal>> {
        self.0.known.get().map(|(principal, _)| principal)
    }

    /// Records the verdict of the key's rate limit.
    pub(super) fn note_rate(&self, verdict: Verdict) {
        let _ = self.0.rate.set(verdict);
    }

    /// The verdict of the key's rate limit, once the key is accepted.
    pub(super) fn rate(&self) -> Option<&Verdict> {
        self.0.rate.get()
    }

    /// Notes fields of its body that its operation does not know.
    pub(super) fn note_unknown(&self, names: UnknownNames) {
        let _ = self.0.unknown.set(names);
    }

    /// Fields of its body that its operation does not know.
    pub(super) fn unknown(&self) -> Option<&UnknownNames> {
        self.0.unknown.get()
    }

    /// Keeps the memory of its body until it has ended.
    pub(super) fn hold_body(&self, held: Held) {
        *self.0.body.lock().unwrap_or_else(PoisonError::into_inner) = Some(held);
    }

    /// Keeps the memory of its body's values until it has ended, or until
    /// [`drop_values`](Self::drop_values).
    pub(super) fn hold_values(&self, held: Held) {
        *self.0.values.lock().unwrap_or_else(PoisonError::into_inner) = Some(held);
    }

    /// Gives the memory of its body's values back: they are text now.
    pub(super) fn drop_values(&self) {
        let held = self
            .0
            .values
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        drop(held);
    }

    /// Memory that its answer holds while it is made.
    pub(super) fn answer(&self) -> MutexGuard<'_, Option<Held>> {
        self.0.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a message to the answer's `warnings`, once: about a field without effect, or a part that
    /// is missing.
    pub(crate) fn warn(&self, message: impl Into<String>) {
        let message = message.into();
        let mut warnings = self
            .0
            .warnings
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if !warnings.contains(&message) {
            warnings.push(message);
        }
    }

    /// What the answer is to say besides unknown names.
    pub(super) fn warnings(&self) -> Vec<String> {
        let warnings = self.0.warnings.lock();
        warnings.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Time of acceptance.
    pub(super) fn began(&self, app: &App) -> DateTime<Utc> {
        self.0
            .known
            .get()
            .map_or_else(|| app.clock.now(), |(_, at)| *at)
    }
}

/// 32 hexadecimal digits: half of them identify this process, half count its requests. Not a
/// secret, and cheaper than random digits for each request.
fn fresh_id() -> String {
    static PROCESS: LazyLock<u64> = LazyLock::new(|| {
        // Without randomness the process id must identify the process.
        random::bytes().map_or_else(|_| u64::from(std::process::id()), u64::from_be_bytes)
    });
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut bytes = [0; 16];
    let (process, counter) = bytes.split_at_mut(8);
    process.copy_from_slice(&PROCESS.to_be_bytes());
    counter.copy_from_slice(&count.to_be_bytes());
    hex::encode(bytes)
}
