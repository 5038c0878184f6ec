//! Tables. Data becomes a GFM table, written row by row as the walk comes by; a table that
//! only lays out a page is taken apart into blocks.

use orbweaver_content::table::{Align, Shape, colspan, has_content, is_content, is_large, rowspan};
use orbweaver_content::visible::{self, Look};
use orbweaver_sdk::dom::{Node, attr, tag};

use crate::plan::Hidden;
use crate::walk::{Close, Walker};
use crate::writer::{Gap, Mode, Space};

/// Empty cells that are written at the ends of rows, in all tables of a page. GFM does not need
/// them: rows written later stay short, so that many short rows below a wide one do not cost
/// the width of the table each.
const MAX_PADDING: usize = 1_000_000;

/// The data table that is being written.
#[derive(Debug, Default)]
pub(crate) struct Table {
    open: bool,
    /// A row has been written.
    begun: bool,
    in_row: bool,
    shape: Shape,
    /// Rows that cells above still take, by column.
    spans: Vec<u32>,
    /// The element around the last row.
    group: Option<u32>,
    /// The next column of the open row, and the columns and rows of the open cell.
    column: usize,
    cell: (usize, u32),
    /// Empty cells written at the ends of rows so far, of all tables.
    padding: usize,
}

impl<'a> Walker<'a> {
    pub(crate) fn open_table(&mut self, node: Node<'a>, presentation: bool) -> u32 {
        self.w.block();
        if self.w.mode == Mode::Flow && !self.table.open && !presentation {
            if is_source_listing(node) {
                return self.preformatted(node);
            }
            let mut spans = std::mem::take(&mut self.table.spans);
            let shape = Shape::of_laid_out(
                node,
                &mut spans,
                |cell| self.shows(cell),
                |cell| !self.is_hidden_cell(cell),
            );
            spans.clear();
            self.table = Table {
                spans,
                open: shape.is_data(node),
                shape,
                padding: self.table.padding,
                ..Table::default()
            };
            if self.table.open {
                self.push(node, Close::Table);
                return node.id() + 1;
            }
        }
        self.push(node, Close::Block);
        node.id() + 1
    }

    /// Whether a cell is left out since it is hidden. The cells behind it move up into its place,
    /// as they do in a browser.
    fn is_hidden_cell(&self, cell: Node<'a>) -> bool {
        let is_left_out = match self.plan.hidden {
            Hidden::Omit => true,
            Hidden::Show => false,
            Hidden::Planned => self.plan.skips.binary_search(&cell.id()).is_ok(),
        };
        is_left_out && visible::look(cell, cell.tag()) == Look::Hidden
    }

    /// Whether a cell has something to show. Of a large one only the plan is asked.
    fn shows(&self, cell: Node<'a>) -> bool {
        let skips = &self.plan.skips;
        let Some(left) = skips.get(skips.partition_point(|&skip| skip < cell.id())..) else {
            return has_content(cell);
        };
        let inside = left.partition_point(|&skip| skip < cell.end());
        match left.get(..inside).unwrap_or_default() {
            [] => has_content(cell),
            [first, ..] if *first == cell.id() => false,
            skips => is_large(cell) || self.shows_beside(cell, skips),
        }
    }

    /// Whether an element has something to show beside the subtrees of `skips`, which are in it.
    fn shows_beside(&self, node: Node<'a>, skips: &[u32]) -> bool {
        let mut id = node.id() + 1;
        while let Some(below) = self.view.node(id).filter(|below| below.id() < node.end()) {
            if skips.binary_search(&id).is_ok() {
                id = below.end();
            } else if is_content(below) {
                return true;
            } else {
                id += 1;
            }
        }
        false
    }

    pub(crate) fn close_table(&mut self) {
        self.table.open = false;
        self.w.block();
    }

    /// Whether rows and cells that begin here are of the data table.
    pub(crate) fn in_table(&self) -> bool {
        self.table.open && self.w.mode == Mode::Flow
    }

    pub(crate) fn open_row(&mut self, node: Node<'a>) -> u32 {
        if !self.in_table() {
            self.w.block();
            self.push(node, Close::Block);
            return node.id() + 1;
        }
        self.begin_group(node);
        if !has_content(node) {
            self.skip_row();
            return self.pass(node);
        }
        if self.table.begun {
            self.w.next_line();
        } else {
            self.w.gap = self.w.gap.max(Gap::Line);
            self.w.start_block();
            self.table.begun = true;
            if self.table.shape.header != Some(node.id()) {
                self.table.shape.header = None;
                // GFM has no table without a header.
                self.w.out.push('|');
                for _ in 0..self.table.shape.columns {
                    self.w.out.push_str("  |");
                }
                self.delimiter_row();
                self.w.next_line();
            }
        }
        self.w.out.push('|');
        self.table.column = 0;
        self.table.in_row = true;
        self.push(node, Close::Row);
        node.id() + 1
    }

    /// A row or cell that is left out keeps its place: what is below or behind it stays in its
    /// column.
    pub(crate) fn pass_in_table(&mut self, node: Node<'a>) {
        match node.tag() {
            tag::TR if self.in_table() => {
                self.begin_group(node);
                self.skip_row();
            }
            tag::TD | tag::TH
                if self.in_table() && self.table.in_row && !self.is_hidden_cell(node) =>
            {
                self.enter_cell(node);
                self.close_cell();
            }
            _ => {}
        }
    }

    /// No cell reaches out of its group of rows.
    fn begin_group(&mut self, row: Node<'a>) {
        let group = row.parent().map(|group| group.id());
        if std::mem::replace(&mut self.table.group, group) != group {
            self.table.spans.clear();
        }
    }

    /// A row without content takes one from the cells that reach into it.
    fn skip_row(&mut self) {
        for taken in &mut self.table.spans {
            *taken = taken.saturating_sub(1);
        }
    }

    pub(crate) fn close_row(&mut self) {
        self.taken_cells();
        while self.table.column < self.table.shape.columns && self.table.padding < MAX_PADDING {
            self.w.out.push_str("  |");
            self.table.column += 1;
            self.table.padding += 1;
            self.taken_cells();
        }
        let column = self.table.column;
        for taken in self.table.spans.iter_mut().skip(column) {
            *taken = taken.saturating_sub(1);
        }
        self.table.in_row = false;
        // The header is the first row written: nothing but its delimiter may follow.
        if self.table.shape.header.take().is_some() {
            self.delimiter_row();
        }
        self.w.gap = Gap::Line;
        self.w.dirty = true;
    }

    fn delimiter_row(&mut self) {
        self.w.next_line();
        self.w.out.push('|');
        for column in 0..self.table.shape.columns {
            self.w
                .out
                .push_str(match self.table.shape.align.get(column) {
                    None | Some(Align::None) => " --- |",
                    Some(Align::Left) => " :--- |",
                    Some(Align::Center) => " :---: |",
                    Some(Align::Right) => " ---: |",
                });
        }
    }

    /// Empty cells where cells of rows above reach down.
    fn taken_cells(&mut self) {
        while let Some(taken) = self
            .table
            .spans
            .get_mut(self.table.column)
            .filter(|s| **s > 0)
        {
            *taken = taken.saturating_sub(1);
            self.w.out.push_str("  |");
            self.table.column += 1;
        }
    }

    pub(crate) fn open_cell(&mut self, node: Node<'a>) -> u32 {
        if !self.in_table() || !self.table.in_row {
            if self.w.mode == Mode::Flow && visible::is_line_number(node) {
                return self.pass(node);
            }
            self.w.soft_space(Space::Blank);
            self.push(node, Close::Space);
            return node.id() + 1;
        }
        self.enter_cell(node);
        self.push(node, Close::Cell);
        node.id() + 1
    }

    fn enter_cell(&mut self, node: Node<'a>) {
        self.taken_cells();
        self.table.cell = (colspan(node), rowspan(node));
        self.w.out.push(' ');
        self.w.line_start = self.w.out.len();
        self.w.mode = Mode::Cell;
        self.w.gap = Gap::None;
        self.w.space = Space::None;
        self.w.hard_break = false;
    }

    pub(crate) fn close_cell(&mut self) {
        self.w.suspend();
        self.w.out.push_str(" |");
        self.w.mode = Mode::Flow;
        self.w.gap = Gap::None;
        self.w.space = Space::None;
        self.w.bullet.clear();
        let (wide, deep) = self.table.cell;
        let first = self.table.column;
        // Columns beyond the last in which a cell begins are none.
        let last = (first + wide).min(self.table.shape.columns).max(first + 1);
        for _ in first + 1..last {
            self.w.out.push_str("  |");
        }
        if deep > 1 && last <= self.table.shape.columns {
            let spans = &mut self.table.spans;
            spans.resize(spans.len().max(last), 0);
            for taken in spans.iter_mut().skip(first).take(last - first) {
                *taken = deep - 1;
            }
        }
        self.table.column = last;
    }
}

/// Whether a table is the lines of a file, as forges show them.
fn is_source_listing(table: Node<'_>) -> bool {
    let has = |node: Node<'_>, is: fn(&str) -> bool| {
        let classes = node.attr(attr::CLASS).unwrap_or("");
        classes.split_ascii_whitespace().any(is)
    };
    let is_listing = |c: &str| {
        matches!(
            c,
            "js-file-line-container"
                | "diff-table"
                | "highlight"
                | "blob-code-content"
                | "crayon-table"
        )
    };
    let is_box = |c: &str| c == "syntaxhighlighter";
    let in_box = || table.parent().is_some_and(|around| has(around, is_box));
    (has(table, is_listing) || in_box())
        && !table
            .descendants()
            .any(|n| matches!(n.tag(), tag::PRE | tag::TH | tag::TABLE))
}
