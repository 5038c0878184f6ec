//! Components whose names are no names, and files and manifests with hostile texts: refused by field and
//! rule, and text wherever they are shown.

use orbweaver_engine::manifest;
use serde_json::{Value, json};

use super::Visitor;
use crate::support::{Client, Service, fixture};

const WASM: [(&str, &str); 1] = [("content-type", "application/wasm")];

/// The rule, as every refusal says it.
const RULE: &str =
    "name: lower-case letters, digits and hyphens, starting with a letter, at most 64";

/// What runs, walks, ends or forges something where a name is taken as it is.
fn names() -> Vec<String> {
    let mut names: Vec<String> = [
        "",
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "../x",
        "..",
        "a/b",
        "a\\b",
        "a\"b'c",
        "a\nb",
        "a\u{0}b",
        "a\u{1b}[2Jb",
        "\u{202e}evil",
        "a\u{200b}b",
        "größe",
        "Metadata",
        "metadata ",
        "-metadata",
        "1st",
        "a_b",
        "a.wasm",
        "x'; DROP TABLE projects; --",
        "a\",kind=\"b\"} 1\norbweaver_up{x=\"",
        "a{b=c}",
        "{{ 7 * 7 }}",
        "a%2fb",
        "*",
    ]
    .map(str::to_owned)
    .to_vec();
    names.push("a".repeat(65));
    names.push("a".repeat(300));
    names
}

/// Kind, a good component of it, and what its manifest has besides.
const KINDS: [(&str, &str, &str); 4] = [
    ("extractor", "good", ""),
    ("actor", "spin-actor", "[permissions]\nhttp = [\"*\"]\n"),
    (
        "fetcher",
        "sync-fetcher",
        "[fetcher]\ndomains = [\"a.example\"]\n",
    ),
    ("hook", "hook-tool", "hooks = [\"record\"]\n"),
];

/// A text of TOML.
fn quoted(text: &str) -> String {
    json!(text).to_string()
}

fn component((kind, file, more): (&str, &str, &str), name: &str) -> Vec<u8> {
    let name = quoted(name);
    let text =
        format!("name = {name}\nkind = \"{kind}\"\nversion = \"1\"\napi = \"1.0.0\"\n{more}");
    embedded(file, &text)
}

fn embedded(file: &str, text: &str) -> Vec<u8> {
    let good = std::fs::read(fixture(file)).expect("a fixture");
    manifest::embed(&good, text).expect("a component")
}

/// A segment of a path.
fn segment(name: &str) -> String {
    name.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

async fn tools(client: &Client) -> Value {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    let headers = [
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2025-06-18"),
    ];
    client.post_with("/mcp", &headers, &message).await.ok()
}

#[tokio::test]
async fn an_upload_with_a_hostile_name_is_refused_by_field_and_rule() {
    let service = Service::start().await;
    let client = service.client();
    let before = client.get("/v1/plugins").await.ok();
    for name in names() {
        for kind in KINDS {
            let bytes = component(kind, &name);
            for path in ["x", &*segment(&name)] {
                let path = format!("/v1/plugins/{path}");
                let answer = client.send("PUT", &path, &WASM, &bytes).await;
                if path.ends_with('/') {
                    assert_eq!(answer.status, 404, "{}", answer.text());
                    continue;
                }
                let said = answer.error(422, "INVALID_INPUT");
                assert_eq!(said, format!("body: manifest: {RULE}"), "{name:?} {kind:?}");
            }
        }
        // Nothing is found, called or removed by such a name.
        if !name.is_empty() {
            let name = segment(&name);
            for path in ["/v1/plugins/", "/v1/actors/", "/v1/fetchers/"] {
                let answer = client.get(&format!("{path}{name}")).await;
                assert_eq!(answer.status / 100, 4, "{path}{name}: {}", answer.text());
            }
            let path = format!("/v1/plugins/{name}");
            let removed = client.send("DELETE", &path, &[], b"").await;
            removed.error(404, "NOT_FOUND");
        }
    }
    // The name of a path alone does not give a plugin another one.
    let good = component(KINDS[0], "good");
    let path = format!("/v1/plugins/{}", segment("<script>alert(1)</script>"));
    let said = client.send("PUT", &path, &WASM, &good).await;
    let said = said.error(422, "INVALID_INPUT");
    assert!(
        said.starts_with("name: the component is extractor `good`"),
        "{said}"
    );
    assert_eq!(
        client.get("/v1/plugins").await.ok()["items"],
        before["items"]
    );
}

#[tokio::test]
async fn hostile_files_of_the_folder_are_refused_and_shown_as_text() {
    const MARKUP: &str = "<script>alert(1)</script>";
    let folder = tempfile::tempdir().expect("a folder");
    let write = |file: &str, bytes: &[u8]| {
        std::fs::write(folder.path().join(file), bytes).expect("a file");
    };
    let mut refused = Vec::new();
    for (number, name) in names().iter().enumerate() {
        let file = format!("extract-x{number}.wasm");
        write(&file, &component(KINDS[0], name));
        refused.push((file, format!("manifest: {RULE}")));
    }
    // A good name under another one, which a file may have.
    for name in [
        "<script>alert(1)<",
        "\"><img src=x onerror=alert(1)>",
        "\u{202e}msaw",
        "a\nb",
        &"a".repeat(200),
    ] {
        let file = format!("extract-{name}.wasm");
        write(&file, &component(KINDS[0], "good"));
        refused.push((file, "file name: ".to_owned()));
    }
    // The line of the manifest that is wrong is part of the reason.
    let text =
        "name = \"x\"\nkind = \"<script>alert(1)</script>\"\nversion = \"1\"\napi = \"1.0.0\"\n";
    write("extract-kind.wasm", &embedded("good", text));
    refused.push(("extract-kind.wasm".to_owned(), "manifest: ".to_owned()));
    // What a manifest may say is shown as text, too; what would act on a terminal is refused.
    let free = |version: &str, description: &str| {
        let (version, description) = (quoted(version), quoted(description));
        let text = format!(
            "name = \"free\"\nkind = \"actor\"\nversion = {version}\napi = \"1.0.0\"\n\
             description = {description}\n[permissions]\nhttp = [\"*\"]\n"
        );
        embedded("spin-actor", &text)
    };
    for (number, hidden) in ["\u{1b}[2J", "\u{202e}", "\u{0}"].into_iter().enumerate() {
        let text = format!("{MARKUP}{hidden}");
        for (field, bytes) in [
            ("version", free(&text, "")),
            ("description", free("1", &text)),
        ] {
            let file = format!("actor-{field}{number}.wasm");
            write(&file, &bytes);
            refused.push((file, format!("manifest: {field}: ")));
        }
    }
    write("actor-free.wasm", &free(MARKUP, MARKUP));

    let path = folder.path().to_owned();
    let service = Service::with(move |config| config.plugin_dir = Some(path)).await;
    let client = service.client();
    let list = client.get("/v1/plugins").await.ok();
    let items = list["items"].as_array().expect("a list");
    assert_eq!(items.len(), 1, "{list}");
    assert_eq!(items[0]["name"], "free");
    let listed = list["refused"].as_array().expect("a list");
    assert_eq!(listed.len(), refused.len());
    for (file, reason) in &refused {
        let entry = listed.iter().find(|entry| entry["file"] == **file);
        let said = entry.unwrap_or_else(|| panic!("{file:?}: {list}"))["reason"]
            .as_str()
            .expect("a reason");
        assert!(said.starts_with(reason), "{file:?}: {said}");
        let controls = |c: char| c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c);
        assert!(!said.contains(controls), "{said:?}");
    }

    let visitor = Visitor::of(&service).await;
    for page in [
        "/console/plugins",
        "/console/plugins/actor-free",
        "/console/actors",
        "/console/actors/free",
    ] {
        let html = visitor.page(page).await;
        let is_list = page == "/console/plugins";
        assert!(
            !html.contains("<script>alert") && !html.contains("<img src=x"),
            "{page}"
        );
        assert!(html.contains("&lt;script&gt;alert(1)"), "{page}: {html}");
        assert_eq!(html.contains(RULE), is_list, "{page}");
    }
    // A plugin that is asked for by such a name is text in the error's page.
    let path = format!("/console/plugins/{}", segment(MARKUP));
    let missing = visitor.get(&path).await;
    assert_eq!(missing.status, 404, "{}", missing.text());
    assert!(
        !missing.text().contains("<script>alert"),
        "{}",
        missing.text()
    );

    // No face knows more of them than of the good one.
    let described = client.get("/openapi.json").await.ok().to_string();
    let told = tools(&client).await.to_string();
    let docs = client.get("/docs").await.text();
    assert!(!docs.contains("<script>alert"), "{docs}");
    let counted = client.get("/metrics").await.text();
    // Some are words that stand elsewhere, or what the good one has in its description.
    let is_word = |name: &str| name.len() < 5 || name.contains("etadata") || name == MARKUP;
    for name in names().iter().filter(|name| !is_word(name)) {
        let name = name.trim();
        for (what, text) in [("openapi", &described), ("mcp", &told), ("docs", &docs)] {
            let escaped = quoted(name);
            assert!(
                !text.contains(escaped.trim_matches('"')),
                "{what}: {name:?}"
            );
        }
        assert!(!counted.contains(name), "{name:?}: {counted}");
    }
    assert!(described.contains("/v1/actors/free") && told.contains("free"));
}
