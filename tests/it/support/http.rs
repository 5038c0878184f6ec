//! A client that sends exactly what it is given and returns the whole response.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Longer than any limit of these tests: what has not happened by then will not happen.
pub const LONG: Duration = Duration::from_secs(120);

/// Between two looks at the same thing.
pub const PACE: Duration = Duration::from_millis(10);

/// One connection per request.
#[derive(Clone, Debug)]
pub struct Client {
    address: SocketAddr,
    key: Option<String>,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// An answer that has begun.
#[derive(Debug)]
pub struct Following {
    stream: TcpStream,
    begun: Vec<u8>,
}

impl Following {
    /// The whole answer, at its end.
    pub async fn end(mut self) -> Answer {
        let read = self.stream.read_to_end(&mut self.begun).await;
        read.expect("the rest of the answer");
        Answer::parse(&self.begun)
    }
}

impl Client {
    pub fn new(address: SocketAddr, key: Option<&str>) -> Self {
        Self {
            address,
            key: key.map(str::to_owned),
        }
    }

    /// The same key at another address.
    pub fn at(&self, address: SocketAddr) -> Self {
        Self {
            address,
            key: self.key.clone(),
        }
    }

    /// Another key at the same address.
    pub fn with_key(&self, key: &str) -> Self {
        Self::new(self.address, Some(key))
    }

    /// The key that it sends.
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"").await
    }

    /// The first answer that is as wanted: for what the service decides in its own time. It asks
    /// at a pace, since on a quick machine a loop without one is refused by http.rate.key.
    pub async fn until(&self, path: &str, wanted: impl Fn(&Answer) -> bool) -> Answer {
        self.send_until("GET", path, b"", wanted).await
    }

    /// As [`Self::until`], for any request.
    pub async fn send_until(
        &self,
        method: &str,
        path: &str,
        body: &[u8],
        wanted: impl Fn(&Answer) -> bool,
    ) -> Answer {
        let asking = async {
            loop {
                let answer = self.send(method, path, &[], body).await;
                if wanted(&answer) {
                    return answer;
                }
                tokio::time::sleep(PACE).await;
            }
        };
        let answer = tokio::time::timeout(LONG, asking).await;
        answer.unwrap_or_else(|_| panic!("{path} is never answered as wanted"))
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_with(path, &[], body).await
    }

    pub async fn post_with(&self, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
        let mut all = vec![("content-type", "application/json")];
        all.extend_from_slice(headers);
        self.send("POST", path, &all, body.to_string().as_bytes())
            .await
    }

    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        self.raw(&self.message(method, path, headers, body)).await
    }

    /// A request whose answer has begun: for streams, which end later.
    pub async fn follow(&self, path: &str) -> Following {
        let mut stream = TcpStream::connect(self.address)
            .await
            .expect("the service listens");
        let request = self.message("GET", path, &[], b"");
        stream.write_all(&request).await.expect("the service reads");
        let mut begun = Vec::new();
        stream.read_buf(&mut begun).await.expect("an answer");
        Following { stream, begun }
    }

    /// A POST whose client hangs up when this is dropped.
    pub async fn begin(&self, path: &str, body: &Value) -> TcpStream {
        let mut stream = TcpStream::connect(self.address)
            .await
            .expect("the service listens");
        let json = [("content-type", "application/json")];
        let request = self.message("POST", path, &json, body.to_string().as_bytes());
        stream.write_all(&request).await.expect("the service reads");
        stream
    }

    fn message(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
        let mut head = format!("{method} {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n");
        if let Some(key) = &self.key {
            head.push_str(&format!("authorization: Bearer {key}\r\n"));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            head.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        [head.as_bytes(), body].concat()
    }

    /// Sends these bytes unchanged.
    pub async fn raw(&self, request: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.address)
            .await
            .expect("the service listens");
        let (mut reader, mut writer) = stream.split();
        let mut answer = Vec::new();
        // The service may answer and close before it has read everything.
        let (_, read) = tokio::join!(writer.write_all(request), reader.read_to_end(&mut answer));
        if answer.is_empty() {
            read.expect("an answer");
        }
        Answer::parse(&answer)
    }
}

impl Answer {
    fn parse(bytes: &[u8]) -> Self {
        let end = bytes
            .windows(4)
            .position(|window| window == b"\r\n\r\n")
            .unwrap_or_else(|| panic!("no head in {:?}", String::from_utf8_lossy(bytes)));
        let head = String::from_utf8_lossy(&bytes[..end]);
        let mut lines = head.lines();
        let status = lines
            .next()
            .and_then(|line| line.split(' ').nth(1))
            .expect("a status");
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let mut answer = Self {
            status: status.parse().expect("a number"),
            headers,
            body: bytes[end + 4..].to_vec(),
        };
        if answer.header("transfer-encoding") == Some("chunked") {
            answer.body = dechunk(&answer.body);
        }
        answer
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        assert_eq!(
            self.header("content-type"),
            Some("application/json"),
            "{}",
            self.text()
        );
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The JSON of a response, which must be 200.
    #[track_caller]
    pub fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text());
        self.json()
    }

    /// The message of an error, which must have this status and code, and the envelope.
    #[track_caller]
    pub fn error(&self, status: u16, code: &str) -> String {
        assert_eq!(self.status, status, "{}", self.text());
        let body = self.json();
        assert_eq!(body["error"]["code"], code, "{body}");
        assert_eq!(body.as_object().expect("an object").len(), 1, "{body}");
        assert!(
            self.header("x-request-id").is_some(),
            "every response has an id"
        );
        body["error"]["message"]
            .as_str()
            .expect("a message")
            .to_owned()
    }
}

fn dechunk(mut bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some(end) = bytes.windows(2).position(|window| window == b"\r\n") {
        let size = std::str::from_utf8(&bytes[..end]).ok();
        let size = size.and_then(|size| usize::from_str_radix(size.trim(), 16).ok());
        let size = size.expect("a chunk's size");
        if size == 0 {
            break;
        }
        out.extend_from_slice(&bytes[end + 2..end + 2 + size]);
        bytes = &bytes[end + 2 + size + 2..];
    }
    out
}

/// An address at which no server listens.
pub async fn closed_port() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let address = listener.local_addr().expect("an address");
    format!("http://{address}")
}
