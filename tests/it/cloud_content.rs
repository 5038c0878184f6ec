//! Content of /v1/cloud/… and of actors, as the pages show it.

use serde_json::json;

use crate::support::Service;

#[tokio::test]
async fn text_has_code_and_signs_as_the_page_shows_them() {
    let service = Service::start().await;
    let client = service.client();
    for (html, text) in [
        (
            "<p>Use <code>a[i]*b | c\\d</code> and <code>x**2</code></p>",
            "Use a[i]*b | c\\d and x**2",
        ),
        ("<p>a | b</p>", "a | b"),
        ("<pre>one\n```\ntwo</pre>", "one\n```\ntwo"),
        ("<p>one</p><hr><p>two</p>", "one\n\ntwo"),
        ("<p><del>old</del> H<sub>2</sub>O</p>", "old H2O"),
        ("<p>one<br>two</p>", "one\ntwo"),
        (
            "<table><tr><th>k</th><th>v</th></tr><tr><td>a</td><td>b</td></tr></table>",
            "k\tv\na\tb",
        ),
    ] {
        let body = json!({"data": html, "return_format": "text", "readability": false});
        let answer = client.post("/v1/cloud/transform", &body).await.ok();
        assert_eq!(answer["content"], text, "{html}");
    }
}
