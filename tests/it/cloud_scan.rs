//! Scans that use a browser: cloud_mode and screenshot_inline.

use orbweaver_origin::{Origin, Reply};
use serde_json::{Value, json};

use crate::support::{Service, Site};

const APP: &str = "<!doctype html><title>App</title><div id=\"root\"></div><script>\
    document.getElementById('root').innerHTML = '<h1>Rendered heading</h1>' +\
    '<p>This text was made by a script, and no plain fetch ever sees it.</p>'</script>";

async fn app() -> Origin {
    let origin = Origin::start().await.expect("an origin");
    origin.set("/app", Reply::html(APP));
    origin
}

#[tokio::test]
async fn each_mode_uses_its_backend_and_is_billed_accordingly() {
    let (service, origin) = (Service::start().await, app().await);
    let client = service.client();
    let scan = async |mode: &str| {
        let body = json!({"url": origin.url("/app"), "cloud_mode": mode, "max_age_seconds": 0});
        client.post("/v1/scan", &body).await.ok()
    };
    let sees = |result: &Value| {
        result["markdown"]
            .as_str()
            .unwrap()
            .contains("Rendered heading")
    };
    assert!(!sees(&scan("none").await));
    assert_eq!(service.billed().await, (1, 0));
    let browser = scan("browser").await;
    assert!(sees(&browser), "{browser}");
    assert_eq!(browser["status"], 200);
    assert_eq!(service.billed().await, (1, 1));
    let auto = scan("auto").await;
    assert!(sees(&auto), "an app shell is opened in the browser");
    assert_eq!(auto["cloud_mode"], "browser");
    assert_eq!(service.billed().await, (1, 2));
    // A page that has its text is left to plain HTTP.
    let site = Site::start().await;
    let body = json!({"url": site.url("/article"), "cloud_mode": "auto"});
    let plain = client.post("/v1/scan", &body).await.ok();
    assert_eq!(plain["cloud_mode"], "none");
    assert_eq!(site.hits("/article"), 1);
    assert_eq!(service.billed().await, (2, 2));
}

#[tokio::test]
async fn a_cached_rendered_page_answers_its_own_mode_and_auto() {
    let (service, origin) = (Service::start().await, app().await);
    let client = service.client();
    let scan = async |mode: &str| {
        let body = json!({"url": origin.url("/app"), "cloud_mode": mode, "max_age_seconds": 600});
        client.post("/v1/scan", &body).await.ok()
    };
    let first = scan("browser").await;
    let asked = origin.count("/app");
    assert_eq!(scan("browser").await, first);
    assert_eq!(scan("auto").await["markdown"], first["markdown"]);
    assert_eq!(origin.count("/app"), asked);
    assert_eq!(service.billed().await, (0, 3));
    // Twice the same answer, the second from memory: billed as the first.
    assert_eq!(scan("auto").await["markdown"], first["markdown"]);
    assert_eq!(service.billed().await, (0, 4));
}

#[tokio::test]
async fn auto_renders_a_stored_page_that_needs_it() {
    let (service, origin) = (Service::start().await, app().await);
    let client = service.client();
    let body =
        |mode: &str| json!({"url": origin.url("/app"), "cloud_mode": mode, "max_age_seconds": 600});
    let plain = client.post("/v1/scan", &body("none")).await.ok();
    assert_eq!(plain["cloud_mode"], "none");
    let rendered = client.post("/v1/scan", &body("auto")).await.ok();
    assert_eq!(rendered["cloud_mode"], "browser", "{rendered}");
    // Without a browser, the stored page is the answer, and says what it lacks.
    let without = Service::with(|config| config.browser = Some("/no/such/browser".into())).await;
    let client = without.client();
    client.post("/v1/scan", &body("none")).await.ok();
    let asked = origin.count("/app");
    let stored = client.post("/v1/scan", &body("auto")).await.ok();
    assert_eq!(stored["errors"][0]["code"], "not-configured", "{stored}");
    assert_eq!(origin.count("/app"), asked);
}

#[tokio::test]
async fn a_picture_beside_a_stored_page_is_of_that_page() {
    let (service, origin) = (Service::start().await, app().await);
    let client = service.client();
    let body = json!({"url": origin.url("/app"), "cloud_mode": "browser", "cookies": "who=ann",
        "screenshot_inline": true, "max_age_seconds": 600});
    for _ in 0..2 {
        let answer = client.post("/v1/scan", &body).await.ok();
        assert!(answer["screenshot"].is_string(), "{answer}");
    }
    let mut asked = origin.requests();
    asked.retain(|request| request.path() == "/app");
    assert!(asked.len() >= 2);
    for request in asked {
        assert_eq!(request.header("cookie"), Some("who=ann"));
    }
}

#[tokio::test]
async fn a_screenshot_with_a_scan_costs_one_more_cloud_page() {
    let (service, origin) = (Service::start().await, app().await);
    let client = service.client();
    for (mode, billed) in [("none", (1, 1)), ("browser", (1, 3))] {
        let body =
            json!({"url": origin.url("/app"), "cloud_mode": mode, "screenshot_inline": true});
        let result = client.post("/v1/scan", &body).await.ok();
        assert!(
            result["screenshot"]
                .as_str()
                .unwrap()
                .starts_with("iVBORw0KGgo"),
            "{result}"
        );
        assert!(result.get("screenshot_error").is_none());
        assert_eq!(service.billed().await, billed, "{mode}");
    }
}

#[tokio::test]
async fn a_failed_screenshot_is_free_and_does_not_fail_the_scan() {
    let service = Service::with(|config| config.browser = Some("/no/such/browser".into())).await;
    let site = Site::start().await;
    let body = json!({"url": site.url("/article"), "screenshot_inline": true});
    let result = service.client().post("/v1/scan", &body).await.ok();
    assert_eq!(result["screenshot"], Value::Null);
    assert!(
        result["screenshot_error"]
            .as_str()
            .unwrap()
            .contains("browser"),
        "{result}"
    );
    assert!(result["markdown"].as_str().unwrap().contains("orb weavers"));
    assert_eq!(service.billed().await, (1, 0));
    for mode in ["browser", "unblocker"] {
        let body = json!({"url": site.url("/article"), "cloud_mode": mode});
        let message = service
            .client()
            .post("/v1/scan", &body)
            .await
            .error(501, "NOT_IMPLEMENTED");
        assert!(message.starts_with("cloud_mode:"), "{message}");
    }
    assert_eq!(service.billed().await, (1, 0));
}

#[tokio::test]
async fn a_page_that_auto_does_not_render_is_told() {
    let (service, origin) = (Service::start().await, app().await);
    let client = service.other_project("shop").await;
    service.has_used("shop", 0, 100).await;
    let body = json!({"url": origin.url("/app"), "cloud_mode": "auto"});
    let result = client.post("/v1/scan", &body).await.ok();
    assert_eq!(result["cloud_mode"], "none");
    let error = &result["errors"][0];
    assert_eq!(
        (&error["role"], &error["code"]),
        (&json!("cloud_mode"), &json!("cap"))
    );
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("cloud page cap"), "{message}");

    let without = Service::with(|config| config.browser = Some("/no/such/browser".into())).await;
    let result = without.client().post("/v1/scan", &body).await.ok();
    assert_eq!(result["errors"][0]["code"], "not-configured", "{result}");
    // A page that needs no browser is whole.
    origin.set(
        "/plain",
        Reply::html(format!("<p>{}", "Plain words. ".repeat(100))),
    );
    let body = json!({"url": origin.url("/plain"), "cloud_mode": "auto"});
    let result = client.post("/v1/scan", &body).await.ok();
    assert_eq!(result["errors"], json!([]));
}

#[tokio::test]
async fn an_address_that_no_fetch_has_is_not_the_pages() {
    let service = Service::start().await;
    let client = service.client();
    let origin = Origin::start().await.expect("a site");
    let long = "<title>Long</title><p>text</p><a href=next>on</a>\
                <script>history.pushState(0, '', '/' + 'a'.repeat(1000000))</script>";
    let made = "<title>Made</title><p>text</p><script>\
                location = URL.createObjectURL(new Blob(['<p>made by a script'], {type: 'text/html'}))</script>";
    origin
        .set("/dir/long", Reply::html(long))
        .set("/dir/made", Reply::html(made));
    for path in ["/dir/long", "/dir/made"] {
        let url = origin.url(path);
        let body = json!({"url": url, "cloud_mode": "browser", "include_links": true});
        let answer = client.post("/v1/scan", &body).await.ok();
        assert_eq!(answer["final_url"], url, "{path}");
        if path == "/dir/long" {
            assert_eq!(answer["links"][0]["to"], origin.url("/dir/next"));
        }
    }
}
