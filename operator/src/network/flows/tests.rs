//! Kubernetes' rules, each on policies of its own.

use k8s_openapi::api::networking::v1::{NetworkPolicyEgressRule, NetworkPolicyIngressRule};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelectorRequirement, ObjectMeta};
use pretty_assertions::assert_eq;

use super::*;

fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn pod(namespace: &str, name: &str, address: &str) -> End {
    End::Pod(PodEnd {
        namespace: namespace.to_owned(),
        namespace_labels: labels(&[("team", namespace)]),
        labels: labels(&[("name", name)]),
        address: address.parse().unwrap(),
    })
}

fn named(name: &str) -> LabelSelector {
    LabelSelector { match_labels: Some(labels(&[("name", name)])), match_expressions: None }
}

fn policy(spec: NetworkPolicySpec) -> NetworkPolicy {
    NetworkPolicy {
        metadata: ObjectMeta {
            name: Some("p".to_owned()),
            namespace: Some("one".to_owned()),
            ..ObjectMeta::default()
        },
        spec: Some(spec),
    }
}

/// Lets `a` out by these rules alone.
fn out(rules: Vec<NetworkPolicyEgressRule>) -> NetworkPolicy {
    policy(NetworkPolicySpec {
        pod_selector: Some(named("a")),
        policy_types: Some(vec!["Egress".to_owned()]),
        egress: Some(rules),
        ingress: None,
    })
}

fn to(peers: Vec<NetworkPolicyPeer>, ports: Vec<NetworkPolicyPort>) -> NetworkPolicyEgressRule {
    NetworkPolicyEgressRule { to: Some(peers), ports: Some(ports) }
}

fn tcp(port: IntOrString, end_port: Option<i32>) -> NetworkPolicyPort {
    NetworkPolicyPort { port: Some(port), end_port, protocol: None }
}

fn block(cidr: &str, except: &[&str]) -> NetworkPolicyPeer {
    NetworkPolicyPeer {
        ip_block: Some(IPBlock {
            cidr: cidr.to_owned(),
            except: Some(except.iter().map(ToString::to_string).collect()),
        }),
        ..NetworkPolicyPeer::default()
    }
}

fn asks(
    policies: &[NetworkPolicy],
    from: &End,
    to: &End,
    protocol: Protocol,
    port: u16,
) -> Result<bool, Unreadable> {
    allows(policies, &Flow { from, to, protocol, port })
}

fn lets(policies: &[NetworkPolicy], from: &End, to: &End, port: u16) -> bool {
    asks(policies, from, to, Protocol::Tcp, port).unwrap()
}

#[test]
fn pods_that_no_policy_selects_are_open() {
    let (a, b) = (pod("one", "a", "10.0.0.1"), pod("one", "b", "10.0.0.2"));
    let far = pod("two", "a", "10.0.0.3");
    assert!(lets(&[], &a, &b, 80));
    let closed = [out(Vec::new())];
    assert!(!lets(&closed, &a, &b, 80));
    assert!(lets(&closed, &b, &a, 80), "it is about the way out");
    assert!(lets(&closed, &far, &b, 80), "a policy is about pods of its namespace");
    let host = End::Address("203.0.113.1".parse().unwrap());
    assert!(lets(&closed, &host, &b, 80));
    assert!(!lets(&closed, &a, &host, 80));
}

#[test]
fn policies_add_up() {
    let (a, b, c) =
        (pod("one", "a", "10.0.0.1"), pod("one", "b", "10.0.0.2"), pod("one", "c", "10.0.0.3"));
    let only = |name: &str| {
        let peer = NetworkPolicyPeer { pod_selector: Some(named(name)), ..Default::default() };
        out(vec![to(vec![peer], Vec::new())])
    };
    let both = [only("b"), only("c")];
    assert!(lets(&both, &a, &b, 80) && lets(&both, &a, &c, 80));
    assert!(!lets(&both[..1], &a, &c, 80));
}

#[test]
fn a_connection_is_let_out_of_one_pod_and_into_the_other() {
    let (a, b) = (pod("one", "a", "10.0.0.1"), pod("two", "b", "10.0.0.2"));
    let mut into = policy(NetworkPolicySpec {
        pod_selector: Some(named("b")),
        policy_types: Some(vec!["Ingress".to_owned()]),
        ingress: Some(vec![NetworkPolicyIngressRule {
            from: Some(vec![NetworkPolicyPeer {
                namespace_selector: Some(LabelSelector {
                    match_labels: Some(labels(&[(NAMESPACE_NAME, "one")])),
                    match_expressions: None,
                }),
                ..NetworkPolicyPeer::default()
            }]),
            ports: Some(vec![tcp(IntOrString::Int(80), None)]),
        }]),
        egress: None,
    });
    into.metadata.namespace = Some("two".to_owned());
    let open = out(vec![NetworkPolicyEgressRule::default()]);
    assert!(lets(&[open.clone(), into.clone()], &a, &b, 80));
    assert!(!lets(&[open, into.clone()], &a, &b, 81), "not let in");
    assert!(!lets(&[out(Vec::new()), into.clone()], &a, &b, 80), "not let out");
    assert!(!lets(&[into], &pod("two", "a", "10.0.0.9"), &b, 80), "of another namespace");
}

#[test]
fn a_rule_without_peers_is_about_everybody_and_one_without_ports_about_all() {
    let (a, b) = (pod("one", "a", "10.0.0.1"), pod("two", "b", "10.0.0.2"));
    let everything = [out(vec![NetworkPolicyEgressRule::default()])];
    assert!(lets(&everything, &a, &b, 1));
    assert!(asks(&everything, &a, &b, Protocol::Sctp, 1).unwrap());
    let a_port = [out(vec![to(Vec::new(), vec![tcp(IntOrString::Int(80), Some(82))])])];
    let ports: Vec<u16> = (79..=83).filter(|port| lets(&a_port, &a, &b, *port)).collect();
    assert_eq!(ports, [80, 81, 82]);
    assert!(!asks(&a_port, &a, &b, Protocol::Udp, 80).unwrap(), "a port is of TCP unless it says");
}

#[test]
fn both_selectors_of_a_peer_must_hold_and_one_of_pods_alone_means_the_own_namespace() {
    let a = pod("one", "a", "10.0.0.1");
    let here = pod("one", "b", "10.0.0.2");
    let there = pod("two", "b", "10.0.0.3");
    let another = pod("two", "c", "10.0.0.4");
    let team_two = Some(LabelSelector {
        match_expressions: Some(vec![LabelSelectorRequirement {
            key: "team".to_owned(),
            operator: "In".to_owned(),
            values: Some(vec!["two".to_owned(), "three".to_owned()]),
        }]),
        match_labels: None,
    });
    let peer = |namespaces: &Option<LabelSelector>, pods| {
        let peer = NetworkPolicyPeer {
            namespace_selector: namespaces.clone(),
            pod_selector: pods,
            ip_block: None,
        };
        let policies = [out(vec![to(vec![peer], Vec::new())])];
        [&here, &there, &another].map(|pod| lets(&policies, &a, pod, 80))
    };
    assert_eq!(peer(&None, Some(named("b"))), [true, false, false]);
    assert_eq!(peer(&team_two, None), [false, true, true]);
    assert_eq!(peer(&team_two, Some(named("b"))), [false, true, false]);
    assert_eq!(peer(&Some(LabelSelector::default()), None), [true, true, true]);
}

#[test]
fn a_range_is_of_addresses_of_its_family_and_meets_pods_too() {
    let a = pod("one", "a", "10.0.0.1");
    let policies = [out(vec![to(vec![block("0.0.0.0/0", &["10.0.0.0/8"])], Vec::new())])];
    for (address, is_open) in [
        ("203.0.113.1", true),
        ("10.255.255.255", false),
        ("11.0.0.0", true),
        ("2001:db8::1", false),
    ] {
        let host = End::Address(address.parse().unwrap());
        assert_eq!(lets(&policies, &a, &host, 80), is_open, "{address}");
        assert_eq!(lets(&policies, &a, &pod("two", "b", address), 80), is_open, "pod {address}");
    }
}

#[test]
fn without_types_a_policy_is_about_ingress_and_about_egress_where_it_has_rules() {
    let (a, b) = (pod("one", "a", "10.0.0.1"), pod("one", "b", "10.0.0.2"));
    let untyped = |egress| {
        [policy(NetworkPolicySpec {
            pod_selector: Some(named("a")),
            policy_types: None,
            egress,
            ingress: None,
        })]
    };
    let nowhere = block("192.0.2.0/24", &[]);
    assert!(!lets(&untyped(None), &b, &a, 80));
    assert!(lets(&untyped(None), &a, &b, 80));
    assert!(!lets(&untyped(Some(vec![to(vec![nowhere], Vec::new())])), &a, &b, 80));
}

#[test]
fn what_cannot_be_read_is_said_and_not_guessed() {
    let (a, b) = (pod("one", "a", "10.0.0.1"), pod("one", "b", "10.0.0.2"));
    let said = |policy| asks(&[policy], &a, &b, Protocol::Tcp, 80).unwrap_err().to_string();
    let by_name = tcp(IntOrString::String("web".to_owned()), None);
    let by_name = said(out(vec![to(Vec::new(), vec![by_name])]));
    assert!(by_name.contains("NetworkPolicy p") && by_name.contains("`web`"), "{by_name}");
    let no_range = said(out(vec![to(vec![block("10.0.0/8", &[])], Vec::new())]));
    assert!(no_range.contains("`10.0.0/8` is no range"), "{no_range}");
    let mut strange = out(Vec::new());
    strange.spec.as_mut().unwrap().pod_selector = Some(LabelSelector {
        match_expressions: Some(vec![LabelSelectorRequirement {
            key: "name".to_owned(),
            operator: "Like".to_owned(),
            values: None,
        }]),
        match_labels: None,
    });
    let strange = said(strange);
    assert!(strange.contains("a selector makes no sense"), "{strange}");
}
