//! Who may write what: `ValidatingAdmissionPolicies` that ask RBAC.
//!
//! The exemption is always a verb granted by RBAC and never an account's name, so one
//! file serves every cluster and every way of installing.
//!
//! What no policy can say without a parameter object is the operator's to refuse: that
//! a child's owner equals the owner of its parent (reason `ParentOwner`), and that a
//! slug is unique (`SlugTaken`).

mod grants;

use k8s_openapi::api::admissionregistration::v1::{
    MatchResources, NamedRuleWithOperations, ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding, ValidatingAdmissionPolicyBindingSpec,
    ValidatingAdmissionPolicySpec, Validation, Variable,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};

use crate::meta::{GROUP, VERSION};

/// What a policy looks at. Of an operation on the object itself: no right on a
/// subresource, such as status, names a person or grants anything.
const WRITES: &[&str] = &["CREATE", "UPDATE"];

/// Each policy with its binding.
pub fn all() -> Vec<Value> {
    let alone = [agents(), coding_runs(), models(), skills(), swarms(), tool_servers()]
        .map(|policy| (binding(&policy), policy));
    alone
        .into_iter()
        .chain(grants::all())
        .flat_map(|(binding, policy)| [json!(policy), json!(binding)])
        .collect()
}

/// An agent acts as its owner: nobody names another person, and only Foundry makes
/// agents that end.
fn agents() -> ValidatingAdmissionPolicy {
    policy(
        "agents",
        WRITES,
        vec![
            variable(
                "ephemeral",
                "has(object.spec.lifetime) && object.spec.lifetime == 'ephemeral'",
            ),
            variable(
                "runs",
                &format!(
                    "has(object.metadata.ownerReferences) ? object.metadata.ownerReferences.filter(o, \
                     o.apiVersion.startsWith('{GROUP}/') && o.kind in ['CodingRun', 'Swarm']) : []"
                ),
            ),
            variable("ofARun", "size(variables.runs) > 0"),
            variable(
                "ofTheSameRun",
                "request.operation == 'UPDATE' && variables.runs.all(o, \
                 has(oldObject.metadata.ownerReferences) \
                 && oldObject.metadata.ownerReferences.exists(p, p.uid == o.uid))",
            ),
            kept("owner"),
        ],
        vec![
            // LIFE-05
            validation(
                &format!(
                    "request.operation != 'CREATE' || !variables.ephemeral || {}",
                    allowed(".resource('agents').subresource('ephemeral')", "create")
                ),
                "spec.lifetime: only an agent makes an ephemeral agent; create a CodingRun or a Swarm, \
                 or a persistent agent",
            ),
            // LIFE-06
            validation(
                "request.operation != 'CREATE' || !variables.ephemeral || has(object.spec.parent) || variables.ofARun",
                "spec.parent: an ephemeral agent belongs to its parent, its CodingRun or its Swarm; \
                 name the parent or set the owner reference",
            ),
            // LIFE-06: whose reference it bears, of that run an agent tells, and it hears of it.
            validation(
                &format!(
                    "!variables.ofARun || variables.ofTheSameRun || {}",
                    allowed(".resource('agents').subresource('ephemeral')", "create")
                ),
                "metadata.ownerReferences: only Foundry makes an agent a CodingRun's or a Swarm's own; \
                 leave the reference out",
            ),
            is_writer("owner"),
        ],
    )
}

/// A run becomes an agent that acts as the run's owner.
fn coding_runs() -> ValidatingAdmissionPolicy {
    policy("codingruns", WRITES, vec![kept("owner")], vec![is_writer("owner")])
}

/// A swarm becomes agents that act as the swarm's owner.
// SWARM-02
fn swarms() -> ValidatingAdmissionPolicy {
    policy("swarms", WRITES, vec![kept("owner")], vec![is_writer("owner")])
}

/// Who created a private skill sees it, so nobody gives one to another person.
// SKILL-06
fn skills() -> ValidatingAdmissionPolicy {
    policy("skills", WRITES, vec![kept("createdBy")], vec![is_writer("createdBy")])
}

/// A Model sends its Secret to an address: whoever may not read the Secret may not have
/// it sent anywhere either.
fn models() -> ValidatingAdmissionPolicy {
    policy(
        "models",
        WRITES,
        vec![variable(
            "sentElsewhere",
            "has(object.spec.apiKey) && (request.operation == 'CREATE' \
             || !has(oldObject.spec.apiKey) || object.spec.apiKey != oldObject.spec.apiKey \
             || object.spec.provider != oldObject.spec.provider \
             || has(object.spec.baseUrl) != has(oldObject.spec.baseUrl) \
             || (has(object.spec.baseUrl) && object.spec.baseUrl != oldObject.spec.baseUrl))",
        )],
        vec![secret_is_readable("apiKey", "a provider")],
    )
}

/// A ToolServer sends its Secret to an address, as a Model does.
// SPEC-05
fn tool_servers() -> ValidatingAdmissionPolicy {
    policy(
        "toolservers",
        WRITES,
        vec![variable(
            "sentElsewhere",
            "has(object.spec.authSecret) && (request.operation == 'CREATE' \
             || !has(oldObject.spec.authSecret) || object.spec.authSecret != oldObject.spec.authSecret \
             || object.spec.url != oldObject.spec.url)",
        )],
        vec![secret_is_readable("authSecret", "a tool server")],
    )
}

/// `sentElsewhere` asks for the right to get the Secret named in `field`.
fn secret_is_readable(field: &str, whom: &str) -> Validation {
    Validation {
        message_expression: Some(format!(
            "'spec.{field}.name: you may not read Secret ' + object.spec.{field}.name \
             + ', so you may not have it sent to {whom}; ask for the right to get it'"
        )),
        ..validation(
            &format!(
                "!variables.sentElsewhere || authorizer.group('').resource('secrets')\
                 .namespace(request.namespace).name(object.spec.{field}.name).check('get').allowed()"
            ),
            &format!(
                "spec.{field}: you may not read this Secret, so you may not have it sent to {whom}; \
                 ask for the right to get it"
            ),
        )
    }
}

/// `ownerKept`, of `owner`: an edit that names whom the object named before.
fn kept(field: &str) -> Variable {
    variable(
        &format!("{field}Kept"),
        &format!("request.operation == 'UPDATE' && object.spec.{field} == oldObject.spec.{field}"),
    )
}

/// The person in `field` is kept, or is who writes, or somebody the writer may act for.
fn is_writer(field: &str) -> Validation {
    Validation {
        message_expression: Some(format!(
            "'spec.{field}: ' + object.spec.{field} + ' is not you, ' + request.userInfo.username \
             + '; name yourself, or ask for the verb actas on agents'"
        )),
        ..validation(
            &format!(
                "variables.{field}Kept || object.spec.{field} == request.userInfo.username || {}",
                allowed(".resource('agents')", "actas")
            ),
            &format!(
                "spec.{field}: is not you; name yourself, or ask for the verb actas on agents"
            ),
        )
    }
}

fn allowed(resource: &str, verb: &str) -> String {
    format!(
        "authorizer.group('{GROUP}'){resource}.namespace(request.namespace).check('{verb}').allowed()"
    )
}

fn policy(
    resource: &str,
    operations: &[&str],
    variables: Vec<Variable>,
    validations: Vec<Validation>,
) -> ValidatingAdmissionPolicy {
    ValidatingAdmissionPolicy {
        metadata: named(format!("foundry-{resource}")),
        spec: Some(ValidatingAdmissionPolicySpec {
            failure_policy: Some("Fail".to_owned()),
            match_constraints: Some(MatchResources {
                resource_rules: Some(vec![NamedRuleWithOperations {
                    api_groups: Some(vec![GROUP.to_owned()]),
                    api_versions: Some(vec![VERSION.to_owned()]),
                    operations: Some(operations.iter().map(ToString::to_string).collect()),
                    resources: Some(vec![resource.to_owned()]),
                    ..NamedRuleWithOperations::default()
                }]),
                ..MatchResources::default()
            }),
            variables: Some(variables),
            validations: Some(validations),
            ..ValidatingAdmissionPolicySpec::default()
        }),
        ..ValidatingAdmissionPolicy::default()
    }
}

fn binding(policy: &ValidatingAdmissionPolicy) -> ValidatingAdmissionPolicyBinding {
    ValidatingAdmissionPolicyBinding {
        metadata: policy.metadata.clone(),
        spec: Some(ValidatingAdmissionPolicyBindingSpec {
            policy_name: policy.metadata.name.clone(),
            validation_actions: Some(vec!["Deny".to_owned()]),
            ..ValidatingAdmissionPolicyBindingSpec::default()
        }),
    }
}

fn variable(name: &str, expression: &str) -> Variable {
    Variable { name: name.to_owned(), expression: expression.to_owned() }
}

fn validation(expression: &str, message: &str) -> Validation {
    Validation {
        expression: expression.to_owned(),
        message: Some(message.to_owned()),
        reason: Some("Forbidden".to_owned()),
        message_expression: None,
    }
}

fn named(name: String) -> ObjectMeta {
    ObjectMeta { name: Some(name), ..ObjectMeta::default() }
}
