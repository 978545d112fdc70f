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

/// Whether the caller may read a run that the first of these agents spawned.
fn decide_run(caller: &Principal, ancestors: &[&str]) -> bool {
    let ancestors = ancestors.iter().map(|a| (*a).to_owned()).collect::<Vec<_>>();
    let action = Action::ReadCodingRun;
    let first = authorizer().policies.decide_run(caller, action, "run", &ancestors);
    second(first, caller, action, &Lineage { ancestors, top: anns() }).allowed
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
            Scope::RunRead => decide_run(caller, &["scout"]),
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
        (Action::DismissSwarm, true),
        (Action::SpawnSwarm, false),
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

/// CODE-31
#[test]
fn only_a_person_who_may_edit_the_agent_answers_and_approves() {
    let answers = |caller: &Principal| decide(caller, Action::AnswerQuestion, "scout", &[]);
    assert!(answers(&person("ann", &["member"])), "the owner");
    assert!(answers(&person("eve", &["member"])), "an editor");
    assert!(!answers(&person("ann", &["viewer"])), "whom the policies let only look");
    assert!(!answers(&person("vic", &["member"])), "a viewer");
    assert!(!answers(&person("sam", &["member"])), "a stranger");
    assert!(!answers(&person("sam", &["admin"])), "an administrator, who only reads");
    assert!(!answers(&pod("scout")), "the agent itself");
    let parents = decide(&pod("lead"), Action::AnswerQuestion, "scout", &["lead"]);
    assert!(!parents, "the agent that spawned it");
    assert!(!answers(&service(Some("scout"))), "a service in the agent's name");
}

#[test]
fn what_a_coding_agent_says_only_its_own_process_says() {
    for action in [
        Action::SavePlan,
        Action::AskQuestion,
        Action::PollAnswer,
        Action::ReportCoding,
        Action::ReadQueueErrors,
    ] {
        assert!(decide(&pod("scout"), action, "scout", &[]), "{action}");
        assert!(!decide(&pod("lead"), action, "scout", &["lead"]), "{action}");
        assert!(!decide(&person("ann", &["admin"]), action, "scout", &[]), "{action}");
    }
}

/// AUTHZ-02, ROUTE-14
#[test]
fn a_run_is_read_by_the_members_of_the_agent_at_the_top_and_by_whoever_spawned_it() {
    for (caller, expected) in [
        (person("ann", &["member"]), true),
        (person("vic", &["viewer"]), true),
        (person("sam", &["admin"]), true),
        (person("sam", &["member"]), false),
        (pod("scout"), true),
        (pod("lead"), true),
        (pod("other"), false),
        (service(Some("scout")), true),
        (service(None), false),
    ] {
        assert_eq!(decide_run(&caller, &["scout", "lead"]), expected, "{caller}");
    }
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

/// AUTHZ-01
#[test]
fn a_process_is_not_another_agent_of_the_same_name() {
    let agent = |name: &str, uid: &str| {
        let mut agent = anns();
        agent.metadata.name = Some(name.to_owned());
        agent.metadata.uid = Some(uid.to_owned());
        agent
    };
    assert!(pod("scout").is_another_than(&agent("scout", "of a later agent")));
    assert!(!pod("scout").is_another_than(&agent("scout", "u")), "itself");
    assert!(!pod("scout").is_another_than(&agent("child", "another")), "one it minds");
    assert!(!person("ann", &[]).is_another_than(&agent("scout", "u")));
}
