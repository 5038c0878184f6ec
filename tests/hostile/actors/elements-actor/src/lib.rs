//! As the extractor `elements`, on HTML of its input; without asynchronous functions, as JavaScript.

use hostile_support::host::parsing::from_html;
use hostile_support::look::look;
use hostile_support::{Error, actor_sync};
use serde_json::Value;

const _: () = {
    hostile_support::manifest!();
    struct Plugin;
    impl actor_sync::exports::orbweaver::plugin::acting_sync::Guest for Plugin {
        fn run(input: String) -> Result<String, Error> {
            let mut asked: Value = serde_json::from_str(&input).unwrap();
            let html = match asked["repeat"].as_u64() {
                Some(times) => asked["html"]
                    .as_str()
                    .unwrap_or_default()
                    .repeat(times as usize),
                None => asked["html"].take().as_str().unwrap_or_default().to_owned(),
            };
            let page = from_html("https://elements.example/a/", &html);
            Ok(look(&page, &asked).to_string())
        }
    }
    actor_sync::export_actor_sync!(Plugin with_types_in actor_sync);
};
