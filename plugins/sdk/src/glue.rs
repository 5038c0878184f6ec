//! Connects the exports of a component with the functions of its author.

pub mod hook;

use std::cell::OnceCell;
use std::future::Future;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bindings::host::orbweaver::plugin::{pages, types};
use crate::handle::Handle;
use crate::page::{Cells, CellsRef};
use crate::{Call, Error, Page, input};

thread_local! {
    /// The instance of an extractor or a hook serves one page (guaranteed by the interface), so data
    /// loaded by one call is kept for the next.
    static SHARED: OnceCell<&'static Cells> = const { OnceCell::new() };
}

/// Runs one role of an extractor.
pub fn extract(
    page: &pages::Page,
    role: impl FnOnce(&Page<'_>) -> Result<String, Error>,
) -> Result<String, types::Error> {
    Ok(role(&the_page(page))?)
}

/// The page that this instance serves.
fn the_page(page: &pages::Page) -> Page<'_> {
    // Never freed, and only one is created: the instance ends with its page.
    let cells = SHARED.with(|shared| *shared.get_or_init(|| Box::leak(Box::default())));
    Page::from_host(Handle::Lent(page), CellsRef::Shared(cells))
}

/// Runs an actor.
pub async fn run<I, O, F>(input: &str, run: impl FnOnce(I) -> F) -> Result<String, types::Error>
where
    I: DeserializeOwned,
    O: Serialize,
    F: Future<Output = Result<O, Error>>,
{
    let input = input::read(input, None)?;
    let output = run(input).await?;
    Ok(serde_json::to_string(&output).map_err(Error::from)?)
}

/// Runs a fetcher.
pub async fn fetch<P, O, F>(
    domain: String,
    path: String,
    params: &str,
    fetch: impl FnOnce(Call<P>) -> F,
) -> Result<Vec<String>, types::Error>
where
    P: DeserializeOwned,
    O: Serialize,
    F: Future<Output = Result<Vec<O>, Error>>,
{
    let params = input::read(params, None)?;
    let items = fetch(Call {
        domain,
        path,
        params,
    })
    .await?;
    let items: Result<Vec<_>, _> = items.iter().map(serde_json::to_string).collect();
    Ok(items.map_err(Error::from)?)
}
