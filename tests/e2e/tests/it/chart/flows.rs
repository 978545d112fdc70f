//! Whom operator and API may reach, and who may reach them, as a table of flows: computed from
//! what the chart renders, together with the policies that the operator lays over harnesses.

use std::collections::BTreeMap;

use foundry_operator::config::NetworkConfig;
use foundry_operator::network::flows::{End, Flow, PodEnd, Protocol, allows};
use foundry_operator::network::policies;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use pretty_assertions::assert_eq;
use serde_json::Value;

use super::render::{objects, one};

/// From whom, to whom, on which port, and whether the policies let it through.
type Row = (&'static str, &'static str, &'static str, bool);

/// NET-02 for the way from harnesses to the API
const FLOWS: &[Row] = &[
    ("harness", "api", "TCP 8080", true),
    ("harness", "api", "TCP 8081", false),
    ("harness", "operator", "TCP 8081", false),
    ("stranger", "api", "TCP 8080", false),
    ("stranger among agents", "api", "TCP 8080", false),
    ("a harness elsewhere", "api", "TCP 8080", false),
    ("stranger", "operator", "TCP 8081", false),
    ("operator", "api", "TCP 8080", false),
    ("internet", "api", "TCP 8080", false),
    ("api", "dns", "UDP 53", true),
    ("api", "dns", "TCP 53", true),
    ("operator", "dns", "UDP 53", true),
    ("api", "kubernetes", "TCP 443", true),
    ("api", "node", "TCP 6443", true),
    ("operator", "kubernetes", "TCP 443", true),
    ("operator", "node", "TCP 6443", true),
    ("api", "internet", "TCP 443", true),
    ("api", "internet", "TCP 80", false),
    ("api", "metadata", "TCP 443", false),
    ("operator", "metadata", "TCP 443", false),
    ("api", "metadata", "TCP 80", false),
    ("api", "database", "TCP 5432", false),
    ("operator", "database", "TCP 5432", false),
    ("api", "model server", "TCP 8000", false),
    ("operator", "harness", "TCP 8080", false),
    ("api", "harness", "TCP 8080", false),
];

/// What values open: their arguments, and the one row that changes.
const OPENED: &[(&[&str], Row)] = &[
    (&["api.database.existingSecret=db"], ("api", "database", "TCP 5432", true)),
    (
        &["networkPolicy.apiFrom[0].podSelector.matchLabels.app=stranger"],
        ("stranger", "api", "TCP 8080", true),
    ),
    (
        &["networkPolicy.operatorFrom[0].podSelector.matchLabels.app=stranger"],
        ("stranger", "operator", "TCP 8081", true),
    ),
    (
        &[
            "networkPolicy.apiEgress[0].to[0].podSelector.matchLabels.app=llama",
            "networkPolicy.apiEgress[0].ports[0].port=8000",
        ],
        ("api", "model server", "TCP 8000", true),
    ),
    (&["networkPolicy.outPorts={80}"], ("api", "internet", "TCP 80", true)),
];

/// The rendered chart, and the policies of chart and operator.
struct Cluster {
    objects: Vec<Value>,
    policies: Vec<NetworkPolicy>,
}

impl Cluster {
    async fn of(values: &[&str]) -> Self {
        let arguments: Vec<&str> = values.iter().flat_map(|value| ["--set", *value]).collect();
        let objects = objects(&arguments).await;
        let mut rendered: Vec<NetworkPolicy> = objects
            .iter()
            .filter(|object| object["kind"] == "NetworkPolicy")
            .map(|object| serde_json::from_value(object.clone()).unwrap())
            .collect();
        let settings =
            NetworkConfig { dns_port: 53, dns_addresses: Vec::new(), coding_except: Vec::new() };
        rendered.extend(policies::render("foundry-agents", &[], &settings));
        Self { objects, policies: rendered }
    }

    fn opens(&self, from: &str, to: &str, words: &str) -> bool {
        let (protocol, port) = words.split_once(' ').unwrap();
        let protocol = if protocol == "TCP" { Protocol::Tcp } else { Protocol::Udp };
        let (from, to) = (self.end(from), self.end(to));
        let flow = Flow { from: &from, to: &to, protocol, port: port.parse().unwrap() };
        allows(&self.policies, &flow).unwrap()
    }

    /// Whoever has a name in the tables; the chart's own pods as it labels them.
    fn end(&self, name: &str) -> End {
        match name {
            "api" => pod("default", self.labels("foundry-api"), "10.0.2.1"),
            "operator" => pod("default", self.labels("foundry-operator"), "10.0.2.2"),
            "harness" => pod("foundry-agents", app("foundry-harness"), "10.0.1.1"),
            "a harness elsewhere" => pod("elsewhere", app("foundry-harness"), "10.0.3.1"),
            "stranger" => pod("default", app("stranger"), "10.0.2.3"),
            "stranger among agents" => pod("foundry-agents", app("stranger"), "10.0.1.2"),
            "database" => pod("default", app("postgres"), "10.0.2.4"),
            "model server" => pod("default", app("llama"), "10.0.2.5"),
            "dns" => {
                let labels = [("k8s-app".to_owned(), "kube-dns".to_owned())];
                pod("kube-system", labels.into(), "10.0.0.10")
            }
            "kubernetes" => End::Address("10.96.0.1".parse().unwrap()),
            "node" => End::Address("172.30.0.2".parse().unwrap()),
            "internet" => End::Address("140.82.121.3".parse().unwrap()),
            "metadata" => End::Address("169.254.169.254".parse().unwrap()),
            _ => panic!("nobody is named {name:?}"),
        }
    }

    fn labels(&self, deployment: &str) -> BTreeMap<String, String> {
        let deployment = one(&self.objects, "Deployment", "default", deployment);
        let labels = &deployment["spec"]["template"]["metadata"]["labels"];
        serde_json::from_value(labels.clone()).unwrap()
    }
}

/// NET-02
#[tokio::test]
async fn the_policies_of_operator_and_api_let_through_these_flows_and_no_others() {
    let cluster = Cluster::of(&[]).await;
    for &(from, to, port, open) in FLOWS {
        assert_eq!(cluster.opens(from, to, port), open, "{from} to {to}, {port}");
    }
}

#[tokio::test]
async fn a_value_opens_what_it_says_and_nothing_else() {
    for &(values, opened) in OPENED {
        let cluster = Cluster::of(values).await;
        let (from, to, port, open) = opened;
        assert_eq!(cluster.opens(from, to, port), open, "{values:?}: {from} to {to}, {port}");
        // Ports that are replaced are closed; here only what was added counts.
        for &(from, to, port, _) in FLOWS.iter().filter(|(_, _, _, open)| !open) {
            if (from, to, port) != (opened.0, opened.1, opened.2) && !values[0].contains("outPorts")
            {
                assert!(!cluster.opens(from, to, port), "{values:?}: {from} to {to}, {port}");
            }
        }
    }
}

/// Without policies every row is open, so that closed means something.
#[tokio::test]
async fn without_network_policies_every_flow_is_open() {
    let mut cluster = Cluster::of(&["networkPolicy.enabled=false"]).await;
    assert_eq!(cluster.policies.len(), 2, "those of the operator, which a setting takes away");
    cluster.policies.clear();
    for &(from, to, port, _) in FLOWS {
        assert!(cluster.opens(from, to, port), "{from} to {to}, {port}");
    }
}

fn app(name: &str) -> BTreeMap<String, String> {
    [("app".to_owned(), name.to_owned())].into()
}

fn pod(namespace: &str, labels: BTreeMap<String, String>, address: &str) -> End {
    End::Pod(PodEnd {
        namespace: namespace.to_owned(),
        namespace_labels: BTreeMap::new(),
        labels,
        address: address.parse().unwrap(),
    })
}
