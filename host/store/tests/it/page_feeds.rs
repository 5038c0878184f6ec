//! What a run's webhook is told of its pages, also while workers of parts store them.

use chrono::TimeDelta;
use orbweaver_core::ids::{PageId, ProjectId};
use orbweaver_store::crawl::{BatchParts, Ending, LeasedRun, PartLease, RunBatch};
use orbweaver_store::webhook::{AttemptResult, NewAttempt, RunWebhook, TakenDelivery};
use orbweaver_store::{NewUsage, Options, Store};
use sqlx::{Connection as _, PgConnection};

use crate::given::{batch, create, lease, new_run, now, open, page};
use crate::support::{
    on_both_databases, postgres, until_waiting_for, until_waiting_for_any, waiting_for,
};

on_both_databases! {
    a_run_without_a_change_is_suppressed_only_if_no_page_was_sent
}

/// A run whose webhook is told of the pages that are stored, by its own worker or a part's.
struct Fed {
    store: Store,
    run: LeasedRun,
    part: Option<PartLease>,
}

impl Fed {
    async fn new(options: &Options) -> Self {
        let (store, project) = open(options).await;
        let fed = Self::of_run(&store, project).await;
        assert!(store.open_part(fed.run.lease, 0, None).await.unwrap());
        let until = now() + TimeDelta::seconds(60);
        let part = store.lease_part("b", now(), until, &[]).await.unwrap();
        let part = Some(part.unwrap().lease);
        Self { part, ..fed }
    }

    /// Without a part.
    async fn of_run(store: &Store, project: ProjectId) -> Self {
        create(store, &new_run(project, "https://example.org/")).await;
        let run = lease(store, "a", now()).await.unwrap();
        let url = "https://receiver.example/";
        store.open_page_feed(run.lease, url, url).await.unwrap();
        let store = store.clone();
        Self {
            store,
            run,
            part: None,
        }
    }

    /// Ends the run, in which nothing has changed.
    async fn end(&self) {
        let ending = Ending {
            done: true,
            error_message: None,
        };
        let webhook = RunWebhook::Suppressed {
            status: "suppressed_no_change",
            why: None,
        };
        let ended = self
            .store
            .end_run(self.run.lease, &ending, Some(&webhook), now());
        assert!(ended.await.unwrap());
    }

    async fn status(&self) -> Option<String> {
        let lease = self.run.lease;
        let run = self.store.run(lease.project, lease.run).await.unwrap();
        run.unwrap().webhook_status
    }

    /// A page, which is billed.
    fn page(&self, seq: i64) -> RunBatch {
        RunBatch {
            pages: vec![page(&self.run, seq, b"body")],
            parts: BatchParts {
                part: self.part,
                has_parts: self.part.is_some(),
                ..BatchParts::default()
            },
            usage: vec![NewUsage {
                project: self.run.lease.project,
                token: format!("page:{seq}"),
                call: "crawl",
                pages: 1,
                cloud_pages: 0,
                cost_micros: 0,
                at: now(),
                reservation: None,
            }],
            ..batch(&self.run)
        }
    }

    async fn commit(&self, seq: i64) {
        let work = [self.page(seq)];
        self.store.commit_crawl(&work).await.unwrap();
    }

    /// Writes the delivery of pages that wait, if the feed is due.
    async fn send(&self, seconds: i64) {
        let at = now() + TimeDelta::seconds(seconds);
        let message = format!("msg_{seconds}");
        let run = self.run.lease.run;
        self.store.send_pages(run, &message, at).await.unwrap();
    }

    async fn take(&self, seconds: i64) -> Vec<TakenDelivery> {
        let at = now() + TimeDelta::seconds(seconds);
        let due = self.store.due_deliveries(at, &[], &[], 10).await.unwrap();
        let ids: Vec<_> = due.into_iter().map(|due| due.id).collect();
        let until = at + TimeDelta::seconds(60);
        let taken = self.store.take_deliveries(&ids, "node", at, until).await;
        taken.unwrap().deliveries
    }

    async fn settle(&self, taken: &TakenDelivery, seconds: i64) {
        let at = now() + TimeDelta::seconds(seconds);
        let attempt = NewAttempt {
            at,
            status: Some(200),
            latency_ms: 1,
            error: None,
        };
        let settled = self
            .store
            .settle_delivery(taken, &attempt, AttemptResult::Delivered, at);
        assert!(settled.await.unwrap());
    }

    /// Commits a page while something else goes on: it begins when the page is written, and the
    /// commit ends when it has ended, or waits for the commit.
    async fn during_commit(
        &self,
        options: &Options,
        seq: i64,
        something: impl Future<Output = ()>,
    ) {
        let mut other = PgConnection::connect(&options.url).await.unwrap();
        let mut watch = PgConnection::connect(&options.url).await.unwrap();
        // A commit bills its pages last.
        let mut held = other.begin().await.unwrap();
        sqlx::query("LOCK TABLE usage_events IN SHARE MODE")
            .execute(&mut *held)
            .await
            .unwrap();
        let mut commit = std::pin::pin!(self.commit(seq));
        tokio::select! {
            () = &mut commit => panic!("the commit did not wait"),
            () = until_waiting_for(&mut watch, &mut held) => {}
        }
        let blocked = waiting_for(&mut watch, &mut held).await;
        let mut something = std::pin::pin!(something);
        let is_done = tokio::select! {
            () = &mut something => true,
            () = until_waiting_for_any(&mut watch, &blocked) => false,
        };
        held.commit().await.unwrap();
        if is_done {
            commit.await;
        } else {
            tokio::join!(commit, something);
        }
    }

    /// The last page that the next delivery tells of.
    async fn told_next(&self, seconds: i64) -> Option<PageId> {
        self.send(seconds).await;
        let taken = self.take(seconds).await;
        taken.first()?.pages().map(|pages| pages.through)
    }

    async fn last_page(&self, options: &Options) -> PageId {
        let mut other = PgConnection::connect(&options.url).await.unwrap();
        let sql = "SELECT max(id) FROM pages WHERE project_id = $1 AND run_id = $2";
        let last = sqlx::query_scalar(sql)
            .bind(self.run.lease.project.get())
            .bind(self.run.lease.run.get())
            .fetch_one(&mut other)
            .await;
        PageId(last.unwrap())
    }
}

async fn a_run_without_a_change_is_suppressed_only_if_no_page_was_sent(options: Options) {
    let (store, project) = open(&options).await;
    let empty = Fed::of_run(&store, project).await;
    empty.end().await;
    // The feed ends.
    empty.send(2).await;
    assert_eq!(
        empty.status().await.as_deref(),
        Some("suppressed_no_change")
    );

    let fed = Fed::of_run(&store, project).await;
    fed.commit(0).await;
    fed.send(3).await;
    fed.end().await;
    assert_eq!(fed.status().await.as_deref(), Some("pending"));
    let taken = fed.take(3).await;
    fed.settle(&taken[0], 4).await;
    fed.send(5).await;
    assert_eq!(fed.status().await.as_deref(), Some("delivered"));
}

#[tokio::test]
async fn a_page_is_told_that_is_stored_while_the_feed_looks() {
    let options = postgres();
    let fed = Fed::new(&options).await;
    fed.commit(0).await;
    fed.send(2).await;
    let taken = fed.take(2).await;
    // It is due again, with nothing to tell.
    fed.settle(&taken[0], 3).await;
    fed.during_commit(&options, 1, fed.send(3)).await;
    assert_eq!(fed.told_next(9).await, Some(fed.last_page(&options).await));
}

#[tokio::test]
async fn a_page_is_told_that_is_stored_while_a_delivery_ends() {
    let options = postgres();
    let fed = Fed::new(&options).await;
    fed.commit(0).await;
    fed.send(2).await;
    let taken = fed.take(2).await;
    let ends = async {
        fed.settle(&taken[0], 3).await;
        fed.send(3).await;
    };
    fed.during_commit(&options, 1, ends).await;
    let last = fed.last_page(&options).await;
    // The look that waited for the commit has told it, or the next one does.
    assert_eq!(fed.told_next(9).await, Some(last));
}

#[tokio::test]
async fn a_page_does_not_hurry_the_delivery_under_way() {
    let options = postgres();
    let fed = Fed::new(&options).await;
    fed.commit(0).await;
    fed.send(2).await;
    fed.commit(1).await;
    let due = fed.store.due_page_feeds(now() + TimeDelta::hours(1), 10);
    assert_eq!(due.await.unwrap(), []);
    let taken = fed.take(2).await;
    fed.settle(&taken[0], 3).await;
    assert_eq!(fed.told_next(4).await, Some(fed.last_page(&options).await));
}
