//! Tables that are printed and shown in the report.

use std::fmt::Write as _;

/// A titled table of text cells.
#[derive(Clone, Debug)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Column heads.
    pub head: Vec<String>,
    /// Cells by row; each row has as many as the head.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table.
    pub fn new(title: impl Into<String>, head: &[&str]) -> Self {
        Self {
            title: title.into(),
            head: head.iter().map(|cell| (*cell).to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; surplus cells are cut, missing ones are empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let mut row: Vec<String> = cells.into_iter().take(self.head.len()).collect();
        row.resize(self.head.len(), String::new());
        self.rows.push(row);
    }

    /// The table for a terminal: first column to the left, the others to the right. Long cells
    /// are cut.
    pub fn text(&self) -> String {
        let cut =
            |row: &Vec<String>| -> Vec<String> { row.iter().map(|cell| shortened(cell)).collect() };
        let rows: Vec<Vec<String>> = std::iter::once(&self.head)
            .chain(&self.rows)
            .map(cut)
            .collect();
        let widths: Vec<usize> = (0..self.head.len())
            .map(|column| {
                let cells = rows.iter();
                cells
                    .filter_map(|row| row.get(column))
                    .map(|cell| cell.chars().count())
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let mut out = format!("\n{}\n", self.title);
        for row in &rows {
            for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                // Writing to a String does not fail.
                let _ = if column == 0 {
                    write!(out, "{cell:width$}")
                } else {
                    write!(out, "  {cell:>width$}")
                };
            }
            out.truncate(out.trim_end().len());
            out.push('\n');
        }
        out
    }

    /// Prints it.
    pub fn print(&self) {
        print!("{}", self.text());
    }
}

/// The first characters of a cell.
fn shortened(cell: &str) -> String {
    const MAX_CHARS: usize = 72;
    match cell.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", cell.get(..end).unwrap_or(cell)),
        None => cell.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new("T", &["a", "b"]);
        table.row(["long".to_owned(), "1".to_owned()]);
        table.row(["é".to_owned()]);
        assert_eq!(table.text(), "\nT\na     b\nlong  1\né\n");
        table.row(["é".repeat(80)]);
        assert!(table.text().ends_with("é…\n"), "a long cell is cut");
    }
}
