//! POST /v1/scan.

use serde_json::{Value, json};

use crate::support::{Service, Site};

#[tokio::test]
async fn a_scan_returns_every_field() {
    let (service, site) = (Service::start().await, Site::start().await);
    let body = json!({"url": site.url("/article"), "include_links": true});
    let result = service.client().post("/v1/scan", &body).await.ok();
    assert_eq!(result["errors"], json!([]));
    assert_eq!(result["url"], site.url("/article"));
    assert_eq!(result["final_url"], site.url("/article"));
    assert_eq!(result["status"], 200);
    assert_eq!(result["bytes"], crate::support::site::ARTICLE.len());
    let hash = result["content_hash"].as_str().unwrap();
    assert!(
        hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit()),
        "{hash}"
    );

    let markdown = result["markdown"].as_str().unwrap();
    assert!(markdown.contains("# How orb weavers build"), "{markdown}");
    assert!(
        markdown.contains("Menu entry"),
        "navigation is included by default: {markdown}"
    );
    let radii = site.url("/radii?a=1&b=2");
    assert!(markdown.contains(&format!("]({radii})")), "{markdown}");
    let article = result["article"].as_str().unwrap();
    assert!(
        article.contains("bridge thread") && !article.contains("Menu entry"),
        "{article}"
    );
    assert!(result["article_html"].as_str().unwrap().contains("<p>"));

    let metadata = &result["metadata"];
    assert_eq!(metadata["title"], "How orb weavers build");
    assert_eq!(metadata["description"], "What a web is made of.");
    assert_eq!(metadata["canonical"], "https://spiders.example/weavers");
    assert_eq!(metadata["og"]["title"], "Orb weavers");
    assert_eq!(metadata["og"]["type"], "article");
    assert_eq!(metadata["twitter"]["card"], "summary_large_image");
    assert_eq!(metadata["json_ld"][0]["@type"], "Article");

    let signals = &result["signals"];
    assert_eq!(signals["lang"], "en");
    assert_eq!(signals["h1"], json!(["How orb weavers build"]));
    assert_eq!(signals["h2"], json!(["The radii"]));
    assert_eq!(signals["jsonld_types"], json!(["Article"]));
    assert_eq!(signals["links"]["nofollow"], 1);
    assert_eq!(
        signals["headings"][0],
        json!({"level": 1, "text": "How orb weavers build"})
    );
    assert!(signals["word_count"].as_u64().unwrap() > 80);

    let links = result["links"].as_array().unwrap();
    assert_eq!(links.len(), 3, "{links:?}");
    let link = links.iter().find(|link| link["to"] == radii).unwrap();
    assert_eq!(link["anchor"], "the radii in detail");
    assert_eq!(link["nofollow"], false);

    let policy = &result["ai_bot_policy"];
    assert_eq!(policy["GPTBot"], "disallowed");
    assert_eq!(policy["ClaudeBot"], "allowed");
    assert_eq!(policy["CCBot"], "partial");
    assert_eq!(result["llms_txt"], "# Spiders\n");
    assert_eq!(result["llms_full_txt"], Value::Null);
}

#[tokio::test]
async fn fields_that_were_not_requested_are_absent() {
    let (service, site) = (Service::start().await, Site::start().await);
    let result = service
        .client()
        .post("/v1/scan", &json!({"url": site.url("/article")}))
        .await
        .ok();
    for field in ["links", "screenshot", "screenshot_error", "extensions"] {
        assert!(result.get(field).is_none(), "{field}");
    }
}

#[tokio::test]
async fn options_leave_out_their_fields() {
    let (service, site) = (Service::start().await, Site::start().await);
    let client = service.client();
    let body = json!({"url": site.url("/article"), "metadata_only": true});
    let result = client.post("/v1/scan", &body).await.ok();
    for field in ["markdown", "article", "article_html"] {
        assert_eq!(result[field], Value::Null, "{field}");
    }
    assert_eq!(result["metadata"]["title"], "How orb weavers build");
    assert_eq!(result["signals"]["h1"], json!(["How orb weavers build"]));

    let body = json!({"url": site.url("/article"), "only_main_content": true});
    let markdown = client.post("/v1/scan", &body).await.ok()["markdown"].clone();
    let markdown = markdown.as_str().unwrap();
    assert!(
        markdown.contains("bridge thread") && !markdown.contains("Menu entry"),
        "{markdown}"
    );
}

#[tokio::test]
async fn further_extractors_are_under_extensions() {
    let (service, site) = (Service::start().await, Site::start().await);
    let body = json!({"url": site.url("/article"), "extractors": ["structured-data"]});
    let result = service.client().post("/v1/scan", &body).await.ok();
    let data = &result["extensions"]["structured-data"];
    assert_eq!(data["counts"]["json-ld"], 1, "{data}");

    let body = json!({"url": site.url("/article"), "extractors": ["links", "nothing"]});
    let message = service
        .client()
        .post("/v1/scan", &body)
        .await
        .error(422, "INVALID_INPUT");
    assert!(
        message.starts_with("extractors[1]: extractor `nothing` is not loaded"),
        "{message}"
    );
}

#[tokio::test]
async fn every_status_is_a_result() {
    let (service, site) = (Service::start().await, Site::start().await);
    let client = service.client();
    for status in [404, 410, 500, 503] {
        let url = site.url(&format!("/status/{status}"));
        let result = client.post("/v1/scan", &json!({"url": url})).await.ok();
        assert_eq!(result["status"], status);
        assert!(result["markdown"].as_str().unwrap().contains("Body of"));
    }
}

#[tokio::test]
async fn redirects_are_followed_up_to_ten() {
    let (service, site) = (Service::start().await, Site::start().await);
    let client = service.client();
    let result = client
        .post("/v1/scan", &json!({"url": site.url("/hop/3")}))
        .await
        .ok();
    assert_eq!(result["url"], site.url("/hop/3"));
    assert_eq!(result["final_url"], site.url("/article"));
    let answer = client
        .post("/v1/scan", &json!({"url": site.url("/hop/30")}))
        .await;
    answer.error(502, "FETCH_FAILED");
}

#[tokio::test]
async fn private_targets_are_refused_in_url_and_redirect() {
    let (service, site) = (Service::start().await, Site::start().await);
    let client = service.client();
    for url in [
        "http://10.0.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::1]/",
        "http://0x0a000001/",
        "ftp://example.com/",
        "file:///etc/passwd",
        "http://user:password@example.com/",
        "//example.com",
        "example.com",
        "",
    ] {
        let answer = client.post("/v1/scan", &json!({"url": url})).await;
        let message = answer.error(422, "INVALID_INPUT");
        assert!(message.starts_with("url: "), "{url}: {message}");
    }
    let redirect = site.url("/to?http://10.0.0.1/");
    let message = client
        .post("/v1/scan", &json!({"url": redirect}))
        .await
        .error(422, "INVALID_INPUT");
    assert!(message.starts_with("url: "), "{message}");
    assert_eq!(service.billed().await, (0, 0));
}

#[tokio::test]
async fn private_names_are_refused_before_they_are_looked_up() {
    let service = Service::with(|config| config.allow_nets.clear()).await;
    for url in [
        "http://localhost/",
        "http://router.internal/",
        "http://intranet/",
        "http://a.local/",
    ] {
        let answer = service
            .client()
            .post("/v1/scan", &json!({"url": url}))
            .await;
        let message = answer.error(422, "INVALID_INPUT");
        assert!(
            message.contains("public") || message.contains("local"),
            "{url}: {message}"
        );
    }
}

#[tokio::test]
async fn an_unreachable_target_is_502() {
    let service = Service::start().await;
    // A port that is no longer in use.
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let answer = service
        .client()
        .post("/v1/scan", &json!({"url": format!("http://{closed}/")}))
        .await;
    answer.error(502, "FETCH_FAILED");
}

#[tokio::test]
async fn non_html_bodies_have_no_content() {
    let (service, site) = (Service::start().await, Site::start().await);
    let client = service.client();
    for (path, bytes) in [("/image.png", 33), ("/notes.txt", 29)] {
        let result = client
            .post("/v1/scan", &json!({"url": site.url(path)}))
            .await
            .ok();
        assert_eq!(result["status"], 200, "{path}");
        assert_eq!(result["bytes"], bytes, "{path}");
        for field in ["markdown", "article", "article_html", "metadata", "signals"] {
            assert_eq!(result[field], Value::Null, "{path} {field}");
        }
        assert_eq!(result["errors"], json!([]));
        let notice = result["notice"].as_str().expect("a reason");
        let kind = if bytes == 33 {
            "image/png"
        } else {
            "text/plain"
        };
        assert!(
            notice.contains(kind) && notice.contains("only HTML"),
            "{notice}"
        );
    }
    let empty = client
        .post("/v1/scan", &json!({"url": site.url("/empty")}))
        .await
        .ok();
    assert_eq!(
        (&empty["bytes"], &empty["markdown"]),
        (&json!(0), &json!(""))
    );
}

#[tokio::test]
async fn legacy_charsets_and_deep_nesting_are_read() {
    let (service, site) = (Service::start().await, Site::start().await);
    let client = service.client();
    let result = client
        .post("/v1/scan", &json!({"url": site.url("/windows-1252")}))
        .await
        .ok();
    assert_eq!(result["metadata"]["title"], "café € 5");
    let result = client
        .post("/v1/scan", &json!({"url": site.url("/nested")}))
        .await
        .ok();
    assert_eq!(result["errors"], json!([]));
    assert!(result["markdown"].as_str().unwrap().contains("deep"));
}

#[tokio::test]
async fn the_user_agent_is_sent_or_rotated() {
    let (service, site) = (Service::start().await, Site::start().await);
    let client = service.client();
    let title = async |body: Value| {
        client.post("/v1/scan", &body).await.ok()["metadata"]["title"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let url = site.url("/echo");
    assert_eq!(
        title(json!({"url": url, "user_agent": "Probe/1.0"})).await,
        "Probe/1.0"
    );
    let mut rotated = Vec::new();
    for _ in 0..3 {
        rotated.push(title(json!({"url": url})).await);
    }
    assert!(rotated.iter().all(|agent| agent.starts_with("Mozilla/5.0")));
    // The first scan asks for the site's files, too; the others make a request each.
    assert_ne!(rotated[1], rotated[2]);
    assert!(
        title(json!({"url": url, "user_agent": "Orbweaver/9"}))
            .await
            .starts_with("Mozilla/")
    );
    for bad in ["a\r\nx: y", "\u{0}", &"x".repeat(1_025)] {
        let answer = client
            .post("/v1/scan", &json!({"url": url, "user_agent": bad}))
            .await;
        let message = answer.error(422, "INVALID_INPUT");
        assert!(message.starts_with("user_agent: "), "{message}");
    }
}

#[tokio::test]
async fn missing_backends_are_named() {
    let (service, site) = (
        Service::with(|config| config.browser = Some("/no/such/browser".into())).await,
        Site::start().await,
    );
    let client = service.client();
    let url = site.url("/article");
    for mode in ["browser", "unblocker"] {
        let message = client
            .post("/v1/scan", &json!({"url": url, "cloud_mode": mode}))
            .await
            .error(501, "NOT_IMPLEMENTED");
        assert!(message.contains(mode), "{message}");
        // An invalid body is 422 first.
        let invalid = json!({"url": "nonsense", "cloud_mode": mode});
        client
            .post("/v1/scan", &invalid)
            .await
            .error(422, "INVALID_INPUT");
    }
    for mode in ["none", "auto"] {
        client
            .post("/v1/scan", &json!({"url": url, "cloud_mode": mode}))
            .await
            .ok();
    }
    let result = client
        .post("/v1/scan", &json!({"url": url, "screenshot_inline": true}))
        .await
        .ok();
    assert_eq!(result["screenshot"], Value::Null);
    assert!(result["screenshot_error"].is_string());
}
