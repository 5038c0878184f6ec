//! Differences between two runs.

use orbweaver_core::ids::{ProjectId, RunId};
use orbweaver_core::webhook::DiffCounts;
use orbweaver_store::crawl::{
    Created, Ending, FailedUrl, NewRun, RunBatch, RunDiff, UNREADABLE_SITEMAP,
};
use orbweaver_store::monitors::NewMonitor;
use orbweaver_store::{Options, Store};

use super::{Page, batch, crawl, create, end, fire, lease, new_monitor, redirect, work, write};
use crate::given::{named, now, open, seconds};

crate::support::on_both_databases! {
    pages_are_compared_by_hash
    a_temporary_failure_is_not_a_change
    pages_that_a_run_did_not_reach_are_not_removed
    errors_are_compared_by_status
    what_a_refused_page_links_to_is_not_removed
    a_run_that_has_not_begun_has_removed_nothing
    what_a_redirect_leads_to_is_not_removed_while_it_fails
    what_a_dropped_page_leads_to_is_not_removed_while_it_fails
    what_a_cut_sitemap_may_have_listed_is_not_removed
    what_a_run_hid_is_told_by_a_later_one
}

/// No added, removed or changed page.
const NOTHING: [Vec<&str>; 3] = [Vec::new(), Vec::new(), Vec::new()];

fn urls(diff: &RunDiff) -> [Vec<&str>; 3] {
    [&diff.added, &diff.removed, &diff.changed].map(|list| {
        list.iter()
            .map(|page| page.url.strip_prefix("https://example.org").unwrap())
            .collect()
    })
}

/// Pages that failed temporarily, with their statuses.
fn unavailable(diff: &RunDiff) -> Vec<(&str, Option<u16>, Option<u16>)> {
    let pages = diff.unavailable.iter().map(|page| {
        let path = page.url.strip_prefix("https://example.org").unwrap();
        (path, page.old_status, page.new_status)
    });
    pages.collect()
}

/// The diff of two runs; checks that its counts equal those for webhooks.
async fn diff(store: &Store, project: ProjectId, old: RunId, new: RunId) -> RunDiff {
    let diff = store.diff(project, old, new).await.unwrap();
    let counts = store
        .count_diff(project, old, new, false)
        .await
        .unwrap()
        .unwrap();
    let expected = DiffCounts {
        added: diff.added.len() as u64,
        removed: diff.removed.len() as u64,
        changed: diff.changed.len() as u64,
        unchanged: diff.unchanged,
        gone: diff.gone.len() as u64,
        unvisited: diff.unvisited.len() as u64,
        unavailable: diff.unavailable.len() as u64,
    };
    assert_eq!(counts, expected);
    diff
}

async fn pages_are_compared_by_hash(options: Options) {
    let (store, project_id) = open(&options).await;
    let other = named(&store, "other").await;
    create(&store, &new_monitor(project_id, now()), None)
        .await
        .unwrap();
    let old = [
        ("/", 200, "a"),
        ("/same", 200, "s"),
        ("/gone", 200, "g"),
        ("/x", 200, "1"),
    ];
    let new = [
        ("/", 200, "b"),
        ("/new", 200, "n"),
        ("/same", 200, "s"),
        ("/x", 404, "2"),
    ];
    let old = crawl(&store, project_id, now(), &old).await;
    let new = crawl(&store, project_id, now() + seconds(300), &new).await;
    let found = diff(&store, project_id, old, new).await;
    assert_eq!(urls(&found), [vec!["/new"], vec!["/gone"], vec!["/"]]);
    assert_eq!((found.gone.len(), found.unvisited.len()), (1, 0));
    let gone = &found.gone[0];
    assert_eq!(gone.url, "https://example.org/x");
    assert_eq!((gone.old_status, gone.new_status), (Some(200), Some(404)));
    let named = store.diff_urls(project_id, old, new, false).await.unwrap();
    assert_eq!(
        (named.gone.len(), named.changed.len(), named.complete),
        (1, 1, true)
    );
    assert_eq!(found.unchanged, 1);
    let home = &found.changed[0];
    assert_eq!(
        (home.old_hash.as_deref(), home.new_hash.as_deref()),
        (Some("a"), Some("b"))
    );
    assert_eq!(found.removed[0].old_hash.as_deref(), Some("g"));
    assert_eq!(found.added[0].new_hash.as_deref(), Some("n"));

    let none = diff(&store, project_id, new, new).await;
    assert_eq!((urls(&none), none.unchanged), (NOTHING, 4));
    assert_eq!(
        store.diff(other, old, new).await.unwrap(),
        RunDiff::default()
    );
    assert_eq!(
        store.count_diff(other, old, new, false).await.unwrap(),
        None
    );
}

async fn a_temporary_failure_is_not_a_change(options: Options) {
    let (store, project) = open(&options).await;
    let mut at = now();
    create(&store, &new_monitor(project, at), None)
        .await
        .unwrap();
    let first = [
        ("/", 200, "a"),
        ("/b", 200, "b"),
        ("/c", 200, "c"),
        ("/d", 200, "d"),
    ];
    // /new fails from the start; /b, /c and /d fail temporarily.
    let second = [
        ("/", 200, "a"),
        ("/b", 429, "x"),
        ("/c", 503, "x"),
        ("/d", 500, "x"),
        ("/new", 502, "x"),
    ];
    // /b returns unchanged, /c with different content, /d not at all.
    let third = [
        ("/", 200, "a"),
        ("/b", 200, "b"),
        ("/c", 200, "C"),
        ("/new", 200, "n"),
    ];
    let mut runs = Vec::new();
    for pages in [&first[..], &second[..], &third[..]] {
        runs.push(crawl(&store, project, at, pages).await);
        at += seconds(300);
    }
    let quiet = diff(&store, project, runs[0], runs[1]).await;
    assert_eq!((urls(&quiet), quiet.unchanged), (NOTHING, 1));
    let failed = [
        ("/b", Some(200), Some(429)),
        ("/c", Some(200), Some(503)),
        ("/d", Some(200), Some(500)),
        ("/new", None, Some(502)),
    ];
    assert_eq!(unavailable(&quiet), failed);
    let loud = diff(&store, project, runs[1], runs[2]).await;
    assert_eq!(urls(&loud), [vec!["/new"], vec!["/d"], vec!["/c"]]);
    assert_eq!(loud.unchanged, 1);
    assert_eq!(unavailable(&loud), [("/b", Some(429), Some(200))]);
    assert_eq!(loud.changed[0].old_hash.as_deref(), Some("c"));
}

async fn pages_that_a_run_did_not_reach_are_not_removed(options: Options) {
    let (store, project) = open(&options).await;
    create(&store, &new_monitor(project, now()), None)
        .await
        .unwrap();
    let all = [("/", 200, "a"), ("/b", 200, "b"), ("/c", 200, "c")];
    let full = crawl(&store, project, now(), &all).await;
    let part = fire(&store, project, now() + seconds(300)).await;
    let leased = work(&store, &all[..1], &["/b"]).await;
    end(&store, &leased, true).await;
    // /b could not be fetched, so it is unknown whether it still links to /c.
    let found = diff(&store, project, full, part).await;
    assert_eq!((urls(&found), found.unchanged), (NOTHING, 1));
    let back = crawl(&store, project, now() + seconds(600), &all).await;
    let found = diff(&store, project, part, back).await;
    assert_eq!((urls(&found), found.unchanged), (NOTHING, 1));

    // A page that failed in both runs hides the same pages as before.
    let broken = [("/", 200, "a"), ("/b", 500, "x"), ("/c", 200, "c")];
    let old = crawl(&store, project, now() + seconds(900), &broken).await;
    let new = crawl(&store, project, now() + seconds(1_200), &broken[..2]).await;
    let found = diff(&store, project, old, new).await;
    assert_eq!(urls(&found), [vec![], vec!["/c"], vec![]]);

    // A seed that fails leads to no pages.
    let down = crawl(&store, project, now() + seconds(1_500), &[("/", 503, "x")]).await;
    let found = diff(&store, project, back, down).await;
    assert_eq!((urls(&found), found.unchanged), (NOTHING, 0));
    assert_eq!(unavailable(&found), [("/", Some(200), Some(503))]);

    // A run that ended early did not reach the missing pages.
    fire(&store, project, now() + seconds(1_800)).await;
    let leased = work(&store, &all[..1], &[]).await;
    let early = Ending {
        done: true,
        error_message: Some("daily page cap exceeded".to_owned()),
    };
    store
        .end_run(leased.lease, &early, None, now())
        .await
        .unwrap();
    let found = diff(&store, project, back, leased.run.id).await;
    assert_eq!((urls(&found), found.unchanged), (NOTHING, 1));
    let found = diff(&store, project, leased.run.id, back).await;
    assert_eq!(urls(&found), NOTHING);

    // Runs without a monitor are compared without these rules.
    let mut single = Vec::new();
    let failing = [("/", 503, "x"), ("/b", 200, "b"), ("/c", 429, "x")];
    for pages in [&all[..1], &all[..], &failing[..]] {
        let new = NewRun {
            enqueued_at: now(),
            ..crate::given::new_run(project, "https://example.org/")
        };
        let created = store.create_run(&new, None).await.unwrap();
        assert!(matches!(created, Created::New(_)));
        let leased = work(&store, pages, &[]).await;
        store
            .end_run(leased.lease, &early, None, now())
            .await
            .unwrap();
        single.push(leased.run.id);
    }
    let found = diff(&store, project, single[0], single[1]).await;
    assert_eq!(urls(&found), [vec!["/b", "/c"], vec![], vec![]]);
    for (old, new) in [(1, 2), (2, 1)] {
        let found = diff(&store, project, single[old], single[new]).await;
        assert_eq!((urls(&found), found.unchanged), (NOTHING, 1));
        let mut paths: Vec<&str> = unavailable(&found).iter().map(|page| page.0).collect();
        paths.sort_unstable();
        assert_eq!(paths, ["/", "/c"]);
    }
}

async fn errors_are_compared_by_status(options: Options) {
    let (store, project) = open(&options).await;
    create(&store, &new_monitor(project, now()), None)
        .await
        .unwrap();
    let old = [
        ("/", 200, "a"),
        ("/401", 401, "1"),
        ("/403", 403, "1"),
        ("/404", 404, "1"),
        ("/moved", 302, "1"),
        ("/other", 403, "1"),
    ];
    let new = [
        ("/", 200, "a"),
        ("/401", 401, "2"),
        ("/403", 403, "2"),
        ("/404", 404, "2"),
        ("/moved", 302, "2"),
        ("/other", 404, "2"),
    ];
    let old = crawl(&store, project, now(), &old).await;
    let new = crawl(&store, project, now() + seconds(300), &new).await;
    let found = diff(&store, project, old, new).await;
    assert_eq!(urls(&found), [vec![], vec![], vec!["/moved", "/other"]]);
    assert_eq!(found.unchanged, 4);
}

async fn what_a_refused_page_links_to_is_not_removed(options: Options) {
    let (store, project) = open(&options).await;
    create(&store, &new_monitor(project, now()), None)
        .await
        .unwrap();
    let all = [("/", 200, "a"), ("/hub", 200, "h"), ("/c", 200, "c")];
    let full = crawl(&store, project, now(), &all).await;
    let mut at = now();
    for status in [401, 403] {
        at += seconds(300);
        let blocked = [("/", 200, "a"), ("/hub", status, "no")];
        let blocked = crawl(&store, project, at, &blocked).await;
        let found = diff(&store, project, full, blocked).await;
        assert_eq!(urls(&found), [vec![], vec![], vec!["/hub"]]);
        assert_eq!(found.unvisited.len(), 1);
        let back = diff(&store, project, blocked, full).await;
        assert_eq!(urls(&back), [vec![], vec![], vec!["/hub"]]);
    }
    // A page that was refused before hides nothing that the run before had.
    let refused = [("/", 200, "a"), ("/hub", 403, "no"), ("/c", 200, "c")];
    let old = crawl(&store, project, at + seconds(300), &refused).await;
    let new = crawl(&store, project, at + seconds(600), &refused[..2]).await;
    let found = diff(&store, project, old, new).await;
    assert_eq!(urls(&found), [vec![], vec!["/c"], vec![]]);
}

async fn what_a_redirect_leads_to_is_not_removed_while_it_fails(options: Options) {
    let (store, project) = open(&options).await;
    create(&store, &new_monitor(project, now()), None)
        .await
        .unwrap();
    let all = [("/", 200, "a"), ("/docs/", 200, "d"), ("/docs/x", 200, "x")];
    let mut at = now();
    let mut runs = Vec::new();
    // A page leads to /docs, which redirects to /docs/, or fails.
    let failures: [(&[Page], &[&str]); 3] = [
        (&all[..1], &["/docs"]),
        (&[all[0], ("/docs", 503, "busy")], &[]),
        (&[all[0], ("/docs", 403, "no")], &[]),
    ];
    for (pages, failed) in failures {
        let run = fire(&store, project, at).await;
        let leased = lease(&store).await;
        let mut whole = batch(&leased, &all, &[]);
        redirect(&mut whole, "/docs", "/docs/");
        write(&store, whole).await;
        end(&store, &leased, true).await;
        runs.push(run);
        at += seconds(300);
        runs.push(fire(&store, project, at).await);
        let leased = work(&store, pages, failed).await;
        end(&store, &leased, true).await;
        at += seconds(300);
    }
    let quiet = async |old: usize, new: usize| {
        let found = diff(&store, project, runs[old], runs[new]).await;
        assert_eq!((urls(&found), found.unchanged), (NOTHING, 1), "{old} {new}");
        found
    };
    for (good, failing) in [(0, 1), (2, 3)] {
        assert_eq!(quiet(good, failing).await.unvisited.len(), 2);
        quiet(failing, good).await;
    }
    // The page of the failure never had content.
    assert_eq!(
        unavailable(&quiet(3, 2).await),
        [("/docs", Some(503), None)]
    );
    // A URL that is refused is a page of its own.
    let refused = diff(&store, project, runs[4], runs[5]).await;
    assert_eq!(urls(&refused), [vec!["/docs"], vec![], vec![]]);
    let back = diff(&store, project, runs[5], runs[4]).await;
    assert_eq!(urls(&back), [vec![], vec!["/docs"], vec![]]);
}

async fn what_a_dropped_page_leads_to_is_not_removed_while_it_fails(options: Options) {
    let (store, project) = open(&options).await;
    create(&store, &new_monitor(project, now()), None)
        .await
        .unwrap();
    let all = [("/", 200, "a"), ("/hub", 200, "h"), ("/c", 200, "c")];
    let mut at = now();
    let failures: [(&[Page], &[&str]); 2] = [
        (&all[..1], &["/hub"]),
        (&[all[0], ("/hub", 503, "busy")], &[]),
    ];
    for (pages, failed) in failures {
        let good = fire(&store, project, at).await;
        let leased = lease(&store).await;
        let mut dropped = batch(&leased, &all, &[]);
        dropped.pages.remove(1);
        dropped.progress.dropped = 1;
        write(&store, dropped).await;
        end(&store, &leased, true).await;
        at += seconds(300);
        let failing = fire(&store, project, at).await;
        let leased = work(&store, pages, failed).await;
        end(&store, &leased, true).await;
        at += seconds(300);
        let found = diff(&store, project, good, failing).await;
        assert_eq!((urls(&found), found.unvisited.len()), (NOTHING, 1));
        let back = diff(&store, project, failing, good).await;
        assert_eq!((urls(&back), back.unchanged), (NOTHING, 1));
    }
}

async fn a_run_that_has_not_begun_has_removed_nothing(options: Options) {
    let (store, project) = open(&options).await;
    create(&store, &new_monitor(project, now()), None)
        .await
        .unwrap();
    let all = [("/", 200, "a"), ("/b", 200, "b")];
    let old = crawl(&store, project, now(), &all).await;
    let waiting = fire(&store, project, now() + seconds(300)).await;
    let found = diff(&store, project, old, waiting).await;
    assert_eq!((urls(&found), found.unvisited.len()), (NOTHING, 2));
}

async fn what_a_cut_sitemap_may_have_listed_is_not_removed(options: Options) {
    let (store, project) = open(&options).await;
    let monitor = NewMonitor {
        spec: r#"{"url":"https://example.org/","seed_kind":"sitemap"}"#.to_owned(),
        seed_is_page: false,
        ..new_monitor(project, now())
    };
    create(&store, &monitor, None).await.unwrap();
    let all = [("/", 200, "a"), ("/b", 200, "b")];
    let full = crawl(&store, project, now(), &all).await;
    let mut cut = Vec::new();
    for (minutes, pages) in [(5, &all[..1]), (10, &all[..1]), (15, &all[..])] {
        fire(&store, project, now() + seconds(60 * minutes)).await;
        let leased = work(&store, pages, &[]).await;
        let failed = FailedUrl {
            seq: -1,
            url: "https://example.org/sitemap.xml".to_owned(),
            key_hash: 1,
            kind: UNREADABLE_SITEMAP.to_owned(),
            message: "cut".to_owned(),
            attempts: 1,
            failed_at: now(),
        };
        let batch = RunBatch {
            pages: Vec::new(),
            changes: Vec::new(),
            errors: vec![failed],
            ..crate::given::batch(&leased)
        };
        store.commit_crawl(&[batch]).await.unwrap();
        end(&store, &leased, true).await;
        cut.push(leased.run.id);
    }
    let found = diff(&store, project, full, cut[0]).await;
    assert_eq!((urls(&found), found.unvisited.len()), (NOTHING, 1));
    let back = diff(&store, project, cut[0], full).await;
    assert_eq!(urls(&back), NOTHING);
    // What is cut in both runs hides the same as before.
    let found = diff(&store, project, cut[1], cut[2]).await;
    assert_eq!(urls(&found), [vec!["/b"], vec![], vec![]]);
}

async fn what_a_run_hid_is_told_by_a_later_one(options: Options) {
    let (store, project) = open(&options).await;
    create(&store, &new_monitor(project, now()), None)
        .await
        .unwrap();
    let seed: Page = ("/", 200, "a");
    let (b, busy): (Page, Page) = (("/b", 200, "b"), ("/b", 503, "x"));
    let (c, down): (Page, Page) = (("/c", 200, "c"), ("/c", 500, "x"));
    let (d, new, late): (Page, Page, Page) =
        (("/d", 200, "d"), ("/new", 200, "n"), ("/late", 200, "l"));
    // /d goes, /new comes and goes, each while other pages fail; then /b and /late cannot be fetched.
    let visits: [(&[Page], &[&str]); 10] = [
        (&[seed, b, c, d], &[]),
        (&[seed, busy, c], &[]),
        (&[seed, b, c, new], &[]),
        (&[seed, b, c, new], &[]),
        (&[seed, b, down], &[]),
        (&[seed, busy, c], &[]),
        (&[seed, c], &["/b"]),
        (&[seed, ("/b", 200, "B"), c], &[]),
        (&[seed, ("/b", 200, "B"), c], &["/late"]),
        (&[seed, ("/b", 200, "B"), c, late], &[]),
    ];
    let told: [[Vec<&str>; 3]; 9] = [
        NOTHING,
        [vec!["/new"], vec!["/d"], vec![]],
        NOTHING,
        NOTHING,
        [vec![], vec!["/new"], vec![]],
        NOTHING,
        [vec![], vec![], vec!["/b"]],
        NOTHING,
        [vec!["/late"], vec![], vec![]],
    ];
    let mut runs = Vec::new();
    for (at, (pages, failed)) in visits.iter().enumerate() {
        let at = i64::try_from(at).unwrap();
        runs.push(fire(&store, project, now() + seconds(300 * at)).await);
        let leased = work(&store, pages, failed).await;
        end(&store, &leased, true).await;
    }
    for (pair, told) in runs.windows(2).zip(&told) {
        let found = diff(&store, project, pair[0], pair[1]).await;
        assert_eq!(&urls(&found), told, "{pair:?}");
        for page in &found.changed {
            assert_eq!(page.old_hash.as_deref(), Some("b"));
            assert!(page.old_page.is_some(), "of the run whose content counts");
        }
    }
    // Runs that do not follow each other are compared as they are.
    let found = diff(&store, project, runs[1], runs[3]).await;
    assert_eq!(urls(&found), [vec!["/new"], vec![], vec![]]);
}
