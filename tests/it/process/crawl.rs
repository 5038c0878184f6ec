//! `orbweaver crawl`: a site is crawled without a service.

use std::process::{Command, Stdio};

use chrono::{DateTime, TimeDelta, Utc};
use orbweaver_origin::{Origin, Reply};
use orbweaver_tests::postgres::Postgres;

use super::{command, run};
use crate::support::{Site, database, wait};

#[tokio::test(flavor = "multi_thread")]
async fn a_site_is_crawled_without_a_server() {
    let site = Site::start().await;
    let data = tempfile::tempdir().unwrap();
    let (lines, folder) = (data.path().join("p.ndjson"), data.path().join("site"));
    let crawl = |more: &[&str]| {
        let url = site.url("/article");
        let mut arguments = vec!["crawl", &url, "--allow-net", "127.0.0.0/8"];
        arguments.extend(["--delay-ms", "0", "--max-pages", "10"]);
        arguments.extend(more);
        let done = run(&data, &arguments);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{said}");
        assert!(said.contains("done: 3 pages"), "{said}");
        assert!(!said.contains("orb_"), "no key is shown: {said}");
        String::from_utf8(done.stdout).unwrap()
    };
    let printed = crawl(&[]);
    assert!(
        printed.contains(&format!("200\t{}\n", site.url("/article"))),
        "{printed}"
    );
    assert!(
        printed.contains(&format!("404\t{}\n", site.url("/menu"))),
        "{printed}"
    );

    let csv = data.path().join("p.csv");
    crawl(&["--out", csv.to_str().unwrap()]);
    let table = std::fs::read_to_string(&csv).unwrap();
    assert!(
        table.starts_with("id,url,status,bytes,fetched_at\n"),
        "{table}"
    );
    assert_eq!(table.lines().count(), 4, "{table}");
    assert!(
        table.contains(&format!("{},200,", site.url("/article"))),
        "{table}"
    );
    let known = csv.to_str().unwrap();
    let strange = data.path().join("p.xlsx");
    let url = site.url("/article");
    for (out, expected) in [
        (known, "--force replaces it"),
        (strange.to_str().unwrap(), ".xlsx"),
    ] {
        let refused = run(
            &data,
            &["crawl", &url, "--allow-net", "127.0.0.0/8", "--out", out],
        );
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(1), "{said}");
        assert!(said.contains(expected), "{said}");
    }
    assert_eq!(std::fs::read_to_string(&csv).unwrap(), table);
    crawl(&["--force", "--out", known]);
    assert_ne!(
        std::fs::read_to_string(&csv).unwrap(),
        table,
        "another run's pages"
    );

    let parquet = data.path().join("p.parquet");
    crawl(&["--out", parquet.to_str().unwrap(), "--fields", "title"]);
    let file = std::fs::read(&parquet).unwrap();
    assert!(file.starts_with(b"PAR1") && file.ends_with(b"PAR1"));

    crawl(&["--out", lines.to_str().unwrap()]);
    let text = std::fs::read_to_string(&lines).unwrap();
    let pages: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(pages.len(), 3);
    assert_eq!(pages[0]["url"], site.url("/article"));
    let markdown = pages[0]["markdown"].as_str().unwrap();
    assert!(markdown.contains("# How orb weavers build"), "{markdown}");
    assert_eq!(pages[0]["metadata"]["title"], "How orb weavers build");

    // The same on standard output.
    let printed = crawl(&["--out", "-", "--fields", "title"]);
    let titles: Vec<serde_json::Value> = printed
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["title"].take())
        .collect();
    assert_eq!((titles.len(), pages.len()), (3, 3), "{printed}");
    assert_eq!(titles[0], "How orb weavers build");
    assert!(!std::path::Path::new("-").exists());

    crawl(&["--out", folder.to_str().unwrap()]);
    let host = format!("127.0.0.1_{}", site.address.port());
    let page = std::fs::read_to_string(folder.join(&host).join("article.md")).unwrap();
    assert!(
        page.starts_with(&format!("---\nurl: \"{}\"\n", site.url("/article"))),
        "{page}"
    );
    assert!(
        page.contains("title: \"How orb weavers build\"\n"),
        "{page}"
    );
    // A page that answered 404 is no document.
    assert_eq!(std::fs::read_dir(folder.join(&host)).unwrap().count(), 1);

    for (arguments, expected) in [
        (vec!["crawl", "http://10.0.0.1/"], "--allow-net"),
        (
            vec!["crawl", "https://example.com/", "--depth", "51"],
            "depth: must be between 1 and 50",
        ),
        (vec!["crawl", "--resume", "999"], "run 999 does not exist"),
    ] {
        let refused = run(&data, &arguments);
        assert_eq!(refused.status.code(), Some(1));
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(said.contains(expected), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_crawl_keeps_the_old_file_and_resumes() {
    let origin = Origin::start().await.unwrap();
    origin.set(
        "/",
        Reply::html("<title>First</title><a href=/held/second>x</a>"),
    );
    origin.set("/held/second", Reply::html("<title>Second</title>"));
    let data = tempfile::tempdir().unwrap();
    let out = data.path().join("pages.ndjson");
    std::fs::write(&out, "the crawl before\n").unwrap();
    let url = origin.url("/");
    let out_text = out.to_str().unwrap();
    let mut process = command(&data)
        .args(["crawl", &url, "--allow-net", "127.0.0.0/8"])
        .args(["--delay-ms", "0", "--force", "--out", out_text])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    origin.asked("/held/second", 1).await;
    let pid = process.id().to_string();
    let sent = Command::new("kill").args(["-s", "INT", &pid]).status();
    assert!(sent.unwrap().success());
    let mut said = String::new();
    let mut output = process.stderr.take().unwrap();
    std::io::Read::read_to_string(&mut output, &mut said).unwrap();
    assert_eq!(process.wait().unwrap().code(), Some(1), "{said}");
    assert!(said.contains("interrupted after 1 pages"), "{said}");
    let before = std::fs::read_to_string(&out).unwrap();
    assert_eq!(before, "the crawl before\n");
    let (_, rest) = said.split_once("--resume ").unwrap();
    let id = rest.split('`').next().unwrap();

    // A page with its own name answers at once.
    let resumed = tokio::task::spawn_blocking({
        let arguments = [
            "crawl",
            "--resume",
            id,
            "--allow-net",
            "127.0.0.0/8",
            "--force",
            "--out",
            out_text,
        ]
        .map(str::to_owned);
        move || {
            let arguments = arguments.each_ref().map(String::as_str);
            let done = run(&data, &arguments);
            (done, data)
        }
    });
    origin.asked("/held/second", 2).await;
    origin.release();
    let (done, data) = resumed.await.unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{said}");
    let text = std::fs::read_to_string(&out).unwrap();
    assert_eq!(text.lines().count(), 2, "{text}");
    assert_eq!(origin.count("/"), 1, "the first page is not fetched again");
    let part = data.path().join(".pages.ndjson.part");
    assert!(!part.exists(), "no partial file is left");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_that_cannot_be_written_are_kept() {
    let site = Site::start().await;
    let data = tempfile::tempdir().unwrap();
    let url = site.url("/article");
    let crawl = |out: &str| {
        let arguments = [
            "crawl",
            &url,
            "--allow-net",
            "127.0.0.0/8",
            "--delay-ms",
            "0",
        ];
        let done = run(&data, &[&arguments[..], &["--out", out]].concat());
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        (done.status.code(), said)
    };
    // A path that can't be written is reported before anything is fetched.
    let file = data.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let below = file.join("pages.ndjson");
    for out in [below.to_str().unwrap(), "/proc/no/folder"] {
        let (code, said) = crawl(out);
        assert_eq!(code, Some(1));
        assert!(said.contains(out) && said.contains("cannot"), "{said}");
    }
    assert_eq!(site.hits("/article"), 0);
    // A full disk is reported afterwards, and no page is lost.
    let full = data.path().join("full.ndjson");
    std::os::unix::fs::symlink("/dev/full", &full).unwrap();
    let (code, said) = crawl(full.to_str().unwrap());
    assert_eq!(code, Some(1));
    assert!(said.contains("No space left"), "{said}");
    let (_, rest) = said.split_once("--resume ").unwrap();
    let id = rest.split(' ').next().unwrap();
    let lines = data.path().join("pages.ndjson");
    let again = run(
        &data,
        &["crawl", "--resume", id, "--out", lines.to_str().unwrap()],
    );
    let said = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(again.status.success(), "{said}");
    assert_eq!(std::fs::read_to_string(&lines).unwrap().lines().count(), 3);
    assert_eq!(site.hits("/article"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_printed_is_a_failure_unless_nobody_reads_it() {
    let site = Site::start().await;
    let data = tempfile::tempdir().unwrap();
    let url = site.url("/article");
    let crawl = |more: &[&str], output: Stdio| {
        let mut process = command(&data)
            .args(["crawl", &url, "--allow-net", "127.0.0.0/8"])
            .args(["--delay-ms", "0"])
            .args(more)
            .stdout(output)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(process.stdout.take());
        let done = process.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        (done.status.code(), said)
    };
    for more in [&[][..], &["--out", "-"]] {
        let full = std::fs::File::options().write(true).open("/dev/full");
        let (code, said) = crawl(more, full.unwrap().into());
        assert_eq!(code, Some(1), "{more:?}: {said}");
        assert!(said.contains("No space left"), "{more:?}: {said}");
        assert!(said.contains("--resume"), "{more:?}: {said}");
        let (code, said) = crawl(more, Stdio::piped());
        assert_eq!(code, Some(0), "{more:?}: {said}");
        assert!(!said.contains("--resume"), "{more:?}: {said}");
    }
}

/// A clock of the database that a test sets.
const SET_CLOCK: &str = "
    CREATE TABLE ahead (span INTERVAL NOT NULL);
    INSERT INTO ahead VALUES ('0');
    CREATE FUNCTION public.clock_timestamp() RETURNS TIMESTAMPTZ LANGUAGE sql VOLATILE AS
        'SELECT pg_catalog.clock_timestamp() + span FROM public.ahead';
    DO $$ BEGIN
        EXECUTE format(
            'ALTER DATABASE %I SET search_path = public, pg_catalog', current_database()
        );
    END $$;";

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres_a_long_crawl_goes_by_the_databases_clock() {
    let (server, url) = (Postgres::shared(), database::postgres());
    server.execute(&url, SET_CLOCK).unwrap();
    let site = Origin::start().await.unwrap();
    let links: Vec<String> = (0..9).map(|n| format!("<a href='/{n}'>x</a>")).collect();
    site.set("/", Reply::html(links.concat()));
    for n in 0..9 {
        site.set(&format!("/{n}"), Reply::html(format!("<title>{n}</title>")));
    }
    let data = tempfile::tempdir().unwrap();
    let csv = data.path().join("pages.csv");
    let crawl = command(&data)
        .args(["crawl", &site.url("/"), "--allow-net", "127.0.0.0/8"])
        .args(["--ignore-robots", "--delay-ms", "1000"])
        .args(["--database-url", &url, "--out", csv.to_str().unwrap()])
        // The lease outlasts the hour.
        .env("ORBWEAVER_CRAWL__LEASE_MS", "86400000")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait::until("the crawl asks", async || site.count("/") > 0).await;
    server
        .execute(&url, "UPDATE ahead SET span = '1 hour'")
        .unwrap();
    let done = crawl.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
    let table = std::fs::read_to_string(&csv).unwrap();
    let fetched = table
        .lines()
        .skip(1)
        .filter_map(|line| line.rsplit(',').next());
    let fetched: Vec<DateTime<Utc>> = fetched.map(|at| at.parse().unwrap()).collect();
    let (first, last) = (fetched.iter().min().unwrap(), fetched.iter().max().unwrap());
    assert_eq!(fetched.len(), 10);
    assert!(*last - *first > TimeDelta::minutes(59), "{table}");
}
