//! Which node indexes which pages.

use chrono::TimeDelta;
use orbweaver_core::content::Kind;
use orbweaver_core::ids::{PageId, ProjectId};
use orbweaver_core::limits::MAX_TITLE_BYTES;
use orbweaver_core::words::{index_words, query_terms};
use orbweaver_store::crawl::RunBatch;
use orbweaver_store::{DocumentClaim, IndexClaim, IndexEntry, Options, PageWords, Store};
use sqlx::{Connection as _, PgConnection};

use crate::given::{batch, create, lease, named, new_run, now, open, page};

crate::support::on_both_databases! {
    no_two_nodes_index_the_same_pages
    a_claim_that_was_given_up_or_has_run_out_is_taken_over
    a_page_that_the_database_refuses_keeps_no_other_out
    the_most_words_of_a_title_and_a_text_are_taken
    a_url_that_answered_is_found_once
    on_sqlite_claims_of_an_earlier_process_are_taken_over_at_once
    documents_of_projects_take_turns
    a_document_that_was_given_up_or_whose_claim_has_run_out_is_taken_over
    on_sqlite_documents_of_an_earlier_process_are_taken_over_at_once
}

/// A run with so many pages; returns the last one's id.
async fn pages(store: &Store, project: ProjectId, count: i64) -> i64 {
    run(store, project, count, Kind::Html).await
}

/// A run with so many pages of this kind; returns the last one's id.
async fn run(store: &Store, project: ProjectId, count: i64, kind: Kind) -> i64 {
    create(store, &new_run(project, "https://a.example/")).await;
    let leased = lease(store, "worker", now()).await.unwrap();
    let pages = (0..count).map(|seq| {
        let mut page = page(&leased, seq, format!("body {seq}").as_bytes());
        page.page.kind = kind;
        page
    });
    let work = RunBatch {
        pages: pages.collect(),
        ..batch(&leased)
    };
    store.commit_crawl(&[work]).await.unwrap();
    store.newest_page().await.unwrap()
}

async fn no_two_nodes_index_the_same_pages(options: Options) {
    let (store, project) = open(&options).await;
    let newest = pages(&store, project, 450).await;
    let other = Store::open(&options).await.unwrap();
    let claim = async |node: &Store| node.claim_unindexed(newest, now()).await.unwrap();
    let (a, b, c) = tokio::join!(claim(&store), claim(&other), claim(&store));
    let mut claims: Vec<IndexClaim> = [a, b, c].into_iter().map(Option::unwrap).collect();
    claims.sort_by_key(|claim| claim.after);
    assert_eq!(claim(&other).await, None);
    assert_eq!(claims[0].after, 0);
    for pair in claims.windows(2) {
        assert_eq!(pair[0].through, pair[1].after);
    }
    assert_eq!(claims[2].through, newest);
    let mut found = 0;
    for claim in claims {
        let pages = other.unindexed(claim).await.unwrap();
        assert!(pages.len() <= 200);
        found += pages.len();
        other.end_index_claim(claim, true).await.unwrap();
    }
    assert_eq!(found, 450);
    assert!(!store.has_index_claims().await.unwrap());
    assert_eq!(claim(&store).await, None);
    // Nothing above what the caller knows.
    let later = pages(&store, project, 3).await;
    assert_eq!(claim(&store).await, None);
    let claim = store.claim_unindexed(later, now()).await.unwrap().unwrap();
    assert_eq!((claim.after, claim.through), (newest, later));
}

async fn a_claim_that_was_given_up_or_has_run_out_is_taken_over(options: Options) {
    let (store, project) = open(&options).await;
    let newest = pages(&store, project, 3).await;
    let claim = async |minutes: i64| {
        let at = now() + TimeDelta::minutes(minutes);
        store.claim_unindexed(newest, at).await.unwrap()
    };
    let first = claim(0).await.unwrap();
    assert_eq!(claim(1).await, None);
    store.end_index_claim(first, false).await.unwrap();
    assert!(store.has_index_claims().await.unwrap());
    assert_eq!(claim(1).await, Some(first));
    assert_eq!(claim(4).await, None);
    assert_eq!(claim(7).await, Some(first), "its node has ended");
    store.end_index_claim(first, true).await.unwrap();
    assert_eq!(claim(20).await, None);
}

#[tokio::test]
async fn a_transaction_that_may_store_an_earlier_page_is_known_until_its_page_can_be_read() {
    let options = crate::support::postgres();
    let (store, project) = open(&options).await;
    let first = pages(&store, project, 1).await;
    assert_eq!(store.page_writers().await.unwrap(), [] as [String; 0]);
    // Reading takes no part.
    let mut reader = PgConnection::connect(&options.url).await.unwrap();
    let mut reading = reader.begin().await.unwrap();
    sqlx::query("SELECT id FROM pages WHERE project_id = $1")
        .bind(project.get())
        .execute(&mut *reading)
        .await
        .unwrap();
    // A page whose commit takes long, and one after it.
    let mut other = PgConnection::connect(&options.url).await.unwrap();
    let mut held = other.begin().await.unwrap();
    let slow: i64 = sqlx::query_scalar(
        "INSERT INTO pages (project_id, url, url_key, final_url, status, bytes, fetched_at, kind,
             user_agent, cloud_mode, headers, blob_id)
         SELECT project_id, 'slow', 'slow', 'slow', status, bytes, fetched_at, kind, user_agent,
             cloud_mode, headers, blob_id
         FROM pages WHERE id = $1 AND project_id = $2 RETURNING id",
    )
    .bind(first)
    .bind(project.get())
    .fetch_one(&mut *held)
    .await
    .unwrap();
    let newest = pages(&store, project, 1).await;
    assert!(first < slow && slow < newest);
    let writers = store.page_writers().await.unwrap();
    assert_eq!(writers.len(), 1, "{writers:?}");
    held.commit().await.unwrap();
    assert_eq!(store.page_writers().await.unwrap(), [] as [String; 0]);
    let claim = store.claim_unindexed(newest, now()).await.unwrap().unwrap();
    let unindexed = store.unindexed(claim).await.unwrap();
    let ids: Vec<i64> = unindexed.iter().map(|page| page.page.get()).collect();
    assert_eq!(ids, [first, slow, newest]);
}

async fn on_sqlite_claims_of_an_earlier_process_are_taken_over_at_once(options: Options) {
    let (store, project) = open(&options).await;
    let newest = pages(&store, project, 3).await;
    let claim = async || store.claim_unindexed(newest, now()).await.unwrap();
    let first = claim().await.unwrap();
    store.end_left_index_claims().await.unwrap();
    let again = (!store.is_shared()).then_some(first);
    assert_eq!(claim().await, again, "other nodes may be at work");
}

/// Documents of projects, which wait for their conversion.
async fn waiting(store: &Store, project: ProjectId, count: i64) -> Vec<PageId> {
    let newest = run(store, project, count, Kind::Document).await;
    let claim = store.claim_unindexed(newest, now()).await.unwrap().unwrap();
    let documents = store.unindexed(claim).await.unwrap();
    assert!(documents.iter().all(|document| document.is_document));
    store.queue_documents(&documents).await.unwrap();
    // Its node has ended before it ended the claim: the next one does the same again.
    store.queue_documents(&documents).await.unwrap();
    store.end_index_claim(claim, true).await.unwrap();
    documents.iter().map(|document| document.page).collect()
}

/// The documents that are claimed one after the other, each after the project of the one before.
async fn claimed(store: &Store, count: usize) -> Vec<DocumentClaim> {
    let (mut last, mut claims) = (ProjectId(0), Vec::new());
    for _ in 0..count {
        let claim = store.claim_document(last, now()).await.unwrap().unwrap();
        last = claim.project;
        claims.push(claim);
    }
    claims
}

async fn documents_of_projects_take_turns(options: Options) {
    let (store, ours) = open(&options).await;
    let other = named(&store, "other").await;
    let many = waiting(&store, ours, 4).await;
    let few = waiting(&store, other, 2).await;
    let claims = claimed(&store, 6).await;
    let pages: Vec<PageId> = claims.iter().map(|claim| claim.page).collect();
    assert_eq!(pages, [many[0], few[0], many[1], few[1], many[2], many[3]]);
    assert_eq!(
        store.claim_document(ProjectId(0), now()).await.unwrap(),
        None
    );
    let page = store.unindexed_document(claims[1]).await.unwrap().unwrap();
    assert_eq!((page.project, page.page), (other, few[0]));
    let strange = DocumentClaim {
        project: ours,
        page: few[0],
    };
    assert!(store.unindexed_document(strange).await.unwrap().is_none());
    for claim in claims {
        assert!(store.has_queued_documents().await.unwrap());
        store.end_document_claim(claim, true).await.unwrap();
    }
    assert!(!store.has_queued_documents().await.unwrap());
}

async fn a_document_that_was_given_up_or_whose_claim_has_run_out_is_taken_over(options: Options) {
    let (store, project) = open(&options).await;
    waiting(&store, project, 1).await;
    let claim = async |minutes: i64| {
        let at = now() + TimeDelta::minutes(minutes);
        store.claim_document(ProjectId(0), at).await.unwrap()
    };
    let first = claim(0).await.unwrap();
    assert_eq!(claim(1).await, None);
    store.end_document_claim(first, false).await.unwrap();
    assert_eq!(claim(1).await, Some(first));
    assert_eq!(claim(4).await, None);
    assert_eq!(claim(7).await, Some(first), "its node has ended");
}

async fn on_sqlite_documents_of_an_earlier_process_are_taken_over_at_once(options: Options) {
    let (store, project) = open(&options).await;
    waiting(&store, project, 1).await;
    let claim = async || store.claim_document(ProjectId(0), now()).await.unwrap();
    let first = claim().await.unwrap();
    store.end_left_index_claims().await.unwrap();
    let again = (!store.is_shared()).then_some(first);
    assert_eq!(claim().await, again, "other nodes may be at work");
}

/// Indexes all pages of a run, page by page with these words.
async fn index(store: &Store, newest: i64, words: &[PageWords]) {
    let claim = store.claim_unindexed(newest, now()).await.unwrap().unwrap();
    let pages = store.unindexed(claim).await.unwrap();
    assert_eq!(pages.len(), words.len());
    let entries = pages
        .into_iter()
        .zip(words)
        .map(|(page, words)| IndexEntry {
            page: page.page,
            project: page.project,
            url_key: page.url_key,
            asked_key: None,
            words: words.clone(),
        });
    let entries: Vec<IndexEntry> = entries.collect();
    store.index(&entries).await.unwrap();
}

async fn a_page_that_the_database_refuses_keeps_no_other_out(options: Options) {
    let (store, project) = open(&options).await;
    let newest = pages(&store, project, 30).await;
    let words = |number: usize| PageWords {
        title: String::new(),
        // PostgreSQL stores no NUL.
        text: format!("common word{number}{}", if number == 7 { "\0" } else { "" }),
    };
    let words: Vec<PageWords> = (0..30).map(words).collect();
    index(&store, newest, &words).await;
    let found = store.search(project, &query_terms("common", 4), 100).await;
    let refused = usize::from(store.is_shared());
    assert_eq!(found.unwrap().len(), 30 - refused);
}

async fn the_most_words_of_a_title_and_a_text_are_taken(options: Options) {
    let (store, project) = open(&options).await;
    let newest = pages(&store, project, 1).await;
    let long = |begin: char| {
        let words = (0..60_000).map(|number| format!("{begin}{number:09}"));
        words.collect::<Vec<String>>().join(" ")
    };
    let words = PageWords {
        title: index_words(&long('a')[..MAX_TITLE_BYTES]),
        text: index_words(&long('b')),
    };
    index(&store, newest, &[words]).await;
    for word in ["a000000000", "b000000000"] {
        let found = store.search(project, &query_terms(word, 4), 100).await;
        assert_eq!(found.unwrap().len(), 1, "{word}");
    }
}

async fn a_url_that_answered_is_found_once(options: Options) {
    let (store, project) = open(&options).await;
    let newest = pages(&store, project, 4).await;
    let claim = store.claim_unindexed(newest, now()).await.unwrap().unwrap();
    let mut entries = store
        .unindexed(claim)
        .await
        .unwrap()
        .into_iter()
        .map(|page| IndexEntry {
            page: page.page,
            project: page.project,
            url_key: page.url_key,
            asked_key: None,
            words: PageWords {
                text: format!("common word{}", page.page.get()),
                ..PageWords::default()
            },
        });
    let [first, second, mut third, mut fourth] = std::array::from_fn(|_| entries.next().unwrap());
    let found = async |word: &str| {
        let found = store.search(project, &query_terms(word, 4), 100).await;
        let mut pages: Vec<_> = found.unwrap().iter().map(|hit| hit.page).collect();
        pages.sort_unstable();
        pages
    };
    let ids = [first.page, second.page, third.page, fourth.page];
    // The first page's URL leads to the second one's.
    (third.asked_key, third.url_key) = (Some(first.url_key.clone()), second.url_key.clone());
    store.index(&[first, second]).await.unwrap();
    assert_eq!(found("common").await, ids[..2]);
    store.index(std::slice::from_ref(&third)).await.unwrap();
    assert_eq!(found("common").await, [ids[2]]);
    // And that one's to the fourth page's.
    fourth.asked_key = Some(third.url_key);
    store.index(&[fourth]).await.unwrap();
    assert_eq!(found("common").await, [ids[3]]);
}
