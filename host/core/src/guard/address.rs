//! Special-purpose address blocks.
//!
//! Sources: the IANA IPv4 and IPv6 Special-Purpose Address Registries, of which every block is
//! refused that is not globally reachable in the ordinary way; the IANA multicast and IPv4
//! address space registries; and the addresses of cloud platforms' host services. For IPv6 one
//! block is allowed (2000::/3, all global unicast addresses) except for the listed blocks, so a
//! block that IANA assigns later is refused until it is reviewed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// A refused address block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub net: IpNet,
    /// The block's name in its registry, with the document that reserves it.
    pub name: &'static str,
}

const fn v4(octets: [u8; 4], prefix: u8, name: &'static str) -> Block {
    let [a, b, c, d] = octets;
    Block {
        net: IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)),
        name,
    }
}

const fn v6(segments: [u16; 8], prefix: u8, name: &'static str) -> Block {
    let [a, b, c, d, e, f, g, h] = segments;
    Block {
        net: IpNet::V6(Ipv6Net::new_assert(
            Ipv6Addr::new(a, b, c, d, e, f, g, h),
            prefix,
        )),
        name,
    }
}

/// From the IANA IPv4 Special-Purpose Address Registry unless the entry says otherwise.
const REFUSED_V4: &[Block] = &[
    v4([0, 0, 0, 0], 8, "\"This network\", RFC 791"),
    v4([10, 0, 0, 0], 8, "Private-Use, RFC 1918"),
    v4([100, 64, 0, 0], 10, "Shared Address Space, RFC 6598"),
    v4([127, 0, 0, 0], 8, "Loopback, RFC 1122"),
    // Not in a registry: the platform's DNS, DHCP and health probe address.
    v4([168, 63, 129, 16], 32, "Azure host services"),
    // Contains 169.254.169.254, the metadata service of cloud platforms.
    v4([169, 254, 0, 0], 16, "Link Local, RFC 3927"),
    v4([172, 16, 0, 0], 12, "Private-Use, RFC 1918"),
    v4([192, 0, 0, 0], 24, "IETF Protocol Assignments, RFC 6890"),
    v4([192, 0, 2, 0], 24, "Documentation (TEST-NET-1), RFC 5737"),
    v4([192, 31, 196, 0], 24, "AS112-v4, RFC 7535"),
    v4([192, 52, 193, 0], 24, "AMT, RFC 7450"),
    v4(
        [192, 88, 99, 0],
        24,
        "Deprecated (6to4 Relay Anycast), RFC 7526",
    ),
    v4([192, 168, 0, 0], 16, "Private-Use, RFC 1918"),
    v4(
        [192, 175, 48, 0],
        24,
        "Direct Delegation AS112 Service, RFC 7534",
    ),
    v4([198, 18, 0, 0], 15, "Benchmarking, RFC 2544"),
    v4(
        [198, 51, 100, 0],
        24,
        "Documentation (TEST-NET-2), RFC 5737",
    ),
    v4([203, 0, 113, 0], 24, "Documentation (TEST-NET-3), RFC 5737"),
    // IANA IPv4 Multicast Address Space Registry.
    v4([224, 0, 0, 0], 4, "Multicast, RFC 5771"),
    // Contains 255.255.255.255, Limited Broadcast, RFC 8190.
    v4([240, 0, 0, 0], 4, "Reserved, RFC 1112"),
];

/// Global unicast, RFC 4291: the only IPv6 addresses that are allowed at all.
const GLOBAL_V6: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Exceptions within [`GLOBAL_V6`]: IANA IPv6 Special-Purpose Address Registry.
const REFUSED_GLOBAL_V6: &[Block] = &[
    v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32, "TEREDO, RFC 4380"),
    v6(
        [0x2001, 0, 0, 0, 0, 0, 0, 0],
        23,
        "IETF Protocol Assignments, RFC 2928",
    ),
    v6(
        [0x2001, 0xdb8, 0, 0, 0, 0, 0, 0],
        32,
        "Documentation, RFC 3849",
    ),
    v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16, "6to4, RFC 3056"),
    v6(
        [0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0],
        48,
        "Direct Delegation AS112 Service, RFC 7534",
    ),
    v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, "Documentation, RFC 9637"),
];

/// Names of blocks outside [`GLOBAL_V6`], for messages; narrower blocks first.
const NAMED_V6: &[Block] = &[
    v6(
        [0, 0, 0, 0, 0, 0, 0, 0],
        128,
        "Unspecified Address, RFC 4291",
    ),
    v6([0, 0, 0, 0, 0, 0, 0, 1], 128, "Loopback Address, RFC 4291"),
    v6(
        [0, 0, 0, 0, 0, 0xffff, 0, 0],
        96,
        "IPv4-mapped Address, RFC 4291",
    ),
    v6(
        [0, 0, 0, 0, 0xffff, 0, 0, 0],
        96,
        "IPv4-translated, RFC 2765",
    ),
    v6(
        [0, 0, 0, 0, 0, 0, 0, 0],
        96,
        "IPv4-compatible, deprecated by RFC 4291",
    ),
    v6(
        [0x64, 0xff9b, 0, 0, 0, 0, 0, 0],
        96,
        "IPv4-IPv6 Translation, RFC 6052",
    ),
    v6(
        [0x64, 0xff9b, 1, 0, 0, 0, 0, 0],
        48,
        "IPv4-IPv6 Translation, RFC 8215",
    ),
    v6(
        [0x100, 0, 0, 0, 0, 0, 0, 0],
        64,
        "Discard-Only Address Block, RFC 6666",
    ),
    v6(
        [0x5f00, 0, 0, 0, 0, 0, 0, 0],
        16,
        "Segment Routing (SRv6) SIDs, RFC 9602",
    ),
    v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7, "Unique-Local, RFC 4193"),
    v6(
        [0xfe80, 0, 0, 0, 0, 0, 0, 0],
        10,
        "Link-Local Unicast, RFC 4291",
    ),
    v6(
        [0xfec0, 0, 0, 0, 0, 0, 0, 0],
        10,
        "Site-Local, deprecated by RFC 3879",
    ),
    v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8, "Multicast, RFC 4291"),
    v6(
        [0, 0, 0, 0, 0, 0, 0, 0],
        0,
        "outside Global Unicast (2000::/3), RFC 4291",
    ),
];

/// The refused block that contains `ip`; `None` for an ordinary public address.
pub(super) fn special_purpose(ip: IpAddr) -> Option<Block> {
    let blocks = match ip {
        IpAddr::V4(_) => REFUSED_V4,
        IpAddr::V6(ip) if GLOBAL_V6.contains(&ip) => REFUSED_GLOBAL_V6,
        IpAddr::V6(_) => NAMED_V6,
    };
    blocks.iter().find(|block| block.net.contains(&ip)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(ip: &str) -> Option<String> {
        special_purpose(ip.parse().unwrap()).map(|block| block.net.to_string())
    }

    #[test]
    fn every_block_covers_both_its_edges_and_is_written_with_its_first_address() {
        let global = REFUSED_GLOBAL_V6.iter().chain(NAMED_V6);
        for Block { net, .. } in REFUSED_V4.iter().chain(global) {
            assert_eq!(net.addr(), net.network(), "{net} has host bits");
            for edge in [net.network(), net.broadcast()] {
                let found = special_purpose(edge).unwrap();
                assert!(net.contains(&found.net), "{net}");
            }
        }
        for block in REFUSED_GLOBAL_V6 {
            assert!(IpNet::V6(GLOBAL_V6).contains(&block.net), "{}", block.net);
        }
    }

    #[test]
    fn ipv4_addresses_next_to_a_block_pass() {
        for (inside, outside) in [
            ("0.255.255.255", "1.0.0.0"),
            ("10.255.255.255", "11.0.0.0"),
            ("100.64.0.0", "100.63.255.255"),
            ("100.127.255.255", "100.128.0.0"),
            ("127.0.0.0", "126.255.255.255"),
            ("168.63.129.16", "168.63.129.17"),
            ("169.254.0.0", "169.253.255.255"),
            ("172.31.255.255", "172.32.0.0"),
            ("192.0.0.255", "192.0.1.0"),
            ("192.168.0.0", "192.167.255.255"),
            ("198.19.255.255", "198.20.0.0"),
            ("224.0.0.0", "223.255.255.255"),
        ] {
            assert!(block(inside).is_some(), "{inside}");
            assert_eq!(block(outside), None, "{outside}");
        }
    }

    #[test]
    fn ipv6_forms_of_ipv4_addresses_are_refused() {
        for (ip, net) in [
            ("::ffff:1.1.1.1", "::ffff:0.0.0.0/96"),
            ("::ffff:0:1.1.1.1", "::ffff:0:0:0/96"),
            ("::1.1.1.1", "::/96"),
            ("64:ff9b::1.1.1.1", "64:ff9b::/96"),
            ("64:ff9b:1:ffff::1", "64:ff9b:1::/48"),
            ("2002:101:101::1", "2002::/16"),
            ("2001:0:4136:e378::1", "2001::/32"),
        ] {
            assert_eq!(block(ip).as_deref(), Some(net), "{ip}");
        }
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
