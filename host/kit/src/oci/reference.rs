//! Names of artefacts: `oci://HOST/REPOSITORY[:TAG][@sha256:…]`.

use std::fmt;
use std::str::FromStr;

use anyhow::{Result, bail};
use sha2::{Digest as _, Sha256};
use url::Url;

/// How a reference begins.
pub(crate) const SCHEME: &str = "oci://";
/// Longest name of a repository, and of a tag, in bytes (OCI distribution, "Pulling manifests").
const MAX_REPOSITORY: usize = 255;
const MAX_TAG: usize = 128;
/// The tag of a reference that has neither tag nor digest.
const LATEST: &str = "latest";

/// The SHA-256 of an artefact's manifest, or of a blob: `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Digest(String);

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(format!("sha256:{}", hex::encode(Sha256::digest(bytes))))
    }

    /// With its prefix.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its digits.
    pub fn hex(&self) -> &str {
        self.0.split_once(':').map_or("", |(_, digits)| digits)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Digest {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let digits = text.strip_prefix("sha256:").unwrap_or_default();
        let is_digit = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
        if digits.len() != 64 || !digits.bytes().all(is_digit) {
            bail!("digest: must be `sha256:` and 64 hexadecimal digits in lower case");
        }
        Ok(Self(text.to_owned()))
    }
}

/// Where an artefact is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Host and port of the registry.
    pub host: String,
    /// The repository in it.
    pub repository: String,
    /// The tag; `None` if the digest alone names it.
    pub tag: Option<String>,
    /// The digest of its manifest, if it is pinned.
    pub digest: Option<Digest>,
}

impl Reference {
    /// Whether a text is meant as a reference.
    pub fn is_one(text: &str) -> bool {
        text.starts_with(SCHEME)
    }

    /// The reference without a digest: what a lock file keeps a digest for.
    pub fn source(&self) -> String {
        let mut source = format!("{SCHEME}{}/{}", self.host, self.repository);
        if let Some(tag) = &self.tag {
            source.push(':');
            source.push_str(tag);
        }
        source
    }

    /// What stands in the path of the artefact's manifest.
    pub(crate) fn selector(&self) -> &str {
        match (&self.digest, &self.tag) {
            (Some(digest), _) => digest.as_str(),
            (None, Some(tag)) => tag,
            (None, None) => LATEST,
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source())?;
        match &self.digest {
            Some(digest) => write!(f, "@{digest}"),
            None => Ok(()),
        }
    }
}

impl FromStr for Reference {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let Some(rest) = text.strip_prefix(SCHEME) else {
            bail!("{text}: a reference is oci://HOST/REPOSITORY[:TAG][@sha256:…]");
        };
        let (rest, digest) = match rest.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest.parse()?)),
            None => (rest, None),
        };
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        if !is_host(host) {
            bail!("host: must be a name or an address, with a port if it is not the default");
        }
        let (repository, tag) = match path.split_once(':') {
            Some((repository, tag)) => (repository, Some(tag.to_owned())),
            None => (path, None),
        };
        if !is_repository(repository) {
            bail!(
                "repository: words of lower-case letters and digits, joined by `.`, `_`, `-` or `/`, at most \
                 {MAX_REPOSITORY} characters"
            );
        }
        if !tag.as_deref().is_none_or(is_tag) {
            bail!("tag: letters, digits, `_`, `.` and `-`, at most {MAX_TAG} characters");
        }
        Ok(Self {
            host: host.to_owned(),
            repository: repository.to_owned(),
            tag: tag.or_else(|| digest.is_none().then(|| LATEST.to_owned())),
            digest,
        })
    }
}

/// Whether a URL may have this as its host and port, and would not change it.
fn is_host(host: &str) -> bool {
    let Ok(url) = Url::parse(&format!("https://{host}/")) else {
        return false;
    };
    let port = url
        .port()
        .map(|port| format!(":{port}"))
        .unwrap_or_default();
    let same = url.host_str().map(|name| format!("{name}{port}"));
    same.as_deref() == Some(host)
}

/// Words of letters and digits, joined by one `.`, one or two `_`, or any number of `-`; parts are
/// separated by `/`.
fn is_repository(name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_part = |part: &str| {
        let joined_well = part
            .split(is_word)
            .filter(|joint| !joint.is_empty())
            .all(|joint| matches!(joint, "." | "_" | "__") || joint.bytes().all(|c| c == b'-'));
        part.starts_with(is_word) && part.ends_with(is_word) && joined_well
    };
    name.len() <= MAX_REPOSITORY && name.split('/').all(is_part)
}

fn is_tag(tag: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    tag.starts_with(is_word)
        && tag.len() <= MAX_TAG
        && tag.chars().all(|c| is_word(c) || c == '.' || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Reference {
        text.parse().unwrap()
    }

    #[test]
    fn a_reference_has_a_host_a_repository_and_a_tag_or_a_digest() {
        let digest = Digest::of(b"x");
        let with = parsed(&format!("oci://[::1]:5000/a/b__c.d---e:1.2_x-y@{digest}"));
        assert_eq!(with.host, "[::1]:5000");
        assert_eq!(with.repository, "a/b__c.d---e");
        assert_eq!(with.tag.as_deref(), Some("1.2_x-y"));
        assert_eq!(with.selector(), digest.as_str());
        assert_eq!(with.source(), "oci://[::1]:5000/a/b__c.d---e:1.2_x-y");
        assert_eq!(parsed("oci://ghcr.io/a").selector(), "latest");
        let pinned = parsed(&format!("oci://ghcr.io/a@{digest}"));
        assert_eq!((pinned.tag, pinned.digest), (None, Some(digest)));
    }

    #[test]
    fn what_is_no_reference_is_refused() {
        let long = format!("oci://a.example/{}", "a".repeat(256));
        for (text, field) in [
            ("ghcr.io/a:1", "oci://HOST"),
            ("oci://", "host"),
            ("oci:///a", "host"),
            ("oci://user@a.example/b", "digest"),
            ("oci://A.example/b", "host"),
            ("oci://a.example:0x50/b", "host"),
            ("oci://a.example", "repository"),
            ("oci://a.example/", "repository"),
            ("oci://a.example/B", "repository"),
            ("oci://a.example/a//b", "repository"),
            ("oci://a.example/../b", "repository"),
            ("oci://a.example/a___b", "repository"),
            ("oci://a.example/a?x=1", "repository"),
            (&long, "repository"),
            ("oci://a.example/a:", "tag"),
            ("oci://a.example/a:.x", "tag"),
            ("oci://a.example/a:x/y", "tag"),
            ("oci://a.example/a@sha256:ABC", "digest"),
            ("oci://a.example/a@md5:00", "digest"),
        ] {
            let error = text.parse::<Reference>().unwrap_err().to_string();
            assert!(error.contains(field), "{text}: {error}");
        }
    }
}
