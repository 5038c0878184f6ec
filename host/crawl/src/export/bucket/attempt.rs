//! One attempt at an export to a bucket.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::BytesMut;
use chrono::TimeDelta;
use orbweaver_accounts::context::Accounts;
use orbweaver_blobs::{BucketFile, Credentials, UploadError, UploadOptions};
use orbweaver_pipeline::ScanError;
use orbweaver_store::exports::{BucketExport, ExportLease, ExportOutcome, LeasedExport};
use parking_lot::Mutex;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tracing::Instrument as _;

use super::signals::Registered;
use super::{BucketRequest, FetchTransport, SecretProblem, open_secret};
use crate::context::Crawls;
use crate::export::Export;

/// Bytes of a part, the same for all: some stores want that.
const PART: usize = 16 << 20;
/// Most parts of an upload, a rule of S3.
const MAX_PARTS: usize = 10_000;
/// Time limit of one request.
const REQUEST: Duration = Duration::from_secs(120);
/// Time limit for giving an upload up.
const ABORT: Duration = Duration::from_secs(4);
/// Largest answer of a bucket.
const MAX_ANSWER: u64 = 1 << 20;
/// Attempts at an export.
const MAX_ATTEMPTS: u32 = 5;
/// Wait before the second attempt; that before each further one is longer by as much.
const WAIT: TimeDelta = TimeDelta::seconds(20);
/// Time between two attempts to write the end.
const RETRY: Duration = Duration::from_millis(500);
/// Attempts to write the end before the lease is left to run out.
const RETRIES: u32 = 120;

/// Why an attempt failed.
struct Failure {
    code: &'static str,
    message: String,
    /// Whether another attempt may succeed.
    again: bool,
}

impl Failure {
    fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            again: false,
        }
    }
}

impl From<ScanError> for Failure {
    fn from(error: ScanError) -> Self {
        tracing::error!(%error, "export to a bucket aborted");
        Self {
            again: true,
            ..Self::new("INTERNAL", "the pages could not be read")
        }
    }
}

impl From<SecretProblem> for Failure {
    fn from(problem: SecretProblem) -> Self {
        match problem {
            SecretProblem::Store(error) => ScanError::from(error).into(),
            other => Self::new("INVALID_INPUT", other.to_string()),
        }
    }
}

impl From<UploadError> for Failure {
    fn from(error: UploadError) -> Self {
        let code = match error {
            UploadError::Invalid(_) => "INVALID_INPUT",
            _ => "FETCH_FAILED",
        };
        Self {
            again: matches!(error, UploadError::Unavailable(_)),
            ..Self::new(code, error.to_string())
        }
    }
}

/// How an attempt ended.
enum Ended {
    Written,
    Failed(Failure),
    Cancelled,
    /// Another worker has the export, or it was deleted.
    Lost,
    /// The process stops.
    Stopped,
}

/// How far an attempt is.
#[derive(Default)]
struct Progress {
    pages: AtomicU64,
    bytes: AtomicU64,
    /// The upload that is open.
    upload: Mutex<Option<String>>,
}

struct Attempt<'a> {
    crawls: &'a Crawls,
    accounts: &'a Accounts,
    lease: ExportLease,
    export: BucketExport,
    progress: Progress,
}

/// Works on a leased export until it ends, or until the attempt is void.
pub(super) async fn attempt(
    crawls: &Crawls,
    accounts: &Accounts,
    leased: LeasedExport,
    registered: Registered,
) {
    let span = tracing::info_span!(
        "export",
        request_id = leased.export.request_id,
        run.id = leased.export.run.get(),
        export.id = leased.export.id.get(),
        attempt = leased.export.attempts,
    );
    let attempt = Attempt {
        crawls,
        accounts,
        lease: leased.lease,
        export: leased.export,
        progress: Progress::default(),
    };
    attempt.run(registered).instrument(span).await;
}

impl Attempt<'_> {
    async fn run(&self, mut registered: Registered) {
        if self.export.attempts > MAX_ATTEMPTS {
            let message = format!("the process died in each of {MAX_ATTEMPTS} attempts");
            let failed = ExportOutcome::Failed {
                code: "INTERNAL",
                message,
            };
            return self.end(failed).await;
        }
        let transport = Arc::new(FetchTransport::new(
            self.crawls.pipeline.fetcher.of_project(self.export.project),
            REQUEST,
            MAX_ANSWER,
        ));
        let file = match self.open(&transport).await {
            Ok(file) => file,
            Err(failure) => return self.failed(failure).await,
        };
        // Parts that an attempt has left whose process died.
        if let Some(upload) = &self.export.upload {
            abort(&file, upload).await;
        }
        let ended = tokio::select! {
            written = self.write(&file) => match written {
                Ok(()) => Ended::Written,
                Err(failure) => Ended::Failed(match transport.refusal() {
                    Some(why) => Failure::new("INVALID_INPUT", format!("to: {why}")),
                    None => failure,
                }),
            },
            ended = self.beat() => ended,
            () = registered.cancelled() => Ended::Cancelled,
            () = self.crawls.bucket_exports.stopped() => Ended::Stopped,
        };
        let open = self.progress.upload.lock().take();
        if let Some(upload) = open {
            abort(&file, &upload).await;
        }
        match ended {
            Ended::Written => self.end(ExportOutcome::Done).await,
            Ended::Cancelled => self.end(ExportOutcome::Cancelled).await,
            Ended::Failed(failure) => self.failed(failure).await,
            Ended::Lost => tracing::info!("lost the lease of an export to a bucket"),
            Ended::Stopped => {
                if let Err(error) = self.crawls.store.release_export(self.lease).await {
                    tracing::warn!(%error, "cannot hand an export to a bucket back");
                }
            }
        }
    }

    /// The file, with the project's access key.
    async fn open(&self, transport: &Arc<FetchTransport>) -> Result<BucketFile, Failure> {
        let request = self.request()?;
        let project = self.export.project;
        let url = request.to.bucket_url();
        let url = url.ok_or_else(|| Failure::new("INVALID_INPUT", "to: must start with s3://"))?;
        let open = async |name: &str| open_secret(self.accounts, project, name, &url).await;
        let credentials = Credentials {
            access_key_id: open(&request.access_key_id).await?,
            secret_access_key: open(&request.secret_access_key).await?,
            session_token: match &request.session_token {
                Some(name) => Some(open(name).await?),
                None => None,
            },
        };
        Ok(BucketFile::open(UploadOptions {
            name: request.name(self.export.run),
            url: request.to,
            credentials,
            timeout: REQUEST,
            transport: Arc::clone(transport) as _,
        })?)
    }

    fn request(&self) -> Result<BucketRequest, Failure> {
        serde_json::from_str(&self.export.request).map_err(|error| {
            tracing::error!(%error, "the request of an export is damaged");
            Failure::new("INTERNAL", "the request cannot be read")
        })
    }

    /// Writes the file.
    async fn write(&self, file: &BucketFile) -> Result<(), Failure> {
        let (store, pipeline) = (&self.crawls.store, &self.crawls.pipeline);
        let spec = self.request()?.spec();
        let spec = spec.map_err(|error| Failure::new("INVALID_INPUT", error.to_string()))?;
        let run = store.run(self.export.project, self.export.run).await;
        let run = run.map_err(ScanError::from)?;
        let run = run.ok_or_else(|| Failure::new("NOT_FOUND", "the crawl was deleted"))?;
        let exports = &self.crawls.bucket_exports;
        let mut turn = exports.turn().await;
        let mut export = Export::new(store, pipeline, &run, spec, None).await?;
        let mut waiting = BytesMut::new();
        let mut parts = Vec::new();
        while let Some(piece) = export.next().await? {
            self.progress.pages.store(export.pages(), Ordering::Relaxed);
            waiting.extend_from_slice(&piece);
            if waiting.len() < PART {
                continue;
            }
            while waiting.len() >= PART {
                let part = waiting.split_to(PART).freeze();
                parts.push(self.part(file, parts.len(), part).await?);
            }
            drop(turn);
            turn = match exports.turn_at_once() {
                Some(turn) => turn,
                None => {
                    export.pause();
                    // A copy: the buffer has room for parts.
                    waiting = BytesMut::from(&waiting[..]);
                    exports.turn().await
                }
            };
        }
        self.progress.pages.store(export.pages(), Ordering::Relaxed);
        let rest = waiting.freeze();
        let length = rest.len() as u64;
        let upload = self.progress.upload.lock().clone();
        let Some(upload) = upload else {
            file.put(rest).await?;
            self.progress.bytes.fetch_add(length, Ordering::Relaxed);
            return Ok(());
        };
        if !rest.is_empty() {
            parts.push(self.part(file, parts.len(), rest).await?);
        }
        drop(turn);
        let (_, size) = self.written();
        file.complete(&upload, parts, size).await?;
        *self.progress.upload.lock() = None;
        Ok(())
    }

    async fn part(
        &self,
        file: &BucketFile,
        index: usize,
        part: bytes::Bytes,
    ) -> Result<orbweaver_blobs::UploadedPart, Failure> {
        check_parts(index)?;
        let known = self.progress.upload.lock().clone();
        let upload = match known {
            Some(upload) => upload,
            None => {
                let upload = file.begin().await?;
                *self.progress.upload.lock() = Some(upload.clone());
                let noted = self
                    .crawls
                    .store
                    .note_export_upload(self.lease, Some(&upload));
                // A lost lease is noticed by the next heartbeat.
                noted.await.map_err(ScanError::from)?;
                upload
            }
        };
        let length = part.len() as u64;
        let part = file.part(&upload, index, part).await?;
        self.progress.bytes.fetch_add(length, Ordering::Relaxed);
        Ok(part)
    }

    /// Keeps the lease until it is lost or the export is cancelled elsewhere.
    async fn beat(&self) -> Ended {
        let lease = self.crawls.config.lease_ms.as_duration();
        let mut beat = interval(lease / 4);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            beat.tick().await;
            let (pages, bytes) = self.written();
            let until = self.crawls.clock.now() + lease;
            let store = &self.crawls.store;
            match store
                .extend_export_lease(self.lease, until, pages, bytes)
                .await
            {
                Ok(Some(false)) => {}
                Ok(Some(true)) => return Ended::Cancelled,
                Ok(None) => return Ended::Lost,
                // The epoch prevents writes of this worker if another one has taken the export.
                Err(error) => tracing::warn!(%error, "cannot extend the lease of an export"),
            }
        }
    }

    fn written(&self) -> (u64, u64) {
        (
            self.progress.pages.load(Ordering::Relaxed),
            self.progress.bytes.load(Ordering::Relaxed),
        )
    }

    async fn failed(&self, failure: Failure) {
        let Failure {
            code,
            message,
            again,
        } = failure;
        tracing::info!(code, message, again, "an export to a bucket failed");
        if !again || self.export.attempts >= MAX_ATTEMPTS {
            return self.end(ExportOutcome::Failed { code, message }).await;
        }
        let count = i32::try_from(self.export.attempts).unwrap_or(i32::MAX);
        let until = self.crawls.clock.now() + WAIT * count;
        let store = &self.crawls.store;
        if let Err(error) = store
            .postpone_export(self.lease, (code, &message), until)
            .await
        {
            tracing::warn!(%error, "cannot postpone an export; its lease will expire");
        }
    }

    async fn end(&self, outcome: ExportOutcome) {
        for _ in 0..RETRIES {
            let at = self.crawls.clock.now();
            let store = &self.crawls.store;
            match store
                .end_export(self.lease, &outcome, self.written(), at)
                .await
            {
                Ok(_) => return tracing::info!(?outcome, "an export to a bucket ended"),
                Err(error) => tracing::warn!(%error, "cannot write the end of an export yet"),
            }
            sleep(RETRY).await;
        }
        tracing::error!("the end of an export could not be written; it will be made again");
    }
}

/// Whether an upload may have one more part.
fn check_parts(count: usize) -> Result<(), Failure> {
    if count < MAX_PARTS {
        return Ok(());
    }
    let message = format!(
        "the file is larger than {} GiB: S3 takes at most {MAX_PARTS} parts of an upload, and each has {} MiB",
        (MAX_PARTS * PART) >> 30,
        PART >> 20,
    );
    Err(Failure::new("INVALID_INPUT", message))
}

/// Gives an upload up. Where that fails, the bucket's own rules remove its parts.
async fn abort(file: &BucketFile, upload: &str) {
    match timeout(ABORT, file.abort(upload)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "cannot abort the multipart upload"),
        Err(_) => tracing::warn!("cannot abort the multipart upload in time"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_too_many_parts_fails_for_good_and_says_so() {
        assert!(check_parts(0).is_ok());
        assert!(check_parts(9_999).is_ok());
        let failure = check_parts(10_000).expect_err("a failure");
        assert!(!failure.again);
        assert_eq!(failure.code, "INVALID_INPUT");
        assert_eq!(
            failure.message,
            "the file is larger than 156 GiB: S3 takes at most 10000 parts of an upload, and each has 16 MiB"
        );
    }
}
