//! Names to interned names.

use html5ever::LocalName;

/// Slots of the cache; a power of two.
const SLOTS: usize = 256;

/// Remembers names. Interning one of more than seven bytes costs a strong hash, and one that
/// html5ever does not know from the start a lock; a page uses few names very often.
pub(super) struct NameCache {
    slots: Vec<LocalName>,
}

impl Default for NameCache {
    fn default() -> Self {
        Self {
            slots: vec![LocalName::default(); SLOTS],
        }
    }
}

impl NameCache {
    #[inline]
    pub(super) fn intern(&mut self, name: &str) -> LocalName {
        let (Some(first), Some(last)) =
            (name.as_bytes().first_chunk(), name.as_bytes().last_chunk())
        else {
            return LocalName::from(name);
        };
        let mixed = (u64::from_le_bytes(*first) ^ u64::from_le_bytes(*last).rotate_left(17))
            .wrapping_add(name.len() as u64)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        match self.slots.get_mut((mixed >> 48) as usize % SLOTS) {
            Some(slot) if **slot == *name => slot.clone(),
            Some(slot) => {
                *slot = LocalName::from(name);
                slot.clone()
            }
            None => LocalName::from(name),
        }
    }
}
