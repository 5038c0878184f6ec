//! Well-behaved, without asynchronous functions: fetches its input (a URL as a JSON
//! string) three times through `fetch-many`. Its call of `crawl-data` must be denied. With `do:WHAT`
//! for a URL it does a bad deed instead.

use hostile_support::host::batch::{fetch_many, render_many};
use hostile_support::host::crawl_data;
use hostile_support::host::requests::{RenderRequest, WaitFor};
use hostile_support::{Error, actor_sync, deeds, get};

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
    if let Some(done) = url.strip_prefix("do:").and_then(deeds::act_with_pages) {
        return done;
    }
    let request = |i: u32| get(&format!("{url}?{i}"));
    let pages = fetch_many(&[request(1), request(2), request(3)], 0);
    let urls: Vec<String> = pages
        .into_iter()
        .map(|page| Ok(format!("\"{}\"", page?.url())))
        .collect::<Result<_, Error>>()?;
    let denied = |error: &Error| error.code == "not-granted";
    let render = RenderRequest {
        url: url.to_owned(),
        wait_for: WaitFor::Load,
    };
    let rendered = render_many(&[render], 0)
        .pop()
        .is_some_and(|r| r.is_err_and(|e| denied(&e)));
    let read = crawl_data::get_run(1).is_err_and(|e| denied(&e));
    Ok(format!(
        r#"{{"urls":[{}],"render_denied":{rendered},"crawl_denied":{read}}}"#,
        urls.join(",")
    ))
}
