//! HTTP and SOCKS5 proxies that require credentials and record the requested targets.

use std::collections::HashSet;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::conn;

/// The user name and password of both kinds.
const USER: &str = "customer";
const PASSWORD: &str = "secret";

/// A proxy on loopback. It connects to `upstream`, whatever host is requested.
pub struct Proxy {
    address: SocketAddr,
    scheme: &'static str,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

/// Shared by all connections of a proxy.
#[derive(Default)]
struct Shared {
    asked: Mutex<Vec<String>>,
    unreachable: Mutex<HashSet<String>>,
    connections: AtomicUsize,
}

impl Proxy {
    /// An HTTP proxy: forwards requests with an absolute URL, tunnels CONNECT.
    ///
    /// # Errors
    /// The port can't be opened.
    pub async fn http(upstream: SocketAddr) -> io::Result<Self> {
        Self::start("http", upstream).await
    }

    /// A SOCKS5 proxy.
    ///
    /// # Errors
    /// The port can't be opened.
    pub async fn socks5(upstream: SocketAddr) -> io::Result<Self> {
        Self::start("socks5", upstream).await
    }

    async fn start(scheme: &'static str, upstream: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                own.connections.fetch_add(1, Ordering::SeqCst);
                let shared = Arc::clone(&own);
                tokio::spawn(async move {
                    match scheme {
                        "http" => http(stream, upstream, &shared).await,
                        _ => socks5(stream, upstream, &shared).await,
                    }
                });
            }
        });
        Ok(Self {
            address,
            scheme,
            shared,
            task,
        })
    }

    /// Its URL with the right credentials.
    pub fn url(&self) -> String {
        self.url_with(USER, PASSWORD)
    }

    /// Its URL with these credentials.
    pub fn url_with(&self, user: &str, password: &str) -> String {
        format!("{}://{user}:{password}@{}", self.scheme, self.address)
    }

    /// The requested targets in order: URLs, or `host:port`.
    pub fn asked(&self) -> Vec<String> {
        self.shared.asked.lock().clone()
    }

    /// Connections that were made to it.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// Answers to SOCKS5 requests of this address that it has no route.
    pub fn lose(&self, address: &str) -> &Self {
        self.shared.unreachable.lock().insert(address.to_owned());
        self
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn http(mut stream: TcpStream, upstream: SocketAddr, shared: &Shared) -> io::Result<()> {
    let Some(request) = conn::read(&mut stream, 0).await? else {
        return Ok(());
    };
    // Basic customer:secret.
    if request.header("proxy-authorization") != Some("Basic Y3VzdG9tZXI6c2VjcmV0") {
        let refusal = b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n";
        return stream.write_all(refusal).await;
    }
    shared.asked.lock().push(request.target.clone());
    let mut server = TcpStream::connect(upstream).await?;
    if request.method == "CONNECT" {
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
    } else {
        let path = request.target.splitn(4, '/').nth(3).unwrap_or("");
        let mut head = format!("{} /{path} HTTP/1.1\r\n", request.method);
        for (name, value) in request
            .headers
            .iter()
            .filter(|(name, _)| !name.starts_with("proxy-") && name != "connection")
        {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("Connection: close\r\n\r\n");
        server.write_all(head.as_bytes()).await?;
        server.write_all(&request.body).await?;
        end_after_response(&mut server, &mut stream).await?;
    }
    copy_bidirectional(&mut stream, &mut server).await?;
    Ok(())
}

/// Passes the status line on, and says that the connection ends with the response: the next request would be
/// for the proxy to read.
async fn end_after_response(server: &mut TcpStream, client: &mut TcpStream) -> io::Result<()> {
    loop {
        let byte = server.read_u8().await?;
        client.write_u8(byte).await?;
        if byte == b'\n' {
            return client.write_all(b"Connection: close\r\n").await;
        }
    }
}

/// RFC 1928 with RFC 1929's credentials.
async fn socks5(mut stream: TcpStream, upstream: SocketAddr, shared: &Shared) -> io::Result<()> {
    let [_, methods] = read_array(&mut stream).await?;
    let mut offered = vec![0; usize::from(methods)];
    stream.read_exact(&mut offered).await?;
    if !offered.contains(&2) {
        return stream.write_all(&[5, 0xff]).await;
    }
    stream.write_all(&[5, 2]).await?;
    let [_, length] = read_array(&mut stream).await?;
    let user = read_text(&mut stream, length).await?;
    let length = stream.read_u8().await?;
    let password = read_text(&mut stream, length).await?;
    let known = user == USER && password == PASSWORD;
    stream.write_all(&[1, u8::from(!known)]).await?;
    if !known {
        return Ok(());
    }
    let [_, _, _, kind] = read_array(&mut stream).await?;
    let host = match kind {
        1 => Ipv4Addr::from(read_array::<4>(&mut stream).await?).to_string(),
        4 => Ipv6Addr::from(read_array::<16>(&mut stream).await?).to_string(),
        _ => {
            let length = stream.read_u8().await?;
            read_text(&mut stream, length).await?
        }
    };
    let port = stream.read_u16().await?;
    shared.asked.lock().push(format!("{host}:{port}"));
    if shared.unreachable.lock().contains(&host) {
        return stream.write_all(&[5, 4, 0, 1, 0, 0, 0, 0, 0, 0]).await;
    }
    let mut server = TcpStream::connect(upstream).await?;
    stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
    copy_bidirectional(&mut stream, &mut server).await?;
    Ok(())
}

async fn read_array<const N: usize>(stream: &mut TcpStream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).await?;
    Ok(bytes)
}

async fn read_text(stream: &mut TcpStream, length: u8) -> io::Result<String> {
    let mut bytes = vec![0; usize::from(length)];
    stream.read_exact(&mut bytes).await?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
