//! The tables of a document that are open, with the spans of their cells.

use std::collections::BTreeMap;

use super::sink::MAX_OPEN;

/// Most columns of a cell (HTML, 4.9.11).
const MAX_COLUMNS: usize = 1_000;
/// Most rows of a cell (HTML, 4.9.11).
const MAX_ROWS: usize = 65_534;
/// The bytes that [`MAX_ROWS`] take as an attribute.
const SPAN: usize = " rowspan=\"65534\"".len();
/// A cell or row that is repeated more often fills the rest of a sheet: it is written once.
const MAX_REPEATS: usize = 64;

/// How a cell belongs to those above it, where the document says so in each of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Merge {
    #[default]
    None,
    /// Those below may belong to it.
    Begins,
    /// It is a part of the one above.
    Continues,
}

/// A cell.
#[derive(Debug)]
pub(crate) struct Cell {
    pub(crate) columns: usize,
    rows: usize,
    pub(crate) merge: Merge,
    /// How often it is there, one beside the other.
    repeats: usize,
    /// What was written of it: where it begins, and its name.
    written: Option<(usize, &'static str)>,
}

impl Cell {
    /// A cell that takes so many columns and rows, and is there so often.
    pub(crate) fn new(columns: usize, rows: usize, repeats: usize) -> Self {
        Self {
            columns,
            rows,
            merge: Merge::None,
            repeats,
            written: None,
        }
    }
}

/// A row that is open.
#[derive(Debug)]
struct Row {
    /// Where it begins, if it was written.
    written: Option<usize>,
    /// Paragraphs of the document before it.
    paragraphs: usize,
    repeats: usize,
}

/// A cell that those below may belong to.
#[derive(Debug)]
struct Merged {
    /// The last row that it takes.
    row: usize,
    /// Its place in [`Tables::spans`].
    span: usize,
}

#[derive(Debug, Default)]
struct Table {
    written: bool,
    /// Whether cells name the columns.
    head: bool,
    row: Option<Row>,
    rows: usize,
    /// The column at which the next cell begins.
    column: usize,
    cell: Option<Cell>,
    /// By column.
    merged: BTreeMap<usize, Merged>,
}

/// The open tables, from the outermost.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    open: Vec<Table>,
    /// Rows of cells that are merged with those below: the place of the attribute, and the number.
    spans: Vec<(usize, usize)>,
}

impl Tables {
    /// The cell whose start tag is not written yet.
    pub(crate) fn unwritten_cell(&mut self) -> Option<&mut Cell> {
        let cell = self.open.last_mut()?.cell.as_mut()?;
        Some(cell).filter(|cell| cell.written.is_none())
    }

    /// Whether rows of the innermost table name its columns.
    pub(crate) fn set_head(&mut self, head: bool) {
        if let Some(table) = self.open.last_mut() {
            table.head = head;
        }
    }

    /// Bytes that the spans may take which are known only later.
    pub(crate) fn coming(&self) -> usize {
        self.spans.len() * SPAN
    }

    /// Whether a table is open.
    pub(crate) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Begins a table.
    pub(crate) fn begin(&mut self, out: &mut String, room: bool) {
        if self.open.len() >= MAX_OPEN {
            return;
        }
        if room {
            out.push_str("<table>\n");
        }
        self.open.push(Table {
            written: room,
            ..Table::default()
        });
    }

    /// Ends the table.
    pub(crate) fn end(&mut self, out: &mut String) {
        if self.open.pop().is_some_and(|table| table.written) {
            out.push_str("</table>\n");
        }
    }

    /// Begins a row, before which the document has so many paragraphs.
    pub(crate) fn begin_row(
        &mut self,
        repeats: usize,
        paragraphs: usize,
        out: &mut String,
        room: bool,
    ) {
        let Some(table) = self.open.last_mut() else {
            return;
        };
        table.row = Some(Row {
            written: room.then_some(out.len()),
            paragraphs,
            repeats,
        });
        table.rows += 1;
        table.column = 0;
        if room {
            out.push_str("<tr>");
        }
    }

    /// Ends the row. Returns what is to be repeated: from where, and how often.
    pub(crate) fn end_row(
        &mut self,
        paragraphs: usize,
        out: &mut String,
    ) -> Option<(usize, usize)> {
        let row = self.open.last_mut()?.row.take()?;
        let from = row.written?;
        out.push_str("</tr>\n");
        // Rows without text fill a sheet.
        let repeats = row.paragraphs != paragraphs && row.repeats <= MAX_REPEATS;
        repeats.then_some((from, row.repeats))
    }

    /// Leaves out columns at the beginning of a row.
    pub(crate) fn skip_columns(&mut self, columns: usize, out: &mut String, room: bool) {
        let columns = columns.min(MAX_COLUMNS);
        let Some(table) = self.open.last_mut() else {
            return;
        };
        if table.row.is_none() || table.cell.is_some() || table.column > 0 || columns == 0 {
            return;
        }
        table.column = columns;
        if room {
            out.push_str("<td");
            span("colspan", columns, out);
            out.push_str("></td>");
        }
    }

    /// Begins a cell of the row.
    pub(crate) fn begin_cell(&mut self, cell: Cell) {
        if let Some(table) = self.open.last_mut() {
            table.cell = table.row.is_some().then_some(cell);
        }
    }

    /// Writes the start tag of the cell, if it is not written.
    pub(crate) fn write_cell(&mut self, out: &mut String) {
        let Some(table) = self.open.last_mut() else {
            return;
        };
        let (row, column) = (table.rows, table.column);
        let name = if table.head { "th" } else { "td" };
        let Some(cell) = table.cell.as_mut().filter(|cell| cell.written.is_none()) else {
            return;
        };
        cell.written = Some((out.len(), name));
        out.push('<');
        out.push_str(name);
        span("colspan", cell.columns.min(MAX_COLUMNS), out);
        span("rowspan", cell.rows.min(MAX_ROWS), out);
        if cell.merge == Merge::Begins {
            let merged = Merged {
                row,
                span: self.spans.len(),
            };
            table.merged.insert(column, merged);
            self.spans.push((out.len(), 1));
        }
        out.push('>');
    }

    /// Ends the cell. One that belongs to the one above and has nothing of its own is not written.
    /// Returns what is to be repeated: from where, and how often.
    pub(crate) fn end_cell(&mut self, out: &mut String, room: bool) -> Option<(usize, usize)> {
        if self.unwritten_cell().is_some() && !self.extend_above() && room {
            self.write_cell(out);
        }
        let table = self.open.last_mut()?;
        let cell = table.cell.take()?;
        table.column = table
            .column
            .saturating_add(cell.columns.clamp(1, MAX_COLUMNS));
        let (from, name) = cell.written?;
        out.push_str("</");
        out.push_str(name);
        out.push('>');
        (cell.repeats <= MAX_REPEATS).then_some((from, cell.repeats))
    }

    /// Whether the cell belongs to the one above, which then takes this row, too.
    fn extend_above(&mut self) -> bool {
        let Some(table) = self.open.last_mut() else {
            return false;
        };
        let continues = table.cell.as_ref().map(|cell| cell.merge) == Some(Merge::Continues);
        let above = table.merged.get_mut(&table.column);
        // A row between that does not have the cell ends it.
        let Some(above) = above.filter(|above| continues && above.row + 1 == table.rows) else {
            return false;
        };
        let rows = self.spans.get_mut(above.span).map(|(_, rows)| rows);
        let Some(rows) = rows.filter(|rows| **rows < MAX_ROWS) else {
            return false;
        };
        *rows += 1;
        above.row = table.rows;
        true
    }

    /// The HTML with the spans that were known only later.
    pub(crate) fn finish(self, out: String) -> String {
        let mut spans = self.spans.iter().filter(|(_, rows)| *rows > 1).peekable();
        if spans.peek().is_none() {
            return out;
        }
        let mut whole = String::with_capacity(out.len() + out.len() / 16);
        let mut from = 0;
        for (at, rows) in spans {
            whole.push_str(out.get(from..*at).unwrap_or(""));
            span("rowspan", *rows, &mut whole);
            from = *at;
        }
        whole.push_str(out.get(from..).unwrap_or(""));
        whole
    }
}

/// Writes a span of more than one.
fn span(name: &str, count: usize, out: &mut String) {
    if count > 1 {
        crate::html::attribute(name, &count.to_string(), out);
    }
}
