//! What a person asks an agent to be, checked before anything is written: the API
//! knows references and grants, admission knows forms.

use foundry_client::{Activation, CreateAgent, EditAgent, Lifetime, RepositoryScope, SkillRef};
use foundry_crds::{Agent, AgentSpec, Harness, Model, agent, names::MAX_AGENT_NAME};
use kube::api::ObjectMeta;

use super::repository;
use crate::problem::Problem;

/// Least number of model turns in one evaluation (LOOP-05).
const MIN_TURNS: i64 = 10;
/// Longest name shown to people.
const MAX_NAME: usize = 100;

/// What is looked up of the workspace to check a draft.
pub struct Workspace<'a> {
    /// Its name.
    pub name: &'a str,
    /// The harness that the draft names, if there is one of that name.
    pub harness: Option<Harness>,
    /// Its models.
    pub models: &'a [Model],
    /// Names of its tool servers.
    pub tool_servers: &'a [String],
}

/// The Agent that a valid request asks for; not written yet, and not to run yet.
pub fn create(
    request: CreateAgent,
    owner: &str,
    workspace: &Workspace<'_>,
) -> Result<Agent, Problem> {
    let CreateAgent {
        name,
        slug,
        id,
        harness_id,
        instructions,
        model,
        memory_model,
        activation,
        lifetime,
        max_turns,
        tools,
        skills,
        tool_servers,
        repository,
    } = request;
    if lifetime == Some(Lifetime::Ephemeral) {
        // LIFE-05
        return Err(Problem::invalid(
            "lifetime",
            "EphemeralByHand",
            "an ephemeral agent cannot be created by hand",
        )
        .remedy("leave lifetime away; agents create ephemeral agents when they spawn work"));
    }
    check_name(&name)?;
    let id = match id.or_else(|| slug.clone()) {
        Some(id) => id,
        None => id_from_name(&name)?,
    };
    check_label("id", &id)?;
    if let Some(slug) = &slug {
        check_label("slug", slug)?;
    }
    let harness = check_harness(&harness_id, workspace)?;
    check_tools(&tools, harness)?;
    check_skills(&skills, harness)?;
    check_tool_servers(&tool_servers, workspace.tool_servers)?;
    check_model("model", model.as_deref(), workspace.models)?;
    check_model("memory_model", memory_model.as_deref(), workspace.models)?;
    check_turns(max_turns)?;
    if let Some(scope) = &repository {
        repository::check(scope, harness)?;
    }
    let codes = repository.is_some() || harness.spec.has_repo_scope();
    repository::check_activation(activation, None, codes)?;

    let mut spec = AgentSpec {
        owner: owner.to_owned(),
        slug,
        display_name: Some(name),
        members: Vec::new(),
        harness: harness_id,
        lifetime: None,
        activation: activation.map(self::activation),
        lifecycle: None,
        // Nothing runs until somebody starts it.
        desired_state: Some(agent::DesiredState::Stopped),
        starts: None,
        instructions,
        model,
        memory_model,
        max_turns,
        tools,
        skills: skills.into_iter().map(skill).collect(),
        tool_servers,
        revision_history_limit: None,
        repository: None,
        approval: None,
        limits: None,
        project: None,
        contributes_to_knowledge: None,
        parent: None,
        swarm: None,
        ttl_at: None,
    };
    if let Some(scope) = repository {
        repository::apply(scope, &mut spec);
    }
    let metadata = ObjectMeta {
        name: Some(id),
        namespace: Some(workspace.name.to_owned()),
        ..ObjectMeta::default()
    };
    Ok(Agent { metadata, spec, status: None })
}

/// Checks an edit of this agent; the workspace's harness is the one the agent will
/// have after the edit.
pub fn check_edit(
    edit: &EditAgent,
    current: &AgentSpec,
    workspace: &Workspace<'_>,
) -> Result<(), Problem> {
    let EditAgent {
        name,
        slug,
        harness_id,
        instructions: _,
        model,
        memory_model,
        activation,
        max_turns,
        tools,
        skills,
        tool_servers,
        repository,
    } = edit;
    if let Some(name) = name {
        check_name(name)?;
    }
    if let Some(slug) = slug {
        check_label("slug", slug)?;
    }
    let fits_harness = harness_id.is_some() || tools.is_some() || skills.is_some();
    if fits_harness || repository.is_some() {
        let harness_id = harness_id.as_ref().unwrap_or(&current.harness);
        let harness = check_harness(harness_id, workspace)?;
        check_repository(repository.as_ref(), current, harness)?;
        check_tools(tools.as_ref().unwrap_or(&current.tools), harness)?;
        let kept = current
            .skills
            .iter()
            .map(|skill| SkillRef { name: skill.name.clone(), version: skill.version });
        check_skills(&skills.clone().unwrap_or_else(|| kept.collect()), harness)?;
    }
    if let Some(tool_servers) = tool_servers {
        check_tool_servers(tool_servers, workspace.tool_servers)?;
    }
    check_model("model", model.as_deref(), workspace.models)?;
    check_model("memory_model", memory_model.as_deref(), workspace.models)?;
    if activation.is_some() || harness_id.is_some() || repository.is_some() {
        let harness = workspace.harness.as_ref();
        let codes = repository.is_some()
            || current.repository.is_some()
            || harness.is_some_and(|harness| harness.spec.has_repo_scope());
        repository::check_activation(*activation, Some(current), codes)?;
    }
    check_turns(*max_turns)
}

/// The harness after an edit must take the repository after it.
fn check_repository(
    scope: Option<&RepositoryScope>,
    current: &AgentSpec,
    harness: &Harness,
) -> Result<(), Problem> {
    match scope {
        Some(scope) => repository::check(scope, harness),
        None if current.repository.is_some() && !harness.spec.has_repo_scope() => {
            let detail = "the agent has a repository, and this harness works on none";
            Err(Problem::invalid("harness_id", "RepositoryNotAllowed", detail)
                .remedy("choose a harness with the feature repo_scope, or create another agent"))
        }
        None => Ok(()),
    }
}

/// Carries a checked edit out on a spec.
pub fn apply_edit(edit: EditAgent, spec: &mut AgentSpec) {
    let EditAgent {
        name,
        slug,
        harness_id,
        instructions,
        model,
        memory_model,
        activation,
        max_turns,
        tools,
        skills,
        tool_servers,
        repository,
    } = edit;
    set(&mut spec.display_name, name);
    set(&mut spec.slug, slug);
    set(&mut spec.instructions, instructions);
    set(&mut spec.model, model);
    set(&mut spec.memory_model, memory_model);
    set(&mut spec.max_turns, max_turns);
    set(&mut spec.activation, activation.map(self::activation));
    if let Some(harness_id) = harness_id {
        spec.harness = harness_id;
    }
    if let Some(tools) = tools {
        spec.tools = tools;
    }
    if let Some(skills) = skills {
        spec.skills = skills.into_iter().map(skill).collect();
    }
    if let Some(tool_servers) = tool_servers {
        spec.tool_servers = tool_servers;
    }
    if let Some(scope) = repository {
        repository::apply(scope, spec);
    }
}

fn set<T>(field: &mut Option<T>, value: Option<T>) {
    if value.is_some() {
        *field = value;
    }
}

fn activation(activation: Activation) -> agent::Activation {
    match activation {
        Activation::AlwaysOn => agent::Activation::AlwaysOn,
        Activation::OnDemand => agent::Activation::OnDemand,
    }
}

fn skill(skill: SkillRef) -> agent::SkillRef {
    let SkillRef { name, version } = skill;
    agent::SkillRef { name, version }
}

fn check_name(name: &str) -> Result<(), Problem> {
    if name.trim().is_empty() {
        return Err(Problem::invalid("name", "Empty", "name is empty"));
    }
    if name.chars().count() > MAX_NAME {
        let detail = format!("name is longer than {MAX_NAME} characters");
        return Err(Problem::invalid("name", "TooLong", detail));
    }
    if name.chars().any(char::is_control) {
        let detail = "name holds a line break or another control character";
        return Err(Problem::invalid("name", "NotOneLine", detail));
    }
    Ok(())
}

/// A DNS label that fits every name made of it.
pub fn check_label(field: &str, label: &str) -> Result<(), Problem> {
    let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let fits = !label.is_empty()
        && label.len() <= MAX_AGENT_NAME
        && label.bytes().all(inside)
        && !label.starts_with('-')
        && !label.ends_with('-');
    if fits {
        return Ok(());
    }
    Err(Problem::invalid(field, "NotALabel", format!("{field} {label:?} is not a DNS label"))
        .remedy(format!(
            "use at most {MAX_AGENT_NAME} of a-z, 0-9 and -, beginning and ending with a letter or digit"
        )))
}

/// An id for a name: its letters and digits, everything else a dash.
fn id_from_name(name: &str) -> Result<String, Problem> {
    let dashed = name
        .to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect::<String>();
    let words = dashed.split('-').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-");
    let cut = words.chars().take(MAX_AGENT_NAME).collect::<String>();
    match cut.trim_end_matches('-') {
        "" => Err(Problem::invalid("name", "NoId", format!("no id can be made of {name:?}"))
            .remedy("give a slug of a-z, 0-9 and -")),
        id => Ok(id.to_owned()),
    }
}

fn check_harness<'a>(id: &str, workspace: &'a Workspace<'_>) -> Result<&'a Harness, Problem> {
    workspace.harness.as_ref().ok_or_else(|| {
        let detail = format!("there is no harness {id:?} in workspace {:?}", workspace.name);
        Problem::invalid("harness_id", "HarnessNotFound", detail)
            .remedy("name a harness that `kubectl get harnesses` lists")
    })
}

/// Every tool must be one that the harness permits (TOOLS-05).
pub fn check_tools(tools: &[String], harness: &Harness) -> Result<(), Problem> {
    let spec = &harness.spec;
    let permitted = |tool: &String| spec.tools.contains(tool) || spec.always_granted.contains(tool);
    match tools.iter().find(|tool| !permitted(tool)) {
        None => Ok(()),
        Some(tool) => {
            let detail = format!("the harness does not permit tool {tool:?}");
            Err(Problem::invalid("tools", "ToolNotPermitted", detail)
                .remedy(format!("choose among: {}", spec.tools.join(", "))))
        }
    }
}

/// Skills only where the harness allows them (TOOLS-02).
pub fn check_skills(skills: &[SkillRef], harness: &Harness) -> Result<(), Problem> {
    if skills.is_empty() || harness.spec.allows_skills == Some(true) {
        return Ok(());
    }
    Err(Problem::invalid("skills", "SkillsNotAllowed", "the harness allows no skills"))
}

/// Only servers that there are (TOOLS-02).
pub fn check_tool_servers(servers: &[String], there: &[String]) -> Result<(), Problem> {
    match servers.iter().find(|name| !there.contains(name)) {
        None => Ok(()),
        Some(missing) => {
            let detail = format!("there is no tool server {missing:?}");
            Err(Problem::invalid("tool_servers", "ToolServerNotFound", detail)
                .remedy("name a tool server that `kubectl get toolservers` lists"))
        }
    }
}

/// `auto` or a wire id of the workspace's catalog (BIND-01).
pub fn check_model(field: &str, model: Option<&str>, models: &[Model]) -> Result<(), Problem> {
    let known = |id: &str| id == "auto" || models.iter().any(|model| model.spec.wire_id == id);
    match model {
        Some(id) if !known(id) => {
            let ids = models.iter().map(|model| model.spec.wire_id.as_str());
            let ids = ["auto"].into_iter().chain(ids).collect::<Vec<_>>().join(", ");
            Err(Problem::invalid(field, "ModelNotFound", format!("there is no model {id:?}"))
                .remedy(format!("choose among: {ids}")))
        }
        _ => Ok(()),
    }
}

fn check_turns(max_turns: Option<i64>) -> Result<(), Problem> {
    match max_turns {
        Some(turns) if turns < MIN_TURNS => {
            let detail = format!("max_turns {turns} is below {MIN_TURNS}");
            Err(Problem::invalid("max_turns", "TooFewTurns", detail))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
