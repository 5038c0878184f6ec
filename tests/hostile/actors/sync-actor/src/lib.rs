//! Well-behaved, without asynchronous functions: fetches its input (a URL as a JSON
//! string) three times through `fetch-many`. Its call of `crawl-data` must be denied.

use hostile_support::host::batch::{BatchRequest, fetch_many, render_many};
use hostile_support::host::crawl_data;
use hostile_support::{Error, actor_sync};

const _: () = {
    hostile_support::manifest!();
    struct Plugin;
    impl actor_sync::exports::orbweaver::plugin::acting_sync::Guest for Plugin {
        fn run(input: String) -> Result<String, Error> {
            run(input.trim_matches('"'))
        }
    }
    actor_sync::export_actor_sync!(Plugin with_types_in actor_sync);
};

fn run(url: &str) -> Result<String, Error> {
    let request = |i: u32| BatchRequest {
        method: "GET".to_owned(),
        url: format!("{url}?{i}"),
        headers: Vec::new(),
        body: None,
        follow_redirects: true,
        respect_robots: false,
        timeout_ms: None,
    };
    let pages = fetch_many(&[request(1), request(2), request(3)], 0);
    let urls: Vec<String> = pages
        .into_iter()
        .map(|page| Ok(format!("\"{}\"", page?.url())))
        .collect::<Result<_, Error>>()?;
    let denied = |error: &Error| matches!(error, Error::Denied(_));
    let rendered = render_many(&[url.to_owned()], 0)
        .pop()
        .is_some_and(|r| r.is_err_and(|e| denied(&e)));
    let read = crawl_data::get_run(1).is_err_and(|e| denied(&e));
    Ok(format!(
        r#"{{"urls":[{}],"render_denied":{rendered},"crawl_denied":{read}}}"#,
        urls.join(",")
    ))
}
