//! A receiver of webhooks that remembers deliveries by their id.

use std::collections::HashSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The `webhook-id` of what came.
type Came = HashSet<String>;

/// The receiver; its thread ends with the process.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    address: SocketAddr,
    came: Arc<Mutex<Came>>,
}

impl Receiver {
    /// On a free port of loopback.
    ///
    /// # Errors
    /// When there is none.
    pub fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let receiver = Self {
            address: listener.local_addr()?,
            came: Arc::default(),
        };
        let came = Arc::clone(&receiver.came);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let came = Arc::clone(&came);
                std::thread::spawn(move || {
                    // A sender that was killed in the middle comes again.
                    let _ = answer(stream, &came);
                });
            }
        });
        Ok(receiver)
    }

    pub fn url(&self, project: &str) -> String {
        format!("http://{}/{project}", self.address)
    }

    /// Whether a delivery of this `webhook-id` came.
    pub fn has(&self, id: &str) -> bool {
        self.came
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(id)
    }
}

fn answer(stream: TcpStream, came: &Mutex<Came>) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let mut reader = BufReader::new(stream);
    loop {
        let (mut length, mut id, mut lines) = (0, String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            lines += 1;
            let lower = line.to_ascii_lowercase();
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            } else if let Some(value) = lower.strip_prefix("webhook-id:") {
                id = value.trim().to_owned();
            }
        }
        if lines == 0 {
            continue;
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        came.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(id);
        reader
            .get_mut()
            .write_all(b"HTTP/1.1 204 No Content\r\n\r\n")?;
    }
}
