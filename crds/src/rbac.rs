//! Who may do what in a cluster: the narrowest rights that work.
//!
//! The operator and the API live in [`CONTROL_NAMESPACE`]; each watched namespace gets
//! Roles of its own. There are `ClusterRoles` only where Kubernetes leaves no choice:
//! `TokenReviews` belong to no namespace, and aggregation to view, edit and admin knows
//! no other form.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};

use crate::meta::{GROUP, HARNESS_SERVICE_ACCOUNT};

/// Namespace of the operator, the API and their lease (WORK-05).
pub const CONTROL_NAMESPACE: &str = "default";
/// ServiceAccount of the operator.
pub const OPERATOR: &str = "foundry-operator";
/// ServiceAccount of the API.
pub const API: &str = "foundry-api";
/// NetworkPolicy over every harness pod of a watched namespace (NET-01).
pub const HARNESS_POLICY: &str = "foundry-harness";
/// NetworkPolicy that opens public Git hosts and registries to coding pods (NET-03).
pub const CODING_POLICY: &str = "foundry-harness-coding";

const RBAC: &str = "rbac.authorization.k8s.io";
const READ: &[&str] = &["get", "list", "watch"];
/// What keeping a child by server-side apply takes; what is there, a watch tells.
const KEEP: &[&str] = &["list", "watch", "create", "patch", "delete"];
const EDIT: &[&str] = &["create", "update", "patch", "delete", "deletecollection"];
const KINDS: &[&str] =
    &["agents", "codingruns", "harnesses", "models", "skills", "swarms", "toolservers"];

/// Everything, for these watched namespaces.
pub fn all(namespaces: &[&str]) -> Vec<Value> {
    let mut objects = control();
    for namespace in namespaces {
        objects.extend(watched(namespace));
    }
    objects
}

/// What exists once a cluster.
pub fn control() -> Vec<Value> {
    vec![
        json!(service_account(OPERATOR, CONTROL_NAMESPACE)),
        json!(service_account(API, CONTROL_NAMESPACE)),
        json!(role(OPERATOR, CONTROL_NAMESPACE, vec![leases()])),
        json!(role_binding(OPERATOR, CONTROL_NAMESPACE)),
        json!(cluster_role("foundry-api-token-review", None, vec![token_reviews()])),
        json!(cluster_role_binding("foundry-api-token-review", API)),
        json!(cluster_role("foundry-view", Some("view"), vec![rule(GROUP, KINDS, READ)])),
        json!(cluster_role("foundry-edit", Some("edit"), vec![rule(GROUP, KINDS, EDIT)])),
        json!(cluster_role("foundry-admin", Some("admin"), vec![acting_for_others()])),
    ]
}

/// What exists in each watched namespace, the namespace included.
pub fn watched(namespace: &str) -> Vec<Value> {
    vec![
        json!(agents_namespace(namespace)),
        json!(harness_account(namespace)),
        json!(role(OPERATOR, namespace, operator_rules())),
        json!(role_binding(OPERATOR, namespace)),
        json!(role(API, namespace, api_rules())),
        json!(role_binding(API, namespace)),
    ]
}

fn operator_rules() -> Vec<PolicyRule> {
    vec![
        rule(GROUP, KINDS, READ),
        // Ephemeral agents of runs and swarms, each acting as the owner of its own; and
        // the operator's own expiries.
        rule(GROUP, &["agents"], &["create", "patch"]),
        rule(GROUP, &["agents/ephemeral"], &["create"]),
        acting_for_others(),
        rule(
            GROUP,
            &[
                "agents/status",
                "codingruns/status",
                "harnesses/status",
                "models/status",
                "skills/status",
                "swarms/status",
                "toolservers/status",
            ],
            &["patch"],
        ),
        // WORK-05
        // One that somebody scaled is scaled back from what it is at that moment.
        rule("apps", &["deployments"], &[&["get"], KEEP].concat()),
        // SPEC-01: versions are made, and beyond their number deleted; none ever changes.
        rule("apps", &["controllerrevisions"], &["list", "watch", "create", "delete"]),
        rule("batch", &["jobs"], KEEP),
        rule("", &["pods"], KEEP),
        // Its own two of all the network policies there are.
        rule("networking.k8s.io", &["networkpolicies"], &["list", "watch"]),
        PolicyRule {
            resource_names: Some(vec![HARNESS_POLICY.to_owned(), CODING_POLICY.to_owned()]),
            ..rule("networking.k8s.io", &["networkpolicies"], &["create", "patch", "delete"])
        },
        // The local runtime plays the kubelet of its own pods …
        rule("", &["pods/status"], &["patch"]),
        // … and gives each a token bound to it.
        PolicyRule {
            resource_names: Some(vec![HARNESS_SERVICE_ACCOUNT.to_owned()]),
            ..rule("", &["serviceaccounts/token"], &["create"])
        },
        // A Model and a ToolServer are Ready when their Secret has its key: by name, never by list.
        rule("", &["secrets"], &["get"]),
        rule("events.k8s.io", &["events"], &["create", "patch"]),
    ]
}

fn api_rules() -> Vec<PolicyRule> {
    vec![
        rule(GROUP, &["agents", "codingruns", "harnesses", "swarms"], READ),
        // The catalog of models is what the watch tells, and so are the servers to ask.
        rule(GROUP, &["models", "toolservers"], &["list", "watch"]),
        rule(GROUP, &["agents"], &["create", "patch"]),
        // ROUTE-14
        rule(GROUP, &["codingruns"], &["create"]),
        // SWARM-01, SWARM-04: a swarm is spawned, and dismissed.
        rule(GROUP, &["swarms"], &["create", "patch"]),
        acting_for_others(),
        // What harnesses report, and what it finds at tool servers.
        rule(GROUP, &["agents/status", "codingruns/status", "toolservers/status"], &["patch"]),
        // A pod's identity leads from its owner references to its Agent.
        rule("", &["pods"], &["get"]),
        rule("apps", &["deployments", "replicasets"], &["get"]),
        rule("batch", &["jobs"], &["get"]),
        // The relay reads a provider's key at each call: by name, never by list.
        rule("", &["secrets"], &["get"]),
    ]
}

fn leases() -> PolicyRule {
    rule("coordination.k8s.io", &["leases"], &["get", "create", "update"])
}

fn token_reviews() -> PolicyRule {
    rule("authentication.k8s.io", &["tokenreviews"], &["create"])
}

/// To write agents and runs whose owner is somebody else.
fn acting_for_others() -> PolicyRule {
    rule(GROUP, &["agents"], &["actas"])
}

/// Harness pods run under the strictest of the Pod Security Standards.
fn agents_namespace(namespace: &str) -> Namespace {
    Namespace {
        metadata: ObjectMeta {
            labels: Some(labels("pod-security.kubernetes.io/enforce", "restricted")),
            ..named(namespace)
        },
        ..Namespace::default()
    }
}

/// WORK-04: it has no Role, and no token is mounted unless a pod asks for one.
fn harness_account(namespace: &str) -> ServiceAccount {
    ServiceAccount {
        automount_service_account_token: Some(false),
        ..service_account(HARNESS_SERVICE_ACCOUNT, namespace)
    }
}

fn service_account(name: &str, namespace: &str) -> ServiceAccount {
    ServiceAccount { metadata: within(name, namespace), ..ServiceAccount::default() }
}

fn role(name: &str, namespace: &str, rules: Vec<PolicyRule>) -> Role {
    Role { metadata: within(name, namespace), rules: Some(rules) }
}

fn role_binding(account: &str, namespace: &str) -> RoleBinding {
    RoleBinding {
        metadata: within(account, namespace),
        role_ref: role_ref("Role", account),
        subjects: Some(vec![subject(account)]),
    }
}

fn cluster_role(name: &str, aggregate_to: Option<&str>, rules: Vec<PolicyRule>) -> ClusterRole {
    let labels = aggregate_to.map(|role| labels(&format!("{RBAC}/aggregate-to-{role}"), "true"));
    ClusterRole {
        metadata: ObjectMeta { labels, ..named(name) },
        rules: Some(rules),
        ..ClusterRole::default()
    }
}

fn cluster_role_binding(role: &str, account: &str) -> ClusterRoleBinding {
    ClusterRoleBinding {
        metadata: named(role),
        role_ref: role_ref("ClusterRole", role),
        subjects: Some(vec![subject(account)]),
    }
}

fn role_ref(kind: &str, name: &str) -> RoleRef {
    RoleRef { api_group: RBAC.to_owned(), kind: kind.to_owned(), name: name.to_owned() }
}

fn subject(account: &str) -> Subject {
    Subject {
        kind: "ServiceAccount".to_owned(),
        name: account.to_owned(),
        namespace: Some(CONTROL_NAMESPACE.to_owned()),
        ..Subject::default()
    }
}

fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> PolicyRule {
    let owned = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
    PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(owned(resources)),
        verbs: owned(verbs),
        ..PolicyRule::default()
    }
}

fn labels(key: &str, value: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(key.to_owned(), value.to_owned())])
}

fn named(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() }
}

fn within(name: &str, namespace: &str) -> ObjectMeta {
    ObjectMeta { namespace: Some(namespace.to_owned()), ..named(name) }
}
