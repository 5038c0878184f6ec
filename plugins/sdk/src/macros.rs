//! The macros that turn a crate into a component.

/// Exports an extractor: one function per role, and the manifest inside the component.
///
/// ```text
/// orbweaver_sdk::extractor! { roles: { "links" => extract } }
/// ```
///
/// Each function is `fn(&Page<'_>, &str) -> Result<String, Error>`: it gets the page and the
/// options as JSON text, and returns JSON text. The manifest is `plugin.toml` beside the crate's
/// `Cargo.toml`, or the file named with `manifest: "path",`, relative to the source file. With
/// `manifest: none,` the component has no manifest: one is embedded afterwards, a different one for each
/// plugin that is to have this code.
///
/// In native builds the macro expands to nothing, so that the same crate is a library.
#[macro_export]
macro_rules! extractor {
    (roles: { $($role:literal => $function:expr),+ $(,)? } $(,)?) => {
        $crate::extractor! {
            @export include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/plugin.toml")),
            $($role => $function),+
        }
    };
    (manifest: none, roles: { $($role:literal => $function:expr),+ $(,)? } $(,)?) => {
        $crate::extractor! { @code $($role => $function),+ }
    };
    (manifest: $manifest:literal, roles: { $($role:literal => $function:expr),+ $(,)? } $(,)?) => {
        $crate::extractor! { @export include_bytes!($manifest), $($role => $function),+ }
    };
    (@export $manifest:expr, $($role:literal => $function:expr),+) => {
        #[cfg(target_family = "wasm")]
        const _: () = {
            $crate::__manifest! { $manifest }
        };
        $crate::extractor! { @code $($role => $function),+ }
    };
    (@code $($role:literal => $function:expr),+) => {
        #[cfg(target_family = "wasm")]
        const _: () = {
            struct OrbweaverPlugin;

            impl $crate::__private::extractor::Guest for OrbweaverPlugin {
                fn extract(
                    role: String,
                    page: &$crate::__private::extractor::Page,
                    options: String,
                ) -> Result<String, $crate::__private::RawError> {
                    $crate::__private::extract(page, |page| match role.as_str() {
                        $($role => $function(page, &options),)+
                        _ => Err($crate::Error::field("role", format_args!("this plugin does not serve {role:?}"))),
                    })
                }
            }

            $crate::__private::export_extractor!(OrbweaverPlugin);
        };
    };
}

/// Exports an actor: `async fn(Input) -> Result<Output, Error>`, where `Input` is
/// `serde::Deserialize` and `Output` is `serde::Serialize`. The host has checked the input
/// against the manifest's schema; if it still cannot be parsed, the error is `invalid-input`.
///
/// ```text
/// orbweaver_sdk::actor! { run: run }
/// ```
///
/// The manifest is found as with [`extractor!`](crate::extractor).
#[macro_export]
macro_rules! actor {
    (run: $run:expr $(,)?) => {
        $crate::actor! {
            @export include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/plugin.toml")), $run
        }
    };
    (manifest: $manifest:literal, run: $run:expr $(,)?) => {
        $crate::actor! { @export include_bytes!($manifest), $run }
    };
    (@export $manifest:expr, $run:expr) => {
        #[cfg(target_family = "wasm")]
        const _: () = {
            $crate::__manifest! { $manifest }

            struct OrbweaverPlugin;

            impl $crate::__private::actor::Guest for OrbweaverPlugin {
                async fn run(input: String) -> Result<String, $crate::__private::RawError> {
                    $crate::__private::run(&input, $run).await
                }
            }

            $crate::__private::export_actor!(OrbweaverPlugin);
        };
    };
}

/// Exports a fetcher: `async fn(Call<Params>) -> Result<Vec<Item>, Error>`, where `Params`
/// is `serde::Deserialize` and `Item` is `serde::Serialize`; see [`Call`](crate::Call).
///
/// ```text
/// orbweaver_sdk::fetcher! { fetch: fetch }
/// ```
///
/// The manifest is found as with [`extractor!`](crate::extractor).
#[macro_export]
macro_rules! fetcher {
    (fetch: $fetch:expr $(,)?) => {
        $crate::fetcher! {
            @export include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/plugin.toml")), $fetch
        }
    };
    (manifest: $manifest:literal, fetch: $fetch:expr $(,)?) => {
        $crate::fetcher! { @export include_bytes!($manifest), $fetch }
    };
    (@export $manifest:expr, $fetch:expr) => {
        #[cfg(target_family = "wasm")]
        const _: () = {
            $crate::__manifest! { $manifest }

            struct OrbweaverPlugin;

            impl $crate::__private::fetcher::Guest for OrbweaverPlugin {
                async fn fetch(
                    domain: String,
                    path: String,
                    params: String,
                ) -> Result<Vec<String>, $crate::__private::RawError> {
                    $crate::__private::fetch(domain, path, &params, $fetch).await
                }
            }

            $crate::__private::export_fetcher!(OrbweaverPlugin);
        };
    };
}

/// Exports a hook: a type that implements [`Hook`](crate::hook::Hook).
///
/// ```text
/// orbweaver_sdk::hook! { hook: SectionPriority }
/// ```
///
/// The manifest is found as with [`extractor!`](crate::extractor).
#[macro_export]
macro_rules! hook {
    (hook: $hook:ty $(,)?) => {
        $crate::hook! {
            @export include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/plugin.toml")), $hook
        }
    };
    (manifest: $manifest:literal, hook: $hook:ty $(,)?) => {
        $crate::hook! { @export include_bytes!($manifest), $hook }
    };
    (@export $manifest:expr, $hook:ty) => {
        #[cfg(target_family = "wasm")]
        const _: () = {
            use $crate::__private::{RawError, hook as wit, hook_glue as glue};

            $crate::__manifest! { $manifest }

            struct OrbweaverPlugin;

            impl wit::Guest for OrbweaverPlugin {
                fn discover(
                    config: String,
                    visit: wit::Visit,
                    page: &wit::Page,
                    links: Vec<wit::FoundLink>,
                ) -> Result<wit::Discovery, RawError> {
                    glue::discover::<$hook>(&config, visit, page, links)
                }

                fn record(
                    config: String,
                    visit: wit::Visit,
                    page: &wit::Page,
                    outputs: Vec<wit::RoleOutput>,
                    records: Vec<String>,
                ) -> Result<wit::RecordVerdict, RawError> {
                    glue::record::<$hook>(&config, visit, page, outputs, records)
                }

                fn request(
                    config: String,
                    request: wit::Outgoing,
                ) -> Result<wit::RequestChange, RawError> {
                    glue::request::<$hook>(&config, request)
                }

                fn response(
                    config: String,
                    visit: wit::Visit,
                    page: &wit::Page,
                ) -> Result<wit::ResponseVerdict, RawError> {
                    glue::response::<$hook>(&config, visit, page)
                }
            }

            $crate::__private::export_hook!(OrbweaverPlugin);
        };
    };
}

/// Exports a hook of deliveries, whose manifest has `hooks = ["deliver"]`:
/// `fn(Config, &Delivery, Value) -> Result<Output, Error>`, where `Config` is
/// `serde::Deserialize` and `Output` is `serde::Serialize`; see
/// [`Delivery`](crate::hook::Delivery).
///
/// ```text
/// orbweaver_sdk::delivery_hook! { deliver: deliver }
/// ```
///
/// The manifest is found as with [`extractor!`](crate::extractor).
#[macro_export]
macro_rules! delivery_hook {
    (deliver: $deliver:expr $(,)?) => {
        $crate::delivery_hook! {
            @export include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/plugin.toml")), $deliver
        }
    };
    (manifest: $manifest:literal, deliver: $deliver:expr $(,)?) => {
        $crate::delivery_hook! { @export include_bytes!($manifest), $deliver }
    };
    (@export $manifest:expr, $deliver:expr) => {
        #[cfg(target_family = "wasm")]
        const _: () = {
            use $crate::__private::delivery_hook as wit;

            $crate::__manifest! { $manifest }

            struct OrbweaverPlugin;

            impl wit::Guest for OrbweaverPlugin {
                fn deliver(
                    config: String,
                    delivery: wit::Delivery,
                    payload: String,
                ) -> Result<String, $crate::__private::RawError> {
                    let delivery = $crate::hook::Delivery {
                        event: delivery.event,
                        run_id: delivery.run_id,
                        run_url: delivery.run_url,
                    };
                    $crate::__private::hook_glue::deliver(&config, delivery, &payload, $deliver)
                }
            }

            $crate::__private::export_delivery_hook!(OrbweaverPlugin);
        };
    };
}

/// Embeds the manifest as a custom section of the core module, which the host reads before it
/// instantiates anything.
#[doc(hidden)]
#[macro_export]
macro_rules! __manifest {
    ($bytes:expr) => {
        #[used]
        #[unsafe(link_section = "orbweaver:manifest")]
        static MANIFEST: [u8; $bytes.len()] = *$bytes;
    };
}
