use foundry_crds::agent::{Member, MemberRole};
use pretty_assertions::assert_eq;
use rstest::rstest;

use super::*;
use crate::identity::Actor;

fn person(subject: &str, roles: &[&str]) -> Principal {
    Principal {
        subject: subject.to_owned(),
        workspace: "ws".to_owned(),
        roles: roles.iter().map(|role| (*role).to_owned()).collect(),
        actor: Actor::Person { agent: None },
    }
}

fn pod(agent: &str) -> Principal {
    Principal {
        subject: "ann".to_owned(),
        workspace: "ws".to_owned(),
        roles: vec!["agent".to_owned()],
        actor: Actor::Agent { id: agent.to_owned(), uid: "u".to_owned() },
    }
}

fn service(agent: Option<&str>) -> Principal {
    Principal {
        subject: "ann".to_owned(),
        workspace: "ws".to_owned(),
        roles: vec!["member".to_owned()],
        actor: Actor::Service { agent: agent.map(str::to_owned) },
    }
}

fn anns() -> Agent {
    let member = |subject: &str, role| Member { subject: subject.to_owned(), role };
    Agent::new(
        "scout",
        foundry_crds::AgentSpec {
            owner: "ann".to_owned(),
            harness: "agent-v1".to_owned(),
            members: vec![member("eve", MemberRole::Editor), member("vic", MemberRole::Viewer)],
            ..foundry_crds::AgentSpec::default()
        },
    )
}

fn authorizer() -> Authorizer {
    Authorizer::new(Metrics::default()).unwrap()
}

fn decide(caller: &Principal, action: Action, id: &str, ancestors: &[&str]) -> bool {
    let lineage =
        Lineage { ancestors: ancestors.iter().map(|a| (*a).to_owned()).collect(), top: anns() };
    authorizer().decide_agent(caller, action, id, &lineage).allowed
}

/// AUTHZ-03
#[test]
fn the_embedded_policies_fit_their_schema_strictly() {
    Policies::embedded().unwrap();
}

/// AUTHZ-03
#[rstest]
#[case::an_unknown_attribute(
    "@id(\"x\") permit(principal is Foundry::Person, action, resource) when { principal.wings };"
)]
#[case::no_id("permit(principal, action, resource);")]
#[case::no_policy("permit principal;")]
fn a_policy_file_that_is_wrong_does_not_start(#[case] policy: &str) {
    assert!(
        Policies::read(include_str!("../../policies/schema.cedarschema"), &[("x.cedar", policy)])
            .is_err()
    );
}

/// Every action of the code stands in the schema: an unknown one would be refused for
/// everybody, and the owner, who may most, may do each on one of the three ways.
#[test]
fn every_action_is_permitted_to_somebody() {
    let callers = [person("ann", &["member"]), pod("scout"), service(Some("scout"))];
    for action in Action::ALL {
        let permitted = callers.iter().any(|caller| match action.scope() {
            Scope::Workspace => authorizer().policies.decide_workspace(caller, action).allowed,
            Scope::AgentRead | Scope::AgentChange | Scope::AgentReport => {
                decide(caller, action, "scout", &[])
            }
        });
        assert!(permitted, "{action} is permitted to nobody");
    }
}

/// AUTHZ-03, AUTHZ-05
#[rstest]
#[case::owner("ann", &["member"], [true, true, false])]
#[case::owner_without_a_workspace_role("ann", &[], [false, false, false])]
#[case::owner_who_is_workspace_viewer("ann", &["viewer"], [true, false, false])]
#[case::editor("eve", &["member"], [true, true, false])]
#[case::viewer("vic", &["member"], [true, false, false])]
#[case::stranger("sam", &["member"], [false, false, false])]
#[case::administrator("sam", &["admin"], [true, false, false])]
fn policies_decide_first_and_the_role_on_the_agent_second(
    #[case] subject: &str,
    #[case] roles: &[&str],
    #[case] expected: [bool; 3],
) {
    let caller = person(subject, roles);
    let actions = [Action::ReadAgent, Action::EditAgent, Action::PollInbox];
    assert_eq!(actions.map(|action| decide(&caller, action, "scout", &[])), expected);
}

#[test]
fn a_pod_is_exactly_its_own_agent() {
    assert!(decide(&pod("scout"), Action::PollInbox, "scout", &[]));
    assert!(decide(&pod("scout"), Action::ReadAgent, "scout", &[]));
    for action in Action::ALL {
        if action.scope() != Scope::Workspace {
            assert!(!decide(&pod("other"), action, "scout", &[]), "{action}");
        }
    }
}

/// LIFE-19
#[test]
fn a_pod_sees_and_ends_what_its_agent_spawned_and_changes_nothing_else_of_it() {
    for (action, expected) in [
        (Action::ReadAgent, true),
        (Action::StopAgent, true),
        (Action::ExpireAgent, true),
        (Action::StartAgent, false),
        (Action::EditAgent, false),
        (Action::PollInbox, false),
    ] {
        assert_eq!(decide(&pod("scout"), action, "child", &["scout"]), expected, "{action}");
        assert_eq!(decide(&pod("scout"), action, "grandchild", &["child", "scout"]), expected);
        assert!(!decide(&pod("child"), action, "scout", &[]), "a child does not rule its parent");
    }
}

/// MEM-06
#[test]
fn only_a_person_may_take_memories_away() {
    assert!(decide(&person("ann", &["member"]), Action::DeleteMemory, "scout", &[]));
    assert!(!decide(&pod("scout"), Action::DeleteMemory, "scout", &[]));
    assert!(!decide(&service(Some("scout")), Action::DeleteMemory, "scout", &[]));
}

/// AUTHZ-04
#[test]
fn the_service_token_acts_as_the_named_agents_owner_and_alone_it_only_reads_the_catalog() {
    assert!(decide(&service(Some("scout")), Action::EditAgent, "scout", &[]));
    assert!(!decide(&service(None), Action::ReadAgent, "scout", &[]));
    let authorizer = authorizer();
    assert!(authorizer.authorize_workspace(&service(None), Action::ReadCatalog).is_ok());
    assert!(authorizer.authorize_workspace(&service(None), Action::ListAgents).is_err());
}
