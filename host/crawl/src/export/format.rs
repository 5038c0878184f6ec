//! The forms of an export.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The form of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExportFormat {
    /// One JSON object per line and page.
    #[default]
    Ndjson,
    /// A line of column names, then one line per page. Cells that a spreadsheet could take for a
    /// formula begin with an apostrophe.
    Csv,
    /// A Parquet file: a row per page, compressed with zstd.
    Parquet,
    /// One JSON object with `items` and `next_offset`.
    Json,
    /// One Markdown file per page, and `index.csv`.
    Zip,
    /// WARC 1.1, each record compressed with gzip.
    Warc,
    /// WACZ 1.1.1: WARC files with an index and a list of pages, for replay tools.
    Wacz,
}

impl ExportFormat {
    /// The media type of the export.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Ndjson => "application/x-ndjson",
            Self::Csv => "text/csv; charset=utf-8",
            Self::Parquet => "application/vnd.apache.parquet",
            Self::Json => "application/json",
            Self::Zip => "application/zip",
            Self::Warc => "application/gzip",
            Self::Wacz => "application/wacz",
        }
    }

    /// Its name in a request.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ndjson => "ndjson",
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Parquet => "parquet",
            Self::Zip => "zip",
            Self::Warc => "warc",
            Self::Wacz => "wacz",
        }
    }

    /// How the name of its file ends.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Ndjson => "ndjson",
            Self::Csv => "csv",
            Self::Parquet => "parquet",
            Self::Json => "json",
            Self::Zip => "zip",
            Self::Warc => "warc.gz",
            Self::Wacz => "wacz",
        }
    }
}
