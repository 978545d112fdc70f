//! What the two policies let through, as a table of flows that is computed from them and
//! stands in docs/network.md.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr};

use foundry_crds::meta;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::flows::{End, Flow, PodEnd, Protocol, allows};
use super::policies;
use crate::config::NetworkConfig;

fn settings() -> NetworkConfig {
    NetworkConfig { dns_port: 53, dns_addresses: Vec::new(), coding_except: Vec::new() }
}

fn rendered(settings: &NetworkConfig) -> Vec<NetworkPolicy> {
    policies::render(meta::DEFAULT_NAMESPACE, &[], settings)
}

fn pod(namespace: &str, labels: &[(&str, &str)], address: &str) -> End {
    let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    End::Pod(PodEnd {
        namespace: namespace.to_owned(),
        namespace_labels: BTreeMap::new(),
        labels: labels.collect(),
        address: address.parse().unwrap(),
    })
}

fn address(text: &str) -> End {
    End::Address(text.parse().unwrap())
}

/// A harness pod, as the pod template labels it.
fn think() -> End {
    let labels = [("app", "foundry-harness"), ("foundry.flow.life/agent", "ann")];
    pod("foundry-agents", &labels, "10.0.1.11")
}

fn coding() -> End {
    let labels = [("app", "foundry-harness"), ("foundry-role", "coding")];
    pod("foundry-agents", &labels, "10.0.1.12")
}

/// Whoever has a name in the tables.
fn end(name: &str) -> End {
    let service = |app: &str| pod("default", &[("app", app)], "10.0.2.1");
    match name {
        "kube-dns" => pod("kube-system", &[("k8s-app", "kube-dns")], "10.0.0.10"),
        "foundry-api" | "intelligence-api" | "communications-api" | "broker-api"
        | "workspace-api" | "documents-api" => service(name),
        "foundry-operator" => service("foundry-operator"),
        "a database in `default`" => service("postgres"),
        "another harness pod" => pod("foundry-agents", &[("app", "foundry-harness")], "10.0.1.13"),
        "another pod of the namespace" => pod("foundry-agents", &[("app", "tool")], "10.0.1.14"),
        "a pod `app: foundry-api` elsewhere" => {
            pod("elsewhere", &[("app", "foundry-api")], "10.0.3.1")
        }
        "a pod `k8s-app: kube-dns` elsewhere" => {
            pod("elsewhere", &[("k8s-app", "kube-dns")], "10.0.3.2")
        }
        "a pod in 100.64.0.0/10" => pod("elsewhere", &[("app", "tool")], "100.64.3.4"),
        "the Kubernetes API, 10.96.0.1" => address("10.96.0.1"),
        "another node, 172.30.0.2" => address("172.30.0.2"),
        "a Git host of your own, 192.168.7.7" => address("192.168.7.7"),
        "cloud metadata, 169.254.169.254" => address("169.254.169.254"),
        "cloud metadata, fd00:ec2::254" => address("fd00:ec2::254"),
        "node-local DNS, 169.254.20.10" => address("169.254.20.10"),
        "github.com, 140.82.121.3" => address("140.82.121.3"),
        "github.io, 2606:50c0:8000::153" => address("2606:50c0:8000::153"),
        _ => panic!("nobody is named {name:?}"),
    }
}

/// To whom, on which port, and whether a think pod and a coding pod get there.
type Row = (&'static str, &'static str, bool, bool);

/// NET-02 (the first rows), NET-04 (the last column), NET-05 (the column before it)
const WAYS_OUT: &[Row] = &[
    ("kube-dns", "UDP 53", true, true),
    ("kube-dns", "TCP 53", true, true),
    ("kube-dns", "TCP 9153", false, false),
    ("foundry-api", "TCP 8080", true, true),
    ("intelligence-api", "TCP 8080", true, true),
    ("communications-api", "TCP 8080", true, true),
    ("broker-api", "TCP 8080", true, true),
    ("workspace-api", "TCP 8080", true, true),
    ("documents-api", "TCP 8080", true, true),
    ("foundry-api", "TCP 22", false, false),
    ("foundry-api", "UDP 8080", false, false),
    ("foundry-operator", "TCP 8081", false, false),
    ("a database in `default`", "TCP 5432", false, false),
    ("another harness pod", "TCP 8080", false, false),
    ("another pod of the namespace", "TCP 443", false, false),
    ("a pod `app: foundry-api` elsewhere", "TCP 8080", false, false),
    ("a pod `k8s-app: kube-dns` elsewhere", "UDP 53", false, false),
    ("the Kubernetes API, 10.96.0.1", "TCP 443", false, false),
    ("another node, 172.30.0.2", "TCP 22", false, false),
    ("a Git host of your own, 192.168.7.7", "TCP 22", false, false),
    ("cloud metadata, 169.254.169.254", "TCP 80", false, false),
    ("cloud metadata, 169.254.169.254", "TCP 443", false, false),
    ("cloud metadata, fd00:ec2::254", "TCP 443", false, false),
    ("node-local DNS, 169.254.20.10", "UDP 53", false, false),
    ("github.com, 140.82.121.3", "TCP 22", false, true),
    ("github.com, 140.82.121.3", "TCP 443", false, true),
    ("github.com, 140.82.121.3", "TCP 80", false, false),
    ("github.com, 140.82.121.3", "UDP 443", false, false),
    ("github.io, 2606:50c0:8000::153", "TCP 443", false, false),
    ("a pod in 100.64.0.0/10", "TCP 443", false, true),
];

/// NET-01: from whom, to which port of a think pod and of a coding pod.
const WAYS_IN: &[Row] = &[
    ("foundry-api", "TCP 8080", false, false),
    ("foundry-operator", "TCP 8080", false, false),
    ("another harness pod", "TCP 8080", false, false),
    ("another pod of the namespace", "TCP 22", false, false),
    ("another node, 172.30.0.2", "TCP 443", false, false),
    ("github.com, 140.82.121.3", "TCP 443", false, false),
];

fn port(words: &str) -> (Protocol, u16) {
    let (protocol, number) = words.split_once(' ').unwrap();
    let protocol = if protocol == "TCP" { Protocol::Tcp } else { Protocol::Udp };
    (protocol, number.parse().unwrap())
}

fn opens(policies: &[NetworkPolicy], from: &End, to: &End, words: &str) -> bool {
    let (protocol, port) = port(words);
    allows(policies, &Flow { from, to, protocol, port }).unwrap()
}

fn out(policies: &[NetworkPolicy], name: &str, words: &str) -> [bool; 2] {
    [think(), coding()].map(|pod| opens(policies, &pod, &end(name), words))
}

/// NET-01, NET-02, NET-03, NET-04, NET-05
#[test]
fn the_policies_let_through_these_flows_and_no_others() {
    let policies = rendered(&settings());
    for &(name, words, is_think, is_coding) in WAYS_OUT {
        assert_eq!(out(&policies, name, words), [is_think, is_coding], "to {name}, {words}");
    }
    for &(name, words, is_think, is_coding) in WAYS_IN {
        let found = [think(), coding()].map(|pod| opens(&policies, &end(name), &pod, words));
        assert_eq!(found, [is_think, is_coding], "from {name}, {words}");
    }
}

/// A table that says closed proves nothing where all is closed for another reason: without
/// the policies every flow is open.
#[test]
fn without_the_policies_every_flow_of_the_tables_is_open() {
    for &(name, words, ..) in WAYS_OUT {
        assert_eq!(out(&[], name, words), [true, true], "to {name}, {words}");
    }
    for &(name, words, ..) in WAYS_IN {
        assert!(opens(&[], &end(name), &think(), words), "from {name}, {words}");
    }
}

/// NET-03: half of the labels are not enough, in either half.
#[test]
fn only_pods_with_both_labels_get_what_coding_pods_get() {
    let policies = rendered(&settings());
    let github = end("github.com, 140.82.121.3");
    assert!(!opens(&policies, &think(), &github, "TCP 22"));
    let api = end("foundry-api");
    let stranger = pod("foundry-agents", &[("foundry-role", "coding")], "10.0.1.15");
    assert!(opens(&policies, &api, &stranger, "TCP 8080"), "it is none of our pods");
    let coding_policy = &policies[1..];
    assert!(opens(coding_policy, &think(), &api, "TCP 9999"), "it is about coding pods alone");
    assert!(!opens(coding_policy, &coding(), &api, "TCP 9999"));
}

/// A pod of another namespace is nobody's business, whatever it is labelled.
#[test]
fn pods_of_other_namespaces_are_left_alone() {
    let policies = rendered(&settings());
    let elsewhere = pod("elsewhere", &[("app", "foundry-harness")], "10.0.3.3");
    assert!(opens(&policies, &elsewhere, &end("github.com, 140.82.121.3"), "TCP 80"));
    assert!(opens(&policies, &end("foundry-api"), &elsewhere, "TCP 8080"));
}

#[test]
fn settings_move_dns_and_close_further_ranges_and_nothing_else() {
    let changed = rendered(&NetworkConfig {
        dns_port: 5353,
        dns_addresses: vec!["169.254.20.10".parse().unwrap(), "fd00::10".parse().unwrap()],
        coding_except: vec!["100.64.0.0/10".parse().unwrap(), "10.1.0.0/16".parse().unwrap()],
    });
    let moved = [
        ("kube-dns", "UDP 53", [false, false]),
        ("kube-dns", "TCP 53", [false, false]),
        ("node-local DNS, 169.254.20.10", "UDP 53", [true, true]),
        ("a pod in 100.64.0.0/10", "TCP 443", [false, false]),
    ];
    for &(name, words, is_think, is_coding) in WAYS_OUT {
        let found = moved.iter().find(|(moved, port, _)| (*moved, *port) == (name, words));
        let expected = found.map_or([is_think, is_coding], |(_, _, expected)| *expected);
        assert_eq!(out(&changed, name, words), expected, "to {name}, {words}");
    }
    assert_eq!(out(&changed, "kube-dns", "UDP 5353"), [true, true]);
    assert_eq!(out(&changed, "kube-dns", "TCP 5353"), [true, true]);
    assert_eq!(out(&changed, "node-local DNS, 169.254.20.10", "UDP 5353"), [false, false]);
    assert!(opens(&changed, &think(), &address("fd00::10"), "TCP 53"));
    assert!(!opens(&changed, &think(), &address("fd00::11"), "TCP 53"));
}

proptest! {
    /// NET-04, NET-05: said once more, without any range: by the bytes of an address.
    #[test]
    fn coding_pods_alone_reach_public_addresses_and_they_by_two_ports(
        bytes: [u8; 4],
        private in proptest::option::of(prop_oneof![
            Just([10, 0]), Just([172, 16]), Just([172, 31]), Just([192, 168]), Just([169, 254]),
        ]),
        port in prop_oneof![Just(22), Just(443), any::<u16>()],
        is_tcp: bool,
    ) {
        let [a, b, c, d] = bytes;
        let [a, b] = private.unwrap_or([a, b]);
        let to = End::Address(IpAddr::V4(Ipv4Addr::new(a, b, c, d)));
        let protocol = if is_tcp { Protocol::Tcp } else { Protocol::Udp };
        let policies = rendered(&settings());
        let reaches = |from: &End| {
            allows(&policies, &Flow { from, to: &to, protocol, port }).unwrap()
        };
        let is_private = a == 10
            || (a == 172 && (16..32).contains(&b))
            || (a == 192 && b == 168)
            || (a == 169 && b == 254);
        prop_assert_eq!(reaches(&coding()), !is_private && is_tcp && [22, 443].contains(&port));
        prop_assert!(!reaches(&think()));
    }

    /// NET-04: no IPv6 address is public enough.
    #[test]
    fn no_pod_reaches_an_address_of_ipv6(bytes: [u8; 16], port: u16) {
        let to = End::Address(IpAddr::from(bytes));
        let policies = rendered(&settings());
        for from in [think(), coding()] {
            let flow = Flow { from: &from, to: &to, protocol: Protocol::Tcp, port };
            prop_assert!(!allows(&policies, &flow).unwrap());
        }
    }
}

/// NET-01, NET-02, NET-03, NET-04: both, whole, so that any change is seen by whoever
/// reviews.
#[test]
fn the_policies_of_a_namespace() {
    let settings = NetworkConfig {
        dns_addresses: vec!["169.254.20.10".parse().unwrap()],
        coding_except: vec!["100.64.0.0/10".parse().unwrap()],
        ..settings()
    };
    insta::assert_snapshot!(serde_json::to_string_pretty(&rendered(&settings)).unwrap());
}

/// NET-06, as far as the operator goes: whoever looks at a policy, or for what it does,
/// reads that it may do nothing.
#[test]
fn policies_and_documents_say_that_an_engine_must_act_on_them() {
    for policy in rendered(&settings()) {
        let said = policy.metadata.annotations.unwrap().into_values().collect::<String>();
        assert!(said.contains(policies::ENGINE_NOTE), "{said}");
    }
    assert!(document().contains(policies::ENGINE_NOTE));
}

/// The tables that people read are those that are computed.
#[test]
fn the_document_shows_the_flows_that_the_policies_let_through() {
    let document = document();
    for (head, rows) in [("to", WAYS_OUT), ("from", WAYS_IN)] {
        let mut table = format!("| {head} | port | think pod | coding pod |\n|---|---|---|---|\n");
        for (name, words, is_think, is_coding) in rows {
            let word = |is_open: &bool| if *is_open { "open" } else { "–" };
            writeln!(table, "| {name} | {words} | {} | {} |", word(is_think), word(is_coding))
                .unwrap();
        }
        assert!(document.contains(&table), "docs/network.md should have this table:\n{table}");
    }
}

fn document() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/network.md");
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn an_address_of_the_api_that_no_policy_is_known_to_open_is_noticed() {
    for (api_url, is_within) in [
        ("http://foundry-api.default:8080", true),
        ("http://foundry-api.default.svc", true),
        ("https://foundry-api.default.svc.cluster.local:8443/v1", true),
        ("http://foundry-api.default.example.com", false),
        ("http://foundry-api.defaults:8080", false),
        ("http://foundry-api.team:8080", false),
        ("http://foundry-api:8080", false),
        ("https://foundry.example.com", false),
        ("http://10.0.0.5:8080", false),
    ] {
        assert_eq!(policies::is_within_reach(api_url), is_within, "{api_url}");
    }
}
