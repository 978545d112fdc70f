//! What an agent's spec names beside its Harness: tools and skills that the Harness must
//! permit, skills and tool servers that must exist.
//!
//! Admission refuses a grant that a Harness does not permit when it is written. What is
//! found here came about later, or in another order: the Harness shrank, a Skill went.
//! What is missing of what an agent is told keeps it from being started and ends nothing
//! that runs. A missing tool server keeps it from nothing: a broken tool is a condition.

use std::collections::BTreeMap;
use std::time::Duration;

use foundry_crds::agent::{Lifecycle, SkillRef};
use foundry_crds::condition::{kind, reason};
use foundry_crds::{AgentSpec, HarnessSpec, Skill};

use super::{MISSING_AGAIN, Observed};
use crate::agent::outlook::Outlook;
use crate::conditions::Wanted;
use crate::runtime::Belongs;

/// What there is of the skills and tool servers that a spec names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Named {
    /// The skills it names, and what is published of each that exists; none while the
    /// list of skills is not known.
    pub skills: Option<BTreeMap<String, Option<Published>>>,
    /// The tool servers it names that do not exist.
    pub missing_servers: Vec<String>,
}

/// The versions of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Published {
    /// It is edited in place: there is only the present version.
    InPlace(i64),
    /// These.
    Versions(Vec<i64>),
}

impl Published {
    /// What is published of a skill.
    pub fn of(skill: &Skill) -> Self {
        match &skill.spec.instructions {
            Some(_) => Self::InPlace(skill.metadata.generation.unwrap_or_default()),
            None => Self::Versions(skill.spec.versions.iter().map(|it| it.version).collect()),
        }
    }

    /// SKILL-02: no pin means the latest version, whichever that is; a pin means that one.
    fn has(&self, pin: Option<i64>) -> bool {
        match (self, pin) {
            (Self::InPlace(_), None) => true,
            (Self::InPlace(present), Some(pin)) => *present == pin,
            (Self::Versions(versions), None) => !versions.is_empty(),
            (Self::Versions(versions), Some(pin)) => versions.contains(&pin),
        }
    }
}

/// Why no process may be started with what the spec names.
pub fn obstacle(observed: &Observed, spec: &AgentSpec) -> Option<(Outlook, Duration)> {
    let harness = observed.harness.as_ref()?;
    let outlook = forbidden_tools(spec, harness)
        .or_else(|| forbidden_skills(spec, harness))
        .or_else(|| match &observed.named.skills {
            Some(skills) => {
                let namespace = &observed.agent.namespace;
                spec.skills.iter().find_map(|skill| missing_skill(skill, skills, namespace))
            }
            None => unknown_skills(observed, spec),
        })?;
    Some((outlook, MISSING_AGAIN))
}

/// TOOLS-02, TOOLS-05: a grant is a tool that the Harness can run.
fn forbidden_tools(spec: &AgentSpec, harness: &HarnessSpec) -> Option<Outlook> {
    let HarnessSpec { tools, always_granted, .. } = harness;
    let is_forbidden = |tool: &&String| !tools.contains(tool) && !always_granted.contains(tool);
    let forbidden: Vec<_> = spec.tools.iter().filter(is_forbidden).map(String::as_str).collect();
    if forbidden.is_empty() {
        return None;
    }
    let message = format!(
        "Harness \"{}\" does not permit {}; take it out of spec.tools, or add it to the Harness",
        spec.harness,
        forbidden.join(", ")
    );
    Some(Outlook::stalled(reason::TOOL_NOT_PERMITTED, message))
}

/// TOOLS-02
fn forbidden_skills(spec: &AgentSpec, harness: &HarnessSpec) -> Option<Outlook> {
    if spec.skills.is_empty() || harness.allows_skills == Some(true) {
        return None;
    }
    let message = format!(
        "Harness \"{}\" allows no skills; empty spec.skills, or set allowsSkills of the Harness",
        spec.harness
    );
    Some(Outlook::stalled(reason::SKILLS_NOT_ALLOWED, message))
}

/// SKILL-02: a Skill or a version that is missing may come by itself.
fn missing_skill(
    skill: &SkillRef,
    skills: &BTreeMap<String, Option<Published>>,
    namespace: &str,
) -> Option<Outlook> {
    let SkillRef { name, version: pin } = skill;
    let Some(published) = skills.get(name).and_then(Option::as_ref) else {
        let message = format!(
            "Skill \"{name}\" not found in namespace {namespace}; create it or take it out of \
             spec.skills; looked for every 15 s"
        );
        return Some(Outlook::waiting(reason::SKILL_NOT_FOUND, message));
    };
    if published.has(*pin) {
        return None;
    }
    let pin = pin.map_or_else(|| "published version".to_owned(), |pin| format!("version {pin}"));
    let remedy = match published {
        Published::InPlace(present) => format!(
            "it is edited in place and now at version {present}; leave the pin out of spec.skills"
        ),
        Published::Versions(_) => {
            "publish it, or pin another in spec.skills; looked for every 15 s".to_owned()
        }
    };
    let message = format!("Skill \"{name}\" has no {pin}; {remedy}");
    Some(Outlook::waiting(reason::SKILL_VERSION_NOT_FOUND, message))
}

/// While skills cannot be listed, what runs is not doubted and nothing is started.
fn unknown_skills(observed: &Observed, spec: &AgentSpec) -> Option<Outlook> {
    let runs = |it: &crate::runtime::Workload| it.belongs == Belongs::ToAgent && !it.going;
    if spec.skills.is_empty() || observed.workloads.iter().any(runs) {
        return None;
    }
    let message = "the skills of this namespace cannot be listed yet; looked for every 15 s; see \
                   that the CRDs of this release are installed";
    Some(Outlook::waiting(reason::SKILL_NOT_FOUND, message.to_owned()))
}

/// `ToolsDegraded`, while a tool server that the spec names does not exist.
///
/// That one which exists does not answer is said on the `ToolServer`: a server that flaps
/// must not cost a write for each agent that names it.
pub fn degraded(observed: &Observed) -> Option<Wanted> {
    let missing = &observed.named.missing_servers;
    if missing.is_empty() || observed.spec.lifecycle() != Lifecycle::Active {
        return None;
    }
    let message = format!(
        "ToolServer {} not found in namespace {}; create it or take it out of spec.toolServers; \
         the agent goes on without its tools",
        missing.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", "),
        observed.agent.namespace
    );
    Some(Wanted {
        kind: kind::TOOLS_DEGRADED,
        status: true,
        reason: reason::TOOL_SERVER_NOT_FOUND,
        message,
    })
}
