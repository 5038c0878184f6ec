//! Helpers for statements.

use std::borrow::Cow;
use std::collections::BTreeMap;

use sqlx::{Database, Encode, QueryBuilder, Type};

use crate::error::StoreError;

/// Rows per statement. Only a few sizes, so that each statement is prepared once.
const PIECES: [usize; 4] = [64, 16, 4, 1];

/// Splits the rows into as few pieces of these sizes as possible.
pub(crate) fn pieces<T>(rows: &[T]) -> impl Iterator<Item = &[T]> {
    let mut rest = rows;
    std::iter::from_fn(move || {
        let (piece, tail) = PIECES
            .iter()
            .find_map(|size| rest.split_at_checked(*size))?;
        rest = tail;
        Some(piece)
    })
}

/// Ids by their project, in the order of projects: a statement names one project.
pub(crate) fn by_project<T>(rows: impl IntoIterator<Item = (i64, T)>) -> BTreeMap<i64, Vec<T>> {
    let mut projects: BTreeMap<i64, Vec<T>> = BTreeMap::new();
    for (project, row) in rows {
        projects.entry(project).or_default().push(row);
    }
    projects
}

/// A condition that leaves out these ids, to be appended to others; empty without any. Ids are
/// numbers, so they need no parameters.
pub(crate) fn none_of<T: std::fmt::Display>(column: &str, ids: &[T]) -> String {
    if ids.is_empty() {
        return String::new();
    }
    let ids: Vec<String> = ids.iter().map(T::to_string).collect();
    format!(" AND {column} NOT IN ({})", ids.join(", "))
}

/// Adds values in parentheses, each a parameter: what stands behind `IN`.
pub(crate) fn push_list<'t, DB, T>(
    statement: &mut QueryBuilder<DB>,
    values: impl IntoIterator<Item = T>,
) -> &mut QueryBuilder<DB>
where
    DB: Database,
    T: Encode<'t, DB> + Type<DB>,
{
    statement.push("(");
    let mut list = statement.separated(", ");
    for value in values {
        list.push_bind(value);
    }
    statement.push(")")
}

/// Text of sites, plugins and other strangers as both databases store it: PostgreSQL refuses NUL.
pub(crate) fn storable(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        Cow::Owned(text.replace('\0', ""))
    } else {
        Cow::Borrowed(text)
    }
}

/// A count or length as stored in the database, limited to `i64::MAX`.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Converts a number from a column.
///
/// # Errors
/// [`StoreError::Damaged`], naming the field, if it does not fit.
pub(crate) fn number<T: TryFrom<i64>>(value: i64, field: &str) -> Result<T, StoreError> {
    T::try_from(value).map_err(|_| StoreError::Damaged(format!("{field}: {value}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_cut_into_the_largest_pieces() {
        let rows: Vec<usize> = (0..149).collect();
        let sizes: Vec<usize> = pieces(&rows).map(<[usize]>::len).collect();
        assert_eq!(sizes, [64, 64, 16, 4, 1]);
        assert_eq!(pieces(&rows).flatten().copied().collect::<Vec<_>>(), rows);
        assert_eq!(pieces::<u8>(&[]).count(), 0);
    }

    #[test]
    fn a_list_has_a_parameter_for_each_value() {
        let mut select = QueryBuilder::<sqlx::Postgres>::new("SELECT 1 WHERE 1 IN ");
        push_list(&mut select, [1_i64, 2]).push(" LIMIT 1");
        assert_eq!(select.into_string(), "SELECT 1 WHERE 1 IN ($1, $2) LIMIT 1");
    }

    #[test]
    fn text_is_stored_without_nul() {
        assert_eq!(storable("as it is"), "as it is");
        assert_eq!(storable("\0a\0\0b\0"), "ab");
    }
}
