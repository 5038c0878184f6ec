//! One route for each way in which a server can fail.

use std::io::{self, Write};
use std::time::Duration;

use flate2::{Compress, Compression, FlushCompress};
use tokio::io::AsyncWriteExt;

use crate::conn::{Recorded, Stream};
use crate::site::Reply;

/// What happens to the connection after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    Keep,
    Close,
}

/// The size of a [`bomb`] once decoded.
pub const BOMB_BYTES: usize = 1 << 30;

/// Answers `/fault/{name}`. `served` is how many requests this connection has answered.
pub(crate) async fn answer(
    stream: &mut impl Stream,
    name: &str,
    request: &Recorded,
    served: usize,
) -> io::Result<After> {
    let (name, argument) = name.split_once('/').unwrap_or((name, ""));
    match name {
        "silent" => return hang().await,
        "drip" => return drip(stream).await,
        "late-body" => return late_body(stream, request).await,
        "endless" => return endless(stream).await,
        "hints" => return hints(stream).await,
        "bomb" => return send_bomb(stream, argument).await,
        "stale" => return stale(stream, served).await,
        "redirect" => {
            // `/fault/redirect/307?http://…`
            let status = argument.parse().unwrap_or(302);
            stream
                .write_all(&Reply::redirect(status, request.query()).bytes(true))
                .await?;
            return Ok(After::Keep);
        }
        "chain" => {
            let left: u32 = argument.parse().unwrap_or(0);
            let next = format!("/fault/chain/{}", left.saturating_sub(1));
            let reply = if left == 0 {
                Reply::html("end")
            } else {
                Reply::redirect(302, &next)
            };
            stream.write_all(&reply.bytes(true)).await?;
            return Ok(After::Keep);
        }
        _ => {}
    }
    let (bytes, after) = scripted(name);
    stream.write_all(&bytes).await?;
    Ok(after)
}

/// Answers that are fixed bytes, valid or not.
fn scripted(name: &str) -> (Vec<u8>, After) {
    use After::{Close, Keep};
    let ok = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";
    let text = |text: &str| text.as_bytes().to_vec();
    let head = |rest: &str| format!("{ok}{rest}\r\n").into_bytes();
    let body = |headers: &str, body: &[u8]| {
        [
            head(&format!("{headers}Content-Length: {}\r\n", body.len())),
            body.to_vec(),
        ]
        .concat()
    };
    match name {
        "terabyte" => (head("Content-Length: 1099511627776\r\n"), Keep),
        "short" => ([head("Content-Length: 100\r\n"), text("only this")].concat(), Close),
        "surplus" => ([head("Content-Length: 4\r\n"), text("bodyHTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nsmuggle")].concat(), Keep),
        "bad-chunk" => ([head("Transfer-Encoding: chunked\r\n"), text("zz\r\nhello\r\n0\r\n\r\n")].concat(), Keep),
        "cut-chunk" => ([head("Transfer-Encoding: chunked\r\n"), text("5\r\nhello\r\n")].concat(), Close),
        "nested" => (body(&format!("Content-Encoding: {}\r\n", ["gzip"; 10].join(", ")), b"x"), Keep),
        "not-gzip" => (body("Content-Encoding: gzip\r\n", b"<p>plain</p>"), Keep),
        "cut-gzip" => {
            let whole = gzip(&pseudo_random(60_000));
            (body("Content-Encoding: gzip\r\n", whole.get(..whole.len() / 2).unwrap_or_default()), Keep)
        }
        "unknown-coding" => (body("Content-Encoding: rot13\r\n", b"uryyb"), Keep),
        "loop-a" => (Reply::redirect(302, "/fault/loop-b").bytes(true), Keep),
        "loop-b" => (Reply::redirect(301, "/fault/loop-a").bytes(true), Keep),
        "self" => (Reply::redirect(307, "/fault/self").bytes(true), Keep),
        "no-location" => (Reply::new(302, "").bytes(true), Keep),
        "empty-location" => (Reply::redirect(302, "").bytes(true), Keep),
        "locations" => (
            Reply::redirect(302, "/a").header("Location", "/b").header("Location", "/c").bytes(true),
            Keep,
        ),
        "bad-location" => (Reply::redirect(302, "http://[::1").bytes(true), Keep),
        "big-header" => (head(&format!("X-Big: {}\r\nContent-Length: 0\r\n", "x".repeat(1 << 20))), Close),
        "many-headers" => {
            let many: String = (0..10_000).map(|n| format!("X-{n}: {n}\r\n")).collect();
            (head(&format!("{many}Content-Length: 0\r\n")), Close)
        }
        "odd-headers" => (body("X-Folded: one,\r\n two\r\nX-Spaced : three\r\n", b"<p>odd headers</p>"), Keep),
        "bad-header" => (head("X-Bad: a\0b\r\nContent-Length: 0\r\n"), Close),
        "two-lengths" => ([head("Content-Length: 4\r\nContent-Length: 6\r\n"), text("bodies")].concat(), Close),
        "length-and-chunked" => (
            [head("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n"), text("4\r\nbody\r\n0\r\n\r\n")].concat(),
            Close,
        ),
        "gzip-transfer" => ([head("Transfer-Encoding: gzip\r\n"), gzip(b"body")].concat(), Close),
        "http09" => (text("<html>no status line at all</html>"), Close),
        "garbage" => (text("HTTP/1.1 abc what\r\n\r\n"), Close),
        "switching" => (
            text("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"),
            Close,
        ),
        "closed" => (Vec::new(), Close),
        "not-modified" => (text("HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n"), Keep),
        "no-content" => (text("HTTP/1.1 204 No Content\r\nX-A: b\r\n\r\nbody that must not be"), Close),
        "early-hints" => (
            [
                text("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"),
                body("", b"after hints"),
            ]
            .concat(),
            Keep,
        ),
        "refresh" => (body("Refresh: 0; url=/echo\r\n", b"<p>wait</p>"), Keep),
        "opaque" => ([ok.as_bytes(), b"X-Opaque: caf\xe9\r\nContent-Length: 1\r\n\r\nx"].concat(), Keep),
        "unavailable" => (Reply::new(503, "later").header("Retry-After", "120").bytes(true), Keep),
        _ => (Reply::new(404, "no such fault").bytes(true), Keep),
    }
}

async fn hang() -> io::Result<After> {
    std::future::pending::<()>().await;
    Ok(After::Close)
}

/// A body where none may be, sent after its head has been read: 204, and 405 to a HEAD.
async fn late_body(stream: &mut impl Stream, request: &Recorded) -> io::Result<After> {
    let head: &[u8] = match request.method.as_str() {
        "HEAD" => b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 9\r\n\r\n",
        _ => b"HTTP/1.1 204 No Content\r\n\r\n",
    };
    stream.write_all(head).await?;
    stream.flush().await?;
    tokio::time::sleep(Duration::from_millis(20)).await;
    stream.write_all(b"late body").await?;
    Ok(After::Keep)
}

/// A body of a thousand bytes, as announced, sent at one byte every 20 ms.
async fn drip(stream: &mut impl Stream) -> io::Result<After> {
    stream
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n")
        .await?;
    for _ in 0..1000 {
        stream.write_all(b"x").await?;
        stream.flush().await?;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(After::Keep)
}

/// An endless body without a length, sent as fast as the client reads.
async fn endless(stream: &mut impl Stream) -> io::Result<After> {
    stream
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>")
        .await?;
    let block = b"for ever and ever, ".repeat(1000);
    loop {
        stream.write_all(&block).await?;
    }
}

/// Interim responses without end.
async fn hints(stream: &mut impl Stream) -> io::Result<After> {
    let block = b"HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n".repeat(1_000);
    loop {
        stream.write_all(&block).await?;
    }
}

/// Answers the first request of each connection and closes it at the second.
async fn stale(stream: &mut impl Stream, served: usize) -> io::Result<After> {
    if served > 0 {
        return Ok(After::Close);
    }
    stream.write_all(&Reply::html("fresh").bytes(true)).await?;
    Ok(After::Keep)
}

async fn send_bomb(stream: &mut impl Stream, coding: &str) -> io::Result<After> {
    let body = bomb(coding);
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: {coding}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(&body).await?;
    Ok(After::Keep)
}

/// A gigabyte of zeros, encoded: about a megabyte with gzip or deflate, less with the others.
pub fn bomb(coding: &str) -> Vec<u8> {
    const PIECE: usize = 1 << 20;
    let zeros = vec![0; PIECE];
    let pieces = BOMB_BYTES / PIECE;
    match coding {
        "zstd" => zstd::encode_all(zeros.as_slice(), 1)
            .unwrap_or_default()
            .repeat(pieces),
        "br" => {
            let mut out = brotli::CompressorWriter::new(Vec::new(), 1 << 16, 1, 24);
            // A flush ends a meta-block and keeps the window.
            for _ in 0..pieces {
                let _ = out.write_all(&zeros);
            }
            out.into_inner()
        }
        "gzip" => gzip(&zeros).repeat(pieces),
        _ => {
            // Full flushes make a block that can be repeated.
            let mut deflate = Compress::new(Compression::best(), false);
            let mut block = Vec::with_capacity(PIECE);
            let _ = deflate.compress_vec(&zeros, &mut block, FlushCompress::Full);
            block.repeat(pieces)
        }
    }
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Compression::default());
    let _ = encoder.write_all(data);
    encoder.finish().unwrap_or_default()
}

/// Text that can be compressed only a little.
fn pseudo_random(len: usize) -> Vec<u8> {
    let mut state = 1u32;
    (0..len)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            b'a' + u8::try_from(state >> 28).unwrap_or(0)
        })
        .collect()
}
