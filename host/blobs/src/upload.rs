//! A file in a bucket of a client: written in parts, and visible only when it is complete.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::multipart::{MultipartStore as _, PartId};
use object_store::path::Path;
use object_store::{
    BackoffConfig, ClientOptions, Error as StoreFailure, ObjectStoreExt as _, PutPayload,
    RetryConfig,
};

use crate::config::Credentials;
use crate::error::{behind_url, brief};
use crate::location::{BlobUrl, PlaceUrl};
use crate::transport::{Connector, Transport};

/// Options of an upload.
pub struct UploadOptions {
    /// Bucket and prefix.
    pub url: BlobUrl,
    /// Name of the file below the prefix.
    pub name: String,
    /// The access key. No other credentials are looked for.
    pub credentials: Credentials,
    /// Longest time for one request with its repetitions.
    pub timeout: Duration,
    /// Sends requests.
    pub transport: Arc<dyn Transport>,
}

impl fmt::Debug for UploadOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UploadOptions")
            .field("url", &self.url)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Error of an upload. Messages have no credentials.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UploadError {
    /// The place cannot be used; says which part of it.
    #[error("{0}")]
    Invalid(String),
    /// The bucket does not exist.
    #[error("the bucket does not exist")]
    NoBucket,
    /// The store refuses the access key, or what it wants to do.
    #[error("the bucket refuses the upload: {0}")]
    Denied(String),
    /// The store cannot be reached or fails; the request may succeed later.
    #[error("the bucket failed: {0}")]
    Unavailable(String),
}

/// A part of a file that the store has.
#[derive(Clone, Debug)]
pub struct UploadedPart(PartId);

/// A file to be written to a bucket.
pub struct BucketFile {
    store: AmazonS3,
    path: Path,
    credentials: Credentials,
}

impl fmt::Debug for BucketFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BucketFile").field(&self.path).finish()
    }
}

impl BucketFile {
    /// Prepares requests; sends none.
    ///
    /// # Errors
    /// [`UploadError::Invalid`] if the place is no bucket.
    pub fn open(options: UploadOptions) -> Result<Self, UploadError> {
        let PlaceUrl::S3(place) = &options.url.place else {
            return Err(UploadError::Invalid("must start with s3://".to_owned()));
        };
        // Nothing of the environment: it has the operator's credentials.
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(&place.bucket)
            .with_region(place.region.as_deref().unwrap_or(DEFAULT_REGION))
            .with_virtual_hosted_style_request(place.virtual_host)
            .with_access_key_id(&options.credentials.access_key_id)
            .with_secret_access_key(&options.credentials.secret_access_key)
            .with_client_options(ClientOptions::new().with_allow_http(true))
            .with_http_connector(Connector(Arc::clone(&options.transport)))
            .with_retry(RetryConfig {
                backoff: BackoffConfig {
                    init_backoff: Duration::from_millis(100),
                    max_backoff: Duration::from_secs(5),
                    base: 2.0,
                },
                max_retries: 8,
                retry_timeout: options.timeout,
            });
        if let Some(token) = &options.credentials.session_token {
            builder = builder.with_token(token);
        }
        if let Some(endpoint) = &place.endpoint {
            builder = builder.with_endpoint(endpoint);
        }
        let invalid = |error: &dyn fmt::Display| UploadError::Invalid(error.to_string());
        let store = builder.build().map_err(|error| invalid(&error))?;
        let path = match place.prefix.is_empty() {
            true => options.name,
            false => format!("{}/{}", place.prefix, options.name),
        };
        Ok(Self {
            store,
            path: Path::parse(path).map_err(|error| invalid(&error))?,
            credentials: options.credentials,
        })
    }

    /// Writes the whole file.
    ///
    /// # Errors
    /// If the store did not confirm it.
    pub async fn put(&self, bytes: Bytes) -> Result<(), UploadError> {
        let put = self.store.put(&self.path, PutPayload::from_bytes(bytes));
        put.await.map_err(|error| self.error(error))?;
        Ok(())
    }

    /// Begins to write in parts; returns the id of the upload.
    ///
    /// # Errors
    /// If the store did not confirm it.
    pub async fn begin(&self) -> Result<String, UploadError> {
        let begun = self.store.create_multipart(&self.path).await;
        begun.map_err(|error| self.error(error))
    }

    /// Writes a part, the first one being 0. All but the last have at least 5 MiB.
    ///
    /// # Errors
    /// If the store did not confirm it.
    pub async fn part(
        &self,
        upload: &str,
        index: usize,
        bytes: Bytes,
    ) -> Result<UploadedPart, UploadError> {
        let (upload, payload) = (upload.to_owned(), PutPayload::from_bytes(bytes));
        let put = self.store.put_part(&self.path, &upload, index, payload);
        put.await
            .map(UploadedPart)
            .map_err(|error| self.error(error))
    }

    /// Makes the file of its parts, in their order; all of them have `size` bytes.
    ///
    /// # Errors
    /// If the store did not confirm it.
    pub async fn complete(
        &self,
        upload: &str,
        parts: Vec<UploadedPart>,
        size: u64,
    ) -> Result<(), UploadError> {
        let upload = upload.to_owned();
        let parts = parts.into_iter().map(|UploadedPart(part)| part).collect();
        let done = self.store.complete_multipart(&self.path, &upload, parts);
        match done.await {
            Ok(_) => Ok(()),
            // The store may have done it, and its answer was lost: the request was sent again.
            Err(error) if is_over(&error) => match self.store.head(&self.path).await {
                Ok(found) if found.size == size => Ok(()),
                Ok(_) | Err(StoreFailure::NotFound { .. }) => Err(self.error(error)),
                Err(error) => Err(self.error(error)),
            },
            Err(error) => Err(self.error(error)),
        }
    }

    /// Gives an upload up: the store deletes its parts. It may be over already.
    ///
    /// # Errors
    /// If the store did not confirm it.
    pub async fn abort(&self, upload: &str) -> Result<(), UploadError> {
        match self
            .store
            .abort_multipart(&self.path, &upload.to_owned())
            .await
        {
            Ok(()) | Err(StoreFailure::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.error(error)),
        }
    }

    fn error(&self, error: StoreFailure) -> UploadError {
        if is_over(&error) {
            return UploadError::Unavailable("it has given the upload up".to_owned());
        }
        let whole = error.to_string();
        let said = behind_url(&whole);
        if matches!(error, StoreFailure::NotFound { .. }) || said.contains("NoSuchBucket") {
            return UploadError::NoBucket;
        }
        let message = brief(&self.masked(&whole));
        let is_refusal = ["401 Unauthorized", "403 Forbidden"]
            .iter()
            .any(|status| said.contains(status));
        match error {
            StoreFailure::PermissionDenied { .. } | StoreFailure::Unauthenticated { .. } => {
                UploadError::Denied(message)
            }
            _ if is_refusal => UploadError::Denied(message),
            _ => UploadError::Unavailable(message),
        }
    }

    /// The message without the access key: stores repeat its id, and what they have signed.
    fn masked(&self, message: &str) -> String {
        let Credentials {
            access_key_id,
            secret_access_key,
            session_token,
        } = &self.credentials;
        let known = [
            Some(secret_access_key),
            session_token.as_ref(),
            Some(access_key_id),
        ];
        let known = known
            .into_iter()
            .flatten()
            .filter(|value| !value.is_empty());
        known.fold(message.to_owned(), |message, value| {
            message.replace(value.as_str(), "***")
        })
    }
}

/// Whether the store does not have the upload, or not any more: it is complete, or was given up.
fn is_over(error: &StoreFailure) -> bool {
    match error {
        StoreFailure::NotFound { source, .. } => {
            behind_url(&source.to_string()).contains("NoSuchUpload")
        }
        _ => false,
    }
}

/// The region where none is given.
const DEFAULT_REGION: &str = "us-east-1";

impl BlobUrl {
    /// The URL that requests to the bucket begin with; `None` for a folder.
    pub fn bucket_url(&self) -> Option<String> {
        let PlaceUrl::S3(place) = &self.place else {
            return None;
        };
        let region = place.region.as_deref().unwrap_or(DEFAULT_REGION);
        Some(match (&place.endpoint, place.virtual_host) {
            (Some(endpoint), _) => format!("{endpoint}/"),
            (None, true) => format!("https://{}.s3.{region}.amazonaws.com/", place.bucket),
            (None, false) => format!("https://s3.{region}.amazonaws.com/"),
        })
    }

    /// The place without parameters, and a name below its prefix: `s3://BUCKET/PREFIX/NAME`.
    pub fn object(&self, name: &str) -> Option<String> {
        let PlaceUrl::S3(place) = &self.place else {
            return None;
        };
        let bucket = &place.bucket;
        Some(match place.prefix.as_str() {
            "" => format!("s3://{bucket}/{name}"),
            prefix => format!("s3://{bucket}/{prefix}/{name}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Mutex;

    use async_trait::async_trait;
    use http::{Method, Request, Response};

    use super::*;
    use crate::transport::{TransportError, TransportErrorKind};

    /// Answers in this order; an empty one is lost on the way.
    #[derive(Debug)]
    struct Script(Mutex<VecDeque<(Method, Option<Response<Bytes>>)>>);

    #[async_trait]
    impl Transport for Script {
        async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
            let (method, answer) = self.0.lock().unwrap().pop_front().expect("no request");
            assert_eq!(method, *request.method());
            answer.ok_or_else(|| TransportError {
                kind: TransportErrorKind::Interrupted,
                message: "closed".to_owned(),
            })
        }
    }

    fn gone(method: Method) -> (Method, Option<Response<Bytes>>) {
        let body = Bytes::from_static(b"<Error><Code>NoSuchUpload</Code></Error>");
        (
            method,
            Some(Response::builder().status(404).body(body).unwrap()),
        )
    }

    fn head(status: u16, size: u64) -> (Method, Option<Response<Bytes>>) {
        let answer = Response::builder()
            .status(status)
            .header("content-length", size)
            .header("last-modified", "Wed, 25 Nov 2026 12:00:00 GMT")
            .header("etag", "\"a\"");
        (Method::HEAD, Some(answer.body(Bytes::new()).unwrap()))
    }

    fn file(
        answers: impl IntoIterator<Item = (Method, Option<Response<Bytes>>)>,
    ) -> (BucketFile, Arc<Script>) {
        let script = Arc::new(Script(Mutex::new(answers.into_iter().collect())));
        let file = BucketFile::open(UploadOptions {
            url: "s3://pages/NoSuchBucket?endpoint=http://127.0.0.1:9"
                .parse()
                .unwrap(),
            name: "x.csv".to_owned(),
            credentials: Credentials {
                access_key_id: "id".to_owned(),
                secret_access_key: "key".to_owned(),
                session_token: None,
            },
            timeout: Duration::from_secs(60),
            transport: Arc::clone(&script) as _,
        });
        (file.unwrap(), script)
    }

    fn part() -> UploadedPart {
        UploadedPart(PartId {
            content_id: "\"a\"".to_owned(),
        })
    }

    #[tokio::test]
    async fn a_file_is_complete_where_only_the_answer_was_lost() {
        let lost = (Method::POST, None);
        let (file, script) = file([lost, gone(Method::POST), head(200, 7)]);
        assert_eq!(file.complete("upload", vec![part()], 7).await, Ok(()));
        assert!(script.0.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn an_upload_that_was_given_up_can_be_made_again() {
        let again = |error: UploadError| matches!(error, UploadError::Unavailable(_));
        // Another file, none, and a store that does not say.
        for answer in [head(200, 6), head(404, 0), head(400, 0)] {
            let (file, script) = file([gone(Method::POST), answer]);
            let error = file.complete("upload", vec![part()], 7).await.unwrap_err();
            assert!(again(error));
            assert!(script.0.lock().unwrap().is_empty());
        }
        let (file, _script) = file([gone(Method::PUT)]);
        let error = file.part("upload", 0, Bytes::from_static(b"x")).await;
        assert!(again(error.unwrap_err()));
    }

    #[tokio::test]
    async fn a_missing_bucket_is_known_by_the_answer_and_not_by_its_name() {
        let answer = |status: u16, body: &'static str| {
            let body = Bytes::from_static(body.as_bytes());
            let answer = Response::builder().status(status).body(body);
            (Method::PUT, Some(answer.unwrap()))
        };
        let put = async |answer| file([answer]).0.put(Bytes::from_static(b"x")).await;
        let missing = "<Error><Code>NoSuchBucket</Code></Error>";
        assert_eq!(put(answer(404, missing)).await, Err(UploadError::NoBucket));
        let bad = put(answer(400, "<Error><Code>BadDigest</Code></Error>")).await;
        assert!(matches!(bad, Err(UploadError::Unavailable(_))), "{bad:?}");
    }

    #[test]
    fn requests_go_to_the_endpoint_or_to_amazon() {
        let base = |url: &str| url.parse::<BlobUrl>().unwrap().bucket_url();
        let own = base("s3://pages/a?endpoint=https://s3.example.org:9000/");
        assert_eq!(own.as_deref(), Some("https://s3.example.org:9000/"));
        let amazon = base("s3://pages?region=eu-central-1");
        let expected = "https://pages.s3.eu-central-1.amazonaws.com/";
        assert_eq!(amazon.as_deref(), Some(expected));
        let path = base("s3://pages?style=path");
        assert_eq!(path.as_deref(), Some("https://s3.us-east-1.amazonaws.com/"));
        assert_eq!(base("file:///var/lib"), None);
        let url: BlobUrl = "s3://pages/a/b".parse().unwrap();
        assert_eq!(url.object("x.csv").as_deref(), Some("s3://pages/a/b/x.csv"));
    }
}
