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

fn request() -> CreateAgent {
    CreateAgent {
        name: "Lead scout".to_owned(),
        harness_id: "agent-v1".to_owned(),
        ..CreateAgent::default()
    }
}

fn create_in_workspace(request: CreateAgent) -> Result<Agent, Problem> {
    let models = models();
    let harness = (request.harness_id == "agent-v1").then(harness);
    create(request, "ann", &Workspace { name: "ws", harness, models: &models })
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
    let workspace = Workspace { name: "ws", harness: Some(bare), models: &[] };
    let problem = check_edit(&edit, &spec, &workspace).unwrap_err();
    assert_eq!(problem.reason(), "ToolNotPermitted");
}
