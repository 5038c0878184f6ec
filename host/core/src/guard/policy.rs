//! Rules for URLs, names and addresses.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use url::Url;

use super::host_list::HostList;
use super::refusal::{Host, Refusal, Rule};
use super::strict::parse_strict;
use super::{address, names, ports, strict};

/// The networks that the operator allows besides the public internet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// Networks that are allowed although they are special-purpose. A mapped or translated IPv6
    /// form of an IPv4 network in this list is not included.
    pub allow_nets: Vec<IpNet>,
}

/// A URL that passed the guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The parsed URL, which is fetched.
    pub url: Url,
    /// Its host.
    pub host: Host,
    /// Its port; the default is the scheme's own.
    pub port: u16,
}

impl Target {
    /// Checks the host against the blocklist; returns the target if it is not listed.
    ///
    /// # Errors
    /// [`Rule::Listed`], naming the entry.
    pub fn unless_listed(self, blocklist: &HostList) -> Result<Self, Refusal> {
        blocklist.judge(&self.host)?;
        Ok(self)
    }
}

impl Policy {
    /// Allows only the public internet.
    pub const fn public() -> Self {
        Self {
            allow_nets: Vec::new(),
        }
    }

    /// Allows the public internet and these networks.
    pub const fn with_nets(allow_nets: Vec<IpNet>) -> Self {
        Self { allow_nets }
    }

    /// Judges an absolute URL as a caller wrote it, parsed by [`parse_strict`]: IPv4 may have
    /// any notation, and spaces around the URL are removed.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn judge_url(&self, url: &str) -> Result<Target, Refusal> {
        self.judge(parse_strict(url)?)
    }

    /// Same as [`judge_url`](Self::judge_url), for a parsed URL.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn judge(&self, url: Url) -> Result<Target, Refusal> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Refusal::new(
                Rule::Scheme,
                format!("only http and https are fetched, not {}", url.scheme()),
            ));
        }
        strict::check_length(url.as_str())?;
        strict::check_host(&url)?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refusal::new(
                Rule::Credentials,
                "a URL with a user name or password is not fetched",
            ));
        }
        let port = url.port_or_known_default().unwrap_or(0);
        self.judge_port(port)?;
        let host = match url.host() {
            None => return Err(Refusal::new(Rule::InvalidUrl, "the URL has no host")),
            Some(url::Host::Ipv4(ip)) => Host::Ip(ip.into()),
            Some(url::Host::Ipv6(ip)) => Host::Ip(ip.into()),
            Some(url::Host::Domain(name)) => Host::Name(name.trim_end_matches('.').to_owned()),
        };
        match &host {
            Host::Ip(ip) => self.judge_ip(*ip)?,
            Host::Name(name) => self.judge_name(name)?,
        }
        Ok(Target { url, host, port })
    }

    /// Judges the port of a target or of a proxy.
    ///
    /// # Errors
    /// [`Rule::Port`].
    pub fn judge_port(&self, port: u16) -> Result<(), Refusal> {
        if ports::is_allowed(port) {
            return Ok(());
        }
        Err(Refusal::new(
            Rule::Port,
            format!("port {port} is reserved for another protocol (Fetch standard, bad ports)"),
        ))
    }

    /// Judges a name by its form. If the operator allows any networks, names in private zones
    /// pass here, since those networks use them; their addresses are still judged.
    ///
    /// # Errors
    /// [`Rule::Name`], or [`Rule::InvalidUrl`] if it is not a valid domain name.
    pub fn judge_name(&self, name: &str) -> Result<(), Refusal> {
        names::check_form(name)?;
        if self.allow_nets.is_empty() {
            names::check_public(name)
        } else {
            Ok(())
        }
    }

    /// Judges one address.
    ///
    /// # Errors
    /// [`Rule::Address`], naming the special-purpose block that the address is in.
    pub fn judge_ip(&self, ip: IpAddr) -> Result<(), Refusal> {
        if self.allow_nets.iter().any(|net| net.contains(&ip)) {
            return Ok(());
        }
        match address::special_purpose(ip) {
            None => Ok(()),
            Some(block) => Err(Refusal::new(
                Rule::Address,
                format!(
                    "{ip} is not on the public internet: {} ({})",
                    block.net, block.name
                ),
            )),
        }
    }

    /// Judges all addresses that a name resolves to. One refused address refuses the name,
    /// because DNS rebinding often uses mixed answers.
    ///
    /// # Errors
    /// [`Rule::Address`] or [`Rule::Listed`] of the first refused address;
    /// [`Rule::NoAddress`] for an empty answer.
    pub fn judge_answers(
        &self,
        name: &str,
        answers: &[IpAddr],
        blocklist: &HostList,
    ) -> Result<(), Refusal> {
        if answers.is_empty() {
            return Err(Refusal::new(
                Rule::NoAddress,
                format!("{name} has no address"),
            ));
        }
        for &ip in answers {
            let judged = self
                .judge_ip(ip)
                .and_then(|()| blocklist.judge(&Host::Ip(ip)));
            judged.map_err(|refusal| {
                Refusal::new(
                    refusal.rule,
                    format!("{name} resolves to an address that is refused: {refusal}"),
                )
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::MAX_URL_BYTES;

    fn open(net: &str) -> Policy {
        Policy::with_nets(vec![net.parse().unwrap()])
    }

    #[test]
    fn only_the_allowed_network_passes() {
        let policy = open("127.0.0.0/8");
        assert!(policy.judge_url("http://127.0.0.1:8080/").is_ok());
        assert!(policy.judge_url("http://2130706433/").is_ok());
        assert!(policy.judge_url("http://localhost/").is_ok());
        assert!(policy.judge_url("http://10.0.0.1/").is_err());
        assert!(policy.judge_url("http://[::ffff:127.0.0.1]/").is_err());
        assert!(
            policy
                .judge_answers("localhost", &["::1".parse().unwrap()], &HostList::default())
                .is_err()
        );
    }

    #[test]
    fn refusals_have_stable_names_and_name_the_block() {
        let policy = Policy::public();
        let refusal = policy
            .judge_url("http://169.254.169.254/latest")
            .unwrap_err();
        assert_eq!(refusal.rule.as_str(), "address_not_public");
        assert!(refusal.to_string().contains("169.254.0.0/16"), "{refusal}");
        let refusal = policy
            .judge_url("http://user:hunter2@example.com/")
            .unwrap_err();
        assert_eq!(refusal.rule.as_str(), "credentials_in_url");
        assert!(!refusal.to_string().contains("hunter2"));
        assert_eq!(
            policy
                .judge_url("ftp://example.com/")
                .unwrap_err()
                .rule
                .as_str(),
            "scheme_not_allowed"
        );
        assert_eq!(
            policy
                .judge_url("http://example.com:25/")
                .unwrap_err()
                .rule
                .as_str(),
            "port_not_allowed"
        );
        assert_eq!(
            policy
                .judge_url("http://localhost./")
                .unwrap_err()
                .rule
                .as_str(),
            "name_not_public"
        );
        assert_eq!(
            policy
                .judge_answers("a.example", &[], &HostList::default())
                .unwrap_err()
                .rule
                .as_str(),
            "no_address"
        );
        let long = format!("http://example.com/{}", "a".repeat(MAX_URL_BYTES));
        assert_eq!(
            policy.judge_url(&long).unwrap_err().rule.as_str(),
            "url_too_long"
        );
    }

    #[test]
    fn an_address_on_the_blocklist_refuses_the_name_that_resolves_to_it() {
        let mut blocklist = HostList::default();
        blocklist.add("198.41.0.4\n2001:503:ba3e::2:30\n");
        let policy = Policy::public();
        let judged = |answers: &[&str]| {
            let answers: Vec<IpAddr> = answers.iter().map(|ip| ip.parse().unwrap()).collect();
            policy.judge_answers("a.example", &answers, &blocklist)
        };
        assert!(judged(&["198.41.0.5", "2001:503:ba3e::2:31"]).is_ok());
        for answers in [
            ["198.41.0.5", "198.41.0.4"],
            ["1.1.1.1", "2001:503:ba3e::2:30"],
        ] {
            assert_eq!(judged(&answers).unwrap_err().rule, Rule::Listed);
        }
    }

    #[test]
    fn a_trailing_dot_and_upper_case_are_ignored() {
        let policy = Policy::public();
        for url in [
            "http://LOCALHOST/",
            "http://a.LOCALHOST./",
            "http://Printer.Local./",
            "http://db.internal./",
        ] {
            assert_eq!(policy.judge_url(url).unwrap_err().rule, Rule::Name, "{url}");
        }
        let target = policy.judge_url("https://Example.COM./x").unwrap();
        assert_eq!(
            (target.host, target.port),
            (Host::Name("example.com".into()), 443)
        );
    }
}
