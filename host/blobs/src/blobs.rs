//! The store of segments.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures::TryStreamExt as _;
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    BackoffConfig, ClientOptions, GetOptions, GetRange, ObjectStore, ObjectStoreExt as _,
    PutPayload, RetryConfig, coalesce_ranges,
};
use tokio::sync::Mutex;

use crate::config::{BlobOptions, NewBodies};
use crate::error::BlobError;
use crate::location::{PlaceUrl, S3Place};
use crate::measure::{measured, transferred};
use crate::segment::{Place, Record, Segment, SegmentBuilder, read_record};
use crate::transport::Connector;
use crate::unfinished;

/// Folder of the segments below the prefix.
const SEGMENTS: &str = "segments";
/// Object with the id of the database that the store belongs to.
pub const MARKER: &str = "orbweaver-database";
/// Largest object that is read whole: a segment, which is at most a commit's bodies.
const MAX_OBJECT: u64 = 96 << 20;
/// What is wrong with a store that had its marker and has it no more. What is written there would be lost when
/// the real one is back.
const NOT_OURS: &str = "its object orbweaver-database is gone: check that the file system is mounted, or \
                        that the bucket was not emptied";
/// How long the answer of a health check is kept.
const HEALTH_KEPT: Duration = Duration::from_secs(5);
/// Records with at most so many bytes between them are read in one request: about what a store sends
/// in the time that it takes to begin an answer. A crawl's bodies that did not change are
/// scattered over the segments of the crawl before. What is between them is held until it is read,
/// which is why this is not more.
const NEAR: u64 = 256 << 10;
/// Records up to this size are checked without a thread of their own.
const INLINE_CHECK: u64 = 256 << 10;

/// A store of segments. Cheap to clone.
#[derive(Clone)]
pub struct Blobs(Arc<Inner>);

struct Inner {
    objects: Box<dyn ObjectStore>,
    prefix: String,
    options: BlobOptions,
    /// Segments named by this process.
    named: AtomicU64,
    /// When the store was last asked whether it answers, and the error.
    health: Mutex<Option<(Instant, Option<String>)>>,
    /// Whether this process has seen the marker, or written it.
    marked: AtomicBool,
}

/// A segment in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its name.
    pub name: String,
    /// When it was written, by the store's clock.
    pub modified: DateTime<Utc>,
    /// Its length in bytes.
    pub bytes: u64,
}

impl Blobs {
    /// Prepares requests; sends none. The folder of `file:///FOLDER` is created.
    ///
    /// # Errors
    /// [`BlobError::Settings`], which says what to correct.
    pub fn open(options: BlobOptions) -> Result<Self, BlobError> {
        let (objects, prefix): (Box<dyn ObjectStore>, String) = match &options.url.place {
            PlaceUrl::Folder(folder) => {
                let failed = |error: &dyn fmt::Display| {
                    BlobError::Settings(format!(
                        "cannot write to the folder {} of --blobs (ORBWEAVER_BLOBS): {error}",
                        folder.display()
                    ))
                };
                std::fs::create_dir_all(folder).map_err(|error| failed(&error))?;
                let local = LocalFileSystem::new_with_prefix(folder);
                let local = local.map_err(|error| failed(&error))?;
                (Box::new(local.with_fsync(true)), String::new())
            }
            PlaceUrl::S3(place) => (bucket(&options, place)?, place.prefix.clone()),
        };
        Ok(Self(Arc::new(Inner {
            objects,
            prefix,
            options,
            named: AtomicU64::new(0),
            health: Mutex::new(None),
            marked: AtomicBool::new(false),
        })))
    }

    /// The options.
    pub fn options(&self) -> &BlobOptions {
        &self.0.options
    }

    /// Whether new bodies are written to this store.
    pub fn takes_new(&self) -> bool {
        self.0.options.new_bodies == NewBodies::Store
    }

    /// The current time.
    pub fn now(&self) -> DateTime<Utc> {
        (self.0.options.now)()
    }

    /// An empty segment with a new name. Names are sorted by time.
    pub fn segment(&self) -> SegmentBuilder {
        let now = self.now();
        let number = self.0.named.fetch_add(1, Ordering::Relaxed);
        let node = self.0.options.node;
        let name = format!("{}-{node:016x}-{number:08x}.warc", time_name(now));
        SegmentBuilder::new(name, now)
    }

    /// Writes a segment. Once this returns, the store has confirmed it.
    ///
    /// # Errors
    /// If the store did not confirm it; it may have it all the same. If the marker of a folder is gone, as
    /// that of a file system that is not mounted any more.
    pub async fn put(&self, segment: &Segment) -> Result<(), BlobError> {
        // A bucket cannot be taken away from below its URL, so that one is not asked each time.
        if self.0.options.url.is_folder() && self.has_lost_marker(self.owner().await?.as_deref()) {
            return Err(BlobError::Unavailable {
                operation: "put",
                message: NOT_OURS.to_owned(),
            });
        }
        let bytes = segment.bytes.clone();
        self.put_object(&segment.name, bytes).await
    }

    /// Reads the record at a place, and checks its digest.
    ///
    /// # Errors
    /// [`BlobError::Missing`] without the segment; [`BlobError::Damaged`] if the bytes are not one
    /// whole record.
    pub async fn record(&self, segment: &str, place: Place) -> Result<Record, BlobError> {
        let range = place.offset..place.offset.saturating_add(place.length);
        if place.length > MAX_OBJECT {
            return Err(damaged(segment, "a record that is too long"));
        }
        let path = self.path(segment)?;
        let options = GetOptions {
            range: Some(GetRange::Bounded(range.clone())),
            ..GetOptions::default()
        };
        let bytes = measured("get", async {
            let failed = |error| BlobError::of("get", segment, error);
            let found = self.0.objects.get_opts(&path, options).await;
            let found = found.map_err(failed)?;
            match found.range == range {
                true => found.bytes().await.map_err(failed),
                false => Err(damaged(segment, "it ends within a record")),
            }
        })
        .await?;
        transferred("read", bytes.len());
        if bytes.len() as u64 != place.length {
            return Err(damaged(segment, "it ends within a record"));
        }
        if place.length <= INLINE_CHECK {
            return read_record(segment, &bytes);
        }
        let name = segment.to_owned();
        tokio::task::spawn_blocking(move || read_record(&name, &bytes))
            .await
            .map_err(|error| damaged(segment, &error.to_string()))?
    }

    /// Reads records of one segment, in the order of `places`; those that are near each other in one
    /// request. Each is checked as by [`record`](Self::record).
    ///
    /// # Errors
    /// If a request fails; then no record is read.
    pub async fn records(
        &self,
        segment: &str,
        places: &[Place],
    ) -> Result<Vec<Result<Record, BlobError>>, BlobError> {
        let path = &self.path(segment)?;
        let ranges: Vec<Range<u64>> = places
            .iter()
            .map(|place| place.offset..place.offset.saturating_add(place.length))
            .collect();
        if places.iter().any(|place| place.length > MAX_OBJECT) {
            return Err(damaged(segment, "a record that is too long"));
        }
        let get = |range: Range<u64>| {
            let wanted = range.end - range.start;
            measured("get", async move {
                let bytes = self.0.objects.get_range(path, range).await;
                let bytes = bytes.map_err(|error| BlobError::of("get", segment, error))?;
                transferred("read", bytes.len());
                // `coalesce_ranges` panics if a record begins behind the end.
                match bytes.len() as u64 == wanted {
                    true => Ok(bytes),
                    false => Err(damaged(segment, "it ends within a record")),
                }
            })
        };
        let read = coalesce_ranges(&ranges, get, NEAR).await?;
        let name = segment.to_owned();
        tokio::task::spawn_blocking(move || {
            // Copies: slices would keep all that was read with them.
            let records = read.iter().map(|bytes| Bytes::copy_from_slice(bytes));
            records.map(|bytes| read_record(&name, &bytes)).collect()
        })
        .await
        .map_err(|error| damaged(segment, &error.to_string()))
    }

    /// Reads a whole segment.
    ///
    /// # Errors
    /// [`BlobError::Missing`] without it.
    pub async fn whole(&self, segment: &str) -> Result<Bytes, BlobError> {
        self.get_object(segment).await
    }

    /// Deletes a segment; it may be absent.
    ///
    /// # Errors
    /// If the store did not confirm it.
    pub async fn delete(&self, segment: &str) -> Result<(), BlobError> {
        let path = self.path(segment)?;
        measured("delete", async {
            match self.0.objects.delete(&path).await {
                Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
                Err(error) => Err(BlobError::of("delete", segment, error)),
            }
        })
        .await
    }

    /// Segments in the order of their names (a folder: in any order), named after `after`; at most
    /// `limit` from a bucket.
    ///
    /// # Errors
    /// If the store cannot list them.
    pub async fn list(&self, after: Option<&str>, limit: usize) -> Result<Vec<Stored>, BlobError> {
        use futures::StreamExt as _;
        let folder = self.path(SEGMENTS)?;
        let listed = match after {
            None => self.0.objects.list(Some(&folder)),
            Some(name) => {
                let offset = self.path(name)?;
                self.0.objects.list_with_offset(Some(&folder), &offset)
            }
        };
        let limit = match self.0.options.url.is_folder() {
            true => usize::MAX,
            false => limit,
        };
        let cut = match self.0.prefix.is_empty() {
            true => 0,
            false => self.0.prefix.len() + 1,
        };
        measured("list", async {
            listed
                .take(limit)
                .map_ok(|object| Stored {
                    name: object
                        .location
                        .as_ref()
                        .get(cut..)
                        .unwrap_or_default()
                        .to_owned(),
                    modified: object.last_modified,
                    bytes: object.size,
                })
                .try_collect()
                .await
                .map_err(|error| BlobError::of("list", SEGMENTS, error))
        })
        .await
    }

    /// Deletes what a process left that ended while it wrote to a folder, if it is older than
    /// `before`; returns how many files. A bucket has nothing unfinished.
    ///
    /// # Errors
    /// If the folder cannot be read, or a file cannot be deleted.
    pub async fn remove_unfinished(&self, before: DateTime<Utc>) -> Result<u64, BlobError> {
        let PlaceUrl::Folder(folder) = &self.0.options.url.place else {
            return Ok(0);
        };
        let folders = [folder.clone(), folder.join(SEGMENTS)];
        let removed = tokio::task::spawn_blocking(move || {
            folders.iter().try_fold(0, |removed, folder| {
                Ok(removed + unfinished::remove(folder, before.into())?)
            })
        });
        let failed = |message: String| BlobError::Unavailable {
            operation: "delete",
            message,
        };
        let removed: Result<u64, std::io::Error> =
            removed.await.map_err(|error| failed(error.to_string()))?;
        removed.map_err(|error| failed(error.to_string()))
    }

    /// The id of the database that the store belongs to; `None` if it is new.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn owner(&self) -> Result<Option<String>, BlobError> {
        match self.get_object(MARKER).await {
            Ok(bytes) => {
                self.0.marked.store(true, Ordering::Relaxed);
                Ok(Some(String::from_utf8_lossy(&bytes).trim().to_owned()))
            }
            Err(BlobError::Missing(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes the id of the database that the store belongs to.
    ///
    /// # Errors
    /// If the store did not confirm it.
    pub async fn set_owner(&self, id: &str) -> Result<(), BlobError> {
        self.put_object(MARKER, Bytes::from(format!("{id}\n")))
            .await?;
        self.0.marked.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Whether the marker that this process has seen is gone.
    fn has_lost_marker(&self, owner: Option<&str>) -> bool {
        owner.is_none() && self.0.marked.load(Ordering::Relaxed)
    }

    /// Checks within `patience` that the store answers and has its marker; returns what is wrong. Whoever asks often
    /// gets the answer of the last seconds: strangers may ask.
    pub async fn problem(&self, patience: Duration) -> Option<String> {
        let mut health = self.0.health.lock().await;
        if let Some((at, problem)) = &*health
            && at.elapsed() < HEALTH_KEPT
        {
            return problem.clone();
        }
        let problem = match tokio::time::timeout(patience, self.owner()).await {
            Ok(Ok(owner)) => {
                let is_lost = self.has_lost_marker(owner.as_deref());
                is_lost.then(|| NOT_OURS.to_owned())
            }
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some(format!("no answer within {} ms", patience.as_millis())),
        };
        if let Some(problem) = &problem {
            tracing::warn!(problem, "the blob store does not answer");
        }
        *health = Some((Instant::now(), problem.clone()));
        problem
    }

    async fn put_object(&self, name: &str, bytes: Bytes) -> Result<(), BlobError> {
        let path = self.path(name)?;
        let length = bytes.len();
        measured("put", async {
            self.0
                .objects
                .put(&path, PutPayload::from_bytes(bytes))
                .await
                .map_err(|error| BlobError::of("put", name, error))
        })
        .await?;
        transferred("written", length);
        Ok(())
    }

    async fn get_object(&self, name: &str) -> Result<Bytes, BlobError> {
        let path = self.path(name)?;
        let bytes = measured("get", async {
            let failed = |error| BlobError::of("get", name, error);
            let found = self.0.objects.get(&path).await.map_err(failed)?;
            if found.meta.size > MAX_OBJECT {
                return Err(damaged(name, "it is larger than any segment"));
            }
            found.bytes().await.map_err(failed)
        })
        .await?;
        transferred("read", bytes.len());
        Ok(bytes)
    }

    fn path(&self, name: &str) -> Result<Path, BlobError> {
        let prefix = &self.0.prefix;
        let whole = match prefix.is_empty() {
            true => name.to_owned(),
            false => format!("{prefix}/{name}"),
        };
        Path::parse(whole).map_err(|error| damaged(name, &error.to_string()))
    }
}

/// First part of the names of segments made at a time.
fn time_name(at: DateTime<Utc>) -> String {
    let ms = at.timestamp_millis().max(0);
    format!("{SEGMENTS}/{ms:012x}")
}

fn damaged(segment: &str, problem: &str) -> BlobError {
    BlobError::Damaged {
        segment: segment.to_owned(),
        problem: problem.to_owned(),
    }
}

fn bucket(options: &BlobOptions, place: &S3Place) -> Result<Box<dyn ObjectStore>, BlobError> {
    let Some(transport) = &options.transport else {
        return Err(BlobError::Settings(
            "a bucket needs an HTTP client, and there is none".to_owned(),
        ));
    };
    let mut builder = AmazonS3Builder::from_env()
        .with_bucket_name(&place.bucket)
        .with_virtual_hosted_style_request(place.virtual_host)
        .with_client_options(ClientOptions::new().with_allow_http(true))
        .with_http_connector(Connector(Arc::clone(transport)))
        // Some stores lack the request that deletes many objects.
        .with_disable_bulk_delete(true)
        .with_retry(RetryConfig {
            backoff: BackoffConfig {
                init_backoff: Duration::from_millis(100),
                max_backoff: Duration::from_secs(5),
                base: 2.0,
            },
            max_retries: 8,
            retry_timeout: options.timeout,
        });
    if let Some(endpoint) = &place.endpoint {
        builder = builder.with_endpoint(endpoint);
    }
    if let Some(region) = &place.region {
        builder = builder.with_region(region);
    }
    if let Some(credentials) = &options.credentials {
        builder = builder
            .with_access_key_id(&credentials.access_key_id)
            .with_secret_access_key(&credentials.secret_access_key);
        if let Some(token) = &credentials.session_token {
            builder = builder.with_token(token);
        }
    }
    let store = builder
        .build()
        .map_err(|error| BlobError::Settings(format!("blobs: {error}")))?;
    Ok(Box::new(store))
}

impl fmt::Debug for Blobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Blobs").field(&self.0.options.url).finish()
    }
}
