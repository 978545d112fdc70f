//! Addresses that a server never has: those of the machine and its cloud.
//!
//! A name is looked up when it is connected to, so the check stands there and not before: a
//! name may lead somewhere else a moment later.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// Where clouds serve what a machine may know beside the link-local addresses.
const CLOUDS: [IpAddr; 4] = [
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
];

/// What is said of such an address.
const REFUSED: &str = "its address is one of the machine or its cloud, where no server is looked for: give another URL";

/// Refuses a URL that is such an address itself; of those no name is looked up.
pub(super) fn check(url: &Url) -> Result<(), String> {
    let address = match url.host() {
        Some(Host::Ipv4(address)) => IpAddr::V4(address),
        Some(Host::Ipv6(address)) => IpAddr::V6(address),
        Some(Host::Domain(_)) | None => return Ok(()),
    };
    if is_the_machines(address) { Err(REFUSED.to_owned()) } else { Ok(()) }
}

/// Looks names up and leaves such addresses out.
pub(super) struct Checked;

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let (refused, served): (Vec<SocketAddr>, Vec<SocketAddr>) =
                found.partition(|address| is_the_machines(address.ip()));
            if served.is_empty() && !refused.is_empty() {
                return Err(io::Error::other(REFUSED).into());
            }
            Ok(Box::new(served.into_iter()) as Addrs)
        })
    }
}

/// Link-local addresses, the unspecified one, and the fixed ones of clouds, in whatever form
/// they are written.
fn is_the_machines(address: IpAddr) -> bool {
    let address = address.to_canonical();
    let is_local = match address {
        IpAddr::V4(v4) => v4.is_link_local() || v4.is_unspecified() || v4.is_broadcast(),
        IpAddr::V6(v6) => v6.is_unicast_link_local() || v6.is_unspecified() || is_embedded(v6),
    };
    is_local || CLOUDS.contains(&address)
}

/// An IPv4 address of that kind within one of NAT64 or 6to4.
fn is_embedded(address: Ipv6Addr) -> bool {
    let v4 = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        is_the_machines(IpAddr::V4(Ipv4Addr::new(a, b, c, d)))
    };
    match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => v4(high, low),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_machine_and_its_cloud_are_told_from_all_others() {
        for refused in [
            "169.254.169.254",
            "169.254.0.1",
            "0.0.0.0",
            "100.100.100.200",
            "168.63.129.16",
            "::",
            "fe80::1",
            "fd00:ec2::254",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "2002:a9fe:a9fe::1",
        ] {
            assert!(is_the_machines(refused.parse().unwrap()), "{refused}");
        }
        for served in ["127.0.0.1", "10.0.0.7", "192.168.1.1", "203.0.113.9", "::1", "fd00::7"] {
            assert!(!is_the_machines(served.parse().unwrap()), "{served}");
        }
    }

    #[test]
    fn a_url_is_read_in_every_form_of_an_address() {
        for refused in ["http://169.254.169.254/mcp", "http://2852039166/mcp", "http://[fe80::1]/"]
        {
            assert!(check(&refused.parse().unwrap()).is_err(), "{refused}");
        }
        assert_eq!(check(&"http://tools.example/mcp".parse().unwrap()), Ok(()));
    }
}
