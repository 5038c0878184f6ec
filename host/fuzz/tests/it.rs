//! Each target over its corpus, and over the same few hundred mutations of it in every run.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::time::{Duration, Instant};

use orbweaver_fuzz::{Mutator, Target, targets};

/// Mutations of each target's inputs; fewer where a run of them takes longer than `MUTATIONS_TIMEOUT`.
const MUTATIONS: usize = 400;
const MUTATIONS_TIMEOUT: Duration = Duration::from_secs(4);

fn run(name: &str) {
    let found = targets().into_iter().find(|target| target.name == name);
    let target: Target = found.unwrap_or_else(|| panic!("no target `{name}`"));
    let inputs = target.inputs().expect("a readable corpus");
    assert!(!inputs.is_empty(), "{name} has no inputs");
    for input in &inputs {
        feed(&target, input);
    }
    let begun = Instant::now();
    let mut mutator = Mutator::new(1, target.max_len);
    for _ in 0..MUTATIONS {
        feed(&target, &mutator.next(&inputs));
        if begun.elapsed() > MUTATIONS_TIMEOUT {
            break;
        }
    }
}

/// One input; where a promise is broken, the input is shown.
fn feed(target: &Target, input: &[u8]) {
    struct Shown<'a>(&'a [u8]);
    impl Drop for Shown<'_> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("the input was b\"{}\"", self.0.escape_ascii());
            }
        }
    }
    let _shown = Shown(input);
    (target.run)(input);
}

macro_rules! tests {
    ($($test:ident: $name:literal),+ $(,)?) => {
        $(#[test]
        fn $test() {
            run($name);
        })+

        #[test]
        fn every_target_is_tested() {
            let tested = [$($name),+];
            for target in targets() {
                assert!(tested.contains(&target.name), "{}", target.name);
            }
        }
    };
}

tests! {
    roles_answer_with_json_on_any_page: "roles",
    the_page_pass_keeps_its_limits_on_any_page: "page-pass",
    the_page_pass_and_the_tree_find_the_same_links: "links",
    damaged_snapshots_are_read_without_panic: "snapshot",
    any_sitemap_has_absolute_urls: "sitemap",
    any_robots_txt_can_be_judged: "robots",
    schedules_go_forward: "cron",
    urls_join_as_the_standard_says: "url-join",
    any_body_becomes_text_within_its_limit: "charset",
    signatures_are_what_receivers_compute: "webhook-signature",
    cookies_go_to_no_other_site: "cookies",
    any_plugin_file_is_refused_or_taken: "plugin",
    no_request_is_answered_500: "router",
}
