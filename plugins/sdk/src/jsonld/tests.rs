use super::*;

fn read(text: &str) -> Option<serde_json::Value> {
    let block = Block::parse(text)?;
    Some(serde_json::from_str(&block.json).expect("the copy is strict JSON"))
}

#[test]
fn valid_json_is_unchanged() {
    for text in [
        r#"{"@type":"Article","n":[1,-2.5,1e3,true,false,null,"x\"\\\/\b\f\n\r\té😀\ud83d\ude00"],"o":{}}"#,
        "[]",
        r#"[{"a":[]},{"b":{}}]"#,
        r#""alone""#,
    ] {
        let expected: serde_json::Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(read(text), Some(serde_json::json!([expected])), "{text}");
    }
}

#[test]
fn common_faults_of_pages_are_repaired() {
    let article = serde_json::json!([{"@type": "Article", "headline": "A B"}]);
    for text in [
        "<!--\n{\"@type\":\"Article\",\"headline\":\"A B\"}\n-->",
        "//<![CDATA[\n{\"@type\":\"Article\",\"headline\":\"A B\"}\n//]]>",
        "/*<![CDATA[*/{\"@type\":\"Article\",\"headline\":\"A B\"}/*]]>*/",
        "<![CDATA[{\"@type\":\"Article\",\"headline\":\"A B\",}]]>;",
        "\u{feff}{\"@type\":\"Article\",,\"headline\":\"A B\",}",
        "{\"@type\":\"Article\" \"headline\":\"A B\"}",
        "{'@type':'Article', headline:'A B'}",
        "{&quot;@type&quot;:&quot;Article&quot;,&quot;headline&quot;:&quot;A B&quot;}",
        "{\"@type\":\"Article\", // which\n\"headline\":/* it is */\"A B\"};",
        "{\"@type\":\"Article\",\"headline\":\"A\\ B\"}",
    ] {
        assert_eq!(read(text), Some(article.clone()), "{text}");
    }
}

#[test]
fn strings_survive_control_characters_and_broken_escapes() {
    let text = "{\"a\":\"x\ty\nz\",\"b\":\"\\ud800!\",\"c\":\"\\u12\",\"h\":\"\\u+041\",\"d\":\"it\\'s\",\"e\":007,\"f\":1e999,\"g\":undefined}";
    let expected = serde_json::json!([{
        "a": "x\ty\nz", "b": "\u{fffd}!", "c": "u12", "h": "u+041", "d": "it's", "e": "007", "f": "1e999", "g": null
    }]);
    assert_eq!(read(text), Some(expected));
    let long = format!("[{}]", "9".repeat(400));
    assert_eq!(read(&long), Some(serde_json::json!([["9".repeat(400)]])));
}

#[test]
fn an_escape_has_four_digits_without_a_sign() {
    let escapes = [
        ("\\u+041b", "u+041b"),
        ("\\u-041", "u-041"),
        ("\\u+041", "u+041"),
        ("\\u 041", "u 041"),
        ("\\u０４１", "u０４１"),
        ("\\ud83d\\u+e00", "\u{fffd}u+e00"),
        ("\\u041B", "Л"),
    ];
    for (written, meant) in escapes {
        assert_eq!(
            read(&format!("{{\"{written}\":\"{written}\"}}")),
            Some(serde_json::json!([{ meant: meant }])),
            "{written}"
        );
    }
    for (text, expected) in [
        ("&#x41;&#65;", "AA"),
        ("&#x+41;", "&#x+41;"),
        ("&#+65;", "&#+65;"),
        ("&#x;&#;", "&#x;&#;"),
    ] {
        assert_eq!(decode_entities(text), expected);
    }
    assert_eq!(string(r#""\u+041""#).as_deref(), Some("\u{fffd}"));
}

/// Each of these is left out or copied as strict JSON, also as a part of a role's answer.
#[test]
fn no_block_makes_an_answer_invalid() {
    let deepest = 100;
    let nested = |depth: usize| {
        let (open, close) = ("{\"a\":[".repeat(depth / 2), "]}".repeat(depth / 2));
        format!("{open}{close}")
    };
    let values = [
        // Surrogates without their other half, or in the wrong order.
        r#""\ud800""#,
        r#""\udc00""#,
        r#""\ud800\ud800""#,
        r#""\udc00\ud800""#,
        r#""\ud83dx\ude00""#,
        r#""\ud83d\n\ude00""#,
        r#""\ud83d\u""#,
        r#""\ud83d\\ude00""#,
        r#""\uD83D\uDE00""#,
        // Escapes.
        r#""\u""#,
        r#""\u0""#,
        r#""\u+041""#,
        r#""\u-041""#,
        r#""\u04 1""#,
        r#""\uéé""#,
        r#""\x41\0\v\a\é\'""#,
        r#""\\""#,
        r#""\""#,
        "'\"\\\"\\''",
        // Control characters and those that end lines in scripts.
        "\"\0\u{1}\u{8}\u{b}\u{c}\u{1b}\u{1f}\u{7f}\u{85}\u{2028}\u{2029}\u{feff}\u{ffff}\"",
        "\"a\\\r\nb\\\0c\"",
        r#""\u0000\u001f""#,
        // Numbers.
        "NaN",
        "-NaN",
        "Infinity",
        "-Infinity",
        "1e308",
        "1e309",
        "-1e999",
        "1e-999",
        "99999999999999999999999999",
        "+1",
        "-",
        "-.5",
        ".5",
        "5.",
        "1.e5",
        "1e",
        "1e+",
        "00",
        "-01",
        "0x1F",
        "1_000",
        "1,5",
        "--1",
        "1-1",
        "e",
        // Words, and what scripts write.
        "undefined",
        "null",
        "nul",
        "tRUE",
        "new Date()",
        "`a`",
        "a.b",
        "[,]",
        "[,,1,,]",
        "{,}",
        "{'a':1;'b':2}",
        "{a:1,'b':2,\"c\":3,$d_-@:4}",
        "{1:2}",
        "{\"a\":1,\"a\":2}",
        "{\"@context\":\"x\",\"\\u0040context\":\"y\"}",
        "{null:null}",
        "{\"\":\"\"}",
        // Several values, and marks of comments between them.
        "1 2",
        "1;2",
        "1<!--x-->2",
        "\"a\"]]>",
        "{}{}",
        "]",
        "}",
    ];
    let blocks = values
        .iter()
        .flat_map(|value| {
            [
                (*value).to_owned(),
                format!("{{\"@type\":\"A\",\"v\":{value}}}"),
                format!("{{\"@type\":\"A\",{value}:1}}"),
                format!("{{\"@context\":{value},\"@graph\":[{{\"@type\":\"A\"}},{{}}]}}"),
                format!("[{{\"@type\":{value}}},{value},{value}]"),
            ]
        })
        .chain(["9".repeat(100), "9".repeat(101), "9".repeat(97) + "e99"])
        .chain([nested(deepest), nested(deepest + 2), nested(300)]);
    for text in blocks {
        let Some(block) = Block::parse(&text) else {
            continue;
        };
        serde_json::from_str::<serde_json::Value>(&block.json)
            .unwrap_or_else(|error| panic!("{text}: {error} in {}", block.json));
        let mut w = Writer::new();
        let objects = block.objects();
        // What roles and the host put around a block's objects.
        w.object(|w| {
            w.key("data").object(|w| {
                w.key("json-ld").array(|w| {
                    objects.iter().for_each(|object| object.write(w));
                });
            });
        });
        let answer = format!("[[[[{}]]]]", w.as_str());
        serde_json::from_str::<serde_json::Value>(&answer)
            .unwrap_or_else(|error| panic!("{text}: {error} in {answer}"));
        for object in &objects {
            object.types();
            jsonld_texts(object.json);
        }
    }
    assert!(Block::parse(&nested(deepest)).is_some());
    assert!(Block::parse(&nested(deepest + 2)).is_none());
}

/// Reads every string of an object, as the readers of facts do.
fn jsonld_texts(json: &str) {
    for (key, value) in members(json) {
        for text in [key, value].into_iter().filter_map(string) {
            let mut w = Writer::new();
            w.string(&text);
            serde_json::from_str::<String>(w.as_str()).expect("JSON");
        }
    }
}

#[test]
fn blocks_that_cannot_be_repaired_are_ignored() {
    let deep = "[".repeat(100_000);
    for text in [
        "",
        "  ",
        "{",
        "{\"a\":",
        "{\"a\"}",
        "{]",
        "<p>",
        "{\"a\":\"b}",
        "[1}",
        "{\"a\":b c}",
        &deep,
    ] {
        assert_eq!(read(text), None, "{}", text.get(..20).unwrap_or(text));
    }
}

#[test]
fn arrays_and_graphs_are_flattened_in_order() {
    let block = Block::parse(
        r#"[{"@context":"https://schema.org","@graph":[{"@type":"A"},[{"@type":["B","C"]}],{"@context":"x","@type":"D"}]},
           {"@type":"E","@graph":[{"@type":"F"}]}, 3, {"name":"untyped"}, {"@context":{"big":1},"@graph":{"@type":"G"}}]"#,
    )
    .expect("a block");
    let objects = block.objects();
    let types: Vec<_> = objects.iter().map(|o| o.types().join("+")).collect();
    assert_eq!(types, ["A", "B+C", "D", "E", "", "G"]);
    let mut w = Writer::new();
    w.array(|w| objects.iter().for_each(|o| o.write(w)));
    let written: serde_json::Value = serde_json::from_str(w.as_str()).expect("JSON");
    assert_eq!(
        written[0],
        serde_json::json!({"@context": "https://schema.org", "@type": "A"})
    );
    assert_eq!(written[2]["@context"], "x");
    assert_eq!(written[5], serde_json::json!({"@type": "G"}));
    assert!(objects[0].is("A") && !objects[0].has_type().eq(&false) && !objects[4].has_type());
}

#[test]
fn values_are_found_by_key() {
    let json = r#"{"a":{"b":[1,{"c":"}\""}]}, "d" : "x\u0041", "e":-1.5e3,"f":[],"g":null}"#;
    assert_eq!(
        get(json, "a").and_then(|a| get(a, "b")),
        Some(r#"[1,{"c":"}\""}]"#)
    );
    assert_eq!(get(json, "d").and_then(string).as_deref(), Some("xA"));
    let escaped = r#""\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00é""#;
    assert_eq!(
        string(escaped).as_deref(),
        serde_json::from_str::<String>(escaped).ok().as_deref()
    );
    assert_eq!(get(json, "e"), Some("-1.5e3"));
    assert_eq!(get(json, "f").map(|f| elements(f).count()), Some(0));
    assert_eq!(get(json, "h"), None);
    assert_eq!(members(json).count(), 5);
    assert_eq!(members("[1]").count(), 0);
    assert_eq!(strings(r#"["a",1,"b"]"#).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(strings(r#""a""#).collect::<Vec<_>>(), ["a"]);
}
