//! Lists of texts, looked up by their first byte.

/// An index of a list of `N` texts by their first bytes, made when a plugin is compiled.
///
/// ```
/// use orbweaver_dom::text::ByFirstByte;
/// static INDEX: ByFirstByte<3> = ByFirstByte::of(&["by", "from", "below"]);
/// assert_eq!(INDEX.group(b'b').collect::<Vec<_>>(), [0, 2]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ByFirstByte<const N: usize> {
    /// Places in the list, by the first byte of the text there; ascending for each byte.
    places: [u16; N],
    /// Where the group of each byte begins in `places`; the last entry is the end.
    starts: [u16; 257],
}

impl<const N: usize> ByFirstByte<N> {
    /// # Panics
    /// If the list has not `N` texts, more than 65,535 of them, or an empty one.
    pub const fn of(texts: &[&str]) -> Self {
        assert!(texts.len() == N && N <= u16::MAX as usize);
        let mut index = Self {
            places: [0; N],
            starts: [0; 257],
        };
        let mut filled = 0;
        let mut byte = 0;
        while byte < 256 {
            index.starts[byte] = filled as u16;
            let mut place = 0;
            while place < N {
                if texts[place].as_bytes()[0] as usize == byte {
                    index.places[filled] = place as u16;
                    filled += 1;
                }
                place += 1;
            }
            byte += 1;
        }
        index.starts[256] = filled as u16;
        index
    }

    /// The places of the texts that begin with this byte, ascending.
    pub fn group(&self, byte: u8) -> impl Iterator<Item = usize> {
        let at = usize::from(byte);
        let start = |at: usize| self.starts.get(at).map(|start| usize::from(*start));
        let range = start(at).zip(start(at + 1));
        let group = range.and_then(|(from, to)| self.places.get(from..to));
        group
            .unwrap_or_default()
            .iter()
            .map(|place| usize::from(*place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_by_their_first_byte() {
        let index = ByFirstByte::<4>::of(&["b", "a", "bc", "ü"]);
        let group = |byte| index.group(byte).collect::<Vec<_>>();
        assert_eq!(group(b'a'), [1]);
        assert_eq!(group(b'b'), [0, 2]);
        assert_eq!(group(0xc3), [3]);
        assert!(group(b'c').is_empty() && group(0).is_empty() && group(255).is_empty());
    }
}
