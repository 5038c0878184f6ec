//! Well-behaved: returns one item for each path segment, fetched from the domain.

use hostile_support::host::http;
use hostile_support::{Error, fetcher, get};

const _: () = {
    hostile_support::manifest!();
    struct Plugin;
    impl fetcher::exports::orbweaver::plugin::fetching::Guest for Plugin {
        async fn fetch(domain: String, path: String, params: String) -> Result<Vec<String>, Error> {
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
