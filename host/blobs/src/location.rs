//! The location of stored bodies: the URL that the operator gives.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use url::Url;

/// Place of the bodies: `s3://BUCKET/PREFIX?endpoint=URL&region=NAME&style=path|virtual` or
/// `file:///FOLDER`. It has no credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobUrl {
    text: String,
    pub(crate) place: PlaceUrl,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PlaceUrl {
    S3(S3Place),
    Folder(PathBuf),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct S3Place {
    pub(crate) bucket: String,
    /// Without slashes at its ends; may be empty.
    pub(crate) prefix: String,
    /// Without a slash at its end.
    pub(crate) endpoint: Option<String>,
    pub(crate) region: Option<String>,
    /// Whether the bucket is part of the host name.
    pub(crate) virtual_host: bool,
}

/// The text is not the URL of a blob store; says the rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidBlobUrl(String);

impl BlobUrl {
    /// The URL as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the place is a folder of this machine, which nodes on other machines do not have.
    pub const fn is_folder(&self) -> bool {
        matches!(self.place, PlaceUrl::Folder(_))
    }
}

impl FromStr for BlobUrl {
    type Err = InvalidBlobUrl;

    fn from_str(text: &str) -> Result<Self, InvalidBlobUrl> {
        let rule = |rule: &str| InvalidBlobUrl(rule.to_owned());
        let url = Url::parse(text).map_err(|_| {
            rule("must be a URL: s3://BUCKET/PREFIX?endpoint=URL&region=NAME, or file:///FOLDER")
        })?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(rule(
                "must not contain credentials; set blob_store.access_key_id and \
                 blob_store.secret_access_key",
            ));
        }
        let place = match url.scheme() {
            "s3" => PlaceUrl::S3(s3(&url)?),
            "file" => PlaceUrl::Folder(folder(&url)?),
            _ => return Err(rule("must start with s3:// or file:///")),
        };
        Ok(Self {
            text: text.to_owned(),
            place,
        })
    }
}

fn folder(url: &Url) -> Result<PathBuf, InvalidBlobUrl> {
    let whole = url.query().is_none() && url.fragment().is_none();
    url.to_file_path()
        .ok()
        .filter(|path| whole && path.is_absolute() && path.parent().is_some())
        .ok_or_else(|| InvalidBlobUrl("must be file:/// and an absolute path".to_owned()))
}

fn s3(url: &Url) -> Result<S3Place, InvalidBlobUrl> {
    let unless = |holds: bool, rule: &str| match holds {
        true => Ok(()),
        false => Err(InvalidBlobUrl(rule.to_owned())),
    };
    unless(
        url.port().is_none() && url.fragment().is_none(),
        "must be s3://BUCKET/PREFIX; host and port of the store are the parameter endpoint",
    )?;
    let bucket = url.host_str().unwrap_or_default().to_owned();
    unless(
        (3..=63).contains(&bucket.len())
            && bucket.bytes().all(|byte| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte)
            }),
        "the bucket's name must have 3 to 63 of a-z, 0-9, - and .",
    )?;
    let prefix = url.path().trim_matches('/').to_owned();
    let is_plain = |part: &str| {
        !part.is_empty()
            && part != "."
            && part != ".."
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    unless(
        prefix.len() <= 256 && (prefix.is_empty() || prefix.split('/').all(is_plain)),
        "the prefix must be names of a-z, A-Z, 0-9, -, _ and . with / between them, 256 characters \
         at most",
    )?;
    let mut place = S3Place {
        bucket,
        prefix,
        endpoint: None,
        region: None,
        virtual_host: true,
    };
    let mut style = None;
    for (name, value) in url.query_pairs() {
        match &*name {
            "endpoint" => {
                let endpoint = Url::parse(&value).ok().filter(|endpoint| {
                    matches!(endpoint.scheme(), "http" | "https")
                        && endpoint.has_host()
                        && endpoint.username().is_empty()
                        && endpoint.password().is_none()
                        && endpoint.query().is_none()
                        && endpoint.fragment().is_none()
                });
                unless(
                    endpoint.is_some(),
                    "endpoint must be an http or https URL without credentials or query",
                )?;
                place.endpoint = Some(value.trim_end_matches('/').to_owned());
            }
            "region" => {
                unless(
                    is_plain(&value),
                    "region must be a name such as eu-central-1",
                )?;
                place.region = Some(value.into_owned());
            }
            "style" => {
                unless(
                    matches!(&*value, "path" | "virtual"),
                    "style must be path or virtual",
                )?;
                style = Some(value == "virtual");
            }
            other => {
                return Err(InvalidBlobUrl(format!(
                    "{other} is not one of endpoint, region, style"
                )));
            }
        }
    }
    // Own servers rarely have a host name for each bucket.
    place.virtual_host = style.unwrap_or(place.endpoint.is_none());
    Ok(place)
}

impl fmt::Display for BlobUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for BlobUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(D::Error::custom)
    }
}

impl Serialize for BlobUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_has_prefix_endpoint_and_region() {
        let url: BlobUrl = "s3://pages/a/b/?endpoint=http://10.0.0.1:9000/&region=eu-central-1"
            .parse()
            .unwrap();
        let PlaceUrl::S3(place) = url.place else {
            panic!("not a bucket")
        };
        assert_eq!(place.bucket, "pages");
        assert_eq!(place.prefix, "a/b");
        assert_eq!(place.endpoint.as_deref(), Some("http://10.0.0.1:9000"));
        assert_eq!(place.region.as_deref(), Some("eu-central-1"));
        assert!(!place.virtual_host);
        let amazon: BlobUrl = "s3://pages".parse().unwrap();
        assert!(matches!(amazon.place, PlaceUrl::S3(place) if place.virtual_host));
        let folder: BlobUrl = "file:///var/lib/bodies".parse().unwrap();
        assert!(folder.is_folder());
    }

    #[test]
    fn the_broken_rule_is_named() {
        for (url, rule) in [
            ("", "must be a URL"),
            ("https://bucket", "must start with s3://"),
            ("s3://key:secret@pages", "credentials"),
            ("s3://pages:9000", "endpoint"),
            ("s3://ab", "bucket's name"),
            ("s3://Pages_1", "bucket's name"),
            ("s3://pages/a//b", "prefix"),
            ("s3://pages/a%2fb", "prefix"),
            ("s3://pages?endpoint=ftp://a", "endpoint must be"),
            ("s3://pages?endpoint=http://a:b@c", "endpoint must be"),
            ("s3://pages?region=a/b", "region"),
            ("s3://pages?style=host", "style"),
            ("s3://pages?key=1", "key is not one of"),
            ("file:///", "absolute path"),
            ("file:///a?b", "absolute path"),
        ] {
            let error = url.parse::<BlobUrl>().expect_err(url).to_string();
            assert!(error.contains(rule), "{url}: {error}");
            assert!(!error.contains("key:secret"), "{url}: {error}");
        }
    }
}
