use super::*;

/// A good answer of each role.
const GOOD: [(&str, &str); 16] = [
    ("article", "null"),
    ("links", r#"[{"to":"b"}]"#),
    ("markdown", r#""""#),
    ("metadata", "{}"),
    ("signals", r#"{"title":1}"#),
    ("article", r#"{"text":"a","html":null}"#),
    (
        "article",
        r#"{ "html" : "<p>", "te\u0078t":null, "lang":null, "title":"t", "page_type":[1], "x":1}"#,
    ),
    ("links", "[]"),
    (
        "links",
        r#"[ {"to":"https://a.example/","anchor":"\u0061","rel":null,"nofollow":true} ,
            {"x":[{}],"nofollow":false,"anchor":"","to":"b"}]"#,
    ),
    ("structured-data", r#"{"counts":{"rdfa":1},"data":{}}"#),
    ("document-html", r#"{"html":"","format":"pdf","notice":""}"#),
    ("selectors", r#"{"data":{},"errors":[]}"#),
    (
        "selectors",
        r#"{"data":{},"errors":[{"field":"a","message":"b"}]}"#,
    ),
    ("other", "7"),
    ("Markdown", "[]"),
    ("", "null"),
];

#[test]
fn answers_of_the_right_shape_and_of_other_roles_pass() {
    for (role, json) in GOOD {
        assert_eq!(check(role, json), Ok(()), "{role} {json}");
    }
    for role in ROLES {
        assert!(GOOD.iter().any(|(known, _)| *known == role), "{role}");
    }
}

#[test]
fn a_wrong_shape_is_told_with_its_place() {
    for (role, json, why) in [
        ("markdown", "[1]", "markdown must be a string, not an array"),
        ("selectors", "null", "selectors must be an object, not null"),
        ("metadata", "[]", "metadata must be an object, not an array"),
        (
            "signals",
            "true",
            "signals must be an object, not a boolean",
        ),
        // serde takes a sequence for a struct.
        (
            "article",
            r#"[1,"x",{"to":5}]"#,
            "article must be an object, not an array",
        ),
        (
            "article",
            r#"{"text":["a"],"html":null}"#,
            "article.text must be a string or null, not an array",
        ),
        (
            "article",
            r#"{"text":"a","html":null,"lang":-1}"#,
            "article.lang must be a string or null, not a number",
        ),
        (
            "article",
            r#"{"text":"a"}"#,
            "article.html is missing; it must be a string or null",
        ),
        (
            "article",
            r#"{"text":"a","html":"b","text":1}"#,
            "article: duplicate field `text` at line 1 column 29",
        ),
        ("links", "{}", "links must be an array, not an object"),
        (
            "links",
            r#"[{"to":"a","anchor":"","rel":"","nofollow":false},["a","",null,true]]"#,
            "links[1] must be an object, not an array",
        ),
        (
            "links",
            r#"[{"to":5,"anchor":"","nofollow":false}, 7]"#,
            "links[0].to must be a string, not a number",
        ),
        (
            "links",
            r#"[{"to":"a","anchor":"","nofollow":"no"}]"#,
            "links[0].nofollow must be a boolean, not a string",
        ),
        (
            "links",
            r#"[{"to":"a","anchor":"","rel":{},"nofollow":true}]"#,
            "links[0].rel must be a string or null, not an object",
        ),
        (
            "links",
            r#"[{"anchor":"","nofollow":true}]"#,
            "links[0].to is missing; it must be a string",
        ),
        (
            "links",
            r#"[{"to":"a","anchor":"","nofollow":true}, "x", 1]"#,
            "links[1] must be an object, not a string",
        ),
        (
            "structured-data",
            r#"{"counts":[],"data":{}}"#,
            "structured-data.counts must be an object, not an array",
        ),
        (
            "document-html",
            r#"{"html":"","notice":null}"#,
            "document-html.notice must be a string, not null",
        ),
        (
            "selectors",
            r#"{"data":{},"errors":[{"field":"a"}]}"#,
            "selectors.errors[0].message is missing; it must be a string",
        ),
        (
            "selectors",
            r#"{"data":[],"errors":[]}"#,
            "selectors.data must be an object, not an array",
        ),
    ] {
        assert_eq!(check(role, json).unwrap_err(), why, "{role} {json}");
    }
}
