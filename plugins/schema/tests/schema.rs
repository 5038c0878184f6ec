//! Schemas as generators write them, and hostile ones.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use orbweaver_schema::{MAX_VIOLATIONS, Schema};
use serde_json::{Value, json};

/// The violations, in alphabetical order: that of members depends on serde_json's features.
fn said(schema: &Value, value: &Value) -> Vec<String> {
    let schema = Schema::new(schema).expect("a schema");
    let violations = schema.validate(value);
    let mut said: Vec<String> = violations.iter().map(ToString::to_string).collect();
    said.sort_unstable();
    said
}

#[test]
fn a_violation_names_its_place_and_the_rule() {
    let schema = json!({
        "type": "object",
        "required": ["name", "price"],
        "additionalProperties": false,
        "properties": {
            "name": {"type": "string", "minLength": 2, "pattern": "^[A-Z]"},
            "price": {"type": "number", "minimum": 0, "exclusiveMaximum": 100, "multipleOf": 0.01},
            "stock": {"type": ["integer", "null"]},
            "state": {"enum": ["new", "used", 3]},
            "when": {"type": "string", "format": "date"},
            "reviews": {"type": "array", "maxItems": 3, "uniqueItems": true, "items": {
                "type": "object", "required": ["stars"],
                "properties": {"stars": {"type": "integer", "maximum": 5}}}},
        },
    });
    let good = json!({"name": "Chair", "price": 19.99, "stock": null, "state": 3.0,
        "when": "2024-03-14", "reviews": [{"stars": 5.0}, {"stars": 4}]});
    assert_eq!(said(&schema, &good), [""; 0]);
    for (value, expected) in [
        (json!([]), vec!["must be of type object"]),
        (json!({}), vec!["name: is required", "price: is required"]),
        (
            json!({"name": "c", "price": 100, "stock": 1.5, "state": "old", "x": 1}),
            vec![
                "name: must have at least 2 characters",
                "name: must match the pattern ^[A-Z]",
                "price: must be less than 100",
                "state: must be one of \"new\", \"used\", 3",
                "stock: must be of type integer or null",
                "x: must not be given",
            ],
        ),
        (
            json!({"name": "Chair", "price": 0.001, "when": "14 March",
                "reviews": [{"stars": 6}, {"stars": 6}, {}, {"stars": 1}]}),
            vec![
                "price: must be a multiple of 0.01",
                "reviews: must have at most 3 items",
                "reviews: must not have an item twice",
                "reviews[0].stars: must be at most 5",
                "reviews[1].stars: must be at most 5",
                "reviews[2].stars: is required",
                "when: must be a date, such as 2024-03-14",
            ],
        ),
    ] {
        assert_eq!(said(&schema, &value), expected, "{value}");
    }
}

#[test]
fn schemas_of_pydantic_and_openapi_are_understood() {
    let pydantic = json!({
        "$defs": {"Author": {"title": "Author", "type": "object", "required": ["name"],
            "properties": {"name": {"title": "Name", "type": "string"}}}},
        "title": "Book", "type": "object",
        "properties": {
            "author": {"anyOf": [{"$ref": "#/$defs/Author"}, {"type": "null"}], "default": null},
            "year": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        },
    });
    assert_eq!(
        said(&pydantic, &json!({"author": null, "year": 1999})),
        [""; 0]
    );
    assert_eq!(
        said(&pydantic, &json!({"author": {}, "year": "x"})),
        ["author.name: is required", "year: must be of type integer"]
    );
    let schema = Schema::new(&pydantic).expect("a schema");
    let author = schema.root().member("author").expect("a member");
    assert!(author.types().allows_null() && author.types().has("object"));
    assert!(
        author
            .member("name")
            .expect("a member")
            .types()
            .has("string")
    );
    let openapi =
        json!({"type": "object", "properties": {"a": {"type": "string", "nullable": true}}});
    assert_eq!(said(&openapi, &json!({"a": null})), [""; 0]);
    let one = json!({"oneOf": [{"type": "integer"}, {"type": "number"}], "not": {"const": 7.5}});
    assert_eq!(said(&one, &json!(1.5)), [""; 0]);
    assert_eq!(
        said(&one, &json!(1)),
        ["must match exactly one of the schema's alternatives"]
    );
    assert_eq!(
        said(&one, &json!(7.5)),
        ["must not match the schema's `not`"]
    );
}

#[test]
fn a_wrong_schema_names_the_keyword() {
    let mut deep = json!({});
    for _ in 0..40 {
        deep = json!({"items": deep});
    }
    for (schema, expected) in [
        (json!(1), "must be a JSON Schema: an object or a boolean"),
        (
            json!({"properties": {"a": {"if": {}}}}),
            "properties.a.if: is not a keyword that is supported",
        ),
        (json!({"type": "text"}), "type: must be null, boolean"),
        (
            json!({"required": "a"}),
            "required: must be a list of strings",
        ),
        (json!({"anyOf": []}), "anyOf: must be a list of schemas"),
        (
            json!({"pattern": "(a"}),
            "pattern: is not a regular expression that is supported",
        ),
        (
            json!({"$ref": "http://x/y"}),
            "$ref: must refer to a schema of this document",
        ),
        (
            json!({"$ref": "#/$defs/no"}),
            "$ref: must refer to a schema of this document",
        ),
        (json!({"minItems": -1}), "minItems: must be a whole number"),
        (deep, "items.items.items"),
    ] {
        let error = Schema::new(&schema).expect_err("not a schema").to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn work_is_bounded_whatever_the_schema_multiplies() {
    let itself = json!({"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"});
    let late = "takes too long to validate";
    assert!(said(&itself, &json!(1))[0].starts_with(late));
    // Sixty levels of two references each: 2 to the power of 60 visits.
    let mut definitions = serde_json::Map::new();
    for level in 0..60 {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        definitions.insert(format!("d{level}"), json!({"allOf": [next, next]}));
    }
    definitions.insert("d60".to_owned(), json!({"type": "integer"}));
    let laughs = json!({"$defs": definitions, "$ref": "#/$defs/d0"});
    assert!(said(&laughs, &json!(1))[0].starts_with(late));
    let many = json!({"items": {"type": "integer"}});
    let texts: Vec<&str> = vec!["x"; 1_000];
    assert_eq!(said(&many, &json!(texts)).len(), MAX_VIOLATIONS);
}
