//! Reading requests from a socket.

use std::io;
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};

/// A plain or TLS stream.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// A request as it was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The method.
    pub method: String,
    /// The target as sent: a path with its query or, if sent to a proxy, a URL.
    pub target: String,
    /// Headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// The number of its connection, from 0.
    pub connection: usize,
    /// When its head was read.
    pub at: Instant,
    /// How many requests were waiting for their answers at that time, this one included.
    pub open: usize,
}

impl Recorded {
    /// The first header with this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// The path without its query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or(&self.target)
    }

    /// The query; empty if there is none.
    pub fn query(&self) -> &str {
        self.target.split_once('?').map_or("", |(_, query)| query)
    }
}

/// The first line and the headers of a request.
pub(crate) struct Head {
    method: String,
    target: String,
    headers: Vec<(String, String)>,
}

impl Head {
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let head = String::from_utf8_lossy(bytes);
        let mut lines = head.split("\r\n");
        let mut first = lines.next().unwrap_or("").split(' ');
        Self {
            method: first.next().unwrap_or("").to_owned(),
            target: first.next().unwrap_or("").to_owned(),
            headers: lines
                .filter_map(|line| line.split_once(':'))
                .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
                .collect(),
        }
    }

    pub(crate) fn method(&self) -> &str {
        &self.method
    }

    /// The path without its query.
    pub(crate) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or(&self.target)
    }

    /// The first header with this name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// The length of the body.
    pub(crate) fn content_length(&self) -> usize {
        self.header("content-length")
            .and_then(|length| length.parse().ok())
            .unwrap_or(0)
    }

    /// A record of this request, without its body.
    pub(crate) fn into_recorded(self, connection: usize, at: Instant, open: usize) -> Recorded {
        Recorded {
            method: self.method,
            target: self.target,
            headers: self.headers,
            body: Vec::new(),
            connection,
            at,
            open,
        }
    }
}

/// Reads one request; `None` at the end of the stream. `open` is kept in the record.
pub(crate) async fn read(
    stream: &mut impl Stream,
    connection: usize,
) -> io::Result<Option<Recorded>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    let head = Head::parse(&head);
    let length = head.content_length();
    let mut request = head.into_recorded(connection, Instant::now(), 1);
    request.body.resize(length, 0);
    stream.read_exact(&mut request.body).await?;
    Ok(Some(request))
}
