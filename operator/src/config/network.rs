//! What harness pods may reach: the settings of their network policies.

use std::net::IpAddr;
use std::str::FromStr;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args, value_parser};
use ipnet::Ipv4Net;

/// Most items of a list.
const MOST_ITEMS: usize = 64;

/// What the command line and the environment say of network policies.
#[derive(Debug, Clone, Args)]
pub struct NetworkArguments {
    /// Lay network policies over harness pods in a cluster; `false` takes them away.
    #[arg(
        long,
        env = "FOUNDRY_NETWORK_POLICIES",
        value_parser = BoolishValueParser::new(),
        default_value = "true",
        action = ArgAction::Set
    )]
    pub network_policies: bool,
    /// Port that the pods of kube-dns listen on, which need not be that of their Service.
    #[arg(
        long,
        env = "FOUNDRY_NETWORK_DNS_PORT",
        value_parser = value_parser!(u16).range(1..),
        default_value = "53"
    )]
    pub network_dns_port: u16,
    /// Addresses of DNS servers beside kube-dns, as node-local caches have, separated by
    /// commas.
    #[arg(long, env = "FOUNDRY_NETWORK_DNS_ADDRESSES")]
    pub network_dns_addresses: Option<Addresses>,
    /// IPv4 ranges that are closed to coding pods beside the private ones, separated by
    /// commas: those of pods, Services and nodes, where they are others.
    #[arg(long, env = "FOUNDRY_NETWORK_CODING_EXCEPT")]
    pub network_coding_except: Option<Ranges>,
}

/// What harness pods may reach beside what they always may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkConfig {
    /// Port that the pods of kube-dns listen on.
    pub dns_port: u16,
    /// Further DNS servers.
    pub dns_addresses: Vec<IpAddr>,
    /// Closed to coding pods beside the private ranges (NET-04).
    pub coding_except: Vec<Ipv4Net>,
}

impl NetworkArguments {
    /// The settings made whole; none where the installation wants no network policies.
    pub fn into_config(self) -> Option<NetworkConfig> {
        let Self {
            network_policies,
            network_dns_port,
            network_dns_addresses,
            network_coding_except,
        } = self;
        network_policies.then(|| NetworkConfig {
            dns_port: network_dns_port,
            dns_addresses: network_dns_addresses.unwrap_or_default().0,
            coding_except: network_coding_except.unwrap_or_default().0,
        })
    }
}

/// IP addresses, in order and each once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Addresses(Vec<IpAddr>);

impl FromStr for Addresses {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        list(text, address).map(Self)
    }
}

/// IPv4 ranges, in order and each once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ranges(Vec<Ipv4Net>);

impl FromStr for Ranges {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        list(text, range).map(Self)
    }
}

fn list<T: Ord>(text: &str, item: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
    let named = text.split(',').map(str::trim).filter(|named| !named.is_empty());
    let mut items = named.map(item).collect::<Result<Vec<T>, String>>()?;
    items.sort();
    items.dedup();
    if items.len() > MOST_ITEMS {
        return Err(format!("{} are too many; join them to {MOST_ITEMS} at most", items.len()));
    }
    Ok(items)
}

/// An address as a policy names it: the API server takes no IPv4 in the form of IPv6.
fn address(item: &str) -> Result<IpAddr, String> {
    let address: IpAddr =
        item.parse().map_err(|_| format!("`{item}` is no address, as 169.254.20.10"))?;
    match address.to_canonical() {
        canonical if canonical == address => Ok(address),
        canonical => Err(format!(
            "`{item}` is an IPv4 address in the form of IPv6; did you mean `{canonical}`?"
        )),
    }
}

/// A range that a policy can leave out of all IPv4: the API server takes no other.
fn range(item: &str) -> Result<Ipv4Net, String> {
    let range: Ipv4Net =
        item.parse().map_err(|_| format!("`{item}` is no IPv4 range, as 100.64.0.0/10"))?;
    if range.trunc() != range {
        return Err(format!(
            "`{item}` has bits beyond its length; did you mean `{}`?",
            range.trunc()
        ));
    }
    if range.prefix_len() == 0 {
        return Err(format!(
            "`{item}` leaves nothing for coding pods to reach; name a smaller range"
        ));
    }
    Ok(range)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::config::Arguments;

    fn config(words: &[&str]) -> Option<NetworkConfig> {
        let words = std::iter::once("foundry-operator").chain(words.iter().copied());
        Arguments::try_parse_from(words).unwrap().network.into_config()
    }

    /// NET-02, NET-04: without a setting nothing is open, and nothing closed, beside them.
    #[test]
    fn without_settings_policies_are_laid_as_they_are() {
        let as_they_are =
            NetworkConfig { dns_port: 53, dns_addresses: Vec::new(), coding_except: Vec::new() };
        assert_eq!(config(&[]), Some(as_they_are.clone()));
        let empty = ["--network-dns-addresses", "", "--network-coding-except", " , "];
        assert_eq!(config(&empty), Some(as_they_are), "a chart's empty value is none");
        assert_eq!(config(&["--network-policies", "false"]), None);
    }

    #[test]
    fn lists_are_trimmed_sorted_and_name_each_item_once() {
        let words = [
            "--network-dns-port",
            "5353",
            "--network-dns-addresses",
            "fd00::10, 169.254.20.10,fd00::10",
            "--network-coding-except",
            "203.0.113.0/24,100.64.0.0/10, 203.0.113.0/24",
        ];
        let expected = NetworkConfig {
            dns_port: 5353,
            dns_addresses: vec!["169.254.20.10".parse().unwrap(), "fd00::10".parse().unwrap()],
            coding_except: vec![
                "100.64.0.0/10".parse().unwrap(),
                "203.0.113.0/24".parse().unwrap(),
            ],
        };
        assert_eq!(config(&words), Some(expected));
    }

    #[test]
    fn a_setting_that_cannot_be_right_is_refused_with_the_way_out() {
        let many: Vec<_> = (0..=MOST_ITEMS).map(|item| format!("100.64.{item}.0/24")).collect();
        let many = many.join(",");
        for (words, way_out) in [
            (["--network-policies", "perhaps"], "--network-policies"),
            (["--network-dns-port", "0"], "--network-dns-port"),
            (["--network-dns-addresses", "10.0.0.10:53"], "`10.0.0.10:53` is no address"),
            (["--network-dns-addresses", "10.0.0.10;10.0.0.11"], "is no address"),
            (["--network-dns-addresses", "::ffff:10.0.0.10"], "did you mean `10.0.0.10`"),
            (["--network-coding-except", "10.1.2.3"], "`10.1.2.3` is no IPv4 range"),
            (["--network-coding-except", "fd00::/8"], "`fd00::/8` is no IPv4 range"),
            (["--network-coding-except", "100.64.0.1/10"], "did you mean `100.64.0.0/10`"),
            (["--network-coding-except", "0.0.0.0/0"], "a smaller range"),
            (["--network-coding-except", &many], "join them"),
        ] {
            let given = std::iter::once("foundry-operator").chain(words);
            let said = Arguments::try_parse_from(given).unwrap_err().to_string();
            assert!(said.contains(way_out) && said.contains(words[0]), "{words:?}: {said}");
        }
    }
}
