//! Components written as text, which no compiler would produce.

use orbweaver_engine::manifest;

/// The variable parts of a hand-written extractor.
pub struct Extractor<'a> {
    pub imports: &'a str,
    pub memory: &'a str,
    /// Further definitions in the core module.
    pub core: &'a str,
    /// What `extract` does first.
    pub always: &'a str,
    /// Then its body, except in the self-test (which passes two bytes of options).
    pub attack: &'a str,
    pub export: &'a str,
}

impl Default for Extractor<'_> {
    fn default() -> Self {
        Self {
            imports: "",
            memory: "(memory (export \"memory\") 2)",
            core: "",
            always: "",
            attack: "",
            export: "orbweaver:plugin/extracting@1.0.0",
        }
    }
}

impl Extractor<'_> {
    /// The component, with a manifest that names it `raw`.
    pub fn build(&self) -> Vec<u8> {
        let Self {
            imports,
            memory,
            core,
            always,
            attack,
            export,
        } = self;
        let text = format!(
            r#"(component
  (import "orbweaver:plugin/types@1.0.0" (instance $types
    (type $e (record (field "code" string) (field "message" string)
      (field "field" (option string)) (field "retry-after-ms" (option u64))))
    (export "error" (type (eq $e)))))
  (alias export $types "error" (type $error))
  (import "orbweaver:plugin/pages@1.0.0" (instance $pages
    (export "page" (type (sub resource)))))
  (alias export $pages "page" (type $page))
  {imports}
  (core func $drop (canon resource.drop $page))
  (core module $m
    (import "host" "drop" (func $drop (param i32)))
    {memory}
    (data (i32.const 16) "null")
    {core}
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 1024)
    (func (export "extract") (param i32 i32 i32 i32 i32) (result i32)
      {always}
      (if (i32.ne (local.get 4) (i32.const 2)) (then {attack}))
      (call $drop (local.get 2))
      (i32.store (i32.const 64) (i32.const 0))
      (i32.store (i32.const 72) (i32.const 16))
      (i32.store (i32.const 76) (i32.const 4))
      i32.const 64))
  (core instance $i (instantiate $m (with "host" (instance (export "drop" (func $drop))))))
  (type $f (func (param "role" string) (param "page" (borrow $page)) (param "options" string)
    (result (result string (error $error)))))
  (func $extract (type $f) (canon lift (core func $i "extract")
    (memory (core memory $i "memory")) (realloc (core func $i "realloc"))))
  (instance $out (export "extract" (func $extract)))
  (export "{export}" (instance $out)))"#
        );
        manifest::embed(&wat::parse_str(&text).unwrap(), MANIFEST).unwrap()
    }
}

pub const MANIFEST: &str = r#"
name = "raw"
kind = "extractor"
version = "0.1.0"
api = "1.0.0"
"#;

/// Any component text with the same manifest.
pub fn component(text: &str) -> Vec<u8> {
    manifest::embed(&wat::parse_str(text).unwrap(), MANIFEST).unwrap()
}

/// The variable parts of a hand-written actor with asynchronous functions.
#[derive(Default)]
pub struct Actor<'a> {
    /// Core functions of the component model, e.g. `(core func $x (canon waitable-set.new))`.
    pub builtins: &'a str,
    /// How the core module receives them, e.g. `(export "x" (func $x))`.
    pub exports: &'a str,
    /// How the core module imports them, e.g. `(import "host" "x" (func $x (result i32)))`.
    pub imports: &'a str,
    /// Further definitions in the core module.
    pub core: &'a str,
    /// Body of `run`; returns a callback code: 0 exit, 1 yield, 2 + 16 × set wait.
    pub run: &'a str,
    /// Body of the callback; also returns a code.
    pub callback: &'a str,
}

impl Actor<'_> {
    /// The component, with a manifest that names it `raw`.
    pub fn build(&self) -> Vec<u8> {
        let Self {
            builtins,
            exports,
            imports,
            core,
            run,
            callback,
        } = self;
        let text = format!(
            r#"(component
  (import "orbweaver:plugin/types@1.0.0" (instance $types
    (type $e (record (field "code" string) (field "message" string)
      (field "field" (option string)) (field "retry-after-ms" (option u64))))
    (export "error" (type (eq $e)))))
  (alias export $types "error" (type $error))
  (type $answer (result string (error $error)))
  (type $bytes (stream u8))
  (type $number (future u32))
  (core module $memory
    (memory (export "memory") 2)
    (data (i32.const 16) "null")
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 1024))
  (core instance $mem (instantiate $memory))
  (core func $return (canon task.return (result $answer) (memory (core memory $mem "memory"))))
  {builtins}
  (core module $m
    (import "host" "return"
      (func $return (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i64)))
    {imports}
    (import "mem" "memory" (memory 2))
    {core}
    (func $answer (call $return (i32.const 0) (i32.const 16) (i32.const 4) (i32.const 0)
      (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i64.const 0)))
    (func (export "run") (param i32 i32) (result i32) {run})
    (func (export "callback") (param i32 i32 i32) (result i32) {callback}))
  (core instance $i (instantiate $m
    (with "mem" (instance $mem))
    (with "host" (instance (export "return" (func $return)) {exports}))))
  (type $f (func async (param "input" string) (result $answer)))
  (func $run (type $f) (canon lift (core func $i "run") async (callback (core func $i "callback"))
    (memory (core memory $mem "memory")) (realloc (core func $mem "realloc"))))
  (instance $out (export "run" (func $run)))
  (export "orbweaver:plugin/acting@1.0.0" (instance $out)))"#
        );
        let manifest = MANIFEST.replace("extractor", "actor");
        manifest::embed(&wat::parse_str(&text).unwrap(), &manifest).unwrap()
    }
}
