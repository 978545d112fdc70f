//! What stands in the way of a swarm, in the cluster runtime, and how it heals.

use foundry_crds::agent::Activation;
use foundry_crds::swarm::MemberPhase;
use foundry_crds::{Agent, AgentSpec, Swarm};
use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use k8s_openapi::api::batch::v1::Job;
use kube::api::{DeleteParams, PostParams};
use kube::{Api, Resource as _, ResourceExt as _};
use pretty_assertions::assert_eq;
use serde_json::json;
use testenv::eventually;

use super::coding::{patch, process_lives};
use super::swarm::{can_swarm, complete, is, member, phases, stands, status, swarm};
use super::world::{DEADLINE, World};

/// One member without a Harness waits, with the time of the next try; the other runs.
#[tokio::test]
async fn a_member_without_a_harness_waits_while_the_others_go_on() {
    let world = World::new("op-swarm-wait").await;
    let operator = world.cluster_operator();
    can_swarm(&world).await;
    swarm(&world, |spec| spec.members[0].harness = "missing-v1".to_owned()).await;
    world.exactly::<Job>(&["foundry-agent-team-docs-1"]).await;
    process_lives(&world, "team-docs").await;
    let told = stands(&world, "Running", "HarnessNotFound").await;
    let message = complete(&told).1;
    assert!(message.contains("\"code\"") && message.contains("every 15 s"), "{message}");
    assert!(is(&told, "Reconciling", true));
    assert_eq!(phases(&told), [("docs", MemberPhase::Running)]);
    world.harness("missing-v1").await;
    let jobs = ["foundry-agent-team-code-1", "foundry-agent-team-docs-1"];
    world.exactly::<Job>(&jobs).await;
    stands(&world, "Running", "Running").await;
    operator.stop().await;
}

/// What admission refuses waits in its words, with the time of the next try, and heals.
#[tokio::test]
async fn a_member_that_admission_refuses_waits_while_the_others_go_on() {
    let world = World::new("op-swarm-422").await;
    can_swarm(&world).await;
    let policy = refuse(&world, "team-code").await;
    let operator = world.cluster_operator();
    swarm(&world, |_| {}).await;
    process_lives(&world, "team-docs").await;
    let told = stands(&world, "Running", "Refused").await;
    let message = complete(&told).1;
    assert!(message.contains("\"code\"") && message.contains("no tool of that name"), "{message}");
    assert!(message.contains("every 30 s"), "{message}");
    assert!(is(&told, "Stalled", true) && is(&told, "Ready", false));
    assert_eq!(phases(&told), [("docs", MemberPhase::Running)], "the other goes on");
    assert_eq!(told.member_summary.as_deref(), Some("0/2"));
    let gone = DeleteParams::default();
    Api::<ValidatingAdmissionPolicyBinding>::all(world.client())
        .delete(&policy, &gone)
        .await
        .unwrap();
    Api::<ValidatingAdmissionPolicy>::all(world.client()).delete(&policy, &gone).await.unwrap();
    let jobs = ["foundry-agent-team-code-1", "foundry-agent-team-docs-1"];
    world.exactly::<Job>(&jobs).await;
    operator.stop().await;
}

/// Lets admission refuse an agent of this name with 422, as where a Harness does not permit
/// its tools, and gives the name of the policy that does.
async fn refuse(world: &World, name: &str) -> String {
    let namespace = &world.namespace.name;
    let policy = format!("refuse-in-{namespace}");
    let document = json!({
        "metadata": { "name": policy },
        "spec": {
            "matchConstraints": {
                "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": namespace } },
                "resourceRules": [{
                    "apiGroups": ["foundry.flow.life"], "apiVersions": ["*"],
                    "operations": ["CREATE"], "resources": ["agents"],
                }],
            },
            "validations": [{
                "expression": format!("object.metadata.name != '{name}'"),
                "message": "the Harness permits no tool of that name", "reason": "Invalid",
            }],
        },
    });
    let policies = Api::<ValidatingAdmissionPolicy>::all(world.client());
    let create = PostParams::default();
    policies.create(&create, &serde_json::from_value(document).unwrap()).await.unwrap();
    let binding = json!({
        "metadata": { "name": policy },
        "spec": { "policyName": policy, "validationActions": ["Deny"] },
    });
    let bindings = Api::<ValidatingAdmissionPolicyBinding>::all(world.client());
    bindings.create(&create, &serde_json::from_value(binding).unwrap()).await.unwrap();
    let agents = world.api::<Agent>();
    let spec = AgentSpec {
        owner: "eve".to_owned(),
        harness: "agent-v1".to_owned(),
        ..AgentSpec::default()
    };
    let probe = Agent::new(name, spec);
    eventually("the policy acts", DEADLINE, || async {
        let dry_run = PostParams { dry_run: true, ..PostParams::default() };
        let tried = agents.create(&dry_run, &probe).await.map(drop);
        let refused = matches!(&tried, Err(kube::Error::Api(answer)) if answer.code == 422);
        anyhow::ensure!(refused, "{tried:?}");
        anyhow::Ok(())
    })
    .await;
    policy
}

/// SWARM-02: nothing is made but for the agent that started the swarm, and its owner.
#[tokio::test]
async fn a_swarm_waits_for_its_parent_and_makes_nothing_for_another_owners_or_an_archived_one() {
    let world = World::new("op-swarm-par").await;
    let operator = world.cluster_operator();
    world.harness("agent-v1").await;
    swarm(&world, |_| {}).await;
    stands(&world, "Pending", "ParentNotFound").await;
    world
        .agent("lead", |spec| {
            spec.owner = "ben".to_owned();
            spec.activation = Some(Activation::OnDemand);
        })
        .await;
    stands(&world, "Pending", "ParentOwner").await;
    world.exactly::<Agent>(&["lead"]).await;
    world.edit("lead", json!({ "owner": "eve", "lifecycle": "archive" })).await;
    let told = stands(&world, "Pending", "ParentArchived").await;
    assert!(complete(&told).1.contains("dismiss the swarm"), "{}", complete(&told).1);
    world.exactly::<Agent>(&["lead"]).await;
    world.api::<Agent>().delete("lead", &DeleteParams::default()).await.unwrap();
    stands(&world, "Pending", "ParentNotFound").await;
    world.agent("lead", |spec| spec.activation = Some(Activation::OnDemand)).await;
    let jobs = ["foundry-agent-team-code-1", "foundry-agent-team-docs-1"];
    world.exactly::<Job>(&jobs).await;
    operator.stop().await;
}

/// WORK-01, LIFE-05: a name that is taken, by whoever claims to be the swarm's, is left as
/// it is, and a member's agent that somebody deletes is not made again.
#[tokio::test]
async fn a_swarm_takes_over_no_agent_and_makes_none_again() {
    let world = World::new("op-swarm-name").await;
    let operator = world.cluster_operator();
    world.harness("agent-v1").await;
    let made = swarm(&world, |_| {}).await;
    stands(&world, "Pending", "ParentNotFound").await;
    let mut claiming = Agent::new(
        "team-code",
        AgentSpec {
            owner: "ben".to_owned(),
            harness: "agent-v1".to_owned(),
            activation: Some(Activation::OnDemand),
            ..AgentSpec::default()
        },
    );
    claiming.metadata.owner_references = made.controller_owner_ref(&()).map(|owner| vec![owner]);
    let claiming = world.create(&claiming).await;
    world.agent("lead", |spec| spec.activation = Some(Activation::OnDemand)).await;
    process_lives(&world, "team-docs").await;
    let told = stands(&world, "Running", "NameTaken").await;
    assert!(complete(&told).1.contains("\"team-code\" exists"), "{}", complete(&told).1);
    let present = world.api::<Agent>().get("team-code").await.unwrap();
    assert_eq!((present.uid(), present.spec), (claiming.uid(), claiming.spec));
    world.api::<Agent>().delete("team-code", &DeleteParams::default()).await.unwrap();
    world.exactly::<Agent>(&["lead", "team-code", "team-docs"]).await;
    process_lives(&world, "team-code").await;
    stands(&world, "Running", "Running").await;

    world.api::<Agent>().delete("team-code", &DeleteParams::default()).await.unwrap();
    let told = stands(&world, "Running", "MemberFailed").await;
    let both = [("code", MemberPhase::Failed), ("docs", MemberPhase::Running)];
    assert_eq!(phases(&told), both);
    world.exactly::<Agent>(&["lead", "team-docs"]).await;
    // Taken out, and added again, it is made anew.
    let one = json!({ "spec": { "members": [member("docs")] } });
    patch::<Swarm>(&world, "team", one).await;
    status(&world, "it is forgotten", |status| status.members.len() == 1).await;
    let two = json!({ "spec": { "members": [member("docs"), member("code")] } });
    patch::<Swarm>(&world, "team", two).await;
    world.exactly::<Agent>(&["lead", "team-code", "team-docs"]).await;
    operator.stop().await;
}

/// Made again under its name, a swarm has agents of its own and not its predecessor's.
#[tokio::test]
async fn a_swarm_made_again_under_its_name_begins_anew() {
    let world = World::new("op-swarm-again").await;
    let operator = world.cluster_operator();
    can_swarm(&world).await;
    swarm(&world, |_| {}).await;
    world.one_pod("team-docs").await;
    let first = world.api::<Agent>().get("team-docs").await.unwrap().uid();
    world.api::<Swarm>().delete("team", &DeleteParams::default()).await.unwrap();
    let again = swarm(&world, |_| {}).await;
    let agents = world.api::<Agent>();
    eventually("the namesake has agents of its own", DEADLINE, || async {
        let agent = agents.get("team-docs").await?;
        anyhow::ensure!(agent.uid() != first, "it is the first one");
        anyhow::ensure!(agent.owner_references()[0].uid == again.uid().unwrap_or_default());
        anyhow::Ok(())
    })
    .await;
    status(&world, "both are made", |status| status.members.len() == 2).await;
    let jobs = ["foundry-agent-team-code-1", "foundry-agent-team-docs-1"];
    world.exactly::<Job>(&jobs).await;
    operator.stop().await;
}
