//! The fetcher on answers in the shape that the site documents.

use orbweaver_sdk::Code;
use orbweaver_site_pypi::fetch;
use orbweaver_sites::testing::call;
use serde_json::json;

#[test]
fn unknown_paths_are_named_with_the_known_ones() {
    let error = call(fetch, DOMAIN, &[], "no/such/path/at/all", json!({})).unwrap_err();
    assert!(
        error.is_invalid() && error.message().starts_with("path: `no/such"),
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
    let found = call(fetch, DOMAIN, &web, "project/orbweb", json!({})).unwrap();
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
        call(fetch, DOMAIN, &web, "project/orbweb/1.1.0", json!({})).unwrap(),
        found
    );
}

#[test]
fn an_answer_of_another_shape_is_reported() {
    let error = call(
        fetch,
        DOMAIN,
        &[(PROJECT, r#"{"info": {}}"#)],
        "project/orbweb",
        json!({}),
    )
    .unwrap_err();
    assert!(
        error.code() == Code::Failed && error.message().contains("has an unknown form"),
        "{error}"
    );
}
