//! The part of HTTP that a webhook receiver needs.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Error, ErrorKind, Read as _, Result, Write as _};
use std::net::TcpStream;

const MAX_HEAD: u64 = 64 << 10;
const MAX_BODY: usize = 1 << 20;

/// Headers with names in lower case, and the raw body.
pub struct Request {
    headers: HashMap<String, String>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn read(stream: &TcpStream) -> Result<Self> {
        let mut reader = BufReader::new(stream);
        let mut headers = HashMap::new();
        let mut head = reader.by_ref().take(MAX_HEAD);
        loop {
            let mut line = String::new();
            if head.read_line(&mut line)? == 0 {
                return Err(Error::new(
                    ErrorKind::InvalidData,
                    "the head is too long or incomplete",
                ));
            }
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':') {
                headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
            }
        }
        let length = headers
            .get("content-length")
            .and_then(|length| length.parse().ok())
            .filter(|length| *length <= MAX_BODY)
            .ok_or_else(|| Error::new(ErrorKind::InvalidData, "no Content-Length, or too large"))?;
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        Ok(Self { headers, body })
    }

    /// A header's value; empty if it is missing.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

pub fn answer(mut stream: &TcpStream, status: &str) -> Result<()> {
    write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    )
}
