//! The site matches its specification: a correct crawl finds exactly its pages.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use super::{LargeSite, SiteSpec};

/// The head and the body of an answer to GET.
fn get(site: &LargeSite, path: &str, header: &str) -> (String, Vec<u8>) {
    let mut stream = TcpStream::connect(site.address()).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: x\r\n{header}Connection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer
        .windows(4)
        .position(|part| part == b"\r\n\r\n")
        .unwrap();
    let head = String::from_utf8(answer[..end].to_vec()).unwrap();
    (head, answer[end + 4..].to_vec())
}

fn status(head: &str) -> u16 {
    head.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn following_every_link_finds_exactly_the_pages() {
    let site = LargeSite::start(&SiteSpec::small_pages(400)).unwrap();
    let mut found = BTreeMap::new();
    let mut queue = VecDeque::from(["/".to_owned()]);
    while let Some(path) = queue.pop_front() {
        if found.contains_key(&path) {
            continue;
        }
        let (head, body) = get(&site, &path, "");
        found.insert(path.clone(), status(&head));
        if let Some(to) = head
            .lines()
            .find_map(|line| line.strip_prefix("Location: "))
        {
            queue.push_back(to.to_owned());
        }
        let html = String::from_utf8(body).unwrap();
        for piece in html.split("<a href=\"").skip(1) {
            let href = piece.split('"').next().unwrap();
            let href = href.split('#').next().unwrap();
            let href = href.strip_prefix("..").unwrap_or(href);
            if href.starts_with('/') {
                queue.push_back(href.to_owned());
            }
        }
    }
    let of = |wanted: u16| -> BTreeSet<String> {
        let of_status = found.iter().filter(|(_, status)| **status == wanted);
        of_status.map(|(path, _)| path.clone()).collect()
    };
    assert_eq!(site.pages().len(), 400);
    assert_eq!(of(200), site.pages().into_iter().collect());
    assert_eq!(of(404), site.missing().into_iter().collect());
    assert_eq!(of(301), site.moved().into_keys().collect());
    assert!(!site.missing().is_empty() && !site.moved().is_empty());
    assert_eq!(site.counts().len(), found.len());
    assert_eq!(site.total(), found.len() as u64);
}

#[test]
fn pages_have_the_given_length_gzip_and_etags() {
    let site = LargeSite::start(&SiteSpec::pages(60)).unwrap();
    let (_, plain) = get(&site, "/", "");
    assert!((26_000..60_000).contains(&plain.len()), "{}", plain.len());
    let (head, coded) = get(&site, "/", "Accept-Encoding: br, gzip\r\n");
    assert!(head.contains("Content-Encoding: gzip") && coded.len() * 2 < plain.len());
    let mut decoded = Vec::new();
    flate2::read::GzDecoder::new(coded.as_slice())
        .read_to_end(&mut decoded)
        .unwrap();
    assert_eq!(decoded, plain);
    let etag = head
        .lines()
        .find_map(|line| line.strip_prefix("ETag: "))
        .unwrap();
    let (head, body) = get(&site, "/", &format!("If-None-Match: {etag}\r\n"));
    assert_eq!((status(&head), body.len()), (304, 0));
    let requests = site.requests();
    assert_eq!(requests[2].header("if-none-match"), Some(etag));
    assert!(requests[0].at <= requests[2].at && requests[2].open == 1);
}

#[test]
fn an_edition_differs_in_one_page_of_twenty() {
    let spec = SiteSpec::small_pages(100);
    let site = LargeSite::start(&spec).unwrap();
    let bodies = || -> Vec<_> {
        site.pages()
            .iter()
            .map(|path| get(&site, path, "").1)
            .collect()
    };
    let before = bodies();
    assert_eq!(before, bodies());
    site.replace(&SiteSpec { edition: 1, ..spec });
    let changed: Vec<usize> = before
        .iter()
        .zip(bodies())
        .enumerate()
        .filter(|(_, (before, after))| *before != after)
        .map(|(page, _)| page)
        .collect();
    assert_eq!(changed, [1, 21, 41, 61, 81]);
}
