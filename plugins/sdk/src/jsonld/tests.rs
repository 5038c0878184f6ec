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
    let text = "{\"a\":\"x\ty\nz\",\"b\":\"\\ud800!\",\"c\":\"\\u12\",\"d\":\"it\\'s\",\"e\":007,\"f\":1e999,\"g\":undefined}";
    let expected = serde_json::json!([{
        "a": "x\ty\nz", "b": "\u{fffd}!", "c": "u12", "d": "it's", "e": "007", "f": "1e999", "g": null
    }]);
    assert_eq!(read(text), Some(expected));
    let long = format!("[{}]", "9".repeat(400));
    assert_eq!(read(&long), Some(serde_json::json!([["9".repeat(400)]])));
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
