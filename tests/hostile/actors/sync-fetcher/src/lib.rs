//! Well-behaved, without asynchronous functions: returns one item for each path segment, fetched from
//! the domain; the path `sold-out` is a cap with a time, `upstream` an error of the server, `do/WHAT` a bad deed.

use hostile_support::host::batch::fetch_many;
use hostile_support::{Error, deeds, error, fetcher_sync, get};

const _: () = {
    hostile_support::manifest!();
    struct Plugin;
    impl fetcher_sync::exports::orbweaver::plugin::fetching_sync::Guest for Plugin {
        fn fetch(domain: String, path: String, _params: String) -> Result<Vec<String>, Error> {
            if let Some(done) = path.strip_prefix("do/").and_then(deeds::act_with_pages) {
                return Ok(vec![done?]);
            }
            match path.as_str() {
                "sold-out" => {
                    return Err(Error {
                        retry_after_ms: Some(7_001),
                        ..error("quota", "no more today")
                    });
                }
                "upstream" => return Err(error("bad-response", "the server answered 500")),
                "new-code" => return Err(error("from-the-future", "unheard of")),
                _ => {}
            }
            let parts = path.split('/').filter(|part| !part.is_empty());
            let requests: Vec<_> = parts
                .map(|part| get(&format!("https://{domain}/{part}")))
                .collect();
            let pages = fetch_many(&requests, 0).into_iter();
            pages
                .map(|page| Ok(format!("{{\"url\":\"{}\"}}", page?.final_url())))
                .collect()
        }
    }
    fetcher_sync::export_fetcher_sync!(Plugin with_types_in fetcher_sync);
};
