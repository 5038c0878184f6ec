//! Cache of extractor results.

use std::sync::Arc;

use moka::sync::Cache;
use orbweaver_core::ids::ProjectId;
use orbweaver_engine::PluginRef;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use crate::CACHE_IDLE;
use crate::document::Document;
use crate::roles::RoleRequest;

/// Estimated memory of an entry besides its text.
const OVERHEAD: usize = 128;

/// Results of roles. The key has all inputs of a result: the body, the URL, status and
/// headers, the plugin and its options. It does not use `content_hash`, which ignores
/// links and metadata.
#[derive(Clone, Debug)]
pub struct ResultCache(Cache<Key, Arc<RawValue>>);

/// SHA-256 of the inputs.
pub(crate) type Key = [u8; 32];

impl ResultCache {
    /// Creates a cache of `bytes` bytes of results.
    pub fn new(bytes: u64) -> Self {
        let cache = Cache::builder()
            .max_capacity(bytes)
            .weigher(|_, answer: &Arc<RawValue>| {
                u32::try_from(answer.get().len() + OVERHEAD).unwrap_or(u32::MAX)
            })
            .time_to_idle(CACHE_IDLE)
            .build();
        Self(cache)
    }

    pub(crate) fn get(&self, key: &Key) -> Option<Arc<RawValue>> {
        self.0.get(key)
    }

    /// Bytes held. What was displaced is freed before.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.0.run_pending_tasks();
        self.0.weighted_size()
    }

    pub(crate) fn insert(&self, key: Key, answer: Arc<RawValue>) {
        self.0.insert(key, answer);
    }
}

/// The part of the key that all roles of a document share.
pub(crate) struct Keys(Sha256);

impl Keys {
    /// `converter`: the plugin that made the HTML which the role reads, if one did.
    pub(crate) fn new(document: &Document, converter: Option<&PluginRef>) -> Self {
        let mut hash = Sha256::new();
        hash.update(document.body_hash);
        part(&mut hash, &document.url);
        part(&mut hash, &document.final_url);
        hash.update(document.status.to_be_bytes());
        for (name, value) in &document.headers {
            // These change with every response and do not affect the content.
            if !matches!(name.as_str(), "date" | "age" | "expires" | "x-request-id") {
                part(&mut hash, name);
                part(&mut hash, value);
            }
        }
        for hop in document.redirects() {
            part(&mut hash, &hop.url);
            hash.update(hop.status.to_be_bytes());
        }
        if let Some(converter) = converter {
            part(&mut hash, &converter.digest);
        }
        Self(hash)
    }

    pub(crate) fn role(&self, request: &RoleRequest, plugin: &PluginRef) -> Key {
        let mut hash = self.0.clone();
        // A project's answers are its own, also where another project has the same component.
        let owner = plugin.project.map_or(0, ProjectId::get);
        hash.update(owner.to_be_bytes());
        part(&mut hash, &request.role);
        part(&mut hash, &request.options);
        part(&mut hash, &plugin.digest);
        for input in &plugin.inputs {
            part(&mut hash, input);
        }
        hash.finalize().into()
    }
}

/// Hashes the text with its length, so that no two lists of parts collide.
fn part(hash: &mut Sha256, text: &str) {
    hash.update((text.len() as u64).to_be_bytes());
    hash.update(text.as_bytes());
}
