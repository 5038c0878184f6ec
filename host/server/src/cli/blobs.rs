//! `orbweaver blobs`.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use orbweaver_accounts::clock::Clock;
use orbweaver_store::blobs::NewBodies;
use orbweaver_store::{Moved, Store};

use super::Common;
use super::out::out;
use crate::blobs;

/// Commands on the bodies of pages.
#[derive(Subcommand)]
pub(super) enum BlobsCommand {
    /// Move all bodies of pages to the blob store that `--blobs` names, or from there into the
    /// database.
    Move(Move),
}

/// Move all bodies of pages, while the service runs. A move that was interrupted is continued by
/// starting it again.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    orbweaver blobs move --to store --blobs s3://bodies/pages?region=eu-central-1\n  \
    ORBWEAVER_BLOB_STORE__NEW_BODIES=database orbweaver blobs move --to database --blobs file:///srv/bodies")]
pub(super) struct Move {
    /// Where to: `store` or `database`.
    #[arg(long, value_name = "PLACE")]
    to: NewBodies,
}

impl BlobsCommand {
    pub(super) async fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        match self {
            Self::Move(command) => command.run(common).await,
        }
    }
}

impl Move {
    async fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        let config = common.load()?.config;
        if config.blobs.is_none() {
            anyhow::bail!("--blobs (ORBWEAVER_BLOBS) must name the blob store, in both directions");
        }
        if self.to != config.blob_store.new_bodies {
            anyhow::bail!(
                "blob_store.new_bodies (ORBWEAVER_BLOB_STORE__NEW_BODIES) must be `{}`, here and on \
                 every node; otherwise new bodies are still written to the other place",
                match self.to {
                    NewBodies::Store => "store",
                    NewBodies::Database => "database",
                }
            );
        }
        config.create_data_dir()?;
        let store = blobs::open_store(&config, &Clock::system()).await?;
        store.join_blobs().await?;
        let moved = move_all(&store, self.to).await;
        store.close().await;
        let (bodies, bytes, lost) = moved?;
        out!("moved {bodies} bodies, {bytes} bytes")?;
        if lost > 0 {
            eprintln!(
                "orbweaver: {lost} bodies stay in the blob store, which has lost or damaged them: give it \
                 its objects back, or delete the crawls and scans that they belong to"
            );
            return Ok(ExitCode::FAILURE);
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Numbers of the bodies that were moved, of their bytes, and of the bodies that are lost.
async fn move_all(store: &Store, to: NewBodies) -> anyhow::Result<(u64, u64, u64)> {
    let (mut bodies, mut bytes, mut lost) = (0, 0, 0);
    let mut after = 0;
    loop {
        let step: Moved = match to {
            NewBodies::Store => store.move_to_blobs(after).await?,
            NewBodies::Database => store.move_to_database(after).await?,
        };
        bodies += step.bodies;
        bytes += step.bytes;
        lost += step.lost;
        if let Some(problem) = step.problem {
            eprintln!("orbweaver: {} bodies are not moved: {problem}", step.lost);
        }
        match step.next {
            None => return Ok((bodies, bytes, lost)),
            Some(next) => after = next,
        }
        eprintln!("{bodies} bodies, {} MiB", bytes >> 20);
    }
}
