//! The two policies of a namespace, rendered from the settings.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use axum::http::Uri;
use foundry_crds::{meta, rbac};
use ipnet::{IpNet, Ipv4Net};
use k8s_openapi::api::networking::v1::{
    IPBlock, NetworkPolicy, NetworkPolicyEgressRule, NetworkPolicyPeer, NetworkPolicyPort,
    NetworkPolicySpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    LabelSelector, LabelSelectorRequirement, ObjectMeta, OwnerReference,
};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::config::NetworkConfig;

/// What whoever installs must know, and reads on the policies too (NET-06).
pub const ENGINE_NOTE: &str =
    "NetworkPolicies act only where the cluster runs a network policy engine";

/// Label of a Namespace that is its name; the API server sets it.
pub const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// Platform services, as the label `app` of their pods (NET-02).
const SERVICES: [&str; 6] = [
    "foundry-api",
    "intelligence-api",
    "communications-api",
    "broker-api",
    "workspace-api",
    "documents-api",
];
/// Port of their pods (NET-02).
const SERVICE_PORT: u16 = 8080;
/// The one of them that every harness needs.
const API: &str = SERVICES[0];

/// Where kube-dns runs, and the label of its pods.
const DNS_NAMESPACE: &str = "kube-system";
const DNS_LABEL: (&str, &str) = ("k8s-app", "kube-dns");
/// Port of DNS servers that are named by address.
const DNS_PORT: u16 = 53;

/// What coding pods reach: SSH and HTTPS (NET-04).
const CODING_PORTS: [u16; 2] = [22, 443];
/// … of all addresses but these: private networks, with the cluster's own addresses, and
/// link-local ones, with the cloud's metadata (NET-04).
const PRIVATE: [Ipv4Net; 4] = [
    Ipv4Net::new_assert(Ipv4Addr::new(10, 0, 0, 0), 8),
    Ipv4Net::new_assert(Ipv4Addr::new(172, 16, 0, 0), 12),
    Ipv4Net::new_assert(Ipv4Addr::new(192, 168, 0, 0), 16),
    Ipv4Net::new_assert(Ipv4Addr::new(169, 254, 0, 0), 16),
];
const EVERYWHERE: &str = "0.0.0.0/0";

const DESCRIPTION: &str = "kubernetes.io/description";

/// The policies of a namespace, owned by these. The one that closes is the first.
pub fn render(
    namespace: &str,
    owners: &[OwnerReference],
    settings: &NetworkConfig,
) -> Vec<NetworkPolicy> {
    let policy = |name: &str, what: &str, spec| NetworkPolicy {
        metadata: metadata(namespace, name, what, owners),
        spec: Some(spec),
    };
    vec![
        policy(
            rbac::HARNESS_POLICY,
            "Harness pods reach DNS and platform services, and nobody reaches them.",
            of_harnesses(settings),
        ),
        policy(
            rbac::CODING_POLICY,
            "Coding pods reach public addresses by SSH and HTTPS too.",
            of_coding(settings),
        ),
    ]
}

/// Whether the policies let harnesses reach the API at this address.
///
/// They name its pods by label and namespace, which an address of another kind does not
/// tell.
pub fn is_within_reach(api_url: &str) -> bool {
    let Ok(uri) = api_url.parse::<Uri>() else { return false };
    let service = format!("{API}.{}", rbac::CONTROL_NAMESPACE);
    let rest = uri.host().and_then(|host| host.strip_prefix(&service));
    rest.is_some_and(|rest| rest.is_empty() || rest == ".svc" || rest.starts_with(".svc."))
}

fn metadata(namespace: &str, name: &str, what: &str, owners: &[OwnerReference]) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some(namespace.to_owned()),
        labels: Some(labels(meta::label::MANAGED_BY, meta::label::MANAGED_BY_OPERATOR)),
        annotations: Some(labels(DESCRIPTION, &format!("{what} {ENGINE_NOTE}."))),
        owner_references: (!owners.is_empty()).then(|| owners.to_vec()),
        ..ObjectMeta::default()
    }
}

/// NET-01, NET-02
fn of_harnesses(settings: &NetworkConfig) -> NetworkPolicySpec {
    let dns = NetworkPolicyEgressRule {
        to: Some(vec![pods(DNS_NAMESPACE, matching(&[DNS_LABEL]))]),
        ports: Some(dns_ports(settings.dns_port)),
    };
    let dns_by_address = NetworkPolicyEgressRule {
        to: Some(settings.dns_addresses.iter().copied().map(one_address).collect()),
        ports: Some(dns_ports(DNS_PORT)),
    };
    let services = NetworkPolicyEgressRule {
        to: Some(vec![pods(rbac::CONTROL_NAMESPACE, one_of(meta::label::APP, &SERVICES))]),
        ports: Some(vec![port("TCP", SERVICE_PORT)]),
    };
    // A rule that names nobody would open these ports to everybody.
    let dns_by_address = (!settings.dns_addresses.is_empty()).then_some(dns_by_address);
    spec(
        matching(&[(meta::label::APP, meta::label::APP_HARNESS)]),
        [Some(dns), dns_by_address, Some(services)].into_iter().flatten().collect(),
    )
}

/// NET-03, NET-04
fn of_coding(settings: &NetworkConfig) -> NetworkPolicySpec {
    let is_private = |range: &Ipv4Net| PRIVATE.iter().any(|private| private.contains(range));
    let further = settings.coding_except.iter().filter(|range| !is_private(range));
    let public = NetworkPolicyPeer {
        ip_block: Some(IPBlock {
            cidr: EVERYWHERE.to_owned(),
            except: Some(PRIVATE.iter().chain(further).map(ToString::to_string).collect()),
        }),
        ..NetworkPolicyPeer::default()
    };
    spec(
        matching(&[
            (meta::label::APP, meta::label::APP_HARNESS),
            (meta::label::ROLE, meta::label::ROLE_CODING),
        ]),
        vec![NetworkPolicyEgressRule {
            to: Some(vec![public]),
            ports: Some(CODING_PORTS.into_iter().map(|number| port("TCP", number)).collect()),
        }],
    )
}

/// A policy of both directions, without a way in. Said in full: a field that is left out
/// is nobody's, and what somebody adds there would stay.
fn spec(over: LabelSelector, egress: Vec<NetworkPolicyEgressRule>) -> NetworkPolicySpec {
    NetworkPolicySpec {
        pod_selector: Some(over),
        policy_types: Some(vec!["Ingress".to_owned(), "Egress".to_owned()]),
        ingress: Some(Vec::new()),
        egress: Some(egress),
    }
}

/// Pods of one namespace: both in one peer, for two peers would mean either.
fn pods(namespace: &str, selector: LabelSelector) -> NetworkPolicyPeer {
    NetworkPolicyPeer {
        namespace_selector: Some(matching(&[(NAMESPACE_NAME, namespace)])),
        pod_selector: Some(selector),
        ip_block: None,
    }
}

fn one_address(address: IpAddr) -> NetworkPolicyPeer {
    NetworkPolicyPeer {
        ip_block: Some(IPBlock { cidr: IpNet::from(address).to_string(), except: None }),
        ..NetworkPolicyPeer::default()
    }
}

fn dns_ports(number: u16) -> Vec<NetworkPolicyPort> {
    vec![port("UDP", number), port("TCP", number)]
}

fn port(protocol: &str, number: u16) -> NetworkPolicyPort {
    NetworkPolicyPort {
        protocol: Some(protocol.to_owned()),
        port: Some(IntOrString::Int(number.into())),
        end_port: None,
    }
}

fn matching(pairs: &[(&str, &str)]) -> LabelSelector {
    LabelSelector {
        match_labels: Some(pairs.iter().flat_map(|(key, value)| labels(key, value)).collect()),
        match_expressions: None,
    }
}

fn one_of(key: &str, values: &[&str]) -> LabelSelector {
    LabelSelector {
        match_labels: None,
        match_expressions: Some(vec![LabelSelectorRequirement {
            key: key.to_owned(),
            operator: "In".to_owned(),
            values: Some(values.iter().map(ToString::to_string).collect()),
        }]),
    }
}

fn labels(key: &str, value: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(key.to_owned(), value.to_owned())])
}
