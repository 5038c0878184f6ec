//! The address unit by which requests are limited: one customer of a network provider.

use std::net::{IpAddr, Ipv6Addr};

/// The unit of limits per address: an IPv4 address, or the /64 network of an IPv6 address,
/// since providers give a /64 or more to one customer (RFC 6177). An IPv4 address mapped
/// into IPv6 counts as the IPv4 address.
pub fn customer(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V4(ip) => IpAddr::V4(ip),
        IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() & !u128::from(u64::MAX))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ipv6_addresses_count_by_their_network() {
        for (ip, counted) in [
            ("203.0.113.7", "203.0.113.7"),
            ("::ffff:203.0.113.7", "203.0.113.7"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
            ("2001:db8:1:2:ffff::1", "2001:db8:1:2::"),
        ] {
            assert_eq!(customer(ip.parse().unwrap()).to_string(), counted);
        }
    }
}
