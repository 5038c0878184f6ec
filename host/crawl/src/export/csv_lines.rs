//! Pages as lines of CSV.

use orbweaver_pipeline::ScanError;

use super::cell::inert;
use super::include::Include;
use super::page::ExportedPage;

/// Columns of every list of pages.
pub(super) const COLUMNS: [&str; 5] = ["id", "url", "status", "bytes", "fetched_at"];

/// A line of names, then a line per page.
pub(super) struct CsvLines {
    /// Columns before those of the page.
    first: Vec<&'static str>,
    included: Vec<&'static str>,
    started: bool,
}

impl CsvLines {
    pub(super) fn new(first: &[&'static str], include: &Include) -> Self {
        Self {
            first: first.to_vec(),
            included: include.columns(),
            started: false,
        }
    }

    /// Writes the names, unless they are written.
    pub(super) fn names(&mut self, out: &mut Vec<u8>) -> Result<(), ScanError> {
        if std::mem::replace(&mut self.started, true) {
            return Ok(());
        }
        let names = self.first.iter().chain(&COLUMNS).chain(&self.included);
        record(names.copied(), out)
    }

    pub(super) fn line(
        &mut self,
        first: &[&str],
        page: &ExportedPage,
        out: &mut Vec<u8>,
    ) -> Result<(), ScanError> {
        self.names(out)?;
        let cells = page.cells(&self.included);
        let cells = first
            .iter()
            .copied()
            .chain(cells.iter().map(String::as_str));
        record(cells, out)
    }
}

fn record<'a>(cells: impl Iterator<Item = &'a str>, out: &mut Vec<u8>) -> Result<(), ScanError> {
    let mut lines = csv::Writer::from_writer(out);
    for cell in cells {
        let field = lines.write_field(inert(cell).as_bytes());
        field.map_err(|error| unwritten(&error))?;
    }
    lines
        .write_record(None::<&[u8]>)
        .map_err(|error| unwritten(&error))?;
    lines.flush().map_err(|error| unwritten(&error))
}

/// The error of something that cannot be written.
pub(super) fn unwritten(error: &dyn std::fmt::Display) -> ScanError {
    ScanError::Internal(format!("cannot write an export: {error}"))
}
