use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;
use crate::config::FetchConfig;

async fn filter() -> Filter {
    let config = FetchConfig {
        allow_nets: vec!["127.0.0.0/8".parse().unwrap()],
        ..FetchConfig::default()
    };
    Filter::start(Fetcher::new(config).unwrap(), 1 << 30)
        .await
        .unwrap()
}

async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Reads a response's head.
async fn head(page: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(page.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

#[tokio::test]
async fn a_page_sends_a_bounded_number_of_bytes_through_all_its_tunnels() {
    let (listener, address) = listener().await;
    let server = tokio::spawn(async move {
        let mut received = 0;
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut bytes = vec![0; 64 << 10];
            while let Ok(read @ 1..) = stream.read(&mut bytes).await {
                received += read as u64;
            }
        }
        received
    });
    let filter = filter().await;
    let block = vec![0; 64 << 10];
    for _ in 0..2 {
        let mut page = TcpStream::connect(filter.address).await.unwrap();
        let connect = format!("CONNECT {address} HTTP/1.1\r\nHost: {address}\r\n\r\n");
        page.write_all(connect.as_bytes()).await.unwrap();
        assert!(head(&mut page).await.starts_with("HTTP/1.1 200"));
        while page.write_all(&block).await.is_ok() {}
    }
    let received = server.await.unwrap();
    let slack = 64 << 10;
    assert!(
        (MAX_SENT - slack..MAX_SENT + slack).contains(&received),
        "{received}"
    );
}

#[tokio::test]
async fn a_page_sends_a_bounded_number_of_bytes_in_requests() {
    let (listener, address) = listener().await;
    let server = tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let service = hyper::service::service_fn(|request: Request<Incoming>| async {
                let _ = request.into_body().collect().await;
                Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"got it"))))
            });
            let served = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service);
            let _ = served.await;
        }
    });
    let filter = filter().await;
    let mut page = TcpStream::connect(filter.address).await.unwrap();
    let body = vec![b'x'; 7 << 20];
    let mut statuses = Vec::new();
    for _ in 0..3 {
        let post = format!(
            "POST http://{address}/ HTTP/1.1\r\nHost: {address}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        page.write_all(post.as_bytes()).await.unwrap();
        // The third one is answered before it is read.
        let _ = page.write_all(&body).await;
        let head = head(&mut page).await;
        statuses.push(head.get(9..12).unwrap().to_owned());
        if head.contains("content-length: 6\r\n") || head.contains("transfer-encoding") {
            let mut rest = Vec::new();
            while !rest.ends_with(b"got it") && !rest.ends_with(b"\r\n0\r\n\r\n") {
                rest.push(page.read_u8().await.unwrap());
            }
        }
    }
    assert_eq!(statuses, ["200", "200", "502"]);
    server.abort();
}

#[test]
fn headers_that_a_message_names_stay_with_its_connection() {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("connection", "close, X-One"),
        ("connection", "x-two,, é"),
        ("x-one", "1"),
        ("x-two", "2"),
        ("x-two", "2"),
        ("x-three", "3"),
        ("keep-alive", "timeout=5"),
        ("proxy-authenticate", "Basic"),
        ("set-cookie", "a=b"),
        ("set-cookie", "c=d"),
    ] {
        let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
        headers.append(HeaderName::from_static(name), value);
    }
    // As many as a head may have.
    let many = "x-four,".repeat(50_000) + "x-four";
    headers.append("connection", many.parse().unwrap());
    headers.append("x-four", HeaderValue::from_static("4"));
    let kept = end_to_end(&headers);
    let kept: Vec<(&str, &str)> = kept
        .iter()
        .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
        .collect();
    // What is no text names nothing.
    let expected = [
        ("x-two", "2"),
        ("x-two", "2"),
        ("x-three", "3"),
        ("set-cookie", "a=b"),
        ("set-cookie", "c=d"),
    ];
    assert_eq!(kept, expected);
}

/// Asks for a page whose response has a header of this length.
async fn with_header(filter: &Filter, length: usize) -> String {
    let (listener, address) = listener().await;
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        head(&mut stream).await;
        let value = "v".repeat(length);
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nx: {value}\r\n\r\n");
        let _ = stream.write_all(answer.as_bytes()).await;
    });
    let mut page = TcpStream::connect(filter.address).await.unwrap();
    let get = format!("GET http://{address}/ HTTP/1.1\r\nHost: {address}\r\n\r\n");
    page.write_all(get.as_bytes()).await.unwrap();
    let answer = head(&mut page).await;
    server.await.unwrap();
    answer
}

#[tokio::test]
async fn the_head_of_a_response_is_bounded_and_counts() {
    let filter = filter().await;
    let answer = with_header(&filter, 100 << 10).await;
    assert!(answer.starts_with("HTTP/1.1 200"));
    let received = filter.bytes();
    assert!((100 << 10..101 << 10).contains(&received), "{received}");
    // More than `fetch.limits.max_header_bytes`.
    let answer = with_header(&filter, 300 << 10).await;
    assert!(answer.starts_with("HTTP/1.1 502"));
    assert!(answer.contains("x-orbweaver-filter: header_too_large"));
}
