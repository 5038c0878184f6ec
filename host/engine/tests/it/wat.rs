//! Components that no compiler would make, from text.

use orbweaver_engine::manifest;

/// The variable parts of a hand-written extractor.
pub struct Extractor<'a> {
    pub imports: &'a str,
    pub memory: &'a str,
    /// More definitions in the core module.
    pub core: &'a str,
    /// What `extract` does, unless it is the self-test that calls (two bytes of options).
    pub attack: &'a str,
    pub export: &'a str,
}

impl Default for Extractor<'_> {
    fn default() -> Self {
        Self {
            imports: "",
            memory: "(memory (export \"memory\") 2)",
            core: "",
            attack: "",
            export: "orbweaver:plugin/extracting@0.1.0",
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
            attack,
            export,
        } = self;
        let text = format!(
            r#"(component
  (import "orbweaver:plugin/types@0.1.0" (instance $types
    (type $e (variant (case "invalid-input" string) (case "fetch-failed" string)
      (case "denied" string) (case "failed" string)))
    (export "error" (type (eq $e)))))
  (alias export $types "error" (type $error))
  (import "orbweaver:plugin/pages@0.1.0" (instance $pages
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
      (if (i32.ne (local.get 4) (i32.const 2)) (then {attack}))
      (call $drop (local.get 2))
      (i32.store (i32.const 64) (i32.const 0))
      (i32.store (i32.const 68) (i32.const 16))
      (i32.store (i32.const 72) (i32.const 4))
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
api = "0.1.0"
"#;

/// Any component text, with the same manifest.
pub fn component(text: &str) -> Vec<u8> {
    manifest::embed(&wat::parse_str(text).unwrap(), MANIFEST).unwrap()
}
