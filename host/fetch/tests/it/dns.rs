//! DNS rebinding, with lookups over UDP to a name server of the test.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket as StdUdpSocket};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use orbweaver_core::ids::ProjectId;
use orbweaver_fetch::{
    FetchConfig, FetchError, Fetcher, Lookups, Request, ResolveError, Resolver, SubKind,
};
use orbweaver_origin::{Origin, Proxy, Reply};
use tokio::net::{TcpListener, UdpSocket};

use crate::support::{config, get};

const A: [u8; 2] = [0, 1];
const IN: [u8; 2] = [0, 1];
const HEADER: usize = 12;

/// A name server that answers every A query from a script: each query takes the next answer;
/// the last one repeats. All answers have a TTL of zero.
struct NameServer {
    address: SocketAddr,
    asked: Arc<AtomicUsize>,
    task: tokio::task::JoinHandle<()>,
}

impl NameServer {
    async fn start(script: &[&[[u8; 4]]]) -> io::Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = socket.local_addr()?;
        let script: Vec<Vec<[u8; 4]>> = script.iter().map(|answers| answers.to_vec()).collect();
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let task = tokio::spawn(async move {
            let mut query = [0; 512];
            while let Ok((length, from)) = socket.recv_from(&mut query).await {
                let turn = count.fetch_add(1, Ordering::SeqCst);
                let answers = &script[turn.min(script.len() - 1)];
                let _ = socket
                    .send_to(&answer(&query[..length], answers), from)
                    .await;
            }
        });
        Ok(Self {
            address,
            asked,
            task,
        })
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The answer to a query of one question (RFC 1035, section 4.1).
fn answer(query: &[u8], addresses: &[[u8; 4]]) -> Vec<u8> {
    let count = u16::try_from(addresses.len()).unwrap().to_be_bytes();
    // Id; a response without error, recursion available; one question, the answers.
    let mut message = [&query[..2], &[0x81, 0x80, 0, 1], &count, &[0; 4]].concat();
    message.extend_from_slice(&query[HEADER..]);
    for address in addresses {
        // A pointer to the question's name, TTL 0, four bytes of data.
        message.extend_from_slice(&[0xc0, HEADER as u8]);
        message.extend_from_slice(&[A, IN].concat());
        message.extend_from_slice(&[0, 0, 0, 0, 0, 4]);
        message.extend_from_slice(address);
    }
    message
}

/// A stub resolver: one question over UDP, as the system's resolver sends it.
struct StubResolver(SocketAddr);

#[async_trait]
impl Resolver for StubResolver {
    async fn resolve(&self, name: &str) -> Result<Vec<IpAddr>, ResolveError> {
        let other = |error: io::Error| ResolveError::Other(error.to_string());
        let socket = StdUdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(other)?;
        socket.set_nonblocking(true).map_err(other)?;
        let socket = UdpSocket::from_std(socket).map_err(other)?;
        let mut query = vec![7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.split('.') {
            query.push(u8::try_from(label.len()).unwrap());
            query.extend_from_slice(label.as_bytes());
        }
        query.push(0);
        query.extend_from_slice(&[A, IN].concat());
        socket.send_to(&query, self.0).await.map_err(other)?;
        let mut message = [0; 512];
        let length = socket.recv(&mut message).await.map_err(other)?;
        // Every record here has the same length: pointer, type, class, TTL, length, address.
        let addresses: Vec<IpAddr> = message[query.len()..length]
            .chunks_exact(16)
            .map(|record| IpAddr::from([record[12], record[13], record[14], record[15]]))
            .collect();
        if addresses.is_empty() {
            return Err(ResolveError::NxDomain);
        }
        Ok(addresses)
    }
}

const PUBLIC: [u8; 4] = [127, 0, 0, 1];
const PRIVATE: [u8; 4] = [127, 0, 0, 2];

/// Only `127.0.0.1`, with an origin, counts as public; every other address is private.
/// A listener at `127.0.0.2`, on the same port, counts connections.
struct Net {
    origin: Origin,
    private: Arc<Mutex<usize>>,
    names: NameServer,
    fetcher: Fetcher,
    watch: tokio::task::JoinHandle<()>,
}

impl Net {
    async fn start(script: &[&[[u8; 4]]]) -> Self {
        let origin = Origin::start().await.unwrap();
        let port = origin.address().port();
        let listener = TcpListener::bind((Ipv4Addr::from(PRIVATE), port))
            .await
            .unwrap();
        let private = Arc::new(Mutex::new(0));
        let count = Arc::clone(&private);
        let watch = tokio::spawn(async move {
            while listener.accept().await.is_ok() {
                *count.lock().unwrap() += 1;
            }
        });
        let names = NameServer::start(script).await.unwrap();
        let config = FetchConfig {
            allow_nets: vec!["127.0.0.1/32".parse().unwrap()],
            ..config()
        };
        let resolver = Arc::new(StubResolver(names.address));
        Self {
            fetcher: Fetcher::with_resolver(config, resolver).unwrap(),
            origin,
            private,
            names,
            watch,
        }
    }

    fn url(&self, path: &str) -> String {
        self.origin.url_at("rebind.example", path)
    }

    fn assert_refused(&self, error: &FetchError) {
        assert_eq!(
            (error.kind.as_str(), error.sub.map(SubKind::as_str)),
            ("refused", Some("address_not_public")),
            "{error}"
        );
        assert_eq!(
            *self.private.lock().unwrap(),
            0,
            "a private listener was reached"
        );
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

/// Proves that the listener counts connections; without this, the tests below prove nothing.
#[tokio::test]
async fn the_private_listener_counts_connections() {
    let net = Net::start(&[&[PRIVATE]]).await;
    let address = (Ipv4Addr::from(PRIVATE), net.origin.address().port());
    tokio::net::TcpStream::connect(address).await.unwrap();
    let counted = async {
        while *net.private.lock().unwrap() == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), counted)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_name_that_turns_private_between_check_and_fetch_reaches_nothing() {
    let net = Net::start(&[&[PUBLIC], &[PRIVATE]]).await;
    let url = net.url("/");
    net.fetcher.judge_resolved(&url).await.unwrap();
    let error = get(&net.fetcher, &url).await.unwrap_err();
    net.assert_refused(&error);
    assert_eq!((net.names.asked(), net.origin.requests().len()), (2, 0));
}

#[tokio::test]
async fn a_name_that_turns_private_between_two_connections_reaches_nothing() {
    let net = Net::start(&[&[PUBLIC], &[PRIVATE]]).await;
    // The server closes the first connection; the retry makes a new one, with a new lookup.
    let error = get(&net.fetcher, &net.url("/fault/closed"))
        .await
        .unwrap_err();
    net.assert_refused(&error);
    assert_eq!((net.names.asked(), net.origin.requests().len()), (2, 1));
}

#[tokio::test]
async fn a_redirect_to_a_name_that_turned_private_reaches_nothing() {
    let net = Net::start(&[&[PUBLIC], &[PRIVATE]]).await;
    let elsewhere = net.origin.url_at("again.example", "/");
    net.origin.set("/", Reply::redirect(302, &elsewhere));
    let error = get(&net.fetcher, &net.url("/")).await.unwrap_err();
    net.assert_refused(&error);
    assert_eq!(net.origin.requests().len(), 1);
}

#[tokio::test]
async fn one_private_address_among_public_ones_refuses_the_name() {
    for script in [[PUBLIC, PRIVATE], [PRIVATE, PUBLIC]] {
        let net = Net::start(&[&script]).await;
        let error = get(&net.fetcher, &net.url("/")).await.unwrap_err();
        net.assert_refused(&error);
        assert_eq!(net.origin.requests().len(), 0);
    }
}

#[tokio::test]
async fn the_checked_address_is_the_one_connected_to() {
    let net = Net::start(&[&[PUBLIC], &[PRIVATE]]).await;
    net.origin.set("/", Reply::html("pinned"));
    let response = get(&net.fetcher, &net.url("/")).await.unwrap();
    assert_eq!(response.remote_addr, Some(net.origin.address()));
    assert_eq!((net.names.asked(), *net.private.lock().unwrap()), (1, 0));
}

#[tokio::test]
async fn a_socks_proxy_gets_checked_addresses_only() {
    let net = Net::start(&[&[PUBLIC], &[PUBLIC], &[PRIVATE]]).await;
    net.origin.set("/", Reply::html("through"));
    let proxy = Proxy::socks5(net.origin.address()).await.unwrap();
    let request = || Request {
        proxy: Some(proxy.url().parse().unwrap()),
        ..Request::get(net.url("/"))
    };
    net.fetcher.fetch(request()).await.unwrap();
    let error = net.fetcher.fetch(request()).await.unwrap_err();
    net.assert_refused(&error);
    assert_eq!(proxy.asked(), [net.origin.address().to_string()]);
}

/// Blocks lookups of names that begin with `dead`, as the system's resolver does while the servers of
/// a name are silent.
#[derive(Default)]
struct Silence {
    begun: AtomicUsize,
    is_over: Mutex<bool>,
    changed: Condvar,
}

impl Silence {
    fn resolver(self: &Arc<Self>) -> Arc<Lookups> {
        let own = Arc::clone(self);
        Arc::new(Lookups::new(move |name| {
            if name.starts_with("dead") {
                own.begun.fetch_add(1, Ordering::SeqCst);
                let is_over = own.is_over.lock().unwrap();
                let _over = own.changed.wait_while(is_over, |is_over| !*is_over);
            }
            Ok(vec![IpAddr::from([127, 0, 0, 1])])
        }))
    }

    fn end(&self) {
        *self.is_over.lock().unwrap() = true;
        self.changed.notify_all();
    }
}

#[test]
fn dead_names_of_a_project_keep_no_other_work_waiting() {
    // One thread for blocking work: a lookup on it would keep all else waiting.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let silence = Arc::new(Silence::default());
    let soon = Duration::from_secs(60);
    runtime.block_on(async {
        let origin = Origin::start().await.unwrap();
        origin.set("/", Reply::html("here"));
        let fetcher = Fetcher::with_resolver(config(), silence.resolver()).unwrap();
        let greedy = fetcher.of_project(ProjectId(1));
        for n in 0..600 {
            let greedy = greedy.clone();
            let url = origin.url_at(&format!("dead{n}.example"), "/");
            tokio::spawn(async move { get(&greedy, &url).await });
        }
        let many = async {
            while silence.begun.load(Ordering::SeqCst) < 90 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(soon, many).await.unwrap();
        for other in [fetcher.of_project(ProjectId(2)), fetcher.clone()] {
            let url = origin.url_at("living.example", "/");
            let answer = tokio::time::timeout(soon, get(&other, &url)).await.unwrap();
            assert_eq!(answer.unwrap().status, 200);
        }
        let blocking = tokio::task::spawn_blocking(|| ());
        tokio::time::timeout(soon, blocking).await.unwrap().unwrap();
        // Beyond its share a project's lookups wait, and then fail.
        let late = origin.url_at("late.example", "/");
        let late = get(&greedy, &late).await.unwrap_err();
        assert_eq!(
            (late.kind.as_str(), late.sub.map(SubKind::as_str)),
            ("dns", Some("busy"))
        );
        assert!(late.retryable);
        assert!(silence.begun.load(Ordering::SeqCst) < 128);
        silence.end();
    });
}
