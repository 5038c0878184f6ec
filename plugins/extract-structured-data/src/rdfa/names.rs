//! Terms and prefixes.

use std::collections::BTreeMap;
use std::rc::Rc;

/// Prefixes that every document may use (RDFa Core Initial Context; W3C vocabularies and
/// widely used ones), and those of the Open Graph protocol, which pages seldom declare.
const INITIAL: &[(&str, &str)] = &[
    ("article", "http://ogp.me/ns/article#"),
    ("book", "http://ogp.me/ns/book#"),
    ("fb", "http://ogp.me/ns/fb#"),
    ("music", "http://ogp.me/ns/music#"),
    ("profile", "http://ogp.me/ns/profile#"),
    ("video", "http://ogp.me/ns/video#"),
    ("as", "https://www.w3.org/ns/activitystreams#"),
    ("cc", "http://creativecommons.org/ns#"),
    ("ctag", "http://commontag.org/ns#"),
    ("dc", "http://purl.org/dc/terms/"),
    ("dc11", "http://purl.org/dc/elements/1.1/"),
    ("dcat", "http://www.w3.org/ns/dcat#"),
    ("dcterms", "http://purl.org/dc/terms/"),
    ("foaf", "http://xmlns.com/foaf/0.1/"),
    ("gr", "http://purl.org/goodrelations/v1#"),
    ("ical", "http://www.w3.org/2002/12/cal/icaltzd#"),
    ("og", "http://ogp.me/ns#"),
    ("org", "http://www.w3.org/ns/org#"),
    ("owl", "http://www.w3.org/2002/07/owl#"),
    ("prov", "http://www.w3.org/ns/prov#"),
    ("rdf", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"),
    ("rdfa", "http://www.w3.org/ns/rdfa#"),
    ("rdfs", "http://www.w3.org/2000/01/rdf-schema#"),
    ("rev", "http://purl.org/stuff/rev#"),
    ("schema", "http://schema.org/"),
    ("sioc", "http://rdfs.org/sioc/ns#"),
    ("skos", "http://www.w3.org/2004/02/skos/core#"),
    ("v", "http://rdf.data-vocabulary.org/#"),
    ("vcard", "http://www.w3.org/2006/vcard/ns#"),
    ("void", "http://rdfs.org/ns/void#"),
    ("xhv", "http://www.w3.org/1999/xhtml/vocab#"),
    ("xsd", "http://www.w3.org/2001/XMLSchema#"),
];

/// The vocabulary and the prefixes in force. Cheap to clone.
#[derive(Clone, Default)]
pub struct Names {
    vocabulary: Option<Rc<str>>,
    declared: Rc<Declared>,
}

/// Declarations of one element, and those around it.
#[derive(Default)]
struct Declared {
    prefixes: BTreeMap<String, Rc<str>>,
}

/// Prefixes in force at once; a page that declares more on nested elements is an attack on
/// whoever copies the map.
const MAX_PREFIXES: usize = 64;

/// Names of one attribute that count, and the longest vocabulary: what one attribute says
/// is written once per name, so a page must not multiply two long lists.
const MAX_TERMS: usize = 8;
const MAX_IRI_BYTES: usize = 1024;

impl Names {
    /// With an element's `vocab`, `prefix` and `xmlns:…`, of which `prefix` wins.
    pub fn with(
        &self,
        vocab: Option<&str>,
        prefix: Option<&str>,
        namespaces: &[(&str, &str)],
    ) -> Self {
        let mut names = self.clone();
        if let Some(vocab) = vocab {
            let vocab = Some(vocab.trim_ascii()).filter(|v| (1..=MAX_IRI_BYTES).contains(&v.len()));
            names.vocabulary = vocab.map(Rc::from);
        }
        let mut prefixes = None;
        for (name, iri) in namespaces {
            let prefixes = prefixes.get_or_insert_with(|| self.declared.prefixes.clone());
            if prefixes.len() < MAX_PREFIXES && iri.len() <= MAX_IRI_BYTES && *name != "_" {
                prefixes.insert(name.to_ascii_lowercase(), Rc::from(*iri));
            }
        }
        let mut words = prefix.unwrap_or("").split_ascii_whitespace();
        while let Some(word) = words.next() {
            let Some(name) = word.strip_suffix(':') else {
                continue;
            };
            let Some(iri) = words.next() else { break };
            let prefixes = prefixes.get_or_insert_with(|| self.declared.prefixes.clone());
            if prefixes.len() < MAX_PREFIXES && iri.len() <= MAX_IRI_BYTES && name != "_" {
                prefixes.insert(name.to_ascii_lowercase(), iri.into());
            }
        }
        if let Some(prefixes) = prefixes {
            names.declared = Rc::new(Declared { prefixes });
        }
        names
    }

    /// The IRIs of a list of terms, compact IRIs and IRIs; unknown ones left out.
    pub fn terms_of(&self, list: Option<&str>) -> Vec<Rc<str>> {
        let words = list.unwrap_or("").split_ascii_whitespace();
        words
            .filter_map(|word| self.term(word))
            .take(MAX_TERMS)
            .collect()
    }

    /// As [`terms_of`](Self::terms_of), without bare terms.
    pub fn prefixed_of(&self, list: Option<&str>) -> Vec<Rc<str>> {
        let words = list.unwrap_or("").split_ascii_whitespace();
        words
            .filter(|word| word.contains(':'))
            .filter_map(|word| self.term(word))
            .take(MAX_TERMS)
            .collect()
    }

    /// The IRI of a term, compact IRI or IRI.
    pub fn term(&self, word: &str) -> Option<Rc<str>> {
        let word = word.trim_ascii();
        if word.is_empty() {
            return None;
        }
        let Some((scheme, rest)) = word.split_once(':') else {
            let vocabulary = self.vocabulary.as_deref()?;
            return Some(format!("{vocabulary}{word}").into());
        };
        // A prefix that nobody declared is a scheme, and the whole an absolute IRI
        // (RDFa Core 1.1, section 7.4.3): that keeps `al:ios:url` and its like.
        self.compact(word)
            .or_else(|| (is_scheme(scheme) && !rest.is_empty()).then(|| word.into()))
    }

    /// The IRI of `prefix:rest`, if the prefix is known. What looks like `http://…` is an
    /// IRI whatever its prefix.
    pub fn compact(&self, word: &str) -> Option<Rc<str>> {
        let (prefix, rest) = word.split_once(':')?;
        if rest.starts_with("//") {
            return None;
        }
        let prefix = prefix.to_ascii_lowercase();
        let declared = self.declared.prefixes.get(&prefix).map(|iri| &**iri);
        let iri = declared.or_else(|| {
            INITIAL
                .iter()
                .find(|(known, _)| *known == prefix)
                .map(|(_, iri)| *iri)
        })?;
        Some(format!("{iri}{rest}").into())
    }
}

/// RFC 3986, section 3.1.
fn is_scheme(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_alphabetic())
        && word
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}
