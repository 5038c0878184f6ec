//! Pages as a Parquet file.
//!
//! Parquet stores a group of rows column by column, so that rows wait in memory until their group
//! is written. A group ends at a number of bytes, not of rows: its memory does not depend on the
//! size of the pages, except for that of the last one.

mod column;

use std::sync::Arc;

use orbweaver_pipeline::ScanError;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;

use self::column::{Column, columns};
use super::csv_lines::unwritten;
use super::include::Include;
use super::page::ExportedPage;
use super::zip_file::Written;

/// Bytes of values after which a group of rows is written.
const GROUP_BYTES: usize = 8 << 20;
/// Bytes of values after which a page of a column is compressed.
const PAGE_BYTES: usize = 256 << 10;
/// Values that are encoded before the size of the column's page is looked at. A value may be the
/// whole content of a page.
const BATCH: usize = 16;

/// A Parquet file, written without going back in it.
pub(super) struct ParquetFile {
    columns: Vec<Column>,
    /// Bytes of the values in `columns`.
    bytes: usize,
    writer: SerializedFileWriter<Written>,
    written: Written,
}

impl ParquetFile {
    pub(super) fn new(include: &Include) -> Result<Self, ScanError> {
        Self::start(include).map_err(|error| unwritten(&error))
    }

    fn start(include: &Include) -> Result<Self, ParquetError> {
        let mut columns = columns(include);
        let fields: String = columns.iter().map(Column::schema).collect();
        let schema = parse_message_type(&format!("message page {{ {fields} }}"))?;
        let written = Written::default();
        let writer = SerializedFileWriter::new(
            written.clone(),
            Arc::new(schema),
            Arc::new(properties(&columns)),
        )?;
        // The writer's order of leaves is that of the schema, and so of the columns.
        let leaves = columns.iter_mut().flat_map(Column::leaves);
        for (leaf, described) in leaves.zip(writer.schema_descr().columns()) {
            leaf.describe(described);
        }
        Ok(Self {
            columns,
            bytes: 0,
            writer,
            written,
        })
    }

    /// Whether the next page writes a group of rows first.
    pub(super) const fn is_full(&self) -> bool {
        self.bytes >= GROUP_BYTES
    }

    pub(super) fn page(&mut self, page: &ExportedPage, out: &mut Vec<u8>) -> Result<(), ScanError> {
        if self.is_full() {
            self.group().map_err(|error| unwritten(&error))?;
        }
        for column in &mut self.columns {
            self.bytes += column.push(page);
        }
        out.append(&mut self.written.take());
        Ok(())
    }

    pub(super) fn end(mut self, out: &mut Vec<u8>) -> Result<(), ScanError> {
        let ended = match self.bytes {
            0 => Ok(()),
            _ => self.group(),
        };
        ended
            .and_then(|()| self.writer.finish())
            .map_err(|error| unwritten(&error))?;
        out.append(&mut self.written.take());
        Ok(())
    }

    /// Writes the rows in memory as a group.
    fn group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for leaf in self.columns.iter_mut().flat_map(Column::leaves) {
            let Some(mut column) = group.next_column()? else {
                return Err(ParquetError::General("a column is missing".to_owned()));
            };
            leaf.write(&mut column)?;
            column.close()?;
        }
        group.close()?;
        self.bytes = 0;
        Ok(())
    }
}

fn properties(columns: &[Column]) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("orbweaver ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_data_page_size_limit(PAGE_BYTES)
        .set_write_batch_size(BATCH)
        .set_key_value_metadata(Some(vec![KeyValue::new(
            "content".to_owned(),
            "pages of a crawl".to_owned(),
        )]));
    for column in columns {
        let path = ColumnPath::from(column.name());
        if column.has_few_values() {
            properties = properties.set_column_dictionary_enabled(path, true);
        } else if column.is_content() {
            // The least and the greatest document say nothing to a reader.
            properties = properties.set_column_statistics_enabled(path, EnabledStatistics::None);
        }
    }
    properties.build()
}
