//! Rules on pages: what is read, how it is typed, and what is said of what is wrong.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use orbweaver_extract_selectors::extract;
use orbweaver_sdk::testing::Document;
use serde_json::{Value, json};

const SHOP: &str = r#"<!doctype html><html lang="de"><head><title>Chairs &amp; more</title>
<meta name="sku" content="C-17"><base href="/shop/"></head><body>
<h1> A <b>chair</b> </h1><p class="price">1.299,00 €</p><p class="ean">EAN: 4006381333931</p>
<time datetime="2024-03-14T10:00:00Z">gestern</time><p class="built">14. März 2023</p>
<span class="stock" hidden>ja</span><input type="checkbox" class="used" checked>
<img class="photo" src="chair.jpg" alt="A chair"><a class="next" href="?page=2">next</a>
<ul><li class="tag">wood</li><li class="tag"> </li><li class="tag">oak</li></ul>
<div class="spec"><p>Width <i>50 cm</i></p><p>a &lt; b</p></div>
<div class="review"><span class="by">Ann</span><span class="stars">4,5 of 5</span>
  <div class="answer"><b>Bo</b></div><div class="answer"><b>Cy</b></div></div>
<div class="review"><span class="by">Di</span><span class="stars">none</span></div>
<script type="application/json" id="state">{"a":1}</script></body></html>"#;

fn run(html: &str, options: &Value) -> Value {
    let document = Document::new("https://example.org/a/b", html);
    let answer = extract(&document.page(), &options.to_string()).expect("an answer");
    serde_json::from_str(&answer).expect("JSON")
}

fn data(options: &Value) -> Value {
    let answer = run(SHOP, options);
    assert_eq!(answer["errors"], json!([]), "{answer}");
    answer["data"].clone()
}

fn errors(answer: &Value) -> Vec<String> {
    let list = answer["errors"].as_array().expect("a list");
    let text = |one: &Value, key: &str| one[key].as_str().expect("a text").to_owned();
    list.iter()
        .map(|one| format!("{}: {}", text(one, "field"), text(one, "message")))
        .collect()
}

#[test]
fn fields_are_read_and_typed() {
    let options = json!({"selectors": {
        "title": "title",
        "name": "h1",
        "sku": "meta[name=sku]",
        "price": {"selector": ".price", "type": "number"},
        "ean": {"selector": ".ean", "regex": "EAN: (\\d+)", "type": "integer"},
        "when": {"selector": "time", "type": "date"},
        "built": {"selector": ".built", "type": "date"},
        "stock": {"selector": ".stock", "take": "exists"},
        "sold": {"selector": ".sold", "take": "exists"},
        "used": {"selector": ".used", "attribute": "checked", "type": "boolean"},
        "photo": {"selector": ".photo", "type": "url"},
        "alt": ".photo",
        "next": {"selector": ".next", "type": "url"},
        "raw": "a.next::attr(href)",
        "tags": {"selector": ".tag", "list": true},
        "first": {"selector": ".tag", "list": true, "limit": 1},
        "spec": {"selector": ".spec", "take": "lines"},
        "html": {"selector": ".spec", "take": "html"},
        "state": "#state",
        "either": {"selector": [".missing", ".ean", "h1"]},
        "missing": ".missing",
        "given": {"selector": ".missing", "default": 0},
        "none": {"selector": ".missing", "list": true},
    }});
    let expected = json!({
        "title": "Chairs & more", "name": "A chair", "sku": "C-17", "price": 1299.0,
        "ean": 4006381333931_u64, "when": "2024-03-14T10:00:00Z", "built": "2023-03-14",
        "stock": true, "sold": false, "used": true,
        "photo": "https://example.org/shop/chair.jpg", "alt": "A chair",
        "next": "https://example.org/shop/?page=2", "raw": "?page=2", "tags": ["wood", "oak"],
        "first": ["wood"], "spec": "Width 50 cm\na < b",
        "html": "<p>Width <i>50 cm</i></p><p>a &lt; b</p>", "state": "{\"a\":1}",
        "either": "EAN: 4006381333931", "missing": null, "given": 0, "none": [],
    });
    let read = data(&options);
    for (name, value) in expected.as_object().expect("an object") {
        assert_eq!(&read[name], value, "{name}");
    }
}

#[test]
fn fields_of_objects_are_relative_to_their_element() {
    let options = json!({"selectors": {"reviews": {"selector": ".review", "list": true, "fields": {
        "by": ".by",
        "answers": {"selector": ":scope > .answer", "list": true, "fields": {
            "by": "b", "all": "::text"}},
    }}}});
    let expected = json!({"reviews": [
        {"by": "Ann", "answers": [{"by": "Bo", "all": "Bo"}, {"by": "Cy", "all": "Cy"}]},
        {"by": "Di", "answers": []},
    ]});
    assert_eq!(data(&options), expected);
}

#[test]
fn the_schema_gives_types_and_errors_name_the_field() {
    let options = json!({
        "schema": {
            "type": "object",
            "required": ["price", "weight", "reviews"],
            "properties": {
                "price": {"type": "number", "maximum": 1000},
                "weight": {"type": "number"},
                "color": {"type": ["string", "null"]},
                "page": {"type": "string", "format": "uri"},
                "when": {"type": "string", "format": "date"},
                "reviews": {"type": "array", "items": {"type": "object", "required": ["stars"],
                    "properties": {"stars": {"type": "number"}}}},
            },
        },
        "selectors": {
            "price": ".price", "weight": ".weight", "color": ".color", "page": ".next",
            "when": "time",
            "reviews": {"selector": ".review", "fields": {"stars": ".stars"}},
        },
    });
    let answer = run(SHOP, &options);
    assert_eq!(
        answer["data"],
        json!({"price": 1299.0, "color": null, "page": "https://example.org/shop/?page=2",
            "when": "2024-03-14", "reviews": [{"stars": 4.5}, {}]})
    );
    assert_eq!(
        errors(&answer),
        [
            "reviews[1].stars: must be a number, and is \"none\"",
            "weight: is required",
            "price: must be at most 1000",
        ]
    );
}

#[test]
fn a_wrong_rule_is_refused_and_named() {
    let mut deep = json!("b");
    for _ in 0..9 {
        deep = json!({"selector": "a", "fields": {"x": deep}});
    }
    let many: serde_json::Map<String, Value> =
        (0..201).map(|n| (format!("f{n}"), json!("a"))).collect();
    for (options, expected) in [
        (json!({}), "selectors: is required"),
        (
            json!({"selectors": {}}),
            "selectors: must be an object of at least one field",
        ),
        (
            json!({"selectors": {"a": 7}}),
            "selectors.a: must be a CSS selector or an object",
        ),
        (
            json!({"selectors": {"a": "p:hover"}}),
            "selectors.a.selector: not a selector: it has a pseudo-class or pseudo-element that is not supported",
        ),
        (
            json!({"selectors": {"a": "p::before"}}),
            "selectors.a.selector: must end in ::attr",
        ),
        (
            json!({"selectors": {"a": {"css": "p"}}}),
            "selectors.a.css: is not known; known are selector",
        ),
        (
            json!({"selectors": {"a": {"selector": "p", "regex": "(?=x)"}}}),
            "selectors.a.regex: is not a regular expression that is supported",
        ),
        (
            json!({"selectors": {"a": {"selector": "p", "regex": "(a{1000}){1000}"}}}),
            "selectors.a.regex: is not a regular expression that is supported",
        ),
        (
            json!({"selectors": {"a": {"selector": "p", "type": "int"}}}),
            "selectors.a.type: must be",
        ),
        (
            json!({"selectors": {"a": {"selector": "p", "limit": 0, "list": true}}}),
            "selectors.a.limit",
        ),
        (
            json!({"selectors": {"a": {"selector": "p", "fields": {"b": {"take": "all"}}}}}),
            "selectors.a.fields.b.take: must be text, lines, html or exists",
        ),
        (
            json!({"selectors": {"a": {"selector": "p", "regex": "x", "fields": {"b": "i"}}}}),
            "selectors.a.regex: cannot be combined with fields",
        ),
        (
            json!({"selectors": {"a": deep}}),
            "selectors.a.fields.x.fields.x",
        ),
        (
            json!({"selectors": many}),
            "selectors: has more than 200 fields",
        ),
        (
            json!({"selectors": {"a": "p"}, "schema": {"properties": {"a": {"type": "text"}}}}),
            "schema.properties.a.type: must be",
        ),
        (
            json!({"selectors": {"a": "p"}, "schema": 7}),
            "schema: must be a JSON Schema",
        ),
    ] {
        let document = Document::new("https://example.org/", SHOP);
        let error = extract(&document.page(), &options.to_string()).expect_err("a wrong rule");
        assert!(error.message().starts_with(expected), "{error}");
    }
}

#[test]
fn work_and_size_are_bounded_on_hostile_pages() {
    // Elements inside one another, each matched by a list in a list in a list.
    let html = "<div>x".repeat(400);
    let fields =
        |inner: Value| json!({"selector": "div", "list": true, "limit": 10_000, "fields": inner});
    let options = json!({"selectors": {"a": fields(json!({"b": fields(json!({"c": fields(json!({"d": "div"}))}))}))}});
    let answer = run(&html, &options);
    assert!(!errors(&answer).is_empty());
    assert!(errors(&answer)[0].contains("is not read: the rules"));
    // The same large text again and again.
    let html = format!("<div>{}</div>", "<p>word</p>".repeat(200_000));
    let rules: serde_json::Map<String, Value> = (0..200)
        .map(|n| (format!("f{n:03}"), json!("div")))
        .collect();
    let answer = run(&html, &json!({"selectors": rules}));
    assert!(answer.to_string().len() < 16 << 20);
    assert!(!errors(&answer).is_empty());
}
