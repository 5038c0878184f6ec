//! Well-behaved: returns one item for each path segment, fetched from the domain; the path `do/WHAT` is a
//! bad deed.

use hostile_support::host::http;
use hostile_support::{Error, deeds, fetcher, get};

const _: () = {
    hostile_support::manifest!();
    struct Plugin;
    impl fetcher::exports::orbweaver::plugin::fetching::Guest for Plugin {
        async fn fetch(domain: String, path: String, params: String) -> Result<Vec<String>, Error> {
            if let Some(done) = path.strip_prefix("do/").and_then(deeds::act_with_pages) {
                return Ok(vec![done?]);
            }
            let mut items = Vec::new();
            for part in path.split('/').filter(|part| !part.is_empty()) {
                let page = http::fetch(get(&format!("https://{domain}/{part}"))).await?;
                items.push(format!(
                    r#"{{"url":"{}","size":{},"params":{params}}}"#,
                    page.final_url(),
                    page.size()
                ));
            }
            Ok(items)
        }
    }
    fetcher::export_fetcher!(Plugin with_types_in fetcher);
};
