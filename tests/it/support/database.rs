//! Databases of a test's own.

use orbweaver_store::{Options, Store};
use orbweaver_tests::postgres::Postgres;

/// The URL of a new PostgreSQL database, which has the schema and no rows.
pub fn postgres() -> String {
    let copy = Postgres::shared().copy(async |url| {
        Store::open(&Options::url(url)).await?.close().await;
        Ok(())
    });
    copy.expect("a database")
}
