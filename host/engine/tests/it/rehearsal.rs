//! The policy for minor versions of the contract, tried on the next one. `host/engine/tests/rehearsal` has a version
//! 1.2, which is 1.1 with one function more. A host of 1.2 runs components that were built against 1.0, 1.1
//! and 1.2 with the same linker; this host refuses the latter and says why.

use orbweaver_engine::{Grants, LoadError, Source, manifest};
use wasmtime::component::{Component, HasSelf, Linker, Resource, ResourceTable};
use wasmtime::{Engine, Store};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::frozen;
use crate::support::engine;

mod v1_2 {
    wasmtime::component::bindgen!({
        path: "tests/rehearsal",
        world: "rehearsal",
        with: { "orbweaver:plugin/pages.page": super::OnlyPage },
    });
}

use v1_2::orbweaver::plugin::{log, pages, types};

/// The only page of this host.
pub struct OnlyPage;

const HTML: &str = "<p>x";

struct Host {
    table: ResourceTable,
    wasi: WasiCtx,
    lines: Vec<String>,
}

impl Default for Host {
    fn default() -> Self {
        Self {
            table: ResourceTable::new(),
            wasi: WasiCtx::builder().build(),
            lines: Vec::new(),
        }
    }
}

impl types::Host for Host {}
impl pages::Host for Host {}

impl pages::HostPage for Host {
    fn info(&mut self, _: Resource<OnlyPage>) -> pages::PageInfo {
        pages::PageInfo {
            url: "https://a.example/".to_owned(),
            final_url: "https://a.example/".to_owned(),
            status: Some(200),
            headers: Vec::new(),
            redirects: Vec::new(),
            size: HTML.len() as u64,
            cost_usd: None,
        }
    }

    fn url(&mut self, _: Resource<OnlyPage>) -> String {
        "https://a.example/".to_owned()
    }

    fn final_url(&mut self, page: Resource<OnlyPage>) -> String {
        self.url(page)
    }

    fn status(&mut self, _: Resource<OnlyPage>) -> Option<u16> {
        Some(200)
    }

    fn headers(&mut self, _: Resource<OnlyPage>) -> Vec<types::Header> {
        Vec::new()
    }

    fn redirects(&mut self, _: Resource<OnlyPage>) -> Vec<pages::Hop> {
        Vec::new()
    }

    fn size(&mut self, _: Resource<OnlyPage>) -> u64 {
        HTML.len() as u64
    }

    fn cost_usd(&mut self, _: Resource<OnlyPage>) -> Option<f64> {
        None
    }

    fn body(&mut self, _: Resource<OnlyPage>) -> Vec<u8> {
        HTML.into()
    }

    fn read(&mut self, page: Resource<OnlyPage>, _: u64, _: u32) -> Vec<u8> {
        self.body(page)
    }

    fn html(&mut self, _: Resource<OnlyPage>) -> String {
        HTML.to_owned()
    }

    fn snapshot(&mut self, _: Resource<OnlyPage>) -> pages::Snapshot {
        let snapshot = orbweaver_dom::parse(HTML);
        pages::Snapshot {
            words: snapshot.words,
            text: snapshot.text,
        }
    }

    fn drop(&mut self, page: Resource<OnlyPage>) -> wasmtime::Result<()> {
        self.table.delete(page)?;
        Ok(())
    }
}

impl log::Host for Host {
    fn log(&mut self, _: log::Level, message: String) {
        self.lines.push(message);
    }

    fn lines(&mut self, _: log::Level, messages: Vec<String>) {
        self.lines.extend(messages);
    }
}

impl WasiView for Host {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

/// A component of 1.2: it logs with the new function, and answers `null`.
const NEWER: &str = r#"(component
  (import "orbweaver:plugin/types@1.2.0" (instance $types
    (type $e (record (field "code" string) (field "message" string)
      (field "field" (option string)) (field "retry-after-ms" (option u64))))
    (export "error" (type (eq $e)))))
  (alias export $types "error" (type $error))
  (import "orbweaver:plugin/pages@1.2.0" (instance $pages
    (export "page" (type (sub resource)))))
  (alias export $pages "page" (type $page))
  (import "orbweaver:plugin/log@1.2.0" (instance $log
    (type $l (enum "trace" "debug" "info" "warn" "error"))
    (export "level" (type $level (eq $l)))
    (export "lines" (func (param "level" $level) (param "messages" (list string))))))
  (core module $memory
    (memory (export "memory") 1)
    (data (i32.const 16) "null")
    (data (i32.const 32) "new in 1.2")
    (data (i32.const 48) "\20\00\00\00\0a\00\00\00")
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 1024))
  (core instance $mem (instantiate $memory))
  (core func $lines (canon lower (func $log "lines") (memory (core memory $mem "memory"))))
  (core func $drop (canon resource.drop $page))
  (core module $m
    (import "host" "drop" (func $drop (param i32)))
    (import "host" "lines" (func $lines (param i32 i32 i32)))
    (import "mem" "memory" (memory 1))
    (func (export "extract") (param i32 i32 i32 i32 i32) (result i32)
      (call $lines (i32.const 2) (i32.const 48) (i32.const 1))
      (call $drop (local.get 2))
      (i32.store (i32.const 64) (i32.const 0))
      (i32.store (i32.const 72) (i32.const 16))
      (i32.store (i32.const 76) (i32.const 4))
      i32.const 64))
  (core instance $i (instantiate $m
    (with "mem" (instance $mem))
    (with "host" (instance (export "drop" (func $drop)) (export "lines" (func $lines))))))
  (type $f (func (param "role" string) (param "page" (borrow $page)) (param "options" string)
    (result (result string (error $error)))))
  (func $extract (type $f) (canon lift (core func $i "extract")
    (memory (core memory $mem "memory")) (realloc (core func $mem "realloc"))))
  (instance $out (export "extract" (func $extract)))
  (export "orbweaver:plugin/extracting@1.2.0" (instance $out)))"#;

/// What a component answers on a host of 1.2, and what it logs there.
fn on_a_newer_host(component: &[u8]) -> (String, Vec<String>) {
    let engine = Engine::default();
    let component = Component::new(&engine, component).unwrap();
    let mut linker: Linker<Host> = Linker::new(&engine);
    v1_2::Rehearsal::add_to_linker::<Host, HasSelf<Host>>(&mut linker, |host| host).unwrap();
    wasmtime_wasi::p2::add_to_linker_sync(&mut linker).unwrap();
    let mut store = Store::new(&engine, Host::default());
    let plugin = v1_2::Rehearsal::instantiate(&mut store, &component, &linker).unwrap();
    let page = store.data_mut().table.push(OnlyPage).unwrap();
    let lent = Resource::new_borrow(page.rep());
    let answer = plugin
        .orbweaver_plugin_extracting()
        .call_extract(&mut store, "good", lent, &"{}".to_owned())
        .unwrap();
    let lines = std::mem::take(&mut store.data_mut().lines);
    (answer.unwrap(), lines)
}

#[test]
fn a_newer_host_runs_components_of_all_versions() {
    for version in ["1.0.0", "1.1.0"] {
        let (answer, lines) = on_a_newer_host(&frozen::component_of(version, "good"));
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["status"], 200, "{version}");
        assert_eq!(answer["html"], HTML.len(), "{version}");
        assert!(lines.is_empty(), "{version}");
    }
    let newer = wat::parse_str(NEWER).unwrap();
    let (answer, lines) = on_a_newer_host(&newer);
    assert_eq!(answer, "null");
    assert_eq!(lines, ["new in 1.2"]);
}

#[tokio::test]
async fn an_older_host_refuses_a_newer_component_and_says_why() {
    let engine = engine();
    let newer = wat::parse_str(NEWER).unwrap();
    let text = |api: &str| {
        format!("name = \"newer\"\nkind = \"extractor\"\nversion = \"1\"\napi = \"{api}\"\n")
    };
    for (api, expected) in [
        ("1.2.0", "api: this host supports versions 1.0.0 to 1.1.0"),
        // The manifest says less than the component needs.
        (
            "1.0.0",
            "orbweaver:plugin/extracting@1.2.0, but this host supports versions 1.0.0 to 1.1.0",
        ),
    ] {
        let packed = manifest::embed(&newer, &text(api));
        let error = match packed {
            Ok(packed) => engine
                .load_bytes(packed, Source::Upload, Grants::All)
                .await
                .unwrap_err(),
            Err(error) => error,
        };
        assert!(
            matches!(error, LoadError::Manifest(_) | LoadError::Export(_)),
            "{error:?}"
        );
        assert!(error.to_string().contains(expected), "{api}: {error}");
    }
}
