use foundry_crds::{AgentSpec, HarnessSpec, agent::Lifetime};
use http::StatusCode;
use pretty_assertions::assert_eq;
use rstest::rstest;

use super::*;

fn parent(change: impl FnOnce(&mut AgentSpec)) -> Agent {
    let mut spec = AgentSpec {
        owner: "ann".to_owned(),
        harness: "agent-v1".to_owned(),
        tools: vec![SPAWN.to_owned(), "search".to_owned()],
        tool_servers: vec!["wiki".to_owned()],
        ..AgentSpec::default()
    };
    change(&mut spec);
    let mut agent = Agent::new("lead", spec);
    agent.metadata.namespace = Some("ws".to_owned());
    agent.metadata.uid = Some("uid".to_owned());
    agent
}

fn harness(name: &str, change: impl FnOnce(&mut HarnessSpec)) -> (String, Harness) {
    let mut spec = HarnessSpec {
        tools: vec!["search".to_owned(), "pulse".to_owned(), "remember".to_owned()],
        always_granted: vec!["remember".to_owned()],
        ..HarnessSpec::default()
    };
    change(&mut spec);
    (name.to_owned(), Harness::new(name, spec))
}

fn workspace() -> Workspace {
    Workspace {
        harnesses: BTreeMap::from([
            harness("agent-v1", |_| {}),
            harness("coding-v1", |spec| spec.features = vec!["repo_scope".to_owned()]),
            harness("skilled", |spec| spec.allows_skills = Some(true)),
            harness("rich", |spec| spec.always_granted.push("pulse".to_owned())),
        ]),
        models: Vec::new(),
        tool_servers: vec!["wiki".to_owned(), "shop".to_owned()],
    }
}

fn member(name: &str) -> SpawnMember {
    SpawnMember {
        name: name.to_owned(),
        instructions: "Look north.".to_owned(),
        ..SpawnMember::default()
    }
}

fn request(members: Vec<SpawnMember>) -> SpawnSwarm {
    SpawnSwarm { goal: "Map the coast.".to_owned(), members, ..SpawnSwarm::default() }
}

fn by_editor(request: &SpawnSwarm) -> Result<Swarm, Problem> {
    create(request, &parent(|_| {}), Asking::Editor, &workspace(), "once 1")
}

fn by_itself(request: &SpawnSwarm, parent: &Agent) -> Result<Swarm, Problem> {
    let workspace = workspace();
    let own = workspace.harnesses.get(&parent.spec.harness);
    create(request, parent, Asking::Itself(own), &workspace, "once 1")
}

fn refused(answer: Result<Swarm, Problem>) -> (StatusCode, &'static str, Option<String>) {
    let problem = answer.unwrap_err();
    (problem.status(), problem.reason(), problem.document().field)
}

/// SWARM-01, AUTHZ-01
#[test]
fn a_swarm_acts_as_the_owner_of_the_agent_that_starts_it() {
    let mut asked = request(vec![SpawnMember {
        tools: vec!["search".to_owned()],
        tool_servers: vec!["wiki".to_owned()],
        model: Some("auto".to_owned()),
        ..member("north")
    }]);
    asked.ttl_seconds = Some(600);
    let swarm = by_itself(&asked, &parent(|_| {})).unwrap();
    assert_eq!(swarm.namespace().as_deref(), Some("ws"));
    let expected = SwarmSpec {
        owner: "ann".to_owned(),
        parent: "lead".to_owned(),
        goal: "Map the coast.".to_owned(),
        members: vec![SwarmMember {
            name: "north".to_owned(),
            harness: "agent-v1".to_owned(),
            instructions: "Look north.".to_owned(),
            model: Some("auto".to_owned()),
            tools: vec!["search".to_owned()],
            skills: Vec::new(),
            tool_servers: vec!["wiki".to_owned()],
        }],
        ttl: Some("600s".to_owned()),
        dismissed: None,
    };
    assert_eq!(swarm.spec, expected);
}

#[rstest]
#[case::no_members(vec![], "members", "OutOfRange")]
#[case::too_many((0..21).map(|n| member(&format!("m{n}"))).collect(), "members", "OutOfRange")]
#[case::one_name_twice(vec![member("north"), member("north")], "members[1].name", "NameTaken")]
#[case::no_label(vec![member("north"), member("No.rth")], "members[1].name", "NotALabel")]
#[case::nothing_to_do(
    vec![SpawnMember { instructions: " ".to_owned(), ..member("north") }],
    "members[0].instructions", "Empty"
)]
#[case::a_tool_that_its_harness_does_not_permit(
    vec![SpawnMember { tools: vec!["run_command".to_owned()], ..member("north") }],
    "members[0].tools", "ToolNotPermitted"
)]
#[case::skills_that_its_harness_does_not_allow(
    vec![SpawnMember {
        skills: vec![foundry_client::SkillRef { name: "maps".to_owned(), version: None }],
        ..member("north")
    }],
    "members[0].skills", "SkillsNotAllowed"
)]
#[case::a_model_there_is_not(
    vec![SpawnMember { model: Some("none".to_owned()), ..member("north") }],
    "members[0].model", "ModelNotFound"
)]
#[case::a_tool_server_there_is_not(
    vec![SpawnMember { tool_servers: vec!["none".to_owned()], ..member("north") }],
    "members[0].tool_servers", "ToolServerNotFound"
)]
#[case::a_name_that_leaves_no_room(vec![member(&"n".repeat(30))], "members", "TooLong")]
fn what_does_not_fit_is_refused_with_its_field(
    #[case] members: Vec<SpawnMember>,
    #[case] field: &str,
    #[case] reason: &'static str,
) {
    let answer = refused(by_editor(&request(members)));
    assert_eq!(answer, (StatusCode::UNPROCESSABLE_ENTITY, reason, Some(field.to_owned())));
}

#[test]
fn a_harness_that_there_is_not_is_not_found() {
    let nowhere = SpawnMember { harness_id: Some("none".to_owned()), ..member("north") };
    let field = Some("members[0].harness_id".to_owned());
    let answer = refused(by_editor(&request(vec![nowhere])));
    assert_eq!(answer, (StatusCode::NOT_FOUND, "NotFound", field));
}

#[test]
fn a_given_name_keeps_to_the_rule_of_forty_characters_with_each_member() {
    let named = |id: &str, member_name: &str| SpawnSwarm {
        id: Some(id.to_owned()),
        ..request(vec![member(member_name), member("m")])
    };
    let swarm = by_editor(&named(&"s".repeat(34), "north")).unwrap();
    assert_eq!(swarm.name_any(), "s".repeat(34));
    let long = refused(by_editor(&named(&"s".repeat(35), "north")));
    assert_eq!((long.1, long.2.as_deref()), ("TooLong", Some("id")));
    let no_label = refused(by_editor(&named("No", "north")));
    assert_eq!((no_label.1, no_label.2.as_deref()), ("NotALabel", Some("id")));
}

#[test]
fn a_member_never_has_the_name_of_the_agent_that_starts_the_swarm() {
    let mut lead = parent(|_| {});
    lead.metadata.name = Some("crew-lead".to_owned());
    let asked = SpawnSwarm { id: Some("crew".to_owned()), ..request(vec![member("lead")]) };
    let answer = create(&asked, &lead, Asking::Editor, &workspace(), "once 1");
    assert_eq!(refused(answer).1, "NameTaken");
}

/// SWARM-02, LIFE-19
#[test]
fn only_a_persistent_agent_in_use_starts_a_swarm_and_its_process_only_with_the_grant() {
    let asked = request(vec![member("north")]);
    let by = |change: fn(&mut AgentSpec)| refused(by_itself(&asked, &parent(change)));
    let grantless = by(|spec| spec.tools.clear());
    assert_eq!((grantless.0, grantless.1), (StatusCode::FORBIDDEN, "NotGranted"));
    let ephemeral = by(|spec| spec.lifetime = Some(Lifetime::Ephemeral));
    assert_eq!((ephemeral.0, ephemeral.1), (StatusCode::CONFLICT, "NotPersistent"));
    let expired = by(|spec| spec.lifecycle = Some(Lifecycle::Expired));
    assert_eq!((expired.0, expired.1), (StatusCode::CONFLICT, "NotActive"));
    let without = parent(|spec| spec.tools.clear());
    assert!(create(&asked, &without, Asking::Editor, &workspace(), "once 1").is_ok());
}

/// SWARM-02
#[rstest]
#[case::a_tool(SpawnMember { tools: vec!["pulse".to_owned()], ..member("north") }, "tools")]
#[case::a_tool_server(
    SpawnMember { tool_servers: vec!["shop".to_owned()], ..member("north") }, "tool_servers"
)]
#[case::a_skill(
    SpawnMember {
        harness_id: Some("skilled".to_owned()),
        skills: vec![foundry_client::SkillRef { name: "review".to_owned(), version: None }],
        ..member("north")
    },
    "skills"
)]
#[case::a_harness_that_always_grants_more(
    SpawnMember { harness_id: Some("rich".to_owned()), ..member("north") }, "harness_id"
)]
#[case::keys_for_git(
    SpawnMember { harness_id: Some("coding-v1".to_owned()), ..member("north") }, "harness_id"
)]
fn an_agent_hands_on_only_what_it_has_and_an_editor_anything(
    #[case] member: SpawnMember,
    #[case] field: &str,
) {
    let asked = request(vec![member]);
    let answer = refused(by_itself(&asked, &parent(|_| {})));
    let field = Some(format!("members[0].{field}"));
    assert_eq!(answer, (StatusCode::FORBIDDEN, "NotGranted", field));
    assert!(by_editor(&asked).is_ok());
    let rich = parent(|spec| {
        spec.tools.extend(["pulse".to_owned(), SPAWN_CODING_AGENT.to_owned()]);
        spec.tool_servers.push("shop".to_owned());
        spec.skills
            .push(foundry_crds::agent::SkillRef { name: "review".to_owned(), version: None });
    });
    assert!(by_itself(&asked, &rich).is_ok(), "one that has it may");
}

/// SWARM-02
#[test]
fn what_its_own_harness_always_grants_needs_no_grant_to_be_handed_on() {
    let always = SpawnMember { tools: vec!["remember".to_owned()], ..member("north") };
    assert!(by_itself(&request(vec![always]), &parent(|_| {})).is_ok());
}

#[test]
fn the_same_request_gives_the_same_name_and_every_other_another() {
    let asked = request(vec![member("north")]);
    let name = |replay: &str| {
        create(&asked, &parent(|_| {}), Asking::Editor, &workspace(), replay).unwrap().name_any()
    };
    assert_eq!(name("key k"), name("key k"));
    assert_ne!(name("key k"), name("key l"));
    assert!(name("key k").starts_with("lead-"));
}
