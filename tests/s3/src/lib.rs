//! A temporary S3 server on loopback, which checks signatures and keeps its objects in a temporary
//! folder. Tests queue faults, each for one request.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, Uri, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use parking_lot::Mutex;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// Id of the server's access key.
pub const ACCESS_KEY: &str = "test-key";
/// Its secret.
pub const SECRET_KEY: &str = "test-secret";
/// The bucket that every server has.
pub const BUCKET: &str = "bodies";

type Body = UnsyncBoxBody<Bytes, Dropped>;

/// The connection is closed here.
#[derive(Debug)]
struct Dropped;

impl std::fmt::Display for Dropped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("closed by the test")
    }
}

impl std::error::Error for Dropped {}

/// What happens to one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// 503 with this Retry-After, in seconds.
    Busy(u64),
    /// The server begins after a pause.
    Slow(Duration),
    /// The connection is closed in the middle of the request's body.
    Torn,
    /// The request is done, and the connection closed without an answer.
    Unanswered,
    /// The server does not know the upload, as after one that is complete. This one refuses it.
    NoUpload,
    /// One bit in the middle of the answer's body is wrong.
    Corrupt,
    /// The second half of the answer's body is missing, with a matching length.
    Short,
}

/// Requests that a fault waits for.
type Selected = fn(&Method, &Uri) -> bool;

#[derive(Default)]
struct Shared {
    faults: Mutex<VecDeque<(Selected, Fault)>>,
    /// Every request answered with this status, while set.
    down: Mutex<Option<StatusCode>>,
    requests: Mutex<Vec<Method>>,
    /// Uploads below this path wait to be let through, one by one.
    held: Mutex<Option<(String, Arc<Semaphore>)>>,
    waiting: AtomicUsize,
}

/// A running server.
pub struct S3 {
    address: SocketAddr,
    folder: TempDir,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl S3 {
    /// Starts a server with an empty bucket.
    ///
    /// # Errors
    /// If it cannot listen.
    pub async fn start() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("orbweaver-s3-").tempdir()?;
        std::fs::create_dir(folder.path().join(BUCKET))?;
        let files = s3s_fs::FileSystem::new(folder.path())
            .map_err(|error| anyhow::anyhow!("cannot open the folder: {error:?}"))?;
        let mut builder = S3ServiceBuilder::new(files);
        builder.set_auth(SimpleAuth::from_single(ACCESS_KEY, SECRET_KEY));
        let service = builder.build();
        let listener = TcpListener::bind("127.0.0.1:0").await.context("listen")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let task = tokio::spawn(serve(listener, service, Arc::clone(&shared)));
        Ok(Self {
            address,
            folder,
            shared,
            task,
        })
    }

    /// URL of a prefix in the bucket, for `--blobs`.
    pub fn url(&self, prefix: &str) -> String {
        format!(
            "s3://{BUCKET}/{prefix}?endpoint=http://{}&region=us-east-1",
            self.address
        )
    }

    /// URL of a bucket that does not exist.
    pub fn missing_bucket(&self) -> String {
        self.url("").replace(BUCKET, "missing")
    }

    /// Address of the server.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Folder of the bucket's objects.
    pub fn bucket(&self) -> PathBuf {
        self.folder.path().join(BUCKET)
    }

    /// Files of the objects whose names end with `end`, sorted.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn objects(&self, end: &str) -> Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        collect(&self.bucket(), end, &mut found)?;
        found.sort();
        Ok(found)
    }

    /// The next upload meets this fault, after those queued before.
    pub fn fail_put(&self, fault: Fault) {
        self.fail(|method, _| method == Method::PUT, fault);
    }

    /// The next download meets this fault, after those queued before.
    pub fn fail_get(&self, fault: Fault) {
        self.fail(|method, _| method == Method::GET, fault);
    }

    /// The next request that makes an object of its parts meets this fault, after those queued
    /// before.
    pub fn fail_complete(&self, fault: Fault) {
        let completes = |method: &Method, uri: &Uri| {
            let query = uri.query().unwrap_or_default();
            method == Method::POST && query.contains("uploadId=")
        };
        self.fail(completes, fault);
    }

    fn fail(&self, selected: Selected, fault: Fault) {
        self.shared.faults.lock().push_back((selected, fault));
    }

    /// Number of queued faults that no request has met yet.
    pub fn pending_faults(&self) -> usize {
        self.shared.faults.lock().len()
    }

    /// Answers every request with this status from now on; `None` ends that.
    pub fn set_down(&self, status: Option<StatusCode>) {
        *self.shared.down.lock() = status;
    }

    /// Holds uploads back from now on whose path contains `part`.
    pub fn hold(&self, part: &str) {
        *self.shared.held.lock() = Some((part.to_owned(), Arc::new(Semaphore::new(0))));
    }

    /// Number of uploads that are held back now.
    pub fn held(&self) -> usize {
        self.shared.waiting.load(Ordering::Relaxed)
    }

    /// Lets `count` uploads through that are held back, or will be.
    pub fn let_through(&self, count: usize) {
        if let Some((_, through)) = &*self.shared.held.lock() {
            through.add_permits(count);
        }
    }

    /// Number of requests with this method so far.
    pub fn requests(&self, method: &Method) -> usize {
        let requests = self.shared.requests.lock();
        requests.iter().filter(|known| *known == method).count()
    }
}

impl Drop for S3 {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl std::fmt::Debug for S3 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("S3")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

fn collect(folder: &Path, end: &str, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, end, found)?;
        } else if path.to_string_lossy().ends_with(end) {
            found.push(path);
        }
    }
    Ok(())
}

async fn serve(listener: TcpListener, service: S3Service, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        let service = service.clone();
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let answer = service_fn(move |request| {
                let service = service.clone();
                let shared = Arc::clone(&shared);
                async move { answer(service, &shared, request).await }
            });
            // A client that goes away is no fault of the server.
            let _ = auto::Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(stream), answer)
                .await;
        });
    }
}

async fn answer(
    service: S3Service,
    shared: &Shared,
    mut request: Request<Incoming>,
) -> Result<Response<Body>, Dropped> {
    shared.requests.lock().push(request.method().clone());
    if let Some(status) = *shared.down.lock() {
        return Ok(refusal(status, 0));
    }
    let fault = {
        let mut faults = shared.faults.lock();
        let next = faults
            .front()
            .filter(|(selected, _)| selected(request.method(), request.uri()));
        match next {
            Some(_) => faults.pop_front().map(|(_, fault)| fault),
            None => None,
        }
    };
    if request.method() == Method::PUT {
        let held = shared.held.lock().clone();
        if let Some((part, through)) = held
            && request.uri().path().contains(&part)
        {
            shared.waiting.fetch_add(1, Ordering::Relaxed);
            let through = through.acquire().await;
            shared.waiting.fetch_sub(1, Ordering::Relaxed);
            through.map_err(|_| Dropped)?.forget();
        }
    }
    match fault {
        Some(Fault::Busy(seconds)) => {
            return Ok(refusal(StatusCode::SERVICE_UNAVAILABLE, seconds));
        }
        Some(Fault::NoUpload) => {
            let mut response = Response::new(whole(error("NoSuchUpload")));
            *response.status_mut() = StatusCode::NOT_FOUND;
            return Ok(response);
        }
        Some(Fault::Slow(pause)) => tokio::time::sleep(pause).await,
        Some(Fault::Torn) => {
            let _ = request.body_mut().frame().await;
            return Err(Dropped);
        }
        _ => {}
    }
    let response = service
        .call(request.map(s3s::Body::from))
        .await
        .map_err(|_| Dropped)?;
    if fault == Some(Fault::Unanswered) {
        return Err(Dropped);
    }
    let (mut head, body) = response.into_parts();
    if !matches!(fault, Some(Fault::Corrupt | Fault::Short)) {
        let body = body.map_err(|_| Dropped).boxed_unsync();
        return Ok(Response::from_parts(head, body));
    }
    let mut bytes = body
        .collect()
        .await
        .map_err(|_| Dropped)?
        .to_bytes()
        .to_vec();
    let middle = bytes.len() / 2;
    if fault == Some(Fault::Short) {
        bytes.truncate(middle);
        head.headers.remove(header::CONTENT_LENGTH);
    } else if let Some(byte) = bytes.get_mut(middle) {
        *byte ^= 1;
    }
    Ok(Response::from_parts(head, whole(bytes)))
}

fn refusal(status: StatusCode, retry_after: u64) -> Response<Body> {
    let mut response = Response::new(whole(error("SlowDown")));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::RETRY_AFTER, retry_after.into());
    response
}

fn error(code: &str) -> Vec<u8> {
    format!("<Error><Code>{code}</Code><Message>by the test</Message></Error>").into_bytes()
}

fn whole(bytes: Vec<u8>) -> Body {
    Full::new(Bytes::from(bytes))
        .map_err(|never| match never {})
        .boxed_unsync()
}
