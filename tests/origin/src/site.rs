//! A site of given pages that records its requests.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::conn::{self, Recorded, Stream};
use crate::fault::{self, After};

/// A response.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// Headers as they are sent; Content-Length is added.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Reply {
    /// A reply without headers.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: body.into(),
        }
    }

    /// A page.
    pub fn html(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, body).header("Content-Type", "text/html; charset=utf-8")
    }

    /// Plain text.
    pub fn text(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, body).header("Content-Type", "text/plain; charset=utf-8")
    }

    /// A redirect.
    pub fn redirect(status: u16, location: &str) -> Self {
        Self::new(status, "").header("Location", location)
    }

    /// With another status.
    #[must_use]
    pub const fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// With another header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn bytes(&self, with_body: bool) -> Vec<u8> {
        let mut out = format!(
            "HTTP/1.1 {} x\r\nContent-Length: {}\r\n",
            self.status,
            self.body.len()
        )
        .into_bytes();
        for (name, value) in &self.headers {
            out.extend(format!("{name}: {value}\r\n").as_bytes());
        }
        out.extend(b"\r\n");
        if with_body {
            out.extend(&self.body);
        }
        out
    }
}

/// The function that answers paths below a prefix.
type Answer = Arc<dyn Fn(&Recorded) -> Reply + Send + Sync>;

/// Shared by all connections of an origin.
#[derive(Default)]
pub(crate) struct Shared {
    pages: Mutex<HashMap<String, Reply>>,
    /// Functions that answer by the prefix of the path; the first match is used.
    made: Mutex<Vec<(String, Answer)>>,
    log: Mutex<Vec<Recorded>>,
    connections: AtomicUsize,
    /// Requests that wait for their answers.
    open: AtomicUsize,
    /// Notified when a request is received.
    came: Notify,
    /// Pages under `/held/` answer once this is notified.
    release: Notify,
}

impl Shared {
    pub fn set(&self, path: &str, reply: Reply) {
        self.pages.lock().insert(path.to_owned(), reply);
    }

    fn reply(&self, request: &Recorded) -> Option<Reply> {
        let known = {
            let pages = self.pages.lock();
            pages
                .get(&request.target)
                .or_else(|| pages.get(request.path()))
                .cloned()
        };
        known.or_else(|| {
            let made = self
                .made
                .lock()
                .iter()
                .find(|(prefix, _)| request.path().starts_with(prefix))
                .map(|(_, answer)| Arc::clone(answer))?;
            Some(made(request))
        })
    }
}

/// A server on loopback. Besides its pages it has the faults under `/fault/`, and
/// `/echo`, which answers with the received request. It ends when dropped.
pub struct Origin {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Origin {
    /// Starts a server on a free port.
    ///
    /// # Errors
    /// The port can't be opened.
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let task = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self {
            address,
            shared,
            task,
        })
    }

    /// Sets the answer of a path, which may include a query.
    pub fn set(&self, path: &str, reply: Reply) -> &Self {
        self.shared.set(path, reply);
        self
    }

    /// Sets a function that answers requests whose path has this prefix and has no page.
    pub fn set_under(
        &self,
        prefix: &str,
        answer: impl Fn(&Recorded) -> Reply + Send + Sync + 'static,
    ) -> &Self {
        let entry = (prefix.to_owned(), Arc::new(answer) as Answer);
        self.shared.made.lock().push(entry);
        self
    }

    /// The absolute URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// As [`url`](Self::url), with a host name instead of the address.
    pub fn url_at(&self, host: &str, path: &str) -> String {
        format!("http://{host}:{}{path}", self.address.port())
    }

    /// The address that it listens on.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.log.lock().clone()
    }

    /// Requests for a path so far.
    pub fn count(&self, path: &str) -> usize {
        self.shared
            .log
            .lock()
            .iter()
            .filter(|request| request.path() == path)
            .count()
    }

    /// Waits until a path was requested `times` times.
    pub async fn asked(&self, path: &str, times: usize) {
        loop {
            let came = self.shared.came.notified();
            if self.count(path) >= times {
                return;
            }
            came.await;
        }
    }

    /// Lets everything that waits under `/held/` answer.
    pub fn release(&self) {
        self.shared.release.notify_waiters();
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        let _ = stream.set_nodelay(true);
        let shared = Arc::clone(&shared);
        tokio::spawn(async move { serve(stream, &shared).await });
    }
}

/// Serves one connection until either side ends it.
pub(crate) async fn serve(mut stream: impl Stream, shared: &Shared) -> io::Result<()> {
    let connection = shared.connections.fetch_add(1, Ordering::SeqCst);
    let mut served = 0;
    while let Some(mut request) = conn::read(&mut stream, connection).await? {
        request.open = shared.open.fetch_add(1, Ordering::SeqCst) + 1;
        let _answered = Open(&shared.open);
        // It is waited for from here on: who sees the request in the log may release it at once.
        let release = shared.release.notified();
        shared.log.lock().push(request.clone());
        shared.came.notify_waiters();
        let known = shared.reply(&request);
        if request.path().starts_with("/held/") {
            release.await;
        }
        let with_body = request.method != "HEAD";
        let after = match known {
            Some(reply) => {
                stream.write_all(&reply.bytes(with_body)).await?;
                After::Keep
            }
            None if request.path() == "/echo" => {
                stream
                    .write_all(&Reply::text(echo(&request)).bytes(with_body))
                    .await?;
                After::Keep
            }
            None => match request.path().strip_prefix("/fault/") {
                Some(name) => fault::answer(&mut stream, name, &request, served).await?,
                None => {
                    stream
                        .write_all(&Reply::new(404, "not here").bytes(with_body))
                        .await?;
                    After::Keep
                }
            },
        };
        served += 1;
        stream.flush().await?;
        if after == After::Close {
            return stream.shutdown().await;
        }
    }
    Ok(())
}

/// Counts a request as open until it is dropped.
pub(crate) struct Open<'a>(pub(crate) &'a AtomicUsize);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The request as text: a line for its method and target, one for each header, then its body.
fn echo(request: &Recorded) -> Vec<u8> {
    let mut out = format!("{} {}\n", request.method, request.target);
    for (name, value) in &request.headers {
        out.push_str(&format!("{name}: {value}\n"));
    }
    out.push('\n');
    [out.as_bytes(), &request.body].concat()
}
