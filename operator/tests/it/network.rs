//! Network policies on a real API server. Whether a network obeys them only a node can
//! show; what they say is read back here and evaluated.

use anyhow::ensure;
use foundry_crds::agent::Activation;
use foundry_crds::harness::NetworkRole;
use foundry_crds::yaml::from_yaml;
use foundry_crds::{Agent, AgentState, Harness, HarnessSpec};
use foundry_operator::network::flows::{End, Flow, PodEnd, Protocol, allows};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::rbac::v1::Role;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt as _};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use testenv::eventually;

use super::world::{DEADLINE, World, reason};

pub const HARNESS: &str = "foundry-harness";
pub const CODING: &str = "foundry-harness-coding";

/// Names of the network policies that the operator wrote so far.
fn writes(world: &World) -> Vec<String> {
    let writes = world.operator_writes().into_iter();
    writes.filter(|(resource, _)| resource == "networkpolicies").map(|(_, name)| name).collect()
}

pub async fn both(world: &World) -> Vec<NetworkPolicy> {
    world.exactly::<NetworkPolicy>(&[HARNESS, CODING]).await
}

/// Waits until a policy says again what it said, as the same object or another.
pub async fn says_again(world: &World, what: &str, wanted: &NetworkPolicy) -> NetworkPolicy {
    let policies = world.api::<NetworkPolicy>();
    eventually(&format!("{what} is put right"), DEADLINE, || async {
        let found = policies.get(&wanted.name_any()).await?;
        ensure!(found.spec == wanted.spec, "{:?}", found.spec);
        ensure!(found.labels() == wanted.labels(), "{:?}", found.labels());
        ensure!(found.owner_references() == wanted.owner_references(), "other owners");
        anyhow::Ok(found)
    })
    .await
}

#[expect(clippy::disallowed_methods, reason = "the test is another writer")]
pub async fn change(world: &World, name: &str, body: Value) {
    let api = world.api::<NetworkPolicy>();
    api.patch(name, &PatchParams::default(), &Patch::Merge(body)).await.unwrap();
}

/// A pod of the cluster as policies see it.
fn end(pod: &Pod, address: &str) -> End {
    End::Pod(PodEnd {
        namespace: pod.namespace().unwrap(),
        namespace_labels: [].into(),
        labels: pod.labels().clone(),
        address: address.parse().unwrap(),
    })
}

fn service(app: &str) -> End {
    End::Pod(PodEnd {
        namespace: "default".to_owned(),
        namespace_labels: [].into(),
        labels: [("app".to_owned(), app.to_owned())].into(),
        address: "10.0.2.1".parse().unwrap(),
    })
}

/// NET-01, NET-02, NET-03, NET-04, NET-05: the pods that are made, by the policies that
/// are stored.
#[tokio::test]
async fn the_pods_of_agents_stand_behind_policies_that_were_there_before_them() {
    let world = World::new("op-fence").await;
    let operator = world.cluster_operator();
    world.harness("agent-v1").await;
    let spec = HarnessSpec { network_role: Some(NetworkRole::Coding), ..HarnessSpec::default() };
    world.create(&Harness::new("code-v1", spec)).await;
    let ann = world.agent("ann", |_| {}).await;
    world.agent("ben", |spec| spec.harness = "code-v1".to_owned()).await;
    let think = end(&world.one_pod("ann").await, "10.0.1.1");
    let coding = end(&world.one_pod("ben").await, "10.0.1.2");
    let policies = both(&world).await;
    assert!(
        policies.iter().all(|policy| {
            policy.owner_references().iter().any(|owner| owner.uid == ann.uid().unwrap())
        }),
        "they go with their agents"
    );

    let writes = world.operator_writes();
    let first = |wanted: &str| writes.iter().position(|(it, _)| it == wanted).unwrap();
    assert!(first("networkpolicies") < first("deployments"), "the policy is first");

    let github = End::Address("140.82.121.3".parse().unwrap());
    let metadata = End::Address("169.254.169.254".parse().unwrap());
    let asks = |from: &End, to: &End, port| {
        allows(&policies, &Flow { from, to, protocol: Protocol::Tcp, port }).unwrap()
    };
    for pod in [&think, &coding] {
        assert!(asks(pod, &service("foundry-api"), 8080));
        assert!(!asks(pod, &service("postgres"), 5432));
        assert!(!asks(pod, &metadata, 80) && !asks(pod, &metadata, 443));
        assert!(!asks(&service("foundry-api"), pod, 8080), "nobody comes in");
    }
    assert!(!asks(&think, &coding, 22) && !asks(&coding, &think, 443));
    assert!(asks(&coding, &github, 22) && asks(&coding, &github, 443));
    assert!(!asks(&think, &github, 22) && !asks(&think, &github, 443));
    operator.stop().await;
}

/// NET-01, NET-02, NET-03, NET-04: whatever somebody makes of them.
#[tokio::test]
async fn a_policy_that_is_changed_or_deleted_is_put_right() {
    let world = World::new("op-fence-drift").await;
    let operator = world.cluster_operator();
    world.harness("agent-v1").await;
    world.agent("ann", |_| {}).await;
    world.one_pod("ann").await;
    let laid = both(&world).await;

    let drifts = [
        ("a way in", HARNESS, json!({ "spec": { "ingress": [{}] } })),
        ("a way out", HARNESS, json!({ "spec": { "egress": [{}] } })),
        ("no way out", CODING, json!({ "spec": { "egress": [] } })),
        ("one direction", HARNESS, json!({ "spec": { "policyTypes": ["Ingress"] } })),
        (
            "nobody's pods",
            CODING,
            json!({ "spec": { "podSelector": { "matchLabels": { "app": "none" } } } }),
        ),
        ("no label", CODING, json!({ "metadata": { "labels": null } })),
        ("no owner", HARNESS, json!({ "metadata": { "ownerReferences": null } })),
    ];
    for (what, name, body) in drifts {
        change(&world, name, body).await;
        let wanted = laid.iter().find(|it| it.name_any() == name).unwrap();
        let found = says_again(&world, what, wanted).await;
        assert_eq!(found.uid(), wanted.uid(), "{what}: it is mended in place");
    }

    let policies = world.api::<NetworkPolicy>();
    for wanted in &laid {
        policies.delete(&wanted.name_any(), &DeleteParams::default()).await.unwrap();
        let found = says_again(&world, "a deletion", wanted).await;
        assert_ne!(found.uid(), wanted.uid());
    }
    operator.stop().await;
}

/// NET-01: laid once; agents that come and operators that begin write nothing more.
#[tokio::test]
async fn policies_that_stand_cost_no_write() {
    let world = World::new("op-fence-rest").await;
    let operator = world.cluster_operator();
    world.harness("agent-v1").await;
    world.agent("ann", |_| {}).await;
    world.settles_without_a_node("ann").await;
    let once = [HARNESS, CODING];
    assert_eq!(writes(&world), once);

    operator.stop().await;
    let operator = world.cluster_operator();
    // Its restart makes a workload anew, for which the policies are looked at.
    world.edit("ann", json!({ "starts": 1 })).await;
    world.status("it begins again", "ann", |status| status.start_number == Some(2)).await;
    world.settles_without_a_node("ann").await;
    assert_eq!(writes(&world), once);

    // Some agents become owners beside it, the others do not.
    for number in 0..6 {
        let name = format!("agent-{number}");
        world.agent(&name, |_| {}).await;
        world.one_pod(&name).await;
    }
    let with_owners = writes(&world);
    assert!(with_owners.len() <= 8, "{with_owners:?}");
    let owners = |policies: &[NetworkPolicy]| {
        policies.iter().map(|it| it.owner_references().len()).collect::<Vec<_>>()
    };
    let laid = both(&world).await;
    assert_eq!(owners(&laid), [4, 4]);

    // Of four owners one may go: the garbage collector strikes it out, by itself.
    world.api::<Agent>().delete("ann", &DeleteParams::default()).await.unwrap();
    world.no_pod("ann").await;
    let policies = world.api::<NetworkPolicy>();
    eventually("others are named", DEADLINE, || async {
        let found = policies.list(&ListParams::default()).await?.items;
        ensure!(owners(&found) == [6, 6], "{:?}", owners(&found));
        ensure!(found.iter().zip(&laid).all(|(now, then)| now.uid() == then.uid()), "made anew");
        anyhow::Ok(())
    })
    .await;
    operator.stop().await;
}

/// They go with the last agent, also where no operator is left to take them away.
#[tokio::test]
async fn policies_go_with_the_last_agent_while_no_operator_runs() {
    let world = World::new("op-fence-gone").await;
    let operator = world.cluster_operator();
    world.harness("agent-v1").await;
    world.agent("ann", |_| {}).await;
    world.one_pod("ann").await;
    both(&world).await;
    operator.stop().await;
    world.api::<Agent>().delete("ann", &DeleteParams::default()).await.unwrap();
    world.exactly::<NetworkPolicy>(&[]).await;
}

#[tokio::test]
async fn policies_that_the_installation_does_not_want_are_taken_away_and_no_others() {
    let world = World::new("op-fence-off").await;
    let operator = world.cluster_operator();
    world.harness("agent-v1").await;
    world.agent("ann", |_| {}).await;
    world.one_pod("ann").await;
    both(&world).await;
    operator.stop().await;
    let own = serde_json::from_value::<NetworkPolicy>(json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": { "name": "your-own" },
        "spec": { "podSelector": { "matchLabels": { "app": "foundry-harness" } } },
    }));
    world.create(&own.unwrap()).await;

    let words = ["--runtime", "cluster", "--network-policies", "false"];
    let operator = world.operator(world.config(&words));
    world.exactly::<NetworkPolicy>(&["your-own"]).await;
    world.agent("ben", |_| {}).await;
    world.one_pod("ben").await;
    world.exactly::<NetworkPolicy>(&["your-own"]).await;
    operator.stop().await;
}

/// NET-04: the API server takes what the settings can say.
#[tokio::test]
async fn settings_become_part_of_the_policies_and_a_change_of_them_too() {
    let world = World::new("op-fence-set").await;
    let words = [
        &["--runtime", "cluster", "--network-dns-port", "5353"][..],
        &["--network-dns-addresses", "169.254.20.10,fd00::10"],
        &["--network-coding-except", "100.64.0.0/10,203.0.113.0/24,8.8.8.8/32,10.1.0.0/16"],
    ]
    .concat();
    let operator = world.operator(world.config(&words));
    world.harness("agent-v1").await;
    world.agent("ann", |_| {}).await;
    let ann = end(&world.one_pod("ann").await, "10.0.1.1");
    let node_local = End::Address("169.254.20.10".parse().unwrap());
    let flow = Flow { from: &ann, to: &node_local, protocol: Protocol::Udp, port: 53 };
    let laid = both(&world).await;
    assert!(allows(&laid, &flow).unwrap());
    let except = json!(laid[1].spec)["egress"][0]["to"][0]["ipBlock"]["except"].clone();
    let further = ["8.8.8.8/32", "100.64.0.0/10", "203.0.113.0/24"];
    let always = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"];
    assert_eq!(except, json!([&always[..], &further[..]].concat()));
    operator.stop().await;

    let operator = world.cluster_operator();
    let policies = world.api::<NetworkPolicy>();
    eventually("the settings are gone", DEADLINE, || async {
        let found = policies.list(&ListParams::default()).await?.items;
        ensure!(!allows(&found, &flow)?, "node-local DNS is open still");
        anyhow::Ok(())
    })
    .await;
    operator.stop().await;
}

/// A pod that could not be fenced is not made, and its agent says what is missing.
#[tokio::test]
async fn without_the_right_to_lay_policies_nothing_runs_and_the_agent_says_why() {
    let world = World::new("op-fence-right").await;
    forbid_policies(&world).await;

    let operator = world.cluster_operator();
    world.harness("agent-v1").await;
    world.agent("ann", |_| {}).await;
    let status = world
        .status("the refusal is told", "ann", |status| {
            reason(status, "Ready", false) == Some("Refused")
        })
        .await;
    let ready = status.conditions.iter().find(|it| it.type_ == "Ready").unwrap();
    let names_both = ready.message.contains("crds/yaml/rbac.yaml")
        && ready.message.contains("FOUNDRY_NETWORK_POLICIES");
    assert!(names_both, "{}", ready.message);
    assert_eq!(status.state, Some(AgentState::Pending));
    world.exactly::<Deployment>(&[]).await;

    // An agent that needs no pod needs no policy.
    world.agent("ben", |spec| spec.activation = Some(Activation::OnDemand)).await;
    world.status("it settles", "ben", |it| it.state == Some(AgentState::OnDemand)).await;
    operator.stop().await;
}

/// Takes the operator's rights over network policies, and waits until the API server knows.
#[expect(clippy::disallowed_methods, reason = "the test is another writer")]
pub async fn forbid_policies(world: &World) {
    let api = world.api::<Role>();
    let mut rules = api.get("foundry-operator").await.unwrap().rules.unwrap();
    rules.retain(|rule| !rule.resources.iter().flatten().any(|it| it == "networkpolicies"));
    let patch = Patch::Merge(json!({ "rules": rules }));
    api.patch("foundry-operator", &PatchParams::default(), &patch).await.unwrap();
    let user = "system:serviceaccount:default:foundry-operator";
    let client = world.control_plane.client_as(user, &["system:authenticated"]);
    let policies: Api<NetworkPolicy> = Api::namespaced(client, &world.namespace.name);
    eventually("the right is gone", DEADLINE, || async {
        let answer = policies.list(&ListParams::default()).await;
        ensure!(answer.is_err(), "it may still list");
        anyhow::Ok(())
    })
    .await;
}

/// The operator's own two are all that it may write.
#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the test asks in the operator's place")]
async fn the_operator_may_write_no_network_policy_but_its_own() {
    let world = World::new("op-fence-own").await;
    let user = "system:serviceaccount:default:foundry-operator";
    let client = world.control_plane.client_as(user, &["system:authenticated"]);
    let policies: Api<NetworkPolicy> = Api::namespaced(client, &world.namespace.name);
    let body = |name: &str| {
        Patch::Apply(json!({
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": { "name": name },
            "spec": { "podSelector": {} },
        }))
    };
    let dry = PatchParams::apply("test").dry_run();
    for name in [HARNESS, CODING] {
        policies.patch(name, &dry, &body(name)).await.unwrap();
    }
    let refused = policies.patch("your-own", &dry, &body("your-own")).await.unwrap_err();
    assert!(refused.to_string().contains("forbidden"), "{refused}");
    let refused = policies.delete("your-own", &DeleteParams::default()).await.unwrap_err();
    assert!(refused.to_string().contains("forbidden"), "{refused}");
}

/// OPS-01: processes of a machine are in no pod; policies there are none of this runtime's
/// business.
#[tokio::test]
async fn the_local_runtime_leaves_network_policies_alone() {
    let world = World::new("op-fence-local").await;
    let operator = world.cluster_operator();
    world.harness("agent-v1").await;
    world.agent("ann", |_| {}).await;
    world.one_pod("ann").await;
    both(&world).await;
    operator.stop().await;
    let before = writes(&world);

    let dir = tempfile::tempdir().unwrap();
    super::world::script(&dir.path().join("harness"), super::local::OBEDIENT);
    let dir = dir.path().to_str().unwrap();
    let words = ["--runtime", "local", "--local-dir", dir, "--local-bin-dir", dir];
    let operator = world.operator(world.config(&words));
    world
        .status("it is a process", "ann", |status| status.state == Some(AgentState::Running))
        .await;
    assert_eq!(writes(&world), before);
    world.edit("ann", json!({ "desiredState": "stopped" })).await;
    world.status("it is none", "ann", |it| it.state == Some(AgentState::Stopped)).await;
    both(&world).await;
    operator.stop().await;
}

/// What people copy from docs/network.md is taken by a cluster that enforces `restricted`.
#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the test asks in a person's place")]
async fn the_manifests_of_the_document_are_taken_as_they_stand() {
    let world = World::new("op-fence-docs").await;
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/network.md");
    let text = std::fs::read_to_string(path).unwrap();
    let blocks = text.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let blocks: Vec<&str> = blocks.collect();
    assert_eq!(blocks.len(), 2);
    let dry = PatchParams::apply("test").dry_run();
    let mut policy: NetworkPolicy = from_yaml(blocks[0]).unwrap();
    let mut pod: Pod = from_yaml(blocks[1]).unwrap();
    policy.metadata.namespace = None;
    pod.metadata.namespace = None;
    world
        .api::<NetworkPolicy>()
        .patch(&policy.name_any(), &dry, &Patch::Apply(&policy))
        .await
        .unwrap();
    world.api::<Pod>().patch(&pod.name_any(), &dry, &Patch::Apply(&pod)).await.unwrap();
}
