//! Blocklists: hosts that are never fetched from, such as malicious domains.

use std::collections::HashSet;
use std::net::IpAddr;

use super::refusal::{Host, Refusal, Rule};
use crate::key_hash::key_hash;

/// Names of the local machine in hosts files.
const OWN_NAMES: &[&str] = &["localhost.localdomain", "0.0.0.0"];

/// A set of hosts; a name includes its subdomains.
///
/// Stored as 64-bit hashes, because public lists have a million names. In a list of that size,
/// the probability of two names with the same hash is one in forty million.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostList(HashSet<u64>);

impl HostList {
    /// Adds the entries of a list, one per line: a name or an address (`bad.example`), or a
    /// line of a hosts file (`0.0.0.0 bad.example worse.example`). A `#` starts a comment, and
    /// so does a `!` at the start of a line. Other lines are ignored, also URLs: a URL names one
    /// page, not its whole host.
    pub fn add(&mut self, list: &str) {
        for line in list.trim_start_matches('\u{feff}').lines() {
            let line = line.split('#').next().unwrap_or("").trim();
            if line.starts_with('!') {
                continue;
            }
            let mut words = line.split_ascii_whitespace();
            let Some(first) = words.next() else { continue };
            let mut names = words.peekable();
            if names.peek().is_none() {
                self.insert(first.trim_start_matches("*."));
            } else if first.parse::<IpAddr>().is_ok() {
                // Names of one label are the machine's own names there: localhost, broadcasthost.
                for name in names.filter(|name| name.contains('.') && !OWN_NAMES.contains(name)) {
                    self.insert(name);
                }
            }
        }
    }

    /// Adds the entries of another list.
    pub fn extend(&mut self, other: &Self) {
        self.0.extend(&other.0);
    }

    /// The number of listed hosts.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no host is listed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entry that matches `host` or a parent domain of it.
    pub fn find(&self, host: &Host) -> Option<String> {
        if self.0.is_empty() {
            return None;
        }
        match host {
            Host::Ip(ip) => {
                let text = ip.to_string();
                self.0.contains(&key_hash(&text)).then_some(text)
            }
            Host::Name(name) => {
                let mut rest = name.as_str();
                loop {
                    if self.0.contains(&key_hash(rest)) {
                        return Some(rest.to_owned());
                    }
                    rest = rest.split_once('.')?.1;
                }
            }
        }
    }

    /// Checks a host, or an address that a name resolves to.
    ///
    /// # Errors
    /// [`Rule::Listed`], naming the entry.
    pub fn judge(&self, host: &Host) -> Result<(), Refusal> {
        match self.find(host) {
            None => Ok(()),
            Some(entry) => Err(Refusal::new(
                Rule::Listed,
                format!("{entry} is on the blocklist of malicious domains"),
            )),
        }
    }

    fn insert(&mut self, entry: &str) {
        let entry = entry.trim_end_matches('.').trim_start_matches('.');
        if let Ok(ip) = entry.trim_matches(['[', ']']).parse::<IpAddr>() {
            self.0.insert(key_hash(&ip.to_string()));
            return;
        }
        if entry.is_empty() || entry.contains(['/', ':', '@', '^', '|', '*']) {
            return;
        }
        // In the form that URLs use: lower case, punycode.
        if let Ok(url::Host::Domain(name)) = url::Host::parse(entry) {
            self.0.insert(key_hash(&name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> Host {
        Host::Name(name.to_owned())
    }

    #[test]
    fn both_list_formats_are_parsed_and_comments_ignored() {
        let mut list = HostList::default();
        list.add(
            "\u{feff}# a list\n! another comment\n\n\
             Bad.Example   # with a remark\n\
             *.wild.example\nb\u{fc}cher.example\n203.0.113.9\n\
             0.0.0.0 hosts.example second.example # third.example\n\
             127.0.0.1 localhost\n127.0.0.1 localhost.localdomain\n::1 ip6-localhost\n\
             0.0.0.0 0.0.0.0\n\
             https://innocent.example/path\n||adblock.example^\n",
        );
        for listed in [
            "bad.example",
            "wild.example",
            "xn--bcher-kva.example",
            "hosts.example",
            "second.example",
        ] {
            assert_eq!(list.find(&name(listed)).as_deref(), Some(listed));
        }
        for free in [
            "third.example",
            "innocent.example",
            "adblock.example",
            "localhost",
            "localhost.localdomain",
            "example",
        ] {
            assert_eq!(list.find(&name(free)), None, "{free}");
        }
        let ip = Host::Ip("203.0.113.9".parse().unwrap());
        assert!(list.find(&ip).is_some());
        assert_eq!(list.len(), 6);
    }

    #[test]
    fn a_name_includes_its_subdomains_by_whole_labels() {
        let mut list = HostList::default();
        list.add("bad.example");
        assert_eq!(
            list.find(&name("a.b.bad.example")).as_deref(),
            Some("bad.example")
        );
        assert_eq!(list.find(&name("notbad.example")), None);
        assert_eq!(list.find(&name("bad.example.org")), None);
    }
}
