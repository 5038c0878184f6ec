//! Serves one connection: TLS, then HTTP/1.1 or HTTP/2, until it ends or expires.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use orbweaver_api::{Entry, HeldAnswer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::activity::{Activity, Patience, Watched};
use super::answer::Answer;
use super::connections::Place;

/// Time for a closed connection to tell its client (HTTP/2 GOAWAY).
const FAREWELL: Duration = Duration::from_millis(500);

/// State shared by all connections of a listener.
pub(super) struct Protocols {
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) http: Builder<TokioExecutor>,
    pub(super) patience: Patience,
    pub(super) entry: Entry,
}

impl Protocols {
    /// Serves a connection to its end. Once `stop` is cancelled, it ends after the requests in
    /// progress.
    pub(super) async fn serve(
        self: Arc<Self>,
        stream: TcpStream,
        peer: SocketAddr,
        place: Place,
        stop: CancellationToken,
    ) {
        let activity = Arc::clone(&place.activity);
        activity.require(self.patience.min_rate);
        let stream = Watched {
            stream,
            activity: Arc::clone(&activity),
        };
        let Some(tls) = &self.tls else {
            return self.http(stream, peer, &activity, &stop).await;
        };
        let shaken = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = activity.evicted() => return,
            _ = activity.expired(self.patience) => return,
            shaken = tls.accept(stream) => shaken,
        };
        match shaken {
            Ok(stream) => self.http(stream, peer, &activity, &stop).await,
            Err(error) => tracing::debug!(%error, %peer, "a TLS handshake failed"),
        }
    }

    async fn http<S>(
        &self,
        stream: S,
        peer: SocketAddr,
        activity: &Arc<Activity>,
        stop: &CancellationToken,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let connection = self.entry.connection(peer);
        let service = service_fn(|request: Request<Incoming>| {
            let request_under_way = activity.request();
            let answer = connection
                .clone()
                .answer(request.map(axum::body::Body::new));
            let (activity, rate) = (Arc::clone(activity), self.patience.min_rate);
            async move {
                let mut answer = answer.await;
                let held = answer.extensions_mut().remove::<HeldAnswer>();
                Ok::<_, Infallible>(answer.map(|body| {
                    let body = Answer::new(body, held, request_under_way, rate);
                    activity.look_after(body.watched());
                    body
                }))
            }
        });
        let mut serving = pin!(self.http.serve_connection(TokioIo::new(stream), service));
        tokio::select! {
            biased;
            ended = serving.as_mut() => return log(ended, peer),
            () = stop.cancelled() => {
                serving.as_mut().graceful_shutdown();
                // Requests in progress end as at other times.
                tokio::select! {
                    biased;
                    ended = serving.as_mut() => return log(ended, peer),
                    () = activity.evicted() => {}
                    _ = activity.expired(self.patience) => {}
                }
            }
            () = activity.evicted() => {}
            expiry = activity.expired(self.patience) => {
                tracing::debug!(?expiry, %peer, "closing a connection");
            }
        }
        serving.as_mut().graceful_shutdown();
        let _ = tokio::time::timeout(FAREWELL, serving).await;
    }
}

fn log(ended: Result<(), Box<dyn std::error::Error + Send + Sync>>, peer: SocketAddr) {
    if let Err(error) = ended {
        tracing::debug!(%error, %peer, "a connection failed");
    }
}
