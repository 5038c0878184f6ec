//! Estimates the memory that a parse needs, from the source alone.

use super::Limits;

/// Peak bytes per node: its record in the arena, whose vector may double, and in the snapshot.
const NODE_BYTES: u64 = 3 * 32 + 24;
/// Peak bytes per attribute, likewise; it is copied twice on its way.
const ATTR_BYTES: u64 = 3 * 16 + 2 * 16;
/// Copies of the source that are alive at once: one with all line ends alike, the names and values
/// that differ from it, and three while the buffer of all strings grows to its limit.
const COPIES: u64 = 5;
/// Nodes and attributes beyond the estimate, and the bytes that the smallest page takes.
const SLACK: u32 = 4_096;
const FIXED_BYTES: u64 = 64 << 10;

/// What a parse needs at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseNeed {
    /// Bytes at its peak, the source left out.
    pub bytes: u64,
    /// Limits that hold the parse to these bytes. Only trees with more nodes than three for
    /// each `<`, as repeated formatting elements can make them, are cut by them.
    pub limits: Limits,
}

impl ParseNeed {
    /// Of a page; takes time linear in its length, about a millisecond a megabyte.
    pub fn of(html: &str) -> Self {
        let (mut tags, mut attrs) = (0_u32, 0_u32);
        let mut rest = html.as_bytes();
        while let Some(at) = memchr::memchr(b'<', rest) {
            tags = tags.saturating_add(1);
            rest = rest.get(at + 1..).unwrap_or_default();
            let end = memchr::memchr2(b'>', b'<', rest).unwrap_or(rest.len());
            let (tag, after) = rest.split_at(end);
            // Each attribute stands after a blank, a slash or the end of a quoted value.
            let starts = tag.iter().filter(|byte| {
                matches!(
                    byte,
                    b' ' | b'\t' | b'\n' | b'\r' | b'\x0c' | b'/' | b'"' | b'\''
                )
            });
            let starts = u32::try_from(starts.count()).unwrap_or(u32::MAX);
            attrs = attrs.saturating_add(starts);
            rest = after;
        }
        let usual = Limits::default();
        let limits = Limits {
            max_nodes: usual
                .max_nodes
                .min(tags.saturating_mul(3).saturating_add(SLACK)),
            max_attrs: usual.max_attrs.min(attrs.saturating_add(SLACK)),
            max_text: u32::try_from(html.len().saturating_mul(2))
                .unwrap_or(u32::MAX)
                .saturating_add(SLACK),
            ..usual
        };
        let bytes = COPIES.saturating_mul(html.len() as u64)
            + u64::from(limits.max_nodes) * NODE_BYTES
            + u64::from(limits.max_attrs) * ATTR_BYTES
            + FIXED_BYTES;
        Self { bytes, limits }
    }
}
