//! `orbweaver crawl`: a site crawled without a service.

use super::run;
use crate::support::Site;

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
    // What answered 404 is no document.
    assert_eq!(std::fs::read_dir(folder.join(&host)).unwrap().count(), 1);

    for (arguments, expected) in [
        (vec!["crawl", "http://10.0.0.1/"], "--allow-net"),
        (
            vec!["crawl", "https://example.com/", "--depth", "51"],
            "depth: must be between 1 and 50",
        ),
        (vec!["crawl", "--resume", "999"], "there is no run 999"),
    ] {
        let refused = run(&data, &arguments);
        assert_eq!(refused.status.code(), Some(1));
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(said.contains(expected), "{said}");
    }
}
