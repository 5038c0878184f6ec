//! The fetcher on answers in the shape that the site documents.

#![expect(clippy::unwrap_used, reason = "a test's helpers fail the test")]

use orbweaver_sdk::testing::{Document, Site, block_on, install};
use orbweaver_sdk::{Call, Error};
use orbweaver_site_pypi::fetch;
use serde_json::{Value, json};

/// What a path gives on a web of these answers.
fn call(web: &[(&str, &str)], path: &str, params: Value) -> Result<Value, Error> {
    let pages = web.iter().fold(Site::default(), |site, (url, body)| {
        site.page(Document::new(url, body).header("content-type", "application/json"))
    });
    let _web = install(pages);
    let call = Call {
        domain: DOMAIN.to_owned(),
        path: path.to_owned(),
        params: serde_json::from_value(params).unwrap(),
    };
    let items = block_on(fetch(call))?;
    Ok(serde_json::to_value(items).unwrap())
}

#[test]
fn unknown_paths_are_named_with_the_known_ones() {
    let error = call(&[], "no/such/path/at/all", json!({})).unwrap_err();
    assert!(
        matches!(&error, Error::InvalidInput(why) if why.starts_with("path: `no/such")),
        "{error}"
    );
}

const DOMAIN: &str = "pypi.org";
const PROJECT: &str = "https://pypi.org/pypi/orbweb/json";

#[test]
fn a_project_is_its_newest_release() {
    let web = [
        (PROJECT, include_str!("../fixtures/project.json")),
        (
            "https://pypi.org/pypi/orbweb/1.1.0/json",
            include_str!("../fixtures/project.json"),
        ),
    ];
    let found = call(&web, "project/orbweb", json!({})).unwrap();
    assert_eq!(
        found,
        json!([{
            "name": "orbweb", "version": "1.1.0", "url": "https://pypi.org/project/orbweb/",
            "summary": "Builds webs", "license": "Apache-2.0",
            "author": "Orb Weaver <orb@spiders.example>", "requires_python": ">=3.10",
            "requires": ["httpx>=0.27"], "urls": {"Source": "https://github.com/weaver/orbweb"},
            "keywords": "web,spider", "classifiers": ["Programming Language :: Python :: 3"],
            "yanked": false,
            "files": [{
                "filename": "orbweb-1.1.0-py3-none-any.whl", "kind": "bdist_wheel", "size": 12345,
                "url": "https://files.pythonhosted.org/orbweb-1.1.0-py3-none-any.whl",
                "uploaded_at": "2024-02-29T12:34:56.000000Z",
            }],
            "vulnerabilities": [{
                "id": "PYSEC-2024-0", "aliases": ["CVE-2024-0"], "summary": "Sticky",
                "fixed_in": ["1.1.1"], "url": "https://osv.dev/vulnerability/PYSEC-2024-0",
            }],
        }])
    );
    assert_eq!(
        call(&web, "project/orbweb/1.1.0", json!({})).unwrap(),
        found
    );
}

#[test]
fn an_answer_of_another_shape_is_told() {
    let error = call(&[(PROJECT, r#"{"info": {}}"#)], "project/orbweb", json!({})).unwrap_err();
    assert!(
        matches!(&error, Error::Failed(why) if why.contains("no longer fits")),
        "{error}"
    );
}
