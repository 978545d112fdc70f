use foundry_crds::{HarnessSpec, ModelSpec, model::Provider};
use pretty_assertions::assert_eq;
use rstest::rstest;

use super::*;

fn harness() -> Harness {
    Harness::new(
        "agent-v1",
        HarnessSpec {
            tools: vec!["search".to_owned()],
            always_granted: vec!["remember".to_owned()],
            ..HarnessSpec::default()
        },
    )
}

fn models() -> Vec<Model> {
    vec![Model::new(
        "small",
        ModelSpec {
            wire_id: "gpt-5-mini".to_owned(),
            provider: Provider::OpenAi,
            upstream_model: None,
            base_url: None,
            api_key: None,
            max_context_tokens: None,
            reasoning_efforts: Vec::new(),
            prices: None,
        },
    )]
}

fn servers() -> Vec<String> {
    vec!["wiki".to_owned()]
}

fn request() -> CreateAgent {
    CreateAgent {
        name: "Lead scout".to_owned(),
        harness_id: "agent-v1".to_owned(),
        ..CreateAgent::default()
    }
}

/// A harness that works on a repository.
fn coding_harness() -> Harness {
    let features = vec!["repo_scope".to_owned()];
    Harness::new("coding-v1", HarnessSpec { features, ..HarnessSpec::default() })
}

fn create_in_workspace(request: CreateAgent) -> Result<Agent, Problem> {
    let models = models();
    let harness = match request.harness_id.as_str() {
        "agent-v1" => Some(harness()),
        "coding-v1" => Some(coding_harness()),
        _ => None,
    };
    create(
        request,
        "ann",
        &Workspace { name: "ws", harness, models: &models, tool_servers: &servers() },
    )
}

#[test]
fn a_created_agent_belongs_to_the_caller_and_does_not_run_yet() {
    let agent = create_in_workspace(request()).unwrap();
    assert_eq!(agent.metadata.name.as_deref(), Some("lead-scout"));
    assert_eq!(agent.spec.owner, "ann");
    assert_eq!(agent.spec.desired_state, Some(agent::DesiredState::Stopped));
}

/// BIND-01
#[rstest]
#[case("auto")]
#[case("gpt-5-mini")]
fn the_model_is_kept_as_the_string_it_was(#[case] model: &str) {
    let agent =
        create_in_workspace(CreateAgent { model: Some(model.to_owned()), ..request() }).unwrap();
    assert_eq!(agent.spec.model.as_deref(), Some(model));
}

/// LIFE-05, ROUTE-01
#[rstest]
#[case::ephemeral(CreateAgent { lifetime: Some(Lifetime::Ephemeral), ..request() }, "lifetime")]
#[case::empty_name(CreateAgent { name: " ".to_owned(), ..request() }, "name")]
#[case::two_line_name(CreateAgent { name: "a\nb".to_owned(), ..request() }, "name")]
#[case::no_letters(CreateAgent { name: "日本".to_owned(), ..request() }, "name")]
#[case::bad_slug(CreateAgent { slug: Some("No Slug".to_owned()), id: Some("x".to_owned()), ..request() }, "slug")]
#[case::unknown_tool_server(CreateAgent { tool_servers: vec!["none".to_owned()], ..request() }, "tool_servers")]
#[case::long_id(CreateAgent { id: Some("a".repeat(41)), ..request() }, "id")]
#[case::unknown_harness(CreateAgent { harness_id: "nope".to_owned(), ..request() }, "harness_id")]
#[case::forbidden_tool(CreateAgent { tools: vec!["shell".to_owned()], ..request() }, "tools")]
#[case::skills(CreateAgent { skills: vec![SkillRef { name: "s".to_owned(), version: None }], ..request() }, "skills")]
#[case::unknown_model(CreateAgent { model: Some("gpt-0".to_owned()), ..request() }, "model")]
#[case::few_turns(CreateAgent { max_turns: Some(9), ..request() }, "max_turns")]
fn a_wrong_field_is_named(#[case] request: CreateAgent, #[case] field: &str) {
    let problem = create_in_workspace(request).unwrap_err().document();
    assert_eq!((problem.status, problem.field.as_deref()), (422, Some(field)));
}

#[test]
fn an_edit_changes_what_it_names_and_nothing_else() {
    let mut spec = create_in_workspace(request()).unwrap().spec;
    let before = spec.clone();
    apply_edit(
        EditAgent { instructions: Some("look again".to_owned()), ..EditAgent::default() },
        &mut spec,
    );
    assert_eq!(spec, AgentSpec { instructions: Some("look again".to_owned()), ..before });
}

#[test]
fn a_harness_that_cannot_run_the_agents_tools_is_refused() {
    let mut spec = create_in_workspace(request()).unwrap().spec;
    spec.tools = vec!["search".to_owned()];
    let bare = Harness::new("bare", HarnessSpec::default());
    let edit = EditAgent { harness_id: Some("bare".to_owned()), ..EditAgent::default() };
    let workspace = Workspace { name: "ws", harness: Some(bare), models: &[], tool_servers: &[] };
    let problem = check_edit(&edit, &spec, &workspace).unwrap_err();
    assert_eq!(problem.reason(), "ToolNotPermitted");
}

fn scope() -> RepositoryScope {
    RepositoryScope {
        remote: "ssh://git@host/acme/greeting.git".to_owned(),
        base_ref: Some("next".to_owned()),
        default_ref: Some("main".to_owned()),
        paths: vec!["docs".to_owned()],
        extra_commands: vec!["bazel".to_owned()],
        approval: Some(foundry_client::Approval::Itself),
        turns_per_attempt: Some(20),
        wall_clock_seconds: Some(600),
    }
}

fn coding_request() -> CreateAgent {
    CreateAgent { harness_id: "coding-v1".to_owned(), repository: Some(scope()), ..request() }
}

/// CODE-09
#[test]
fn a_scope_is_kept_whole_and_read_back_as_it_was_sent() {
    let spec = create_in_workspace(coding_request()).unwrap().spec;
    assert_eq!(repository::of_agent(&spec), Some(scope()));
}

/// CODE-09, CODE-23, CODE-24, CODE-31
#[test]
fn a_scope_that_leaves_things_out_means_a_person_sixty_turns_and_half_an_hour() {
    let bare = RepositoryScope { remote: scope().remote, ..RepositoryScope::default() };
    let request = CreateAgent { repository: Some(bare.clone()), ..coding_request() };
    let spec = create_in_workspace(request).unwrap().spec;
    let expected = RepositoryScope {
        approval: Some(foundry_client::Approval::Person),
        turns_per_attempt: Some(60),
        wall_clock_seconds: Some(1_800),
        ..bare
    };
    assert_eq!(repository::of_agent(&spec), Some(expected));
}

/// CODE-09
#[test]
fn an_edit_replaces_the_whole_scope() {
    let mut spec = create_in_workspace(coding_request()).unwrap().spec;
    let bare = RepositoryScope { remote: scope().remote, ..RepositoryScope::default() };
    let edit = EditAgent { repository: Some(bare), ..EditAgent::default() };
    apply_edit(edit, &mut spec);
    let shown = repository::of_agent(&spec).unwrap();
    assert_eq!((shown.base_ref, shown.paths, shown.extra_commands), (None, vec![], vec![]));
    assert_eq!(shown.approval, Some(foundry_client::Approval::Person));
    assert_eq!(shown.turns_per_attempt, Some(60));
}

/// CODE-09, CODE-38
#[rstest]
#[case::a_harness_without_repo_scope(
    CreateAgent { harness_id: "agent-v1".to_owned(), ..coding_request() },
    ("repository", "RepositoryNotAllowed")
)]
#[case::few_turns(
    CreateAgent {
        repository: Some(RepositoryScope { turns_per_attempt: Some(9), ..scope() }),
        ..coding_request()
    },
    ("repository.turns_per_attempt", "OutOfRange")
)]
#[case::a_long_clock(
    CreateAgent {
        repository: Some(RepositoryScope { wall_clock_seconds: Some(86_401), ..scope() }),
        ..coding_request()
    },
    ("repository.wall_clock_seconds", "OutOfRange")
)]
#[case::on_demand(
    CreateAgent { activation: Some(Activation::OnDemand), ..coding_request() },
    ("activation", "CodingOnDemand")
)]
#[case::on_demand_by_its_harness_alone(
    CreateAgent { activation: Some(Activation::OnDemand), repository: None, ..coding_request() },
    ("activation", "CodingOnDemand")
)]
fn a_scope_that_cannot_hold_is_refused(
    #[case] request: CreateAgent,
    #[case] (field, reason): (&str, &str),
) {
    let problem = create_in_workspace(request).unwrap_err().document();
    assert_eq!(problem.status, 422);
    assert_eq!((problem.field.as_deref(), problem.reason.as_deref()), (Some(field), Some(reason)));
}

fn edited(current: &AgentSpec, edit: &EditAgent, harness: Harness) -> Result<(), Problem> {
    let harness = Some(harness);
    check_edit(edit, current, &Workspace { name: "ws", harness, models: &[], tool_servers: &[] })
}

/// CODE-38
#[test]
fn an_edit_makes_no_coding_agent_on_demand_from_either_side() {
    let on_demand = EditAgent { activation: Some(Activation::OnDemand), ..EditAgent::default() };
    let coding = create_in_workspace(coding_request()).unwrap().spec;
    let refused = edited(&coding, &on_demand, coding_harness()).unwrap_err();
    assert_eq!((refused.status().as_u16(), refused.reason()), (422, "CodingOnDemand"));

    let thinking = CreateAgent { activation: Some(Activation::OnDemand), ..request() };
    let thinking = create_in_workspace(thinking).unwrap().spec;
    let to_coding = EditAgent { harness_id: Some("coding-v1".to_owned()), ..EditAgent::default() };
    let refused = edited(&thinking, &to_coding, coding_harness()).unwrap_err();
    assert_eq!((refused.status().as_u16(), refused.reason()), (422, "CodingOnDemand"));
    let both = EditAgent { activation: Some(Activation::AlwaysOn), ..to_coding };
    edited(&thinking, &both, coding_harness()).unwrap();
    edited(&thinking, &on_demand, harness()).unwrap();
}

/// CODE-09
#[test]
fn an_agent_with_a_repository_stays_with_harnesses_that_work_on_one() {
    let coding = create_in_workspace(coding_request()).unwrap().spec;
    let away = EditAgent { harness_id: Some("agent-v1".to_owned()), ..EditAgent::default() };
    let refused = edited(&coding, &away, harness()).unwrap_err();
    assert_eq!((refused.status().as_u16(), refused.reason()), (422, "RepositoryNotAllowed"));
    let rename = EditAgent { name: Some("Other".to_owned()), ..EditAgent::default() };
    edited(&coding, &rename, coding_harness()).unwrap();
}
