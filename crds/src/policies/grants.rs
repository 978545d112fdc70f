//! What a Harness permits, asked when an agent is written: its tools, skills and the work
//! on a repository (TOOLS-02, TOOLS-05, CODE-09).
//!
//! The policies are parameterised by the Harnesses of the object's namespace: each is asked
//! once for every Harness, and speaks only of the one that is named. Where it does not exist
//! nothing is refused, for the operator waits for it and looks at the grants itself
//! (`ToolNotPermitted`, `SkillsNotAllowed`, `HarnessLacksFeature`).
//!
//! Only what an edit adds is asked about, and everything where it names another Harness: an
//! agent whose Harness permits less than before can still be stopped, and what it was granted
//! taken away, one by one.
//!
//! Nobody is exempt, the operator neither. What it makes of a run or a swarm was asked about
//! when that was written; where the Harness permits less since then, it is refused once more
//! and says so on the run or the swarm, and tries again with growing pauses.

use k8s_openapi::api::admissionregistration::v1::{
    ParamKind, ParamRef, ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding, Validation,
    Variable,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use super::{WRITES, binding, named, policy, validation, variable};
use crate::harness::REPO_SCOPE;
use crate::meta::{GROUP, VERSION};

/// Each policy, after the binding that gives it the Harnesses.
pub fn all() -> Vec<(ValidatingAdmissionPolicyBinding, ValidatingAdmissionPolicy)> {
    vec![of_harnesses("agents", agents()), of_harnesses("swarms", swarms())]
}

fn agents() -> (Vec<Variable>, Vec<Validation>) {
    let variables = vec![
        variable("named", "object.spec.harness == params.metadata.name"),
        variable(
            "sameHarness",
            "request.operation == 'UPDATE' && object.spec.harness == oldObject.spec.harness",
        ),
        permitted(),
        variable(
            "tools",
            "variables.named && has(object.spec.tools) ? object.spec.tools.filter(t, \
             !(t in variables.permitted) && !(variables.sameHarness \
             && has(oldObject.spec.tools) && t in oldObject.spec.tools)) : []",
        ),
        variable(
            "skills",
            &format!(
                "variables.named && !{ALLOWS_SKILLS} && has(object.spec.skills) \
                 ? object.spec.skills.filter(s, !(variables.sameHarness && has(oldObject.spec.skills) \
                 && oldObject.spec.skills.exists(o, o.name == s.name))).map(s, s.name) : []"
            ),
        ),
    ];
    let keeps_repository = "variables.sameHarness && has(oldObject.spec.repository) \
                            && object.spec.repository == oldObject.spec.repository";
    let validations = vec![
        // TOOLS-05
        Validation {
            message_expression: Some(format!(
                "'spec.tools: Harness ' + params.metadata.name + ' does not permit ' \
                 + variables.tools[0] + '; {NAME_ANOTHER_TOOL}'"
            )),
            ..invalid(
                "size(variables.tools) == 0",
                &format!(
                    "spec.tools: the Harness does not permit one of them; {NAME_ANOTHER_TOOL}"
                ),
            )
        },
        // TOOLS-02
        Validation {
            message_expression: Some(format!(
                "'spec.skills: Harness ' + params.metadata.name + ' allows no skills, and ' \
                 + variables.skills[0] + ' is one; {LEAVE_SKILLS}'"
            )),
            ..invalid(
                "size(variables.skills) == 0",
                &format!("spec.skills: the Harness allows no skills; {LEAVE_SKILLS}"),
            )
        },
        // CODE-09
        Validation {
            message_expression: Some(format!(
                "'spec.repository: Harness ' + params.metadata.name + ' {LACKS_SCOPE}'"
            )),
            ..invalid(
                &format!(
                    "!variables.named || !has(object.spec.repository) \
                     || (has(params.spec.features) && '{REPO_SCOPE}' in params.spec.features) \
                     || ({keeps_repository})"
                ),
                &format!("spec.repository: the Harness {LACKS_SCOPE}"),
            )
        },
    ];
    (variables, validations)
}

/// A member of a swarm is an agent, whose words it has in the swarm.
fn swarms() -> (Vec<Variable>, Vec<Validation>) {
    // Of member `m`: whether it is refused `t`, and whether it newly has `s`.
    let before = "variables.before.exists(o, o.name == m.name";
    let refused =
        format!("!(t in variables.permitted) && !{before} && has(o.tools) && t in o.tools)");
    let attached = format!("!{before} && has(o.skills) && o.skills.exists(p, p.name == s.name))");
    let variables = vec![
        variable("members", "object.spec.members.filter(m, m.harness == params.metadata.name)"),
        variable(
            "before",
            "request.operation == 'UPDATE' \
             ? oldObject.spec.members.filter(m, m.harness == params.metadata.name) : []",
        ),
        permitted(),
        variable(
            "tools",
            &format!("variables.members.filter(m, has(m.tools) && m.tools.exists(t, {refused}))"),
        ),
        variable(
            "skills",
            &format!(
                "{ALLOWS_SKILLS} ? [] : variables.members.filter(m, has(m.skills) \
                 && m.skills.exists(s, {attached}))"
            ),
        ),
    ];
    let of_member = |field: &str| {
        format!("'spec.members.{field}: Harness ' + params.metadata.name + ' of member '")
    };
    let validations = vec![
        // TOOLS-05
        Validation {
            message_expression: Some(format!(
                "{} + variables.tools[0].name + ' does not permit ' \
                 + variables.tools.map(m, m.tools.filter(t, {refused})[0])[0] \
                 + '; {NAME_ANOTHER_TOOL}'",
                of_member("tools"),
            )),
            ..invalid(
                "size(variables.tools) == 0",
                &format!(
                    "spec.members.tools: the Harness does not permit one of them; {NAME_ANOTHER_TOOL}"
                ),
            )
        },
        // TOOLS-02
        Validation {
            message_expression: Some(format!(
                "{} + variables.skills[0].name + ' allows no skills; {LEAVE_SKILLS}'",
                of_member("skills"),
            )),
            ..invalid(
                "size(variables.skills) == 0",
                &format!("spec.members.skills: the Harness allows no skills; {LEAVE_SKILLS}"),
            )
        },
    ];
    (variables, validations)
}

const ALLOWS_SKILLS: &str = "(has(params.spec.allowsSkills) && params.spec.allowsSkills)";
const NAME_ANOTHER_TOOL: &str =
    "leave it out, name one that it has, or add it to spec.tools of the Harness";
const LEAVE_SKILLS: &str = "leave them out, or set spec.allowsSkills of the Harness";
const LACKS_SCOPE: &str =
    "lacks the feature repo_scope; name one that has it, or leave the repository out";

/// Tools that agents of the Harness may have, granted or not.
fn permitted() -> Variable {
    variable(
        "permitted",
        "(has(params.spec.tools) ? params.spec.tools : []) \
         + (has(params.spec.alwaysGranted) ? params.spec.alwaysGranted : [])",
    )
}

/// A field that does not fit its Harness is wrong (422), whoever writes it.
fn invalid(expression: &str, message: &str) -> Validation {
    Validation { reason: Some("Invalid".to_owned()), ..validation(expression, message) }
}

fn of_harnesses(
    resource: &str,
    (variables, validations): (Vec<Variable>, Vec<Validation>),
) -> (ValidatingAdmissionPolicyBinding, ValidatingAdmissionPolicy) {
    let mut policy = policy(resource, WRITES, variables, validations);
    policy.metadata = named(format!("foundry-{resource}-grants"));
    if let Some(spec) = &mut policy.spec {
        spec.param_kind = Some(ParamKind {
            api_version: Some(format!("{GROUP}/{VERSION}")),
            kind: Some("Harness".to_owned()),
        });
    }
    let mut binding = binding(&policy);
    if let Some(spec) = &mut binding.spec {
        // Without a namespace: that of the object.
        spec.param_ref = Some(ParamRef {
            selector: Some(LabelSelector::default()),
            parameter_not_found_action: Some("Allow".to_owned()),
            ..ParamRef::default()
        });
    }
    (binding, policy)
}
