//! Bodies in a blob store: here in a folder. The tests of the service use a bucket.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use orbweaver_core::ids::{BlobId, PageId, ProjectId, RunId};
use orbweaver_store::blobs::{BlobError, BlobOptions, Blobs, NewBodies};
use orbweaver_store::crawl::{Committed, PageRange, RunBatch};
use orbweaver_store::{BlobSweeper, Options, Store, StoreError, StoredBody, Swept};
use tempfile::TempDir;

use crate::given::{batch, create, lease, new_run, open, page};

crate::support::on_both_databases! {
    the_bodies_of_a_commit_are_one_segment
    a_body_that_is_stored_is_not_written_again
    few_bodies_wait_in_the_database_until_they_fill_a_segment
    scans_wait_in_the_database
    other_bytes_are_an_error_of_their_own_body
    bodies_read_ahead_are_those_that_are_whole_and_have_room
    bodies_in_the_database_are_read_ahead_too
    bodies_move_to_the_blob_store_and_back
    a_store_of_another_database_is_refused
    a_folder_that_is_taken_away_gets_no_bodies
    a_lost_commit_leaves_no_reference
}

pub(super) const HOUR: i64 = 3_600;

/// A blob store in a folder, with a clock of its own. Files have the machine's time, so the clock
/// begins there.
pub(super) struct Ground {
    pub(super) folder: TempDir,
    seconds: Arc<AtomicI64>,
    options: Options,
}

impl Ground {
    pub(super) fn new(options: Options) -> Self {
        #[expect(clippy::disallowed_methods, reason = "files have the machine's time")]
        let now = Utc::now().timestamp();
        Self {
            folder: tempfile::tempdir().unwrap(),
            seconds: Arc::new(AtomicI64::new(now)),
            options,
        }
    }

    pub(super) fn blobs(&self, change: impl FnOnce(&mut BlobOptions)) -> Blobs {
        let seconds = Arc::clone(&self.seconds);
        let mut options = BlobOptions {
            url: format!("file://{}", self.folder.path().display())
                .parse()
                .unwrap(),
            credentials: None,
            new_bodies: NewBodies::Store,
            timeout: Duration::from_secs(5),
            least_segment: 0,
            pack_after: Duration::from_secs(300),
            keep_deleted: Duration::from_secs(24 * 3_600),
            orphan_age: Duration::from_secs(3_600),
            now: Arc::new(move || {
                DateTime::from_timestamp(seconds.load(Ordering::Relaxed), 0).unwrap()
            }),
            node: 7,
            transport: None,
        };
        change(&mut options);
        Blobs::open(options).unwrap()
    }

    fn with(&self, change: impl FnOnce(&mut BlobOptions)) -> Options {
        Options {
            blobs: Some(self.blobs(change)),
            ..self.options.clone()
        }
    }

    pub(super) async fn open(&self, change: impl FnOnce(&mut BlobOptions)) -> (Store, ProjectId) {
        let (store, project) = open(&self.with(change)).await;
        store.join_blobs().await.unwrap();
        (store, project)
    }

    /// Another process on the same database.
    pub(super) async fn again(&self, change: impl FnOnce(&mut BlobOptions)) -> Store {
        Store::open(&self.with(change)).await.unwrap()
    }

    pub(super) fn advance(&self, seconds: i64) {
        self.seconds.fetch_add(seconds, Ordering::Relaxed);
    }

    /// Files of the segments.
    pub(super) fn segments(&self) -> Vec<PathBuf> {
        let Ok(files) = std::fs::read_dir(self.folder.path().join("segments")) else {
            return Vec::new();
        };
        let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
        files.sort();
        files
    }
}

pub(super) async fn sweep(store: &Store) -> Swept {
    BlobSweeper::new(store.clone()).sweep().await.unwrap()
}

pub(super) fn text(seq: i64) -> String {
    format!("body {seq} ").repeat(100)
}

/// A run with these pages, in one commit.
pub(super) async fn run(store: &Store, project: ProjectId, seqs: &[i64]) -> RunId {
    let run = create(store, &new_run(project, "https://a.example/")).await;
    let leased = lease(store, "one", run.enqueued_at).await.unwrap();
    let pages = seqs
        .iter()
        .map(|&seq| page(&leased, seq, text(seq).as_bytes()));
    let work = RunBatch {
        pages: pages.collect(),
        ..batch(&leased)
    };
    let done = store.commit_crawl(&[work]).await.unwrap();
    assert_eq!(done, [Committed::Written]);
    leased.lease.run
}

async fn pages_of(store: &Store, project: ProjectId, run: RunId) -> Vec<PageId> {
    let range = PageRange {
        status: None,
        after: PageId(0),
        offset: 0,
        limit: 1_000,
    };
    let pages = store.run_pages(project, run, &range).await.unwrap();
    pages.into_iter().map(|item| item.id).collect()
}

/// Rows of the bodies of a run's pages, in order.
pub(super) async fn bodies_of(store: &Store, project: ProjectId, run: RunId) -> Vec<BlobId> {
    let mut bodies = Vec::new();
    for page in pages_of(store, project, run).await {
        let record = store.page(project, page).await.unwrap().unwrap();
        bodies.extend(record.page.body.map(|(blob, _)| blob));
    }
    bodies
}

pub(super) async fn read(
    store: &Store,
    project: ProjectId,
    blob: BlobId,
) -> Result<String, StoreError> {
    let body: StoredBody = store.body(project, blob).await?.expect("a row");
    Ok(String::from_utf8(body.unpack()?).unwrap())
}

pub(super) async fn all_readable(store: &Store, project: ProjectId, run: RunId, seqs: &[i64]) {
    let bodies = bodies_of(store, project, run).await;
    assert_eq!(bodies.len(), seqs.len());
    for (blob, seq) in bodies.iter().zip(seqs) {
        assert_eq!(read(store, project, *blob).await.unwrap(), text(*seq));
    }
}

pub(super) async fn delete(store: &Store, project: ProjectId, run: RunId, at: DateTime<Utc>) {
    assert!(store.delete_run(project, run, at).await.unwrap());
    while !store.remove_deleted().await.unwrap().finished {}
}

async fn the_bodies_of_a_commit_are_one_segment(options: Options) {
    let ground = Ground::new(options);
    let (store, project) = ground.open(|_| {}).await;
    let run = run(&store, project, &[1, 2, 3]).await;
    let segments = ground.segments();
    assert_eq!(segments.len(), 1);
    let bytes = std::fs::read(&segments[0]).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    assert_eq!(text.matches("WARC/1.1\r\n").count(), 3);
    assert_eq!(text.matches("Orbweaver-Encoding: zstd\r\n").count(), 3);
    all_readable(&store, project, run, &[1, 2, 3]).await;
    // Another project's body is not found.
    let blob = bodies_of(&store, project, run).await[0];
    let other = ProjectId(project.get() + 1);
    assert!(store.body(other, blob).await.unwrap().is_none());
    assert!(store.projects_above(100).await.unwrap().len() == 1);
}

async fn a_body_that_is_stored_is_not_written_again(options: Options) {
    let ground = Ground::new(options);
    let (store, project) = ground.open(|_| {}).await;
    let first = run(&store, project, &[1, 2]).await;
    let second = run(&store, project, &[2, 1]).await;
    assert_eq!(ground.segments().len(), 1);
    let third = run(&store, project, &[2, 3]).await;
    let segments = ground.segments();
    assert_eq!(segments.len(), 2);
    let newest = std::fs::read(&segments[1]).unwrap();
    let records = String::from_utf8_lossy(&newest).matches("WARC/1.1").count();
    assert_eq!(records, 1, "only the new body");
    let at = new_run(project, "").enqueued_at;
    delete(&store, project, first, at).await;
    sweep(&store).await;
    all_readable(&store, project, second, &[2, 1]).await;
    all_readable(&store, project, third, &[2, 3]).await;
}

async fn few_bodies_wait_in_the_database_until_they_fill_a_segment(options: Options) {
    let ground = Ground::new(options);
    let (store, project) = ground.open(|blobs| blobs.least_segment = 1 << 20).await;
    let first = run(&store, project, &[1, 2]).await;
    let second = run(&store, project, &[3]).await;
    ground.advance(299);
    assert_eq!(sweep(&store).await.packed, 0);
    assert!(ground.segments().is_empty());
    all_readable(&store, project, first, &[1, 2]).await;
    ground.advance(1);
    assert_eq!(sweep(&store).await.packed, 3);
    assert_eq!(ground.segments().len(), 1, "bodies of both commits");
    all_readable(&store, project, first, &[1, 2]).await;
    all_readable(&store, project, second, &[3]).await;
    ground.advance(60);
    assert_eq!(sweep(&store).await, Swept::default(), "nothing is left");
}

async fn scans_wait_in_the_database(options: Options) {
    let ground = Ground::new(options);
    let (store, project) = ground.open(|_| {}).await;
    let run = create(&store, &new_run(project, "https://a.example/")).await;
    let leased = lease(&store, "one", run.enqueued_at).await.unwrap();
    let mut scan = page(&leased, 5, text(5).as_bytes()).page;
    scan.run = None;
    let id = store.save_page(scan, None).await.unwrap().unwrap();
    assert!(ground.segments().is_empty());
    ground.advance(600);
    assert_eq!(sweep(&store).await.packed, 1);
    assert_eq!(ground.segments().len(), 1);
    let record = store.page(project, id).await.unwrap().unwrap();
    let blob = record.page.body.unwrap().0;
    assert_eq!(read(&store, project, blob).await.unwrap(), text(5));
}

fn change_middle(file: &Path) {
    let mut bytes = std::fs::read(file).unwrap();
    let last = bytes.len() - 10;
    bytes[last] ^= 1;
    std::fs::write(file, bytes).unwrap();
}

async fn other_bytes_are_an_error_of_their_own_body(options: Options) {
    let ground = Ground::new(options);
    let (store, project) = ground.open(|_| {}).await;
    let first = run(&store, project, &[1, 2]).await;
    let second = run(&store, project, &[3]).await;
    let bodies = bodies_of(&store, project, first).await;
    let segments = ground.segments();
    // The last record of the segment; records are in the order of their hashes.
    change_middle(&segments[0]);
    let mut damaged = 0;
    for (blob, seq) in bodies.iter().zip([1, 2]) {
        match read(&store, project, *blob).await {
            Ok(body) => assert_eq!(body, text(seq)),
            Err(StoreError::Blobs(BlobError::Damaged { .. })) => damaged += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(damaged, 1);
    // Another segment under the name: each record is whole, but not the wanted one.
    std::fs::copy(&segments[1], &segments[0]).unwrap();
    for blob in &bodies {
        let error = read(&store, project, *blob).await.unwrap_err();
        assert!(
            matches!(error, StoreError::Blobs(BlobError::Damaged { .. })),
            "{error}"
        );
        assert!(!error.is_transient());
    }
    std::fs::remove_file(&segments[0]).unwrap();
    for blob in &bodies {
        let error = read(&store, project, *blob).await.unwrap_err();
        assert!(
            matches!(error, StoreError::Blobs(BlobError::Missing(_))),
            "{error}"
        );
    }
    all_readable(&store, project, second, &[3]).await;
}

async fn bodies_read_ahead_are_those_that_are_whole_and_have_room(options: Options) {
    let ground = Ground::new(options);
    let (store, project) = ground.open(|_| {}).await;
    let first = run(&store, project, &[1, 2, 3]).await;
    let second = run(&store, project, &[4]).await;
    let mut pages = pages_of(&store, project, first).await;
    pages.extend(pages_of(&store, project, second).await);
    let ahead = async |project: ProjectId, most: u64| -> Vec<Option<String>> {
        let mut read = store.bodies_ahead(project, &pages, most).await.unwrap();
        let bodies = pages.iter().map(|page| {
            let body = read.remove(page)?;
            Some(String::from_utf8(body.unpack().unwrap()).unwrap())
        });
        bodies.collect()
    };
    let all: Vec<Option<String>> = (1..=4).map(|seq| Some(text(seq))).collect();
    assert_eq!(ahead(project, 1 << 20).await, all);
    assert_eq!(
        ahead(ProjectId(project.0 + 1), 1 << 20).await,
        vec![None; 4]
    );
    // Room for one record, which has some hundred bytes before its body.
    let one = ahead(project, 700).await;
    assert_eq!(one.iter().flatten().count(), 1, "{one:?}");
    assert_eq!(one[0], all[0]);

    let segments = ground.segments();
    change_middle(&segments[0]);
    let rest = ahead(project, 1 << 20).await;
    assert_eq!(rest.iter().flatten().count(), 3, "{rest:?}");
    assert_eq!(rest[3], all[3]);
    std::fs::copy(&segments[1], &segments[0]).unwrap();
    assert_eq!(ahead(project, 1 << 20).await[..3], vec![None; 3]);
    std::fs::remove_file(&segments[0]).unwrap();
    let rest = ahead(project, 1 << 20).await;
    assert_eq!(rest, [None, None, None, Some(text(4))]);
}

async fn bodies_in_the_database_are_read_ahead_too(options: Options) {
    let (store, project) = open(&options).await;
    let run = run(&store, project, &[1, 2, 3]).await;
    let pages = pages_of(&store, project, run).await;
    let ahead = async |project: ProjectId, most: u64| -> Vec<Option<String>> {
        let mut read = store.bodies_ahead(project, &pages, most).await.unwrap();
        let bodies = pages.iter().map(|page| {
            let body = read.remove(page)?;
            Some(String::from_utf8(body.unpack().unwrap()).unwrap())
        });
        bodies.collect()
    };
    let all: Vec<Option<String>> = (1..=3).map(|seq| Some(text(seq))).collect();
    assert_eq!(ahead(project, 1 << 20).await, all);
    assert_eq!(
        ahead(ProjectId(project.0 + 1), 1 << 20).await,
        vec![None; 3]
    );
    let stored = StoredBody::pack(text(1).as_bytes()).bytes.len() as u64;
    let one = ahead(project, stored * 2 - 1).await;
    assert_eq!(one.iter().flatten().count(), 1, "{one:?}");
    assert_eq!(one[0], all[0]);
    assert_eq!(ahead(project, stored - 1).await, vec![None; 3]);
}

async fn bodies_move_to_the_blob_store_and_back(options: Options) {
    let ground = Ground::new(options);
    let (plain, project) = open(&ground.options).await;
    let first = run(&plain, project, &[1, 2, 3]).await;
    assert!(ground.segments().is_empty());
    let store = ground.again(|_| {}).await;
    store.join_blobs().await.unwrap();
    let moved = store.move_to_blobs(0).await.unwrap();
    assert_eq!(moved.bodies, 3);
    assert_eq!(
        store.move_to_blobs(moved.next.unwrap()).await.unwrap().next,
        None
    );
    // Begun again from the start, as after an interruption.
    assert_eq!(store.move_to_blobs(0).await.unwrap().bodies, 0);
    assert_eq!(ground.segments().len(), 1);
    let second = run(&store, project, &[4]).await;
    all_readable(&store, project, first, &[1, 2, 3]).await;
    // Without the setting the service does not start: bodies would be missing.
    let error = plain.join_blobs().await.unwrap_err().to_string();
    assert!(error.contains("ORBWEAVER_BLOBS"), "{error}");

    let back = ground
        .again(|blobs| blobs.new_bodies = NewBodies::Database)
        .await;
    let third = run(&back, project, &[5]).await;
    assert_eq!(
        ground.segments().len(),
        2,
        "the new body is in the database"
    );
    let step = back.move_to_database(0).await.unwrap();
    assert_eq!(step.bodies, 3);
    let step = back.move_to_database(step.next.unwrap()).await.unwrap();
    assert_eq!(step.bodies, 1);
    assert_eq!(
        back.move_to_database(step.next.unwrap())
            .await
            .unwrap()
            .next,
        None
    );
    plain.join_blobs().await.unwrap();
    for (run, seqs) in [(first, &[1, 2, 3][..]), (second, &[4]), (third, &[5])] {
        all_readable(&plain, project, run, seqs).await;
    }
    ground.advance(60);
    sweep(&back).await;
    ground.advance(24 * HOUR + 60);
    assert_eq!(sweep(&back).await.deleted, 2);
    assert!(ground.segments().is_empty());
}

async fn a_store_of_another_database_is_refused(options: Options) {
    let ground = Ground::new(options);
    let (store, project) = ground.open(|_| {}).await;
    run(&store, project, &[1]).await;
    store.join_blobs().await.unwrap();
    // Another database in the same place.
    let (other, _folder) = crate::support::sqlite();
    let other = Options {
        blobs: Some(ground.blobs(|_| {})),
        ..other
    };
    let other = Store::open(&other).await.unwrap();
    // Its id is made of the time and the node, which are the same here.
    let marker = ground.folder.path().join(orbweaver_store::blobs::MARKER);
    std::fs::write(&marker, "another").unwrap();
    let error = other.join_blobs().await.unwrap_err().to_string();
    assert!(error.contains("another database"), "{error}");
    // The same database with an empty place.
    std::fs::remove_file(&marker).unwrap();
    let error = store.join_blobs().await.unwrap_err().to_string();
    assert!(error.contains("lacks the bodies"), "{error}");
}

/// As a file system that is not mounted any more: the folder is there, and empty.
async fn a_folder_that_is_taken_away_gets_no_bodies(options: Options) {
    let ground = Ground::new(options);
    let (store, project) = ground.open(|_| {}).await;
    let first = run(&store, project, &[1]).await;
    let (place, away) = (ground.folder.path(), tempfile::tempdir().unwrap());
    let away = away.path().join("away");
    std::fs::rename(place, &away).unwrap();
    std::fs::create_dir(place).unwrap();
    let row = create(&store, &new_run(project, "https://b.example/")).await;
    let leased = lease(&store, "one", row.enqueued_at).await.unwrap();
    let work = RunBatch {
        pages: vec![page(&leased, 2, text(2).as_bytes())],
        ..batch(&leased)
    };
    let error = store
        .commit_crawl(std::slice::from_ref(&work))
        .await
        .unwrap_err();
    // So the crawl waits.
    assert!(error.is_transient(), "{error}");
    assert!(ground.segments().is_empty());
    let blobs = store.blobs().unwrap();
    let problem = blobs.problem(Duration::from_secs(5)).await.unwrap();
    assert!(problem.contains("is mounted"), "{problem}");
    let refused = store.judge_blobs(blobs).await.unwrap_err().to_string();
    assert!(refused.contains("lacks the bodies"), "{refused}");
    std::fs::remove_dir(place).unwrap();
    std::fs::rename(&away, place).unwrap();
    assert!(store.judge_blobs(blobs).await.unwrap());
    let done = store.commit_crawl(&[work]).await.unwrap();
    assert_eq!(done, [Committed::Written]);
    all_readable(&store, project, first, &[1]).await;
    all_readable(&store, project, leased.lease.run, &[2]).await;
}

/// A batch of a lost lease: its segment is there, and nobody refers to it.
async fn a_lost_commit_leaves_no_reference(options: Options) {
    let ground = Ground::new(options);
    let (store, project) = ground
        .open(|blobs| blobs.keep_deleted = Duration::ZERO)
        .await;
    let row = create(&store, &new_run(project, "https://a.example/")).await;
    let old = lease(&store, "one", row.enqueued_at).await.unwrap();
    let later = row.enqueued_at + TimeDelta::seconds(11);
    lease(&store, "two", later).await.unwrap();
    let work = RunBatch {
        pages: vec![page(&old, 1, text(1).as_bytes())],
        ..batch(&old)
    };
    assert_eq!(
        store.commit_crawl(&[work]).await.unwrap(),
        [Committed::Fenced]
    );
    assert_eq!(ground.segments().len(), 1);
    ground.advance(1);
    assert_eq!(sweep(&store).await.deleted, 1);
    assert!(ground.segments().is_empty());
}
