//! Queues a run, with the URLs of its list if it has one.

use tokio::sync::Semaphore;

use super::errors::FailedUrl;
use super::frontier::NewFrontier;
use super::keys::KeyUse;
use crate::db::transact;
use crate::error::StoreError;
use crate::runs::{Created, Lease, NewRun};
use crate::store::Store;

/// URLs above which a list is long: its transaction takes a noticeable time.
const LONG: usize = 4_000;
/// Long lists are written one after the other. SQLite has one writer, which takes what waits in its order: many
/// lists at once would stand before the writes of all other projects.
static LONG_TURN: Semaphore = Semaphore::const_new(1);

impl Store {
    /// As [`queue_run`](Self::queue_run), for a run whose URLs are known: they are in its frontier
    /// from the beginning, and URLs that may not be fetched are among its errors.
    #[crate::boxed]
    pub async fn queue_list(
        &self,
        new: &NewRun,
        cap: Option<u32>,
        most_held: u32,
        urls: &[NewFrontier],
        refused: &[FailedUrl],
    ) -> Result<Created, StoreError> {
        let _turn = match urls.len() + refused.len() > LONG {
            true => LONG_TURN.acquire().await.ok(),
            false => None,
        };
        transact!(self.db, tx => {
            // Without the lock, two requests could both use the last free place.
            sql::projects::lock(tx, new.project).await?;
            if let Some(key) = &new.idem_key {
                let used =
                    sql::crawl_keys::used_for(tx, new.project, key, new.enqueued_at).await?;
                match used {
                    Some(KeyUse::Run(run) | KeyUse::Reused(run)) => {
                        return Ok(Created::Replayed(run));
                    }
                    Some(KeyUse::Monitor(monitor)) => return Ok(Created::Monitor(monitor)),
                    None => {}
                }
            }
            let is_over = match cap {
                Some(cap) => sql::slots::count_active(tx, new.project).await? >= u64::from(cap),
                None => false,
            };
            if is_over && sql::slots::count_held(tx, new.project).await? >= u64::from(most_held) {
                return Ok(Created::CapReached);
            }
            let run = sql::runs::insert(tx, new).await?;
            if is_over {
                sql::slots::hold(tx, run.id).await?;
            }
            if !urls.is_empty() {
                sql::frontier::insert(tx, new.project, run.id, urls).await?;
                let lease = Lease { run: run.id, project: new.project, epoch: 0 };
                sql::run_errors::insert(tx, lease, refused).await?;
                sql::runs::note_list(tx, run.id, urls.len() as u64, refused.len() as u64).await?;
            }
            Ok(Created::New(Box::new(run)))
        })
    }
}
