//! Random bytes from the operating system. All other code gets them from here.

/// `N` random bytes, fit for keys.
///
/// # Errors
/// When the system has no random source.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that asks the operating system"
)]
pub fn bytes<const N: usize>() -> Result<[u8; N], getrandom::Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

/// A seed for choices that need no secrecy. It is 0 if the system has no random source: such
/// choices are then made in a fixed order.
pub fn seed() -> u64 {
    bytes().map_or(0, u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_bytes_differ() {
        assert_ne!(bytes::<16>().unwrap(), bytes::<16>().unwrap());
        assert_ne!(seed(), seed());
    }
}
