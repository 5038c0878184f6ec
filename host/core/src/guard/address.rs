//! Special-purpose address blocks.
//!
//! Source: the IANA IPv4 and IPv6 Special-Purpose Address Registries, refused unless
//! globally reachable as ordinary destinations; multicast and reserved space; and the
//! addresses of cloud platforms' host services. IPv6 is allowed by one block (2000::/3, all
//! that is allocated as global unicast) less its exceptions, so that a block IANA assigns
//! tomorrow is refused until looked at.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A block and what it is for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub net: &'static str,
    pub purpose: &'static str,
}

struct V4 {
    base: u32,
    bits: u32,
    block: Block,
}

struct V6 {
    base: u128,
    bits: u32,
    block: Block,
}

const fn v4(a: u8, b: u8, c: u8, d: u8, bits: u32, net: &'static str, purpose: &'static str) -> V4 {
    V4 {
        base: Ipv4Addr::new(a, b, c, d).to_bits(),
        bits,
        block: Block { net, purpose },
    }
}

const fn v6(segments: [u16; 4], bits: u32, net: &'static str, purpose: &'static str) -> V6 {
    let [a, b, c, d] = segments;
    V6 {
        base: Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).to_bits(),
        bits,
        block: Block { net, purpose },
    }
}

const REFUSED_V4: &[V4] = &[
    v4(0, 0, 0, 0, 8, "0.0.0.0/8", "this network"),
    v4(10, 0, 0, 0, 8, "10.0.0.0/8", "private use"),
    v4(100, 64, 0, 0, 10, "100.64.0.0/10", "carrier-grade NAT"),
    v4(127, 0, 0, 0, 8, "127.0.0.0/8", "loopback"),
    v4(
        168,
        63,
        129,
        16,
        32,
        "168.63.129.16/32",
        "Azure host services",
    ),
    v4(
        169,
        254,
        0,
        0,
        16,
        "169.254.0.0/16",
        "link-local, cloud metadata",
    ),
    v4(172, 16, 0, 0, 12, "172.16.0.0/12", "private use"),
    v4(
        192,
        0,
        0,
        0,
        24,
        "192.0.0.0/24",
        "IETF protocol assignments",
    ),
    v4(192, 0, 2, 0, 24, "192.0.2.0/24", "documentation"),
    v4(192, 31, 196, 0, 24, "192.31.196.0/24", "AS112"),
    v4(192, 52, 193, 0, 24, "192.52.193.0/24", "AMT relays"),
    v4(
        192,
        88,
        99,
        0,
        24,
        "192.88.99.0/24",
        "6to4 relay anycast, deprecated",
    ),
    v4(192, 168, 0, 0, 16, "192.168.0.0/16", "private use"),
    v4(192, 175, 48, 0, 24, "192.175.48.0/24", "AS112"),
    v4(198, 18, 0, 0, 15, "198.18.0.0/15", "benchmarking"),
    v4(198, 51, 100, 0, 24, "198.51.100.0/24", "documentation"),
    v4(203, 0, 113, 0, 24, "203.0.113.0/24", "documentation"),
    v4(224, 0, 0, 0, 4, "224.0.0.0/4", "multicast"),
    v4(240, 0, 0, 0, 4, "240.0.0.0/4", "reserved, broadcast"),
];

/// Exceptions within 2000::/3.
const REFUSED_GLOBAL_V6: &[V6] = &[
    v6([0x2001, 0, 0, 0], 32, "2001::/32", "Teredo"),
    v6(
        [0x2001, 0, 0, 0],
        23,
        "2001::/23",
        "IETF protocol assignments",
    ),
    v6([0x2001, 0xdb8, 0, 0], 32, "2001:db8::/32", "documentation"),
    v6([0x2002, 0, 0, 0], 16, "2002::/16", "6to4"),
    v6([0x2620, 0x4f, 0x8000, 0], 48, "2620:4f:8000::/48", "AS112"),
    v6([0x3fff, 0, 0, 0], 20, "3fff::/20", "documentation"),
];

/// Outside 2000::/3 everything is refused; these only give the reason.
const NAMED_V6: &[V6] = &[
    v6([0x64, 0xff9b, 0, 0], 96, "64:ff9b::/96", "NAT64"),
    v6(
        [0x64, 0xff9b, 1, 0],
        48,
        "64:ff9b:1::/48",
        "NAT64, local use",
    ),
    v6([0x100, 0, 0, 0], 64, "100::/64", "discard only"),
    v6([0x5f00, 0, 0, 0], 16, "5f00::/16", "segment routing"),
    v6([0xfc00, 0, 0, 0], 7, "fc00::/7", "unique local"),
    v6([0xfe80, 0, 0, 0], 10, "fe80::/10", "link-local"),
    v6([0xfec0, 0, 0, 0], 10, "fec0::/10", "site-local, deprecated"),
    v6([0xff00, 0, 0, 0], 8, "ff00::/8", "multicast"),
];

/// The block that keeps `ip` off the public internet; `None` for an ordinary public address.
pub(super) fn special_purpose(ip: IpAddr) -> Option<Block> {
    match ip {
        IpAddr::V4(ip) => {
            let bits = ip.to_bits();
            REFUSED_V4
                .iter()
                .find(|v| (bits ^ v.base) >> (32 - v.bits) == 0)
                .map(|v| v.block)
        }
        IpAddr::V6(ip) => special_purpose_v6(ip),
    }
}

fn special_purpose_v6(ip: Ipv6Addr) -> Option<Block> {
    let bits = ip.to_bits();
    let within = |v: &&V6| (bits ^ v.base) >> (128 - v.bits) == 0;
    if bits >> 125 == 1 {
        return REFUSED_GLOBAL_V6.iter().find(within).map(|v| v.block);
    }
    if let Some(named) = NAMED_V6.iter().find(within) {
        return Some(named.block);
    }
    Some(match bits {
        0 => Block {
            net: "::/128",
            purpose: "unspecified",
        },
        1 => Block {
            net: "::1/128",
            purpose: "loopback",
        },
        _ if bits >> 32 == 0xffff => Block {
            net: "::ffff:0:0/96",
            purpose: "IPv4-mapped",
        },
        _ if bits >> 32 == 0xffff_0000 => Block {
            net: "::ffff:0:0:0/96",
            purpose: "IPv4-translated",
        },
        _ if bits >> 32 == 0 => Block {
            net: "::/96",
            purpose: "IPv4-compatible, deprecated",
        },
        _ => Block {
            net: "outside 2000::/3",
            purpose: "not allocated as global unicast",
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(ip: &str) -> Option<&'static str> {
        special_purpose(ip.parse().unwrap()).map(|block| block.net)
    }

    #[test]
    fn every_block_covers_both_its_edges_and_nothing_beyond() {
        for v in REFUSED_V4 {
            let last = v.base | (u32::MAX.checked_shr(v.bits).unwrap_or(0));
            for edge in [v.base, last] {
                let found = special_purpose(IpAddr::V4(edge.into())).unwrap();
                assert_eq!(found.net, v.block.net);
            }
            assert!(
                v.block
                    .net
                    .parse::<ipnet::Ipv4Net>()
                    .unwrap()
                    .contains(&Ipv4Addr::from(last))
            );
        }
        for v in REFUSED_GLOBAL_V6.iter().chain(NAMED_V6) {
            let net: ipnet::Ipv6Net = v.block.net.parse().unwrap();
            assert_eq!(
                (net.network().to_bits(), u32::from(net.prefix_len())),
                (v.base, v.bits)
            );
            assert!(special_purpose(IpAddr::V6(net.broadcast())).is_some());
        }
    }

    #[test]
    fn forms_that_hide_an_ipv4_address_are_named() {
        assert_eq!(block("::ffff:1.1.1.1"), Some("::ffff:0:0/96"));
        assert_eq!(block("::ffff:0:1.1.1.1"), Some("::ffff:0:0:0/96"));
        assert_eq!(block("::1.1.1.1"), Some("::/96"));
        assert_eq!(block("64:ff9b::1.1.1.1"), Some("64:ff9b::/96"));
        assert_eq!(block("64:ff9b:1:ffff::1"), Some("64:ff9b:1::/48"));
        assert_eq!(block("2002:101:101::1"), Some("2002::/16"));
        assert_eq!(block("2001:0:4136:e378::1"), Some("2001::/32"));
    }

    #[test]
    fn ordinary_addresses_pass() {
        for ip in [
            "1.1.1.1",
            "8.8.8.8",
            "223.255.255.255",
            "168.63.129.15",
            "2606:4700::1111",
            "2a00::1",
            "3ffe::1",
        ] {
            assert_eq!(block(ip), None, "{ip}");
        }
        for ip in ["4000::1", "1fff::1", "fd00:ec2::254", "::2", "e000::1"] {
            assert!(block(ip).is_some(), "{ip}");
        }
    }
}
