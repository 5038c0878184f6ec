//! Responses of any length, read in pieces.

use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_ENCODING;
use tokio::time::Instant;

use super::Fetcher;
use crate::bodies::Receipt;
use crate::client::Connections;
use crate::decode;
use crate::error::{Fault, FetchError, Kind, SubKind};
use crate::exchange::{self, Head};
use crate::lookups;
use crate::request::Request;
use crate::response::Headers;

/// A response whose body is read in pieces; see [`Fetcher::open`].
pub struct Download {
    /// HTTP status.
    pub status: u16,
    /// The response's headers.
    pub headers: Headers,
    head: Head,
    url: String,
    patience: Duration,
}

impl Fetcher {
    /// Sends a request and returns when the headers of the response are there. The body follows
    /// in pieces, so it may be of any length. The URL and its addresses are checked as by
    /// [`fetch`](Self::fetch). A redirect is the response; robots.txt is not asked. The request's
    /// timeout is the longest wait for the headers, and for each piece.
    ///
    /// # Errors
    /// Why there is no response; see [`Kind`]. A body with a content coding is one: ask for
    /// `identity`.
    #[crate::boxed]
    pub async fn open(&self, request: &Request) -> Result<Download, FetchError> {
        let inner = &self.0;
        let receipt = Receipt::new(&inner.bodies, self.1, &request.traffic);
        let bounds = self.bounds(request, Instant::now(), &receipt);
        let hop = self
            .begin(request)
            .map_err(|fault| fault.at(&request.url, Vec::new()))?;
        let sent = async {
            let proxy = request.proxy.as_ref();
            if let Some(proxy) = proxy {
                inner.clients.judge_behind(proxy, &hop.target).await?;
            }
            let connections = Connections::of(&hop.headers);
            let client = inner.clients.get(proxy, connections, self.1).await?;
            let head = exchange::send(&client, hop.request()?, &bounds).await?;
            let codings = head.headers.get_all(CONTENT_ENCODING).iter();
            if !decode::codings(codings.map(|value| value.to_str().unwrap_or("?")))?.is_empty() {
                let message = "a download has a content coding";
                return Err(Fault::new(Kind::Decode, SubKind::UnknownCoding, message));
            }
            Ok(head)
        };
        let url = hop.target.url.to_string();
        let head = lookups::asked_by(self.1, sent)
            .await
            .map_err(|fault| fault.at(&url, Vec::new()))?;
        Ok(Download {
            status: head.status.as_u16(),
            headers: Headers::from_map(&head.headers),
            head,
            url,
            patience: bounds.total,
        })
    }
}

impl Download {
    /// The next piece of the body; `None` after the last one.
    ///
    /// # Errors
    /// If the connection breaks before the body's end, or nothing arrives in time.
    #[crate::boxed]
    pub async fn next(&mut self) -> Result<Option<Bytes>, FetchError> {
        let piece = self.head.piece(self.patience).await;
        piece.map_err(|fault| fault.at(&self.url, Vec::new()))
    }
}
