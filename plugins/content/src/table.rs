//! Tells data tables from tables that only lay out a page.

use orbweaver_sdk::dom::{Node, attr, tag};

/// Columns are counted up to here; more cells than that are still written.
const MAX_COLUMNS: usize = 256;
/// A cell that spans more columns than this means "all of them".
const MAX_COLSPAN: usize = 64;
/// Text of a cell that is longer than this, in bytes, is prose.
const PROSE: usize = 1_000;

/// How a column is aligned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Align {
    /// Not said.
    #[default]
    None,
    /// To the left.
    Left,
    /// In the middle.
    Center,
    /// To the right.
    Right,
}

/// What the rows of a table say of it as a whole.
#[derive(Debug, Default)]
pub struct Shape {
    /// Columns in which some cell begins.
    pub columns: usize,
    /// The id of the row that names the columns.
    pub header: Option<u32>,
    /// Alignment by column; may be shorter than `columns`.
    pub align: Vec<Align>,
    /// Whether the cells with content are all of one column.
    one_column: bool,
    has_th: bool,
    rows: usize,
}

/// The rows of a table, not those of tables in its cells.
pub fn rows<'a>(table: Node<'a>) -> impl Iterator<Item = Node<'a>> {
    table
        .child_elements()
        .flat_map(|part| {
            let group = matches!(part.tag(), tag::TBODY | tag::THEAD | tag::TFOOT);
            let row = Some(part).filter(|p| p.tag() == tag::TR);
            row.into_iter()
                .chain(group.then(|| part.child_elements()).into_iter().flatten())
        })
        .filter(|row| row.tag() == tag::TR)
}

/// The cells of a row.
pub fn cells<'a>(row: Node<'a>) -> impl Iterator<Item = Node<'a>> {
    row.child_elements()
        .filter(|cell| matches!(cell.tag(), tag::TD | tag::TH))
}

/// How many columns or rows a cell takes.
pub fn span(cell: Node<'_>, attribute: u16) -> usize {
    cell.attr(attribute)
        .and_then(|v| v.trim_ascii().parse().ok())
        .unwrap_or(1)
}

/// The columns a cell takes.
pub fn colspan(cell: Node<'_>) -> usize {
    match span(cell, attr::COLSPAN) {
        0 => 1,
        n => n.min(MAX_COLSPAN),
    }
}

/// The rows a cell takes; 0 in HTML means all that follow.
pub fn rowspan(cell: Node<'_>) -> u32 {
    match span(cell, attr::ROWSPAN) {
        0 => u32::MAX,
        n => u32::try_from(n).unwrap_or(u32::MAX),
    }
}

impl Shape {
    /// Reads a table's rows. `spans` is working memory: rows that are still taken, by column.
    /// `shows` tells whether a cell has something to show.
    pub fn of<'a>(table: Node<'a>, spans: &mut Vec<u32>, shows: impl Fn(Node<'a>) -> bool) -> Self {
        Self::of_laid_out(table, spans, shows, |_| true)
    }

    /// Same as [`of`](Self::of), without the cells that are not `laid_out`: these take no place in
    /// their row.
    pub fn of_laid_out<'a>(
        table: Node<'a>,
        spans: &mut Vec<u32>,
        shows: impl Fn(Node<'a>) -> bool,
        laid_out: impl Fn(Node<'a>) -> bool,
    ) -> Self {
        let mut shape = Self::default();
        // Columns of cells with content, as long as they are one.
        let (mut filled, mut several) = (None, false);
        spans.clear();
        let mut group = None;
        for row in rows(table) {
            // No cell reaches out of its group of rows (HTML, 4.9.12.1).
            let own = row.parent().map(|group| group.id());
            if group.replace(own) != Some(own) {
                spans.clear();
            }
            let (mut column, mut count, mut heads, mut empty) = (0, 0, 0, 0);
            for cell in cells(row).filter(|cell| laid_out(*cell)) {
                while let Some(taken) = spans.get_mut(column).filter(|s| **s > 0) {
                    *taken -= 1;
                    column += 1;
                }
                let is_head = cell.tag() == tag::TH;
                let is_empty = !shows(cell);
                count += 1;
                heads += usize::from(is_head);
                empty += usize::from(!is_head && is_empty);
                several |= !is_empty && filled.is_some_and(|filled| filled != column);
                if !is_empty {
                    filled = Some(column);
                }
                shape.columns = shape.columns.max(column + 1);
                if shape.rows < 2 {
                    shape.note_alignment(cell, column);
                }
                let (wide, deep) = (colspan(cell), rowspan(cell));
                if deep > 1 && column + wide <= MAX_COLUMNS {
                    spans.resize(spans.len().max(column + wide), 0);
                    for taken in spans.iter_mut().skip(column).take(wide) {
                        *taken = deep - 1;
                    }
                }
                column += wide;
            }
            for taken in spans.iter_mut().skip(column) {
                *taken = taken.saturating_sub(1);
            }
            if count == 0 || empty == count {
                continue;
            }
            shape.has_th |= heads > 0;
            let in_head = row.parent().is_some_and(|p| p.tag() == tag::THEAD);
            if shape.rows == 0
                && (in_head || (heads > 0 && heads + empty == count) || all_bold(row))
            {
                shape.header = Some(row.id());
            }
            shape.rows += 1;
        }
        shape.columns = shape.columns.min(MAX_COLUMNS);
        shape.one_column = !several;
        shape
    }

    fn note_alignment(&mut self, cell: Node<'_>, column: usize) {
        if column >= MAX_COLUMNS {
            return;
        }
        self.align
            .resize(self.align.len().max(column + 1), Align::None);
        if let Some(align) = self.align.get_mut(column).filter(|a| **a == Align::None) {
            *align = alignment(cell);
        }
    }

    /// Whether the table is to be written as one.
    pub fn is_data(&self, table: Node<'_>) -> bool {
        if self.rows == 0 || self.columns == 0 || self.columns > 1 && self.one_column {
            return false;
        }
        if self.header.is_some() && (self.columns > 1 || self.has_th) {
            return self.columns > 1 || self.rows > 1;
        }
        self.columns > 1 && !holds_blocks(table, self.has_th)
    }
}

fn alignment(cell: Node<'_>) -> Align {
    let of = |value: &str| match value.trim_ascii() {
        v if v.eq_ignore_ascii_case("left") => Align::Left,
        v if v.eq_ignore_ascii_case("center") => Align::Center,
        v if v.eq_ignore_ascii_case("right") => Align::Right,
        _ => Align::None,
    };
    let styled = cell.attr(attr::STYLE).and_then(|style| {
        let mut declarations = style.split(';').filter_map(|d| d.split_once(':'));
        let align =
            declarations.find(|(name, _)| name.trim_ascii().eq_ignore_ascii_case("text-align"));
        align.map(|(_, value)| of(value.split('!').next().unwrap_or(value)))
    });
    styled
        .filter(|a| *a != Align::None)
        .or_else(|| cell.attr(attr::ALIGN).map(of))
        .unwrap_or_default()
}

/// Whether every cell of a row holds bold text and nothing else, as header rows of tables
/// without `<th>` do.
fn all_bold(row: Node<'_>) -> bool {
    let mut any = false;
    for cell in cells(row) {
        let mut inside = cell
            .children()
            .filter(|n| !n.is_text() || !n.text().trim().is_empty());
        match inside.next() {
            None => {}
            Some(only) if matches!(only.tag(), tag::B | tag::STRONG) && inside.next().is_none() => {
                any = true
            }
            Some(_) => return false,
        }
    }
    any
}

/// Whether an element has text or something else to show. A large one is taken to have.
pub fn has_content(node: Node<'_>) -> bool {
    is_large(node) || node.descendants().any(is_content)
}

/// Whether an element is not searched: tables in tables must not be searched again at every level.
pub fn is_large(node: Node<'_>) -> bool {
    node.end() - node.id() > 256
}

/// Whether a node itself is text or something else to show.
pub fn is_content(node: Node<'_>) -> bool {
    match node.tag() {
        tag::IMG | tag::IFRAME | tag::VIDEO | tag::AUDIO | tag::MATH | tag::OBJECT | tag::EMBED => {
            true
        }
        _ => node.is_text() && node.text().chars().any(|c| !c.is_whitespace()),
    }
}

/// Whether the cells hold what no cell of a Markdown table can: other tables, headings,
/// code, prose. With row headers it takes more than a list to be no data.
fn holds_blocks(table: Node<'_>, has_th: bool) -> bool {
    let mut prose = 0;
    for node in table.descendants() {
        match node.tag() {
            tag::TABLE
            | tag::PRE
            | tag::BLOCKQUOTE
            | tag::H1
            | tag::H2
            | tag::H3
            | tag::H4
            | tag::H5
            | tag::H6
            | tag::ARTICLE
            | tag::SECTION
            | tag::MAIN
            | tag::NAV
            | tag::HEADER
            | tag::FOOTER
            | tag::ASIDE
            | tag::FORM
            | tag::IFRAME
            | tag::HR => return true,
            tag::UL | tag::OL | tag::DL if !has_th => return true,
            tag::TD | tag::TH => prose = 0,
            _ if node.is_text() => {
                prose += node.text().trim().len();
                if prose > PROSE && !has_th {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}
