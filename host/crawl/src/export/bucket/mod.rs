//! Exports of runs to buckets of their projects: in the background, durable.
//!
//! An export is a row that any worker may lease. An attempt writes the file from the start, in
//! parts that the bucket shows as one object when all are there: a file that is there is whole. The
//! next attempt gives up the upload of one whose process died. Access keys are secrets of the
//! project, opened for an attempt; requests go through the guard like those for any URL that a
//! client gives.

mod attempt;
mod secrets;
pub(crate) mod signals;
mod transport;
mod worker;

pub use secrets::{SecretProblem, open_secret};
pub use signals::BucketExports;
pub use transport::FetchTransport;
pub use worker::run as work;

use orbweaver_blobs::BlobUrl;
use orbweaver_core::ids::{PageId, RunId};
use serde::{Deserialize, Serialize};

use super::{ExportFormat, ExportSpec, Include, UnknownInclude};

/// What is written to a bucket, and where.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BucketRequest {
    /// Bucket and prefix.
    pub to: BlobUrl,
    /// The project's secret that has the id of the access key.
    pub access_key_id: String,
    /// The project's secret that has the access key's secret.
    pub secret_access_key: String,
    /// The project's secret that has the token of a temporary key.
    pub session_token: Option<String>,
    /// The form.
    pub format: ExportFormat,
    /// Fields of each page, as [`Include::parse`] reads them.
    pub include: String,
    /// Whether Markdown is without navigation, footer and sidebars.
    pub main_content: bool,
    /// Only pages with this HTTP status.
    pub status: Option<u16>,
}

impl BucketRequest {
    /// Name of the file below the prefix.
    pub fn name(&self, run: RunId) -> String {
        format!("crawl-{run}.{}", self.format.extension())
    }

    /// The export of all pages.
    ///
    /// # Errors
    /// If `include` has an unknown name.
    pub fn spec(&self) -> Result<ExportSpec, UnknownInclude> {
        Ok(ExportSpec {
            format: self.format,
            include: Include::parse(&self.include)?,
            main_content: self.main_content,
            status: self.status,
            after: PageId(0),
            offset: 0,
            limit: u32::MAX,
        })
    }

    /// Names of the secrets.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        let names = [Some(&self.access_key_id), Some(&self.secret_access_key)];
        let names = names.into_iter().chain([self.session_token.as_ref()]);
        names.flatten().map(String::as_str)
    }
}
