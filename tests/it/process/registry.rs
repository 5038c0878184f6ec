//! Components in OCI registries: a real one with a password, and one that lies.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse as _, Redirect, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use orbweaver_engine::manifest;
use orbweaver_fetch::{FetchConfig, Fetcher, Request};
use orbweaver_tests::registry::{PASSWORD, RegistryServer, USER};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use super::command;
use crate::support::fixture;

/// What stands before the point in a public key of P-256.
const P256_HEAD: &str = "3059301306072a8648ce3d020106082a8648ce3d030107034200";

/// A folder of data with a plugin folder of its own.
pub(super) struct Machine {
    data: TempDir,
}

impl Machine {
    pub(super) fn new() -> Self {
        let data = tempfile::tempdir().expect("a folder");
        fs::create_dir(data.path().join("plugins")).expect("a folder");
        Self { data }
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.data.path().join(name)
    }

    pub(super) fn installed(&self) -> PathBuf {
        self.file("plugins/extract-good.wasm")
    }

    pub(super) fn lock(&self) -> String {
        fs::read_to_string(self.file("plugins/plugins.lock")).unwrap_or_default()
    }

    /// `orbweaver plugin …` as somebody who may use the registry.
    pub(super) async fn plugin(&self, arguments: &[&str]) -> Output {
        self.plugin_as(PASSWORD, arguments).await
    }

    async fn plugin_as(&self, password: &str, arguments: &[&str]) -> Output {
        let mut command = command(&self.data);
        command
            .arg("plugin")
            .args(arguments)
            .env("ORBWEAVER_PLUGIN_DIR", self.file("plugins"))
            .env("ORBWEAVER_REGISTRY_USER", USER)
            .env("ORBWEAVER_REGISTRY_PASSWORD", password)
            .env("HOME", self.data.path())
            .env_remove("DOCKER_CONFIG");
        let output = tokio::task::spawn_blocking(move || command.output());
        output.await.expect("no panic").expect("the program runs")
    }

    /// New keys, as files: the private and the public one.
    pub(super) fn keys(&self, name: &str) -> [String; 2] {
        let (random, form) = (SystemRandom::new(), &ECDSA_P256_SHA256_ASN1_SIGNING);
        let private = EcdsaKeyPair::generate_pkcs8(form, &random).expect("a key");
        let key = EcdsaKeyPair::from_pkcs8(form, private.as_ref(), &random).expect("a key");
        let mut public = hex::decode(P256_HEAD).expect("bytes");
        public.extend_from_slice(key.public_key().as_ref());
        let block = |file: &str, label: &str, der: &[u8]| {
            let path = self.file(&format!("{name}.{file}"));
            let text = STANDARD.encode(der);
            let text = format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n");
            fs::write(&path, text).expect("a file");
            path.to_string_lossy().into_owned()
        };
        [
            block("pem", "PRIVATE KEY", private.as_ref()),
            block("pub", "PUBLIC KEY", &public),
        ]
    }

    /// The extractor `good` with this version in its manifest, and permission to use what it names.
    pub(super) fn component(&self, version: &str, more: &str) -> String {
        let component = fs::read(fixture("good")).expect("a fixture");
        let text = format!(
            "name = \"good\"\nkind = \"extractor\"\nversion = \"{version}\"\napi = \"1.0.0\"\n{more}"
        );
        let path = self.file(&format!("good-{version}.wasm"));
        let component = manifest::embed(&component, &text).expect("a component");
        fs::write(&path, component).expect("a file");
        path.to_string_lossy().into_owned()
    }
}

pub(super) fn said(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr].concat();
    String::from_utf8_lossy(&text).into_owned()
}

#[track_caller]
pub(super) fn done(output: &Output) -> String {
    assert!(output.status.success(), "{}", said(output));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[track_caller]
pub(super) fn refused(output: &Output, why: &str) {
    assert!(!output.status.success(), "{}", said(output));
    assert!(said(output).contains(why), "{}", said(output));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_goes_through_a_registry_unchanged_and_pinned() {
    let registry = RegistryServer::start().expect("a registry");
    let machine = Machine::new();
    let reference = format!("oci://{}/plugins/good:1", registry.host());
    let install = ["install", &reference, "--plain-http", "--yes"];
    let one = machine.component("1.0.0", "");
    refused(
        &machine.plugin(&install).await,
        "the registry has no such artefact",
    );
    let publish = ["publish", &one, &reference, "--plain-http"];
    refused(&machine.plugin_as("wrong", &publish).await, "401");
    let pinned = done(&machine.plugin(&publish).await);
    let (source, digest) = pinned.split_once('@').expect("a digest");
    assert_eq!(source, reference);
    // The same component is the same artefact.
    assert_eq!(done(&machine.plugin(&publish).await), pinned);

    let output = machine.plugin(&install).await;
    assert_eq!(Path::new(&done(&output)), machine.installed());
    assert!(
        said(&output).contains("asks for nothing"),
        "{}",
        said(&output)
    );
    let bytes = fs::read(&one).expect("a file");
    assert_eq!(fs::read(machine.installed()).expect("a file"), bytes);
    let locked: Value = toml_of(&machine.lock());
    let layer = format!("sha256:{}", hex::encode(Sha256::digest(&bytes)));
    assert_eq!(
        locked,
        json!({"version": 1, "plugin": [{
            "file": "extract-good.wasm", "source": reference, "digest": digest, "component": layer,
        }]})
    );

    // The tag is another artefact now, which asks for more.
    let two = machine.component("2.0.0", "[permissions]\nwasi = [\"clocks\"]\n");
    let publish = ["publish", &two, &reference, "--plain-http"];
    done(&machine.plugin(&publish).await);
    refused(&machine.plugin(&install).await, "--update installs it");
    assert_eq!(fs::read(machine.installed()).expect("a file"), bytes);
    let update = ["install", &reference, "--plain-http", "--update"];
    let asked = machine.plugin(&update).await;
    refused(&asked, "--yes installs without asking");
    assert!(said(&asked).contains("+ wasi=clocks"), "{}", said(&asked));
    assert_eq!(fs::read(machine.installed()).expect("a file"), bytes);
    done(&machine.plugin(&[&update[..], &["--yes"]].concat()).await);
    let bytes_of_two = fs::read(&two).expect("a file");
    assert_eq!(fs::read(machine.installed()).expect("a file"), bytes_of_two);

    // A digest names one artefact for ever.
    let pinned_install = ["install", &pinned, "--plain-http", "--yes"];
    refused(&machine.plugin(&pinned_install).await, "--update");
    let other = Machine::new();
    done(&other.plugin(&pinned_install).await);
    assert_eq!(fs::read(other.installed()).expect("a file"), bytes);
    let missing = format!("{source}@sha256:{}", "0".repeat(64));
    let output = other.plugin(&["install", &missing, "--plain-http"]).await;
    refused(&output, "no such artefact");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_artefact_has_the_form_of_the_wasm_tools() {
    let registry = RegistryServer::start().expect("a registry");
    let machine = Machine::new();
    let host = registry.host();
    let component = machine.component("1.0.0", "");
    let reference = format!("oci://{host}/good:1.0.0");
    done(
        &machine
            .plugin(&["publish", &component, &reference, "--plain-http"])
            .await,
    );
    let nets = vec!["127.0.0.0/8".parse().expect("a network")];
    let fetcher = Fetcher::new(FetchConfig {
        allow_nets: nets,
        ..FetchConfig::default()
    });
    let fetcher = fetcher.expect("a fetcher");
    let get = async |path: String| {
        let basic = STANDARD.encode(format!("{USER}:{PASSWORD}"));
        let accept = "application/vnd.oci.image.manifest.v1+json".to_owned();
        let request = Request {
            headers: vec![
                ("authorization".to_owned(), format!("Basic {basic}")),
                ("accept".to_owned(), accept),
            ],
            ..Request::get(format!("http://{host}/v2/good/{path}"))
        };
        let answer = fetcher.fetch(request).await.expect("an answer");
        serde_json::from_slice::<Value>(&answer.body).expect("JSON")
    };
    let manifest = get("manifests/1.0.0".to_owned()).await;
    assert_eq!(manifest["schemaVersion"], 2);
    let config = &manifest["config"];
    assert_eq!(config["mediaType"], "application/vnd.wasm.config.v0+json");
    let layers = manifest["layers"].as_array().expect("layers");
    assert_eq!(layers.len(), 1);
    assert_eq!(layers[0]["mediaType"], "application/wasm");
    let title = &manifest["annotations"]["org.opencontainers.image.title"];
    assert_eq!(title, "good");
    let digest = config["digest"].as_str().expect("a digest");
    let config = get(format!("blobs/{digest}")).await;
    assert_eq!(
        (&config["architecture"], &config["os"]),
        (&json!("wasm"), &json!("wasip2"))
    );
    assert_eq!(config["layerDigests"], json!([layers[0]["digest"]]));
    let exports = config["component"]["exports"].as_array().expect("exports");
    assert!(
        exports.contains(&json!("orbweaver:plugin/extracting@1.1.0")),
        "{exports:?}"
    );
}

/// A registry that asks for a token, and serves one artefact with a blob that may be changed.
#[derive(Clone, Default)]
struct Liar {
    address: String,
    manifest: String,
    blob: Vec<u8>,
    /// Headers `authorization` of the requests for tokens and for artefacts.
    asked: Arc<Mutex<Vec<(String, String)>>>,
}

async fn lie(State(liar): State<Liar>, uri: Uri, headers: HeaderMap) -> Response {
    let header = headers.get("authorization").map(|value| value.to_str());
    let header = header.and_then(Result::ok).unwrap_or_default().to_owned();
    liar.asked
        .lock()
        .expect("no panic")
        .push((uri.to_string(), header.clone()));
    if uri.path() == "/token" {
        return json!({"token": "t0ken"}).to_string().into_response();
    }
    if header != "Bearer t0ken" {
        let realm = format!("http://{}/token", liar.address);
        let challenge = format!("Bearer realm=\"{realm}\",service=\"liar\"");
        return (StatusCode::UNAUTHORIZED, [("www-authenticate", challenge)]).into_response();
    }
    match uri.path().contains("/manifests/") {
        true => liar.manifest.into_response(),
        false => liar.blob.into_response(),
    }
}

impl Liar {
    /// Serves `blob` where the manifest says `digest_of`.
    async fn start(digest_of: &[u8], blob: &[u8]) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("a port");
        let sha = |bytes: &[u8]| format!("sha256:{}", hex::encode(Sha256::digest(bytes)));
        let manifest = json!({
            "schemaVersion": 2,
            "config": {
                "mediaType": "application/vnd.wasm.config.v0+json", "digest": sha(b"{}"), "size": 2,
            },
            "layers": [{
                "mediaType": "application/wasm", "digest": sha(digest_of), "size": blob.len(),
            }],
        });
        let liar = Self {
            address: listener.local_addr().expect("an address").to_string(),
            manifest: manifest.to_string(),
            blob: blob.to_vec(),
            asked: Arc::default(),
        };
        let router = Router::new().fallback(lie).with_state(liar.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.expect("a registry") });
        liar
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blob_that_is_not_what_its_digest_says_is_not_installed() {
    let machine = Machine::new();
    let component = fs::read(machine.component("1.0.0", "")).expect("a file");
    let mut changed = component.clone();
    changed.push(0);
    let mut flipped = component.clone();
    *flipped.last_mut().expect("a byte") ^= 1;
    for (blob, is_honest) in [(&changed, false), (&flipped, false), (&component, true)] {
        let liar = Liar::start(&component, blob).await;
        let reference = format!("oci://{}/a/good:1", liar.address);
        let output = machine
            .plugin(&["install", &reference, "--plain-http", "--yes"])
            .await;
        match is_honest {
            true => drop(done(&output)),
            false => refused(&output, "another size or digest"),
        }
        assert_eq!(machine.installed().exists(), is_honest);
        assert_eq!(!machine.lock().is_empty(), is_honest);
        let asked = liar.asked.lock().expect("no panic").clone();
        let (token, basic) = asked
            .iter()
            .find(|(url, _)| url.starts_with("/token"))
            .expect("one");
        assert!(
            token.contains("scope=repository%3Aa%2Fgood%3Apull"),
            "{token}"
        );
        assert!(token.contains("service=liar"), "{token}");
        assert_eq!(
            *basic,
            format!("Basic {}", STANDARD.encode(format!("{USER}:{PASSWORD}")))
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_a_registry_leads_to_nobody_gets_its_password() {
    let machine = Machine::new();
    let thief = Liar::start(b"", b"").await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.expect("a port");
    let registry = listener.local_addr().expect("an address");
    let there = format!("http://{}/blob", thief.address);
    let leads = move || async move { Redirect::temporary(&there) };
    let router = Router::new().fallback(leads);
    tokio::spawn(async move { axum::serve(listener, router).await.expect("a registry") });
    let reference = format!("oci://{registry}/a/good:1");
    let install = ["install", &reference, "--plain-http", "--yes"];
    refused(&machine.plugin(&install).await, "401");
    let asked = thief.asked.lock().expect("no panic").clone();
    assert!(!asked.is_empty());
    for (url, authorization) in asked {
        assert_eq!(authorization, "", "{url}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_is_reached_by_the_guard_and_its_rules() {
    let machine = Machine::new();
    for (arguments, why) in [
        // Loopback and private networks are no place for a component, without a word.
        (&["install", "oci://127.0.0.1:1/a"][..], "127.0.0.1"),
        (
            &["install", "oci://a.example/b", "--plain-http"],
            "on this machine",
        ),
        (&["install", "oci://A.example/b"], "host"),
        (
            &["install", "good.wasm", "--yes"],
            "--yes is for components of registries",
        ),
        (
            &["publish", "--sign-key", "k"],
            "--sign-key is for registries",
        ),
        (
            &["install", "oci://a.example/b", "--key", "missing.pub"],
            "cannot read missing.pub",
        ),
    ] {
        refused(&machine.plugin(arguments).await, why);
    }
}

pub(super) fn toml_of(text: &str) -> Value {
    toml::from_str(text).expect("a lock file")
}
