//! A mail server on loopback (RFC 5321, with AUTH PLAIN) that stores the mails it accepts.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// A mail that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mail {
    /// Envelope sender.
    pub from: String,
    /// Envelope recipients.
    pub to: Vec<String>,
    /// Headers and body, dots unstuffed, lines ended by `\n`.
    pub message: String,
    /// The client's credentials: base64 of `\0user\0password`.
    pub auth: Option<String>,
}

#[derive(Default)]
struct Shared {
    mails: Mutex<Vec<Mail>>,
    came: Notify,
    refuse: AtomicUsize,
    refused: AtomicUsize,
}

/// A running server. It ends when dropped.
pub struct SmtpServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl SmtpServer {
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

    /// The address that it listens on.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// `smtp://…`, without TLS.
    pub fn url(&self) -> String {
        format!("smtp://{}", self.address)
    }

    /// Answers the next mails with 451, "try again later".
    pub fn refuse(&self, mails: usize) {
        self.shared.refuse.store(mails, Ordering::SeqCst);
    }

    /// Mails accepted so far.
    pub fn mails(&self) -> Vec<Mail> {
        self.shared.mails.lock().clone()
    }

    /// Waits until this many mails were accepted.
    pub async fn accepted(&self, count: usize) -> Vec<Mail> {
        loop {
            let came = self.shared.came.notified();
            let mails = self.mails();
            if mails.len() >= count {
                return mails;
            }
            came.await;
        }
    }

    /// Waits until this many mails were refused.
    pub async fn refused(&self, count: usize) {
        loop {
            let came = self.shared.came.notified();
            if self.shared.refused.load(Ordering::SeqCst) >= count {
                return;
            }
            came.await;
        }
    }
}

impl Drop for SmtpServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        tokio::spawn(async move { serve(stream, &shared).await });
    }
}

/// One session. Unknown commands get 500, as the standard requires.
async fn serve(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    let (reader, mut writer) = stream.split();
    let mut lines = BufReader::new(reader);
    writer.write_all(b"220 test ESMTP\r\n").await?;
    let (mut from, mut to, mut auth) = (None, Vec::new(), None);
    loop {
        let mut line = String::new();
        if lines.read_line(&mut line).await? == 0 {
            return Ok(());
        }
        let line = line.trim_end();
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let reply: &[u8] = match verb.to_ascii_uppercase().as_str() {
            "EHLO" => b"250-test\r\n250-8BITMIME\r\n250-AUTH PLAIN\r\n250 SMTPUTF8\r\n",
            "HELO" => b"250 test\r\n",
            "AUTH" => {
                auth = rest.strip_prefix("PLAIN ").map(str::to_owned);
                b"235 welcome\r\n"
            }
            "MAIL" => {
                from = address(rest, "FROM:");
                b"250 ok\r\n"
            }
            "RCPT" if from.is_some() => {
                to.extend(address(rest, "TO:"));
                b"250 ok\r\n"
            }
            "DATA" if !to.is_empty() => {
                writer.write_all(b"354 go on\r\n").await?;
                let message = data(&mut lines).await?;
                let mail = Mail {
                    from: from.take().unwrap_or_default(),
                    to: std::mem::take(&mut to),
                    message,
                    auth: auth.clone(),
                };
                if take_refusal(shared) {
                    b"451 try again later\r\n"
                } else {
                    shared.mails.lock().push(mail);
                    shared.came.notify_waiters();
                    b"250 accepted\r\n"
                }
            }
            "RSET" => {
                (from, to) = (None, Vec::new());
                b"250 ok\r\n"
            }
            "NOOP" => b"250 ok\r\n",
            "QUIT" => {
                writer.write_all(b"221 bye\r\n").await?;
                return Ok(());
            }
            "RCPT" | "DATA" => b"503 not yet\r\n",
            _ => b"500 what?\r\n",
        };
        writer.write_all(reply).await?;
    }
}

fn take_refusal(shared: &Shared) -> bool {
    let took = shared
        .refuse
        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
            left.checked_sub(1)
        })
        .is_ok();
    if took {
        shared.refused.fetch_add(1, Ordering::SeqCst);
        shared.came.notify_waiters();
    }
    took
}

/// The address in `<a@b>` after `FROM:` or `TO:`, without parameters.
fn address(rest: &str, before: &str) -> Option<String> {
    let start = rest.get(..before.len())?;
    if !start.eq_ignore_ascii_case(before) {
        return None;
    }
    let (_, rest) = rest.split_once('<')?;
    let (address, _) = rest.split_once('>')?;
    Some(address.to_owned())
}

/// Reads lines up to a line with a single dot.
async fn data(lines: &mut BufReader<impl tokio::io::AsyncRead + Unpin>) -> io::Result<String> {
    let mut message = String::new();
    loop {
        let mut line = String::new();
        if lines.read_line(&mut line).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let line = line.trim_end_matches(['\r', '\n']);
        if line == "." {
            return Ok(message);
        }
        message.push_str(line.strip_prefix('.').unwrap_or(line));
        message.push('\n');
    }
}
