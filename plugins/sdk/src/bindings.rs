//! Rust bindings of the WIT interface, generated here once, so that authors need no WIT files.
//!
//! `host` holds every import of every world; the worlds use its types. Functions that a
//! plugin does not call are not part of its component.

pub mod host {
    wit_bindgen::generate!({
        path: "../../wit",
        inline: "
            package orbweaver:sdk;
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
        runtime_path: "::orbweaver_sdk::__private::wit_bindgen::rt",
    });
}

pub mod extractor {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "orbweaver:plugin/extractor",
        with: {
            "orbweaver:plugin/types@1.1.0": crate::bindings::host::orbweaver::plugin::types,
            "orbweaver:plugin/pages@1.1.0": crate::bindings::host::orbweaver::plugin::pages,
            "orbweaver:plugin/dom@1.1.0": crate::bindings::host::orbweaver::plugin::dom,
            "orbweaver:plugin/log@1.1.0": crate::bindings::host::orbweaver::plugin::log,
            "orbweaver:plugin/inputs@1.1.0": crate::bindings::host::orbweaver::plugin::inputs,
        },
        generate_all,
        pub_export_macro: true,
        export_macro_name: "export_extractor",
        default_bindings_module: "::orbweaver_sdk::__private::extractor",
        runtime_path: "::orbweaver_sdk::__private::wit_bindgen::rt",
    });
}

pub mod actor {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "orbweaver:plugin/actor",
        with: {
            "orbweaver:plugin/types@1.1.0": crate::bindings::host::orbweaver::plugin::types,
            "orbweaver:plugin/pages@1.1.0": crate::bindings::host::orbweaver::plugin::pages,
            "orbweaver:plugin/dom@1.1.0": crate::bindings::host::orbweaver::plugin::dom,
            "orbweaver:plugin/log@1.1.0": crate::bindings::host::orbweaver::plugin::log,
            "orbweaver:plugin/requests@1.1.0": crate::bindings::host::orbweaver::plugin::requests,
            "orbweaver:plugin/parsing@1.1.0": crate::bindings::host::orbweaver::plugin::parsing,
            "orbweaver:plugin/batch@1.1.0": crate::bindings::host::orbweaver::plugin::batch,
            "orbweaver:plugin/extraction-sync@1.1.0": crate::bindings::host::orbweaver::plugin::extraction_sync,
            "orbweaver:plugin/state@1.1.0": crate::bindings::host::orbweaver::plugin::state,
            "orbweaver:plugin/http@1.1.0": crate::bindings::host::orbweaver::plugin::http,
            "orbweaver:plugin/rendering@1.1.0": crate::bindings::host::orbweaver::plugin::rendering,
            "orbweaver:plugin/extraction@1.1.0": crate::bindings::host::orbweaver::plugin::extraction,
            "orbweaver:plugin/crawl-data@1.1.0": crate::bindings::host::orbweaver::plugin::crawl_data,
            "orbweaver:plugin/job@1.1.0": crate::bindings::host::orbweaver::plugin::job,
        },
        generate_all,
        pub_export_macro: true,
        export_macro_name: "export_actor",
        default_bindings_module: "::orbweaver_sdk::__private::actor",
        runtime_path: "::orbweaver_sdk::__private::wit_bindgen::rt",
    });
}

pub mod fetcher {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "orbweaver:plugin/fetcher",
        with: {
            "orbweaver:plugin/types@1.1.0": crate::bindings::host::orbweaver::plugin::types,
            "orbweaver:plugin/pages@1.1.0": crate::bindings::host::orbweaver::plugin::pages,
            "orbweaver:plugin/dom@1.1.0": crate::bindings::host::orbweaver::plugin::dom,
            "orbweaver:plugin/log@1.1.0": crate::bindings::host::orbweaver::plugin::log,
            "orbweaver:plugin/requests@1.1.0": crate::bindings::host::orbweaver::plugin::requests,
            "orbweaver:plugin/parsing@1.1.0": crate::bindings::host::orbweaver::plugin::parsing,
            "orbweaver:plugin/batch@1.1.0": crate::bindings::host::orbweaver::plugin::batch,
            "orbweaver:plugin/extraction-sync@1.1.0": crate::bindings::host::orbweaver::plugin::extraction_sync,
            "orbweaver:plugin/state@1.1.0": crate::bindings::host::orbweaver::plugin::state,
            "orbweaver:plugin/http@1.1.0": crate::bindings::host::orbweaver::plugin::http,
            "orbweaver:plugin/rendering@1.1.0": crate::bindings::host::orbweaver::plugin::rendering,
            "orbweaver:plugin/extraction@1.1.0": crate::bindings::host::orbweaver::plugin::extraction,
        },
        generate_all,
        pub_export_macro: true,
        export_macro_name: "export_fetcher",
        default_bindings_module: "::orbweaver_sdk::__private::fetcher",
        runtime_path: "::orbweaver_sdk::__private::wit_bindgen::rt",
    });
}

pub mod hook {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "orbweaver:plugin/hook",
        with: {
            "orbweaver:plugin/types@1.1.0": crate::bindings::host::orbweaver::plugin::types,
            "orbweaver:plugin/pages@1.1.0": crate::bindings::host::orbweaver::plugin::pages,
            "orbweaver:plugin/dom@1.1.0": crate::bindings::host::orbweaver::plugin::dom,
            "orbweaver:plugin/log@1.1.0": crate::bindings::host::orbweaver::plugin::log,
            "orbweaver:plugin/inputs@1.1.0": crate::bindings::host::orbweaver::plugin::inputs,
            "orbweaver:plugin/state@1.1.0": crate::bindings::host::orbweaver::plugin::state,
            "orbweaver:plugin/crawl@1.1.0": crate::bindings::host::orbweaver::plugin::crawl,
        },
        generate_all,
        pub_export_macro: true,
        export_macro_name: "export_hook",
        default_bindings_module: "::orbweaver_sdk::__private::hook",
        runtime_path: "::orbweaver_sdk::__private::wit_bindgen::rt",
    });
}

pub mod delivery_hook {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "orbweaver:plugin/delivery-hook",
        with: {
            "orbweaver:plugin/types@1.1.0": crate::bindings::host::orbweaver::plugin::types,
            "orbweaver:plugin/log@1.1.0": crate::bindings::host::orbweaver::plugin::log,
        },
        generate_all,
        pub_export_macro: true,
        export_macro_name: "export_delivery_hook",
        default_bindings_module: "::orbweaver_sdk::__private::delivery_hook",
        runtime_path: "::orbweaver_sdk::__private::wit_bindgen::rt",
    });
}
