//! Fetchers and hooks written as text: what a compiler does not write into a component.

use orbweaver_engine::manifest;

/// Types that every one of them imports.
const TYPES: &str = r#"
  (import "orbweaver:plugin/types@1.0.0" (instance $types
    (type $e (record (field "code" string) (field "message" string)
      (field "field" (option string)) (field "retry-after-ms" (option u64))))
    (export "error" (type (eq $e)))
    (type $h (record (field "name" string) (field "value" string)))
    (export "header" (type (eq $h)))))
  (alias export $types "error" (type $error))
  (alias export $types "header" (type $header))"#;

/// Memory whose bytes from 64 stay zero: the answer "no error, the first case, empty lists".
const MEMORY: &str = r#"
  (core module $memory
    (memory (export "memory") 2)
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 1024))
  (core instance $mem (instantiate $memory))"#;

const OPTIONS: &str =
    r#"(memory (core memory $mem "memory")) (realloc (core func $mem "realloc"))"#;

fn packed(text: &str, kind: &str, more: &str) -> Vec<u8> {
    let manifest =
        format!("name = \"raw\"\nkind = \"{kind}\"\nversion = \"0.1.0\"\napi = \"1.0.0\"\n{more}");
    manifest::embed(&wat::parse_str(text).unwrap(), &manifest).unwrap()
}

/// A fetcher of `raw.example` that does this and returns no items.
pub fn fetcher_sync(core: &str, attack: &str) -> Vec<u8> {
    let text = format!(
        r#"(component {TYPES} {MEMORY}
  (core module $m {core}
    (func (export "fetch") (param i32 i32 i32 i32 i32 i32) (result i32) {attack} i32.const 64))
  (core instance $i (instantiate $m))
  (type $f (func (param "domain" string) (param "path" string) (param "params" string)
    (result (result (list string) (error $error)))))
  (func $fetch (type $f) (canon lift (core func $i "fetch") {OPTIONS}))
  (instance $out (export "fetch" (func $fetch)))
  (export "orbweaver:plugin/fetching-sync@1.0.0" (instance $out)))"#
    );
    packed(&text, "fetcher", "[fetcher]\ndomains = [\"raw.example\"]\n")
}

/// The same with an asynchronous function.
pub fn fetcher(core: &str, attack: &str) -> Vec<u8> {
    let text = format!(
        r#"(component {TYPES} {MEMORY}
  (type $answer (result (list string) (error $error)))
  (core func $return (canon task.return (result $answer) (memory (core memory $mem "memory"))))
  (core module $m
    (import "host" "return"
      (func $return (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i64)))
    {core}
    (func (export "fetch") (param i32 i32 i32 i32 i32 i32) (result i32)
      {attack}
      (call $return (i32.const 0) (i32.const 64) (i32.const 0) (i32.const 0) (i32.const 0)
        (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i64.const 0))
      i32.const 0)
    (func (export "callback") (param i32 i32 i32) (result i32) unreachable))
  (core instance $i (instantiate $m
    (with "host" (instance (export "return" (func $return))))))
  (type $f (func async (param "domain" string) (param "path" string) (param "params" string)
    (result $answer)))
  (func $fetch (type $f) (canon lift (core func $i "fetch") async
    (callback (core func $i "callback")) {OPTIONS}))
  (instance $out (export "fetch" (func $fetch)))
  (export "orbweaver:plugin/fetching@1.0.0" (instance $out)))"#
    );
    packed(&text, "fetcher", "[fetcher]\ndomains = [\"raw.example\"]\n")
}

/// A hook of deliveries that does this and returns an empty object.
pub fn delivery_hook(core: &str, attack: &str) -> Vec<u8> {
    let text = format!(
        r#"(component {TYPES} {MEMORY}
  (type $d (record (field "event" string) (field "run-id" s64) (field "run-url" string)))
  (core module $m
    (import "mem" "memory" (memory 2))
    (data (i32.const 16) "{{}}")
    {core}
    (func (export "deliver") (param i32 i32 i32 i32 i64 i32 i32 i32 i32) (result i32)
      {attack}
      (i32.store (i32.const 72) (i32.const 16))
      (i32.store (i32.const 76) (i32.const 2))
      i32.const 64))
  (core instance $i (instantiate $m (with "mem" (instance $mem))))
  (type $f (func (param "config" string) (param "delivery" $d) (param "payload" string)
    (result (result string (error $error)))))
  (func $deliver (type $f) (canon lift (core func $i "deliver") {OPTIONS}))
  (instance $out (export "delivery" (type $d)) (export "deliver" (func $deliver)))
  (export "orbweaver:plugin/delivering@1.0.0" (instance $out)))"#
    );
    packed(&text, "hook", "hooks = [\"deliver\"]\n")
}

/// A hook that does this in `record` and keeps the page.
pub fn hook(core: &str, attack: &str) -> Vec<u8> {
    // Name, type and core parameters of each function; the handle of the page is at this place.
    let functions = [
        (
            "discover",
            r#"(param "config" string) (param "visit" $visit) (param "page" (borrow $page))
               (param "links" (list $link)) (result (result $discovery (error $error)))"#,
            "i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32",
            "(call $drop (local.get 8))",
        ),
        (
            "record",
            r#"(param "config" string) (param "visit" $visit) (param "page" (borrow $page))
               (param "outputs" (list $output)) (param "records" (list string))
               (result (result $record (error $error)))"#,
            "i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32",
            &format!("{attack} (call $drop (local.get 8))"),
        ),
        (
            "request",
            r#"(param "config" string) (param "request" $outgoing)
               (result (result $change (error $error)))"#,
            "i32 i32 i32 i32 i32 i32",
            "",
        ),
        (
            "response",
            r#"(param "config" string) (param "visit" $visit) (param "page" (borrow $page))
               (result (result $response (error $error)))"#,
            "i32 i32 i32 i32 i32 i32 i32 i32 i32",
            "(call $drop (local.get 8))",
        ),
    ];
    let (mut cores, mut lifts, mut exports) = (String::new(), String::new(), String::new());
    for (name, signature, params, body) in functions {
        cores += &format!(
            "(func (export \"{name}\") (param {params}) (result i32) {body} i32.const 64)\n"
        );
        lifts += &format!(
            "(type ${name}-type (func {signature}))
             (func ${name} (type ${name}-type) (canon lift (core func $i \"{name}\") {OPTIONS}))\n"
        );
        exports += &format!("(export \"{name}\" (func ${name}))\n");
    }
    let text = format!(
        r#"(component {TYPES} {MEMORY}
  (import "orbweaver:plugin/pages@1.0.0" (instance $pages
    (export "page" (type (sub resource)))))
  (alias export $pages "page" (type $page))
  (type $visit (record (field "url" string) (field "status" (option u16)) (field "depth" u32)
    (field "attempts" u32)))
  (type $link (record (field "url" string) (field "anchor" string) (field "rel" string)
    (field "nofollow" bool)))
  (type $wanted (record (field "url" string) (field "priority" s32)))
  (type $verdict (variant (case "follow" s32) (case "skip" string) (case "rewrite" $wanted)))
  (type $discovery (record (field "verdicts" (list $verdict)) (field "added" (list $wanted))))
  (type $output (record (field "role" string) (field "data" string)))
  (type $record (variant (case "keep") (case "emit" (list string)) (case "replace" (list string))
    (case "drop" string)))
  (type $outgoing (record (field "url" string) (field "depth" u32) (field "attempts" u32)))
  (type $change (record (field "headers" (list $header)) (field "cookies" (option string))
    (field "user-agent" (option string))))
  (type $later (record (field "delay-ms" u32) (field "reason" string)))
  (type $response (variant (case "accept") (case "retry" $later) (case "drop" string)))
  (core func $drop (canon resource.drop $page))
  (core module $m
    (import "host" "drop" (func $drop (param i32)))
    {core}
    {cores})
  (core instance $i (instantiate $m (with "host" (instance (export "drop" (func $drop))))))
  {lifts}
  (instance $out
    (export "visit" (type $visit)) (export "found-link" (type $link))
    (export "wanted-url" (type $wanted)) (export "link-verdict" (type $verdict))
    (export "discovery" (type $discovery)) (export "role-output" (type $output))
    (export "record-verdict" (type $record)) (export "outgoing" (type $outgoing))
    (export "request-change" (type $change)) (export "retry-later" (type $later))
    (export "response-verdict" (type $response))
    {exports})
  (export "orbweaver:plugin/hooking@1.0.0" (instance $out)))"#
    );
    packed(&text, "hook", "hooks = [\"record\"]\n")
}
