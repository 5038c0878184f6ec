//! Shared by all fixtures: the raw bindings (not the SDK, which prevents what a hostile
//! plugin does), and macros that export a plugin and embed its manifest.

pub use futures_util;
pub use wit_bindgen;

/// The imports of all worlds.
pub mod host {
    wit_bindgen::generate!({
        path: "../../../wit",
        inline: "
            package hostile:support;
            world host {
                import orbweaver:plugin/types@1.1.0;
                import orbweaver:plugin/requests@1.1.0;
                import orbweaver:plugin/pages@1.1.0;
                import orbweaver:plugin/dom@1.1.0;
                import orbweaver:plugin/log@1.1.0;
                import orbweaver:plugin/inputs@1.1.0;
                import orbweaver:plugin/parsing@1.1.0;
                import orbweaver:plugin/http@1.1.0;
                import orbweaver:plugin/rendering@1.1.0;
                import orbweaver:plugin/batch@1.1.0;
                import orbweaver:plugin/extraction@1.1.0;
                import orbweaver:plugin/extraction-sync@1.1.0;
                import orbweaver:plugin/crawl-data@1.1.0;
                import orbweaver:plugin/state@1.1.0;
                import orbweaver:plugin/job@1.1.0;
                import orbweaver:plugin/crawl@1.1.0;
            }
        ",
        generate_all,
        generate_unused_types: true,
        runtime_path: "::hostile_support::wit_bindgen::rt",
    });
    pub use self::orbweaver::plugin::*;
}

extern crate self as hostile_support;

pub mod deeds;
pub mod look;
pub mod values;

/// The world `extractor`.
pub mod extractor {
    wit_bindgen::generate!({
        path: "../../../wit",
        world: "orbweaver:plugin/extractor",
        with: {
            "orbweaver:plugin/types@1.1.0": crate::host::orbweaver::plugin::types,
            "orbweaver:plugin/pages@1.1.0": crate::host::orbweaver::plugin::pages,
            "orbweaver:plugin/dom@1.1.0": crate::host::orbweaver::plugin::dom,
            "orbweaver:plugin/log@1.1.0": crate::host::orbweaver::plugin::log,
            "orbweaver:plugin/inputs@1.1.0": crate::host::orbweaver::plugin::inputs,
        },
        generate_all,
        pub_export_macro: true,
        export_macro_name: "export_extractor",
        default_bindings_module: "::hostile_support::extractor",
        runtime_path: "::hostile_support::wit_bindgen::rt",
    });
}

/// The world `actor`.
pub mod actor {
    wit_bindgen::generate!({
        path: "../../../wit",
        world: "orbweaver:plugin/actor",
        with: {
            "orbweaver:plugin/types@1.1.0": crate::host::orbweaver::plugin::types,
            "orbweaver:plugin/pages@1.1.0": crate::host::orbweaver::plugin::pages,
            "orbweaver:plugin/dom@1.1.0": crate::host::orbweaver::plugin::dom,
            "orbweaver:plugin/log@1.1.0": crate::host::orbweaver::plugin::log,
            "orbweaver:plugin/requests@1.1.0": crate::host::orbweaver::plugin::requests,
            "orbweaver:plugin/parsing@1.1.0": crate::host::orbweaver::plugin::parsing,
            "orbweaver:plugin/batch@1.1.0": crate::host::orbweaver::plugin::batch,
            "orbweaver:plugin/extraction-sync@1.1.0": crate::host::orbweaver::plugin::extraction_sync,
            "orbweaver:plugin/state@1.1.0": crate::host::orbweaver::plugin::state,
            "orbweaver:plugin/http@1.1.0": crate::host::orbweaver::plugin::http,
            "orbweaver:plugin/rendering@1.1.0": crate::host::orbweaver::plugin::rendering,
            "orbweaver:plugin/extraction@1.1.0": crate::host::orbweaver::plugin::extraction,
            "orbweaver:plugin/crawl-data@1.1.0": crate::host::orbweaver::plugin::crawl_data,
            "orbweaver:plugin/job@1.1.0": crate::host::orbweaver::plugin::job,
        },
        generate_all,
        pub_export_macro: true,
        export_macro_name: "export_actor",
        default_bindings_module: "::hostile_support::actor",
        runtime_path: "::hostile_support::wit_bindgen::rt",
    });
}

/// The world `actor-sync`.
pub mod actor_sync {
    wit_bindgen::generate!({
        path: "../../../wit",
        world: "orbweaver:plugin/actor-sync",
        with: {
            "orbweaver:plugin/types@1.1.0": crate::host::orbweaver::plugin::types,
            "orbweaver:plugin/pages@1.1.0": crate::host::orbweaver::plugin::pages,
            "orbweaver:plugin/dom@1.1.0": crate::host::orbweaver::plugin::dom,
            "orbweaver:plugin/log@1.1.0": crate::host::orbweaver::plugin::log,
            "orbweaver:plugin/requests@1.1.0": crate::host::orbweaver::plugin::requests,
            "orbweaver:plugin/parsing@1.1.0": crate::host::orbweaver::plugin::parsing,
            "orbweaver:plugin/batch@1.1.0": crate::host::orbweaver::plugin::batch,
            "orbweaver:plugin/extraction-sync@1.1.0": crate::host::orbweaver::plugin::extraction_sync,
            "orbweaver:plugin/state@1.1.0": crate::host::orbweaver::plugin::state,
            "orbweaver:plugin/crawl-data@1.1.0": crate::host::orbweaver::plugin::crawl_data,
            "orbweaver:plugin/job@1.1.0": crate::host::orbweaver::plugin::job,
        },
        generate_all,
        pub_export_macro: true,
        export_macro_name: "export_actor_sync",
        default_bindings_module: "::hostile_support::actor_sync",
        runtime_path: "::hostile_support::wit_bindgen::rt",
    });
}

/// The world `fetcher`.
pub mod fetcher {
    wit_bindgen::generate!({
        path: "../../../wit",
        world: "orbweaver:plugin/fetcher",
        with: {
            "orbweaver:plugin/types@1.1.0": crate::host::orbweaver::plugin::types,
            "orbweaver:plugin/pages@1.1.0": crate::host::orbweaver::plugin::pages,
            "orbweaver:plugin/dom@1.1.0": crate::host::orbweaver::plugin::dom,
            "orbweaver:plugin/log@1.1.0": crate::host::orbweaver::plugin::log,
            "orbweaver:plugin/requests@1.1.0": crate::host::orbweaver::plugin::requests,
            "orbweaver:plugin/parsing@1.1.0": crate::host::orbweaver::plugin::parsing,
            "orbweaver:plugin/batch@1.1.0": crate::host::orbweaver::plugin::batch,
            "orbweaver:plugin/extraction-sync@1.1.0": crate::host::orbweaver::plugin::extraction_sync,
            "orbweaver:plugin/state@1.1.0": crate::host::orbweaver::plugin::state,
            "orbweaver:plugin/http@1.1.0": crate::host::orbweaver::plugin::http,
            "orbweaver:plugin/rendering@1.1.0": crate::host::orbweaver::plugin::rendering,
            "orbweaver:plugin/extraction@1.1.0": crate::host::orbweaver::plugin::extraction,
        },
        generate_all,
        pub_export_macro: true,
        export_macro_name: "export_fetcher",
        default_bindings_module: "::hostile_support::fetcher",
        runtime_path: "::hostile_support::wit_bindgen::rt",
    });
}

/// The world `fetcher-sync`.
pub mod fetcher_sync {
    wit_bindgen::generate!({
        path: "../../../wit",
        world: "orbweaver:plugin/fetcher-sync",
        with: {
            "orbweaver:plugin/types@1.1.0": crate::host::orbweaver::plugin::types,
            "orbweaver:plugin/pages@1.1.0": crate::host::orbweaver::plugin::pages,
            "orbweaver:plugin/dom@1.1.0": crate::host::orbweaver::plugin::dom,
            "orbweaver:plugin/log@1.1.0": crate::host::orbweaver::plugin::log,
            "orbweaver:plugin/requests@1.1.0": crate::host::orbweaver::plugin::requests,
            "orbweaver:plugin/parsing@1.1.0": crate::host::orbweaver::plugin::parsing,
            "orbweaver:plugin/batch@1.1.0": crate::host::orbweaver::plugin::batch,
            "orbweaver:plugin/extraction-sync@1.1.0": crate::host::orbweaver::plugin::extraction_sync,
            "orbweaver:plugin/state@1.1.0": crate::host::orbweaver::plugin::state,
        },
        generate_all,
        pub_export_macro: true,
        export_macro_name: "export_fetcher_sync",
        default_bindings_module: "::hostile_support::fetcher_sync",
        runtime_path: "::hostile_support::wit_bindgen::rt",
    });
}

/// The world `hook`.
pub mod hook {
    wit_bindgen::generate!({
        path: "../../../wit",
        world: "orbweaver:plugin/hook",
        with: {
            "orbweaver:plugin/types@1.1.0": crate::host::orbweaver::plugin::types,
            "orbweaver:plugin/pages@1.1.0": crate::host::orbweaver::plugin::pages,
            "orbweaver:plugin/dom@1.1.0": crate::host::orbweaver::plugin::dom,
            "orbweaver:plugin/log@1.1.0": crate::host::orbweaver::plugin::log,
            "orbweaver:plugin/inputs@1.1.0": crate::host::orbweaver::plugin::inputs,
            "orbweaver:plugin/state@1.1.0": crate::host::orbweaver::plugin::state,
            "orbweaver:plugin/crawl@1.1.0": crate::host::orbweaver::plugin::crawl,
        },
        generate_all,
        pub_export_macro: true,
        export_macro_name: "export_hook",
        default_bindings_module: "::hostile_support::hook",
        runtime_path: "::hostile_support::wit_bindgen::rt",
    });
}

/// The world `delivery-hook`.
pub mod delivery_hook {
    wit_bindgen::generate!({
        path: "../../../wit",
        world: "orbweaver:plugin/delivery-hook",
        with: {
            "orbweaver:plugin/types@1.1.0": crate::host::orbweaver::plugin::types,
            "orbweaver:plugin/log@1.1.0": crate::host::orbweaver::plugin::log,
        },
        generate_all,
        pub_export_macro: true,
        export_macro_name: "export_delivery_hook",
        default_bindings_module: "::hostile_support::delivery_hook",
        runtime_path: "::hostile_support::wit_bindgen::rt",
    });
}

pub use host::pages::Page;
pub use host::types::Error;

/// Whether this is the page of the host's self-test, which a hostile plugin must pass too.
pub fn is_self_test(page: &Page) -> bool {
    page.url().starts_with("https://self-test.invalid/")
}

/// What an extractor answers to the self-test: the least that has the shape of its role.
pub fn self_test_answer(role: &str) -> &'static str {
    match role {
        "markdown" => r#""""#,
        "metadata" | "signals" => "{}",
        "links" => "[]",
        "article" => r#"{"text":null,"html":null}"#,
        "structured-data" => r#"{"counts":{},"data":{}}"#,
        "document-html" => r#"{"html":"","notice":""}"#,
        _ => "null",
    }
}

/// Embeds `plugin.toml`.
#[macro_export]
macro_rules! manifest {
    () => {
        const TEXT: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/plugin.toml"));
        #[used]
        #[unsafe(link_section = "orbweaver:manifest")]
        static MANIFEST: [u8; TEXT.len()] = {
            let mut bytes = [0; TEXT.len()];
            let mut i = 0;
            while i < bytes.len() {
                bytes[i] = TEXT[i];
                i += 1;
            }
            bytes
        };
    };
}

/// Exports an extractor. The function gets every page except the self-test's; for that one
/// the plugin returns [`self_test_answer`].
#[macro_export]
macro_rules! extractor {
    ($extract:expr) => {
        const _: () = {
            $crate::manifest!();
            struct Plugin;
            impl $crate::extractor::exports::orbweaver::plugin::extracting::Guest for Plugin {
                fn extract(
                    role: String,
                    page: &$crate::Page,
                    options: String,
                ) -> Result<String, $crate::Error> {
                    if $crate::is_self_test(page) {
                        return Ok($crate::self_test_answer(&role).to_owned());
                    }
                    let extract: fn(&str, &$crate::Page, &str) -> Result<String, $crate::Error> =
                        $extract;
                    extract(&role, page, &options)
                }
            }
    $crate::extractor::export_extractor!(Plugin with_types_in $crate::extractor);
        };
    };
}

/// Exports an actor: an `async fn(String) -> Result<String, Error>`.
#[macro_export]
macro_rules! actor {
    ($run:path) => {
        const _: () = {
            $crate::manifest!();
            struct Plugin;
            impl $crate::actor::exports::orbweaver::plugin::acting::Guest for Plugin {
                async fn run(input: String) -> Result<String, $crate::Error> {
                    $run(input).await
                }
            }
    $crate::actor::export_actor!(Plugin with_types_in $crate::actor);
        };
    };
}

/// A GET request that follows redirects and ignores robots.txt.
pub fn get(url: &str) -> host::requests::Request {
    host::requests::Request {
        method: "GET".to_owned(),
        url: url.to_owned(),
        headers: Vec::new(),
        body: None,
        follow_redirects: true,
        respect_robots: false,
        timeout_ms: None,
        proxy: None,
        secrets: Vec::new(),
    }
}

/// An error with this code.
pub fn error(code: &str, message: impl Into<String>) -> Error {
    Error {
        code: code.to_owned(),
        message: message.into(),
        field: None,
        retry_after_ms: None,
    }
}
