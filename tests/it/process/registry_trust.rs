//! Whose components are installed from registries: signatures, and what is replaced.

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use orbweaver_fetch::{FetchConfig, Fetcher, Method, Request};
use orbweaver_tests::registry::{PASSWORD, RegistryServer, USER};
use serde_json::Value;

use super::registry::{Machine, done, refused, said, toml_of};

#[tokio::test(flavor = "multi_thread")]
async fn what_no_trusted_key_has_signed_is_not_installed() {
    let registry = RegistryServer::start().expect("a registry");
    let machine = Machine::new();
    let [private, public] = machine.keys("ours");
    let [theirs, stranger] = machine.keys("theirs");
    let reference = format!("oci://{}/good:1", registry.host());
    let component = machine.component("1.0.0", "");
    let publish = ["publish", &component, &reference, "--plain-http"];
    let install = ["install", &reference, "--plain-http", "--yes"];
    done(&machine.plugin(&publish).await);
    let key = "--key";
    refused(
        &machine
            .plugin(&[&install[..], &[key, &public]].concat())
            .await,
        "not signed",
    );
    // Another one's signature does not help, and does no harm either.
    let sign = async |signer: &str| {
        let signed = [&publish[..], &["--sign-key", signer]].concat();
        done(&machine.plugin(&signed).await);
    };
    sign(&theirs).await;
    refused(
        &machine
            .plugin(&[&install[..], &[key, &public]].concat())
            .await,
        "not signed",
    );
    sign(&private).await;
    let output = machine
        .plugin(&[&install[..], &[key, &public]].concat())
        .await;
    done(&output);
    assert!(said(&output).contains("signed by "), "{}", said(&output));
    let locked = toml_of(&machine.lock());
    let id = locked["plugin"][0]["key"].as_str().expect("a key");
    assert!(said(&output).contains(id));
    done(
        &machine
            .plugin(&[&install[..], &[key, &stranger]].concat())
            .await,
    );

    // By configuration: all are checked, unless that is forgone by name.
    let config = machine.file("orbweaver.toml");
    fs::write(&config, format!("[registry]\nkeys = [{public:?}]\n")).expect("a file");
    let config = config.to_string_lossy().into_owned();
    let unsigned = format!("oci://{}/unsigned:1", registry.host());
    done(
        &machine
            .plugin(&["publish", &component, &unsigned, "--plain-http"])
            .await,
    );
    let install = [
        "install",
        &unsigned,
        "--plain-http",
        "--yes",
        "--config",
        &config,
    ];
    refused(&machine.plugin(&install).await, "not signed");
    // It would replace the plugin of another repository, which takes its own word.
    let forgone = [&install[..], &["--unsigned"]].concat();
    refused(&machine.plugin(&forgone).await, "another source");
    done(
        &machine
            .plugin(&[&forgone[..], &["--update"]].concat())
            .await,
    );
    assert_eq!(toml_of(&machine.lock())["plugin"][0].get("key"), None);
}

/// Copies an artefact's signatures from one repository of a registry to another.
async fn copy_signatures(host: &str, digest: &str, (from, to): (&str, &str)) {
    let nets = vec!["127.0.0.0/8".parse().expect("a network")];
    let fetcher = Fetcher::new(FetchConfig {
        allow_nets: nets,
        ..FetchConfig::default()
    });
    let fetcher = fetcher.expect("a fetcher");
    let basic = STANDARD.encode(format!("{USER}:{PASSWORD}"));
    let form = "application/vnd.oci.image.manifest.v1+json";
    let call = async |method: &str, path: &str, body: Option<Vec<u8>>| {
        let method: Method = method.parse().expect("a method");
        let request = Request {
            headers: vec![
                ("authorization".to_owned(), format!("Basic {basic}")),
                ("accept".to_owned(), form.to_owned()),
                ("content-type".to_owned(), form.to_owned()),
            ],
            body: body.map(Into::into),
            ..Request::new(method, format!("http://{host}/v2/{path}"))
        };
        fetcher.fetch(request).await.expect("an answer")
    };
    let tag = format!("{}.sig", digest.replace(':', "-"));
    let manifest = call("GET", &format!("{from}/manifests/{tag}"), None).await;
    assert_eq!(manifest.status, 200);
    let parts: Value = serde_json::from_slice(&manifest.body).expect("JSON");
    let layers = parts["layers"].as_array().expect("layers");
    for blob in layers.iter().chain([&parts["config"]]) {
        let blob = blob["digest"].as_str().expect("a digest");
        let mount = format!("{to}/blobs/uploads/?mount={blob}&from={from}");
        assert_eq!(call("POST", &mount, Some(Vec::new())).await.status, 201);
    }
    let body = Some(manifest.body.to_vec());
    let put = call("PUT", &format!("{to}/manifests/{tag}"), body).await;
    assert_eq!(put.status, 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signature_is_for_the_repository_that_it_names() {
    let registry = RegistryServer::start().expect("a registry");
    let machine = Machine::new();
    let host = registry.host();
    let [private, public] = machine.keys("ours");
    let component = machine.component("1.0.0", "");
    let [there, copy] = ["good", "copy"].map(|name| format!("oci://{host}/{name}:1"));
    let signed = ["publish", &component, &there, "--plain-http", "--sign-key"];
    let pinned = done(&machine.plugin(&[&signed[..], &[&private]].concat()).await);
    let publish = ["publish", &component, &copy, "--plain-http"];
    let copied = done(&machine.plugin(&publish).await);
    let (_, digest) = pinned.split_once('@').expect("a digest");
    assert!(copied.ends_with(digest), "the same artefact");
    copy_signatures(&host, digest, ("good", "copy")).await;

    let install = ["install", &copy, "--plain-http", "--yes", "--key", &public];
    let output = machine.plugin(&install).await;
    refused(&output, "is signed for");
    for named in ["good", "copy"] {
        refused(&output, &format!("\"{host}/{named}\""));
    }
    assert!(!machine.installed().exists());
    let install = ["install", &there, "--plain-http", "--yes", "--key", &public];
    done(&machine.plugin(&install).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_of_another_source_is_replaced_only_by_order() {
    let registry = RegistryServer::start().expect("a registry");
    let machine = Machine::new();
    let host = registry.host();
    let [ours, theirs] = ["ours", "theirs"].map(|name| format!("oci://{host}/{name}/good:1"));
    let (one, two) = (
        machine.component("1.0.0", ""),
        machine.component("2.0.0", ""),
    );
    for (component, reference) in [(&one, &ours), (&two, &theirs)] {
        done(
            &machine
                .plugin(&["publish", component, reference, "--plain-http"])
                .await,
        );
    }
    // What no registry has brought is nobody's to replace, either.
    fs::copy(&two, machine.installed()).expect("a file");
    let install = ["install", &ours, "--plain-http", "--yes"];
    refused(&machine.plugin(&install).await, "not from a registry");
    done(
        &machine
            .plugin(&[&install[..], &["--update"]].concat())
            .await,
    );
    let bytes = fs::read(&one).expect("a file");
    assert_eq!(fs::read(machine.installed()).expect("a file"), bytes);

    let lock = machine.lock();
    let install = ["install", &theirs, "--plain-http", "--yes"];
    refused(&machine.plugin(&install).await, &ours);
    // Whoever is asked is told.
    let asked = machine.plugin(&["install", &theirs, "--plain-http"]).await;
    refused(&asked, "another source");
    assert_eq!(machine.lock(), lock);
    assert_eq!(fs::read(machine.installed()).expect("a file"), bytes);
    done(
        &machine
            .plugin(&[&install[..], &["--update"]].concat())
            .await,
    );
    let bytes = fs::read(&two).expect("a file");
    assert_eq!(fs::read(machine.installed()).expect("a file"), bytes);
}
