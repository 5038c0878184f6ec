//! Cache of extractor results.

use std::hash::Hash as _;
use std::sync::Arc;

use moka::sync::Cache;
use orbweaver_engine::PluginRef;
use serde_json::value::RawValue;

use crate::CACHE_IDLE;
use crate::document::Document;
use crate::input_hash::InputHash;
use crate::roles::RoleRequest;

/// Estimated memory of an entry besides its text.
const OVERHEAD: usize = 128;

/// Results of roles. The key has all inputs of a result: the body, the URL, status and
/// headers, the plugin and its options. It does not use `content_hash`, which ignores
/// links and metadata.
#[derive(Clone, Debug)]
pub struct ResultCache(Cache<Key, Arc<RawValue>>);

/// Digest of the inputs.
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
pub(crate) struct Keys(InputHash);

impl Keys {
    /// `converter`: the plugin that made the HTML which the role reads, if one did. With its project and its
    /// inputs: with others it makes other HTML.
    pub(crate) fn new(document: &Document, converter: Option<&PluginRef>) -> Self {
        let mut hash = InputHash::default();
        let page = (document.body_hash, &document.url, &document.final_url);
        page.hash(&mut hash);
        document.status.hash(&mut hash);
        // Some change with every response and do not affect the content.
        let headers = document.headers.iter().filter(|(name, _)| {
            !matches!(name.as_str(), "date" | "age" | "expires" | "x-request-id")
        });
        headers.collect::<Vec<_>>().hash(&mut hash);
        let hops = document
            .redirects()
            .iter()
            .map(|hop| (&hop.url, hop.status));
        hops.collect::<Vec<_>>().hash(&mut hash);
        converter.hash(&mut hash);
        Self(hash)
    }

    pub(crate) fn role(&self, request: &RoleRequest, plugin: &PluginRef) -> Key {
        let mut hash = self.0.clone();
        // A project's answers are its own, also where another project has the same component.
        let inputs = (plugin.project, &plugin.digest, &plugin.inputs);
        (&request.role, &request.options, inputs).hash(&mut hash);
        hash.digest()
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use orbweaver_engine::{Kind, PluginRef};

    use super::{Keys, ResultCache};
    use crate::CACHE_IDLE;
    use crate::document::Document;
    use crate::roles::RoleRequest;

    #[test]
    fn results_are_those_of_one_converter_with_its_project_and_inputs() {
        let plugin = |project: Option<i64>, inputs: &[&str]| PluginRef {
            project: project.map(Into::into),
            kind: Kind::Extractor,
            name: "a".to_owned(),
            version: "1".to_owned(),
            digest: "d".to_owned(),
            inputs: inputs.iter().map(|&input| input.to_owned()).collect(),
        };
        let at = DateTime::UNIX_EPOCH;
        let document = Document::from_text("https://e.org/", "x".to_owned(), at);
        let (role, reader) = (RoleRequest::new("links", ""), plugin(None, &[]));
        let key = |converter: Option<&PluginRef>| {
            let keys = Keys::new(&document, converter);
            keys.role(&role, &reader)
        };
        let converters = [
            None,
            Some(plugin(None, &[])),
            Some(plugin(Some(1), &[])),
            Some(plugin(Some(2), &[])),
            Some(plugin(Some(1), &["i"])),
        ];
        let keys = converters.each_ref().map(|one| key(one.as_ref()));
        for (at, one) in keys.iter().enumerate() {
            assert!(!keys[..at].contains(one), "{:?}", converters[at]);
        }
        assert_eq!(key(converters[2].as_ref()), keys[2]);
    }

    #[test]
    fn results_that_nobody_asks_for_are_dropped() {
        let policy = ResultCache::new(1_000).0.policy();
        assert_eq!(policy.time_to_idle(), Some(CACHE_IDLE));
        assert_eq!(policy.time_to_live(), None);
    }
}
