//! Tools, skills and tool servers that a spec names.

use pretty_assertions::assert_eq;
use rstest::rstest;

use super::super::grants::{Named, Published, degraded};
use super::*;

fn permits(tools: &[&str], always: &[&str], skills: bool) -> HarnessSpec {
    let owned = |words: &[&str]| words.iter().map(|it| (*it).to_owned()).collect();
    HarnessSpec {
        tools: owned(tools),
        always_granted: owned(always),
        allows_skills: Some(skills),
        ..HarnessSpec::default()
    }
}

fn with_tools(tools: &[&str]) -> Observed {
    let mut observed = fresh();
    observed.spec.tools = tools.iter().map(|it| (*it).to_owned()).collect();
    observed
}

/// An agent with this skill, of which this is published.
fn with_skill(pin: Option<i64>, published: Option<Published>) -> Observed {
    let mut observed = fresh();
    observed.harness = Some(permits(&[], &[], true));
    observed.spec.skills = vec![SkillRef { name: "style".to_owned(), version: pin }];
    observed.named =
        Named { skills: Some([("style".to_owned(), published)].into()), ..Named::default() };
    observed
}

/// TOOLS-02, TOOLS-05: admission refuses such a grant; this is of a Harness that shrank
/// later.
#[test]
fn a_tool_that_the_harness_does_not_permit_keeps_a_start_back_and_ends_nothing() {
    let mut observed = with_tools(&["send_email", "search", "make_agent"]);
    observed.harness = Some(permits(&["search"], &["send_email"], false));
    let plan = planned(&observed);
    assert_eq!((plan.make, plan.outlook.reason), (None, reason::TOOL_NOT_PERMITTED));
    assert_eq!(plan.outlook.readiness, Readiness::Stalled);
    assert_eq!(
        plan.outlook.message,
        "Harness \"agent-v1\" does not permit make_agent; take it out of spec.tools, or add it to \
         the Harness"
    );
    observed.harness = Some(permits(&["search", "make_agent"], &["send_email"], false));
    assert!(planned(&observed).make.is_some(), "it heals untouched");

    let mut running = settled(&observed);
    running.harness = Some(permits(&["search"], &[], false));
    let plan = planned(&running);
    assert_eq!((plan.make, plan.remove), (None, vec![]));
    assert_eq!(plan.outlook.state, AgentState::Running, "what runs goes on");
    assert_eq!(plan.outlook.reason, reason::TOOL_NOT_PERMITTED);
    running.spec.desired_state = Some(DesiredState::Stopped);
    assert_eq!(planned(&running).remove.len(), 1, "and can be stopped");
}

/// TOOLS-04
#[test]
fn an_agent_without_grants_needs_nothing_of_its_harness() {
    let mut observed = fresh();
    observed.harness = Some(permits(&[], &["search"], false));
    assert!(planned(&observed).make.is_some());
}

/// TOOLS-02
#[test]
fn skills_on_a_harness_that_allows_none_keep_a_start_back() {
    let mut observed = with_skill(None, Some(Published::Versions(vec![1])));
    assert!(planned(&observed).make.is_some());
    for allows in [None, Some(false)] {
        observed.harness = Some(HarnessSpec { allows_skills: allows, ..HarnessSpec::default() });
        let plan = planned(&observed);
        assert_eq!((plan.make, plan.outlook.reason), (None, reason::SKILLS_NOT_ALLOWED));
        assert_eq!(plan.outlook.readiness, Readiness::Stalled);
    }
}

/// SKILL-02: no pin means the latest, a pin means that version. What is missing is waited
/// for and heals untouched.
#[rstest]
#[case::nothing(None, None, Some(reason::SKILL_NOT_FOUND))]
#[case::nothing_pinned(Some(1), None, Some(reason::SKILL_NOT_FOUND))]
#[case::latest(None, Some(Published::Versions(vec![2, 1])), None)]
#[case::pinned(Some(1), Some(Published::Versions(vec![2, 1])), None)]
#[case::not_published(
    Some(3),
    Some(Published::Versions(vec![2, 1])),
    Some(reason::SKILL_VERSION_NOT_FOUND)
)]
#[case::none_published(None, Some(Published::Versions(vec![])), Some(reason::SKILL_VERSION_NOT_FOUND))]
#[case::in_place(None, Some(Published::InPlace(4)), None)]
#[case::in_place_pinned(Some(4), Some(Published::InPlace(4)), None)]
#[case::in_place_edited(
    Some(3),
    Some(Published::InPlace(4)),
    Some(reason::SKILL_VERSION_NOT_FOUND)
)]
fn a_skill_is_there_in_the_version_that_is_wanted_or_waited_for(
    #[case] pin: Option<i64>,
    #[case] published: Option<Published>,
    #[case] awaited: Option<&str>,
) {
    let observed = with_skill(pin, published);
    let plan = planned(&observed);
    let Some(awaited) = awaited else {
        assert!(plan.make.is_some());
        return;
    };
    assert_eq!((plan.make, plan.outlook.reason), (None, awaited));
    assert_eq!(plan.outlook.readiness, Readiness::Reconciling, "transient is never terminal");
    assert_eq!(plan.look_again, MISSING_AGAIN);

    let mut healed = after(&observed);
    healed.spec.skills[0].version = None;
    healed.named.skills = Some([("style".to_owned(), Some(Published::InPlace(1)))].into());
    assert!(planned(&healed).make.is_some());
}

/// SKILL-02
#[test]
fn a_skill_that_goes_ends_nothing_that_runs() {
    let mut observed = settled(&with_skill(None, Some(Published::InPlace(1))));
    observed.named.skills = Some([("style".to_owned(), None)].into());
    let plan = planned(&observed);
    assert_eq!((plan.make, plan.remove), (None, vec![]));
    assert_eq!(plan.outlook.state, AgentState::Running);
    assert_eq!(plan.outlook.reason, reason::SKILL_NOT_FOUND);
    assert!(plan.outlook.message.contains("Skill \"style\" not found"));
}

/// A list of skills that is late must not make every agent with skills look broken.
#[test]
fn while_skills_cannot_be_listed_what_runs_is_not_doubted_and_nothing_is_started() {
    let mut observed = with_skill(None, Some(Published::InPlace(1)));
    let mut running = settled(&observed);
    running.named.skills = None;
    assert_eq!(planned(&running).outlook.reason, reason::RUNNING);
    observed.named.skills = None;
    assert_eq!(planned(&observed).make, None);
    assert_eq!(planned(&observed).outlook.readiness, Readiness::Reconciling);
}

/// A broken tool is a condition, not an outage.
#[test]
fn a_missing_tool_server_degrades_an_agent_and_keeps_it_from_nothing() {
    let mut observed = fresh();
    observed.spec.tool_servers = vec!["crm".to_owned(), "wiki".to_owned()];
    observed.named.missing_servers = vec!["crm".to_owned()];
    let plan = planned(&observed);
    assert!(plan.make.is_some());
    let told = degraded(&observed).unwrap();
    assert_eq!((told.kind, told.status), (kind::TOOLS_DEGRADED, true));
    assert_eq!(told.reason, reason::TOOL_SERVER_NOT_FOUND);
    assert!(told.message.starts_with("ToolServer \"crm\" not found"), "{}", told.message);

    let running = settled(&observed);
    assert_eq!(planned(&running).outlook.readiness, Readiness::Ready);
    observed.named.missing_servers.clear();
    assert_eq!(degraded(&observed), None, "it heals untouched");
    observed.named.missing_servers = vec!["crm".to_owned()];
    observed.spec.lifecycle = Some(Lifecycle::Archive);
    assert_eq!(degraded(&observed), None, "nobody misses the tools of an archived agent");
}

/// LIFE-16
#[test]
fn an_edit_of_tool_servers_raises_the_number_and_leaves_the_process_alone() {
    let mut observed = settled(&fresh());
    let without = observed.status.config_digest.clone();
    assert_eq!(
        without.as_deref(),
        Some("8b3de9512ed5bfb119ff70150ddd6c0fa6b0ddf72e0d55f25790fd6d564d0423"),
        "the digest of what was stored before there were tool servers"
    );
    observed.spec.tool_servers = vec!["crm".to_owned()];
    let plan = planned(&observed);
    assert_eq!((plan.ledger.start_number, plan.ledger.process()), (2, Some(1)));
    assert_eq!((plan.make, plan.remove), (None, vec![]));
}
