//! Which connections policies let through: Kubernetes' own rules, as a pure function.
//!
//! What is rendered is shown by it as a table of flows, and so can be what a cluster has.
//! Two things are always let through and not asked for here: a pod to itself, and what
//! goes between a pod and the node that it runs on, either way.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::{AddrParseError, IpNet};
use k8s_openapi::api::networking::v1::{
    IPBlock, NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort, NetworkPolicySpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::core::{ParseExpressionError, Selector, SelectorExt as _};

use super::policies::NAMESPACE_NAME;

/// One end of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// A pod of the cluster.
    Pod(PodEnd),
    /// Anything else: a host, a node, a server of the internet.
    Address(IpAddr),
}

/// A pod as policies see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodEnd {
    /// Its namespace.
    pub namespace: String,
    /// Labels of its namespace beside the one that the API server sets.
    pub namespace_labels: BTreeMap<String, String>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its address: a rule of addresses meets pods too.
    pub address: IpAddr,
}

/// The transport of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// SCTP.
    Sctp,
}

/// A connection that somebody wants to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow<'a> {
    /// Who opens it.
    pub from: &'a End,
    /// To whom.
    pub to: &'a End,
    /// By which transport.
    pub protocol: Protocol,
    /// To which port: of the pod itself, for policies see no Service.
    pub port: u16,
}

/// A policy that this evaluator cannot read. It guesses nothing.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// A selector makes no sense.
    #[error("failed to read NetworkPolicy {policy}: a selector makes no sense")]
    Selector {
        /// The policy.
        policy: String,
        /// What is wrong with it.
        #[source]
        source: ParseExpressionError,
    },
    /// A range makes no sense.
    #[error("failed to read NetworkPolicy {policy}: `{range}` is no range of addresses")]
    Range {
        /// The policy.
        policy: String,
        /// What should be a range.
        range: String,
        /// What is wrong with it.
        #[source]
        source: AddrParseError,
    },
    /// A port has a name, whose number only the containers of each pod tell.
    #[error("failed to read NetworkPolicy {policy}: port `{port}` is a name; give its number")]
    NamedPort {
        /// The policy.
        policy: String,
        /// The name.
        port: String,
    },
}

/// Whether these policies, all there are, let a connection through. It must be let out of
/// its pod and into the other.
pub fn allows(policies: &[NetworkPolicy], flow: &Flow<'_>) -> Result<bool, Unreadable> {
    Ok(lets_through(policies, flow, Direction::Egress)?
        && lets_through(policies, flow, Direction::Ingress)?)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Egress,
    Ingress,
}

/// A pod that no policy governs is open; one that some do is open where any of them is.
fn lets_through(
    policies: &[NetworkPolicy],
    flow: &Flow<'_>,
    direction: Direction,
) -> Result<bool, Unreadable> {
    let (own, peer) = match direction {
        Direction::Egress => (flow.from, flow.to),
        Direction::Ingress => (flow.to, flow.from),
    };
    let End::Pod(own) = own else { return Ok(true) };
    let mut is_governed = false;
    for policy in policies.iter().filter_map(Policy::of) {
        if policy.governs(own, direction)? {
            is_governed = true;
            if policy.opens(flow, peer, direction)? {
                return Ok(true);
            }
        }
    }
    Ok(!is_governed)
}

/// A policy with what all of its rules refer to.
struct Policy<'a> {
    name: &'a str,
    namespace: &'a str,
    spec: &'a NetworkPolicySpec,
}

impl<'a> Policy<'a> {
    /// One without rules of any kind, or in no namespace, is no policy.
    fn of(policy: &'a NetworkPolicy) -> Option<Self> {
        Some(Self {
            name: policy.metadata.name.as_deref().unwrap_or_default(),
            namespace: policy.metadata.namespace.as_deref()?,
            spec: policy.spec.as_ref()?,
        })
    }

    fn governs(&self, pod: &PodEnd, direction: Direction) -> Result<bool, Unreadable> {
        Ok(self.is_about(direction)
            && pod.namespace == self.namespace
            && self.selects(self.spec.pod_selector.as_ref(), &pod.labels)?)
    }

    /// Without types a policy is about ingress, and about egress where it has such rules.
    fn is_about(&self, direction: Direction) -> bool {
        let types = self.spec.policy_types.as_deref().unwrap_or_default();
        let is_named = |name: &str| types.iter().any(|it| it == name);
        let has_egress = self.spec.egress.as_ref().is_some_and(|rules| !rules.is_empty());
        match direction {
            Direction::Ingress => types.is_empty() || is_named("Ingress"),
            Direction::Egress => is_named("Egress") || (types.is_empty() && has_egress),
        }
    }

    /// A rule without ports is about all of them, one without peers about everybody.
    fn opens(&self, flow: &Flow<'_>, peer: &End, direction: Direction) -> Result<bool, Unreadable> {
        for (ports, peers) in self.rules(direction) {
            let is_port = ports.is_empty() || any(ports, |port| self.is_port(port, flow))?;
            if is_port && (peers.is_empty() || any(peers, |rule| self.is_peer(rule, peer))?) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn rules(
        &self,
        direction: Direction,
    ) -> Vec<(&'a [NetworkPolicyPort], &'a [NetworkPolicyPeer])> {
        let NetworkPolicySpec { egress, ingress, .. } = self.spec;
        match direction {
            Direction::Egress => egress
                .iter()
                .flatten()
                .map(|rule| (items(rule.ports.as_ref()), items(rule.to.as_ref())))
                .collect(),
            Direction::Ingress => ingress
                .iter()
                .flatten()
                .map(|rule| (items(rule.ports.as_ref()), items(rule.from.as_ref())))
                .collect(),
        }
    }

    fn is_port(&self, rule: &NetworkPolicyPort, flow: &Flow<'_>) -> Result<bool, Unreadable> {
        let protocol = match flow.protocol {
            Protocol::Tcp => "TCP",
            Protocol::Udp => "UDP",
            Protocol::Sctp => "SCTP",
        };
        if rule.protocol.as_deref().unwrap_or("TCP") != protocol {
            return Ok(false);
        }
        match &rule.port {
            None => Ok(true),
            Some(IntOrString::Int(first)) => {
                let last = rule.end_port.unwrap_or(*first);
                Ok((*first..=last).contains(&i32::from(flow.port)))
            }
            Some(IntOrString::String(port)) => {
                Err(Unreadable::NamedPort { policy: self.name.to_owned(), port: port.clone() })
            }
        }
    }

    /// A peer of addresses is that alone; otherwise both selectors must hold, and without
    /// one of namespaces the pod is meant to be of the policy's own.
    fn is_peer(&self, rule: &NetworkPolicyPeer, peer: &End) -> Result<bool, Unreadable> {
        let NetworkPolicyPeer { ip_block, namespace_selector, pod_selector } = rule;
        if let Some(block) = ip_block {
            return self.is_within(block, peer.address());
        }
        let End::Pod(pod) = peer else { return Ok(false) };
        let is_of_namespace = match namespace_selector {
            Some(_) => self.selects(namespace_selector.as_ref(), &pod.all_namespace_labels())?,
            None => pod.namespace == self.namespace,
        };
        Ok(is_of_namespace && self.selects(pod_selector.as_ref(), &pod.labels)?)
    }

    fn is_within(&self, block: &IPBlock, address: IpAddr) -> Result<bool, Unreadable> {
        let IPBlock { cidr, except } = block;
        let is_in = |range: &String| match range.parse::<IpNet>() {
            Ok(range) => Ok(range.contains(&address)),
            Err(source) => Err(Unreadable::Range {
                policy: self.name.to_owned(),
                range: range.clone(),
                source,
            }),
        };
        Ok(is_in(cidr)? && !any(items(except.as_ref()), is_in)?)
    }

    /// Whether labels are selected; without a selector, or with an empty one, all are.
    fn selects(
        &self,
        selector: Option<&LabelSelector>,
        labels: &BTreeMap<String, String>,
    ) -> Result<bool, Unreadable> {
        let selector = Selector::try_from(selector.cloned().unwrap_or_default());
        match selector {
            Ok(selector) => Ok(selector.matches(labels)),
            Err(source) => Err(Unreadable::Selector { policy: self.name.to_owned(), source }),
        }
    }
}

impl End {
    fn address(&self) -> IpAddr {
        match self {
            Self::Pod(pod) => pod.address,
            Self::Address(address) => *address,
        }
    }
}

impl PodEnd {
    fn all_namespace_labels(&self) -> BTreeMap<String, String> {
        let mut labels = self.namespace_labels.clone();
        labels.insert(NAMESPACE_NAME.to_owned(), self.namespace.clone());
        labels
    }
}

fn items<T>(list: Option<&Vec<T>>) -> &[T] {
    list.map_or(&[], Vec::as_slice)
}

fn any<T>(items: &[T], is_it: impl Fn(&T) -> Result<bool, Unreadable>) -> Result<bool, Unreadable> {
    for item in items {
        if is_it(item)? {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests;
