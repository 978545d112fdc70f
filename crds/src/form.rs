//! The forms of single fields: bounded schemas with their rules and the message a
//! person reads when one is broken.
//!
//! The API server puts the path and the value before a message, as in
//! `spec.slug: Invalid value: "Ann": must be a DNS label …`, so messages hold the
//! rule and the remedy only. Every string and list is bounded: the server estimates
//! the cost of a rule from these bounds and refuses a CRD that could be slow.
//!
//! Lists in `spec` are atomic on purpose. With a list merged by key, an owner of
//! half of it that removes an entry of somebody else's is silently not obeyed; with
//! an atomic one it gets a conflict that names the other manager. Rules keep entries
//! unique instead.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::core::{Reason, Rule};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::agent::{Member, SkillRef};
use crate::coding_run::Repository;
use crate::harness::EnvVar;
use crate::names::MAX_AGENT_NAME;
use crate::swarm::SwarmMember;

mod git;
mod quantity;
mod skill;
mod status;

pub use git::{git_ref, path_prefixes, ssh_remote};
pub use quantity::{duration, resources};
pub use skill::{sha256, skill_files, skill_instructions, skill_path, skill_versions};
pub use status::{checks, conditions, discovered_tools, member_standings};

/// `a-z`, `0-9` and `-`, beginning and ending with a letter or digit.
const DNS_LABEL: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
/// What a person reads about [`DNS_LABEL`].
const DNS_LABEL_MESSAGE: &str = "must be a DNS label of at most 40 characters: a-z, 0-9 and '-', \
                                 beginning and ending with a letter or digit";
/// Scheme, host, port and path of a URL.
const URL: &str =
    r"^[^:]*://([^/?#]*@)?([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?([/?#][^\s\pC]*)?$";
/// A wire id: no blanks, no control characters, no leading punctuation.
const WIRE_ID: &str = "^[A-Za-z0-9][A-Za-z0-9._:/@+-]*$";

// --- rules -----------------------------------------------------------------

/// A rule over several fields of a struct, reported at `field` (`.ttlAt`).
pub fn rule(field: &str, cel: impl Into<String>, message: &str) -> Rule {
    Rule::new(cel).message(message).field_path(field)
}

/// A rule that demands `field`.
pub fn required(field: &str, cel: impl Into<String>, message: &str) -> Rule {
    rule(field, cel, message).reason(Reason::FieldValueRequired)
}

/// A rule that forbids `field`.
pub fn forbidden(field: &str, cel: impl Into<String>, message: &str) -> Rule {
    rule(field, cel, message).reason(Reason::FieldValueForbidden)
}

/// `field` keeps the value, or the absence, it was created with.
pub fn immutable(field: &str, message: &str) -> Rule {
    forbidden(
        &format!(".{field}"),
        format!(
            "has(self.{field}) == has(oldSelf.{field}) && \
             (!has(self.{field}) || self.{field} == oldSelf.{field})"
        ),
        message,
    )
}

/// The rule on `metadata.name`, which the schema of every kind carries at its root.
pub fn name_rule() -> Value {
    json!({
        "rule": format!("self.metadata.name.matches('{DNS_LABEL}')"),
        "message": DNS_LABEL_MESSAGE,
        "fieldPath": ".metadata.name",
    })
}

fn says(cel: &str, message: &str) -> Value {
    json!({ "rule": cel, "message": message })
}

fn matches(pattern: &str, message: &str) -> Value {
    // A CEL string needs each backslash of the pattern twice.
    says(&format!("self.matches('{}')", pattern.replace('\\', "\\\\")), message)
}

fn unique(key: &str, message: &str) -> Value {
    says(&format!("self.all(x, self.exists_one(y, x{key} == y{key}))"), message)
}

// --- texts -----------------------------------------------------------------

fn text(max_length: usize, rules: &[Value]) -> Schema {
    json_schema!({
        "type": "string",
        "minLength": 1,
        "maxLength": max_length,
        "x-kubernetes-validations": rules,
    })
}

/// A text that a status carries: bounded, never refused for its content.
pub fn words<const MAX: usize>(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "maxLength": MAX })
}

/// Name of another object, or a slug.
pub fn label(_: &mut SchemaGenerator) -> Schema {
    text(MAX_AGENT_NAME, &[matches(DNS_LABEL, DNS_LABEL_MESSAGE)])
}

/// Subject of a person, as tokens and Kubernetes name it.
pub fn subject(_: &mut SchemaGenerator) -> Schema {
    text(
        255,
        &[matches(
            r"^[^\s\pC]+$",
            "must be the subject of a person, without blanks or control characters",
        )],
    )
}

/// One line for people to read.
pub fn one_line<const MAX: usize>(_: &mut SchemaGenerator) -> Schema {
    text(
        MAX,
        &[matches(
            r"^[^\s\pC]([^\pC]*[^\s\pC])?$",
            "must be one line without control characters, not beginning or ending with a blank",
        )],
    )
}

/// A long text in Markdown.
pub fn markdown(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "maxLength": 65536 })
}

/// A long text in Markdown that says something.
pub fn task(_: &mut SchemaGenerator) -> Schema {
    text(65536, &[matches(r"\S", "must say what is to be done")])
}

/// What a swarm works towards.
pub fn goal(_: &mut SchemaGenerator) -> Schema {
    text(16_384, &[matches(r"\S", "must say what the members work towards")])
}

/// What a member of a swarm is told: bounded so that twenty of them fit one object.
pub fn member_instructions(_: &mut SchemaGenerator) -> Schema {
    text(32_768, &[matches(r"\S", "must say what the member is to do")])
}

/// The id of a Model.
pub fn wire_id(_: &mut SchemaGenerator) -> Schema {
    text(
        128,
        &[
            matches(
                WIRE_ID,
                "must begin with a letter or digit and hold letters, digits and . _ : / @ + - only",
            ),
            says(
                "self != 'auto'",
                "auto is what agents say to mean no particular model; name this one",
            ),
        ],
    )
}

/// Choice of a model: `auto` or the wire id of a Model (BIND-01).
pub fn model_choice(_: &mut SchemaGenerator) -> Schema {
    let mut schema = text(
        128,
        &[matches(WIRE_ID, "must be auto or the wireId of a Model (see kubectl get models)")],
    );
    // A default, so that the MODEL column never stands empty. Nobody owns a defaulted
    // field under server-side apply, so a manifest that leaves it out stays clean.
    schema.insert("default".to_owned(), json!("auto"));
    schema
}

/// Choice of a model without a default.
pub fn optional_model(_: &mut SchemaGenerator) -> Schema {
    text(128, &[matches(WIRE_ID, "must be auto or the wireId of a Model (see kubectl get models)")])
}

/// The provider's own name of a model.
pub fn upstream_model(_: &mut SchemaGenerator) -> Schema {
    text(256, &[matches(r"^[^\s\pC]+$", "must be the provider's name of a model, without blanks")])
}

/// Base URL of a model server: it is joined with a path and shown to people, so it
/// carries neither credentials nor a query.
pub fn base_url(_: &mut SchemaGenerator) -> Schema {
    text(
        1024,
        &[
            matches("^https?://", "must begin with http:// or https://"),
            says(
                "!self.contains('@')",
                "must not hold credentials; put the key into a Secret and name it in spec.apiKey",
            ),
            says(r"!self.matches('[?#]')", "must not hold a query or fragment"),
            matches(URL, "must name a host, and may name a port and a path"),
            says(
                r"!self.matches('/(chat/completions|messages)/?$')",
                "must end before /chat/completions or /messages; these are added by the protocol",
            ),
        ],
    )
}

/// URL of an MCP server: it is shown to people, so it carries neither credentials nor a
/// query.
pub fn tool_server_url(_: &mut SchemaGenerator) -> Schema {
    text(
        1024,
        &[
            matches("^https?://", "must begin with http:// or https://"),
            says(
                "!self.contains('@')",
                "must not hold credentials; put them into a Secret and name it in spec.authSecret",
            ),
            says(r"!self.matches('[?#]')", "must not hold a query or fragment"),
            matches(URL, "must name a host, and may name a port and a path"),
        ],
    )
}

/// Name of a Secret.
pub fn secret_name(_: &mut SchemaGenerator) -> Schema {
    text(
        253,
        &[matches(
            r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$",
            "must be the name of a Secret in this namespace",
        )],
    )
}

/// Key in a Secret.
pub fn secret_key(_: &mut SchemaGenerator) -> Schema {
    text(
        253,
        &[matches(
            r"^[-._a-zA-Z0-9]+$",
            "must be a key of a Secret: letters, digits and - _ . only",
        )],
    )
}

/// A container image.
pub fn image(_: &mut SchemaGenerator) -> Schema {
    text(
        512,
        &[matches(
            r"^[a-z0-9]([A-Za-z0-9._:/@-]*[A-Za-z0-9])?$",
            "must be an image reference such as registry.example/foundry-harness:1.0",
        )],
    )
}

/// Program inside an image.
pub fn command(_: &mut SchemaGenerator) -> Schema {
    text(
        255,
        &[matches(
            r"^(/[A-Za-z0-9_][A-Za-z0-9._-]*)+$",
            "must be the absolute path of a program, such as /harness, without arguments",
        )],
    )
}

/// Name of an environment variable of a harness.
pub fn env_name(_: &mut SchemaGenerator) -> Schema {
    text(
        128,
        &[
            matches(
                "^[A-Za-z_][A-Za-z0-9_]*$",
                "must be a variable name: letters, digits and _, not beginning with a digit",
            ),
            says(
                "!self.startsWith('FOUNDRY_') || self in ['FOUNDRY_GITHUB_HOST', 'FOUNDRY_GITHUB_API_URL']",
                "FOUNDRY_ variables are set by the operator, all but FOUNDRY_GITHUB_HOST and FOUNDRY_GITHUB_API_URL; use another name",
            ),
            says(
                r"!self.matches('(?i)(TOKEN|SECRET|PASSWORD|PASSPHRASE|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|CREDENTIALS?)$')",
                "looks like a secret, and whoever reads the Harness would read it; keep it in a Secret",
            ),
        ],
    )
}

/// One of a few words.
pub fn choice<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// A repository, which has one owner under server-side apply: who replaces the scope
/// replaces all of it, and what it leaves out is gone.
pub fn repository(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = generator.subschema_for::<Repository>();
    schema.insert("x-kubernetes-map-type".to_owned(), json!("atomic"));
    schema
}

// --- numbers and times -------------------------------------------------------

/// A whole number between two bounds.
pub fn whole<const MIN: i64, const MAX: i64>(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer", "format": "int64", "minimum": MIN, "maximum": MAX })
}

/// Counts the starts asked for. It only grows: a lower number would hide the next
/// start from the operator, which acts when it rises above what it has seen.
pub fn starts(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "integer",
        "format": "int64",
        "minimum": 0,
        "maximum": 1_000_000, // `foundry-agent-{40 characters}-{number}` must fit 63
        "x-kubernetes-validations": [says(
            "self >= oldSelf",
            "can only be raised: it counts starts; leave it out of manifests that are applied again and again",
        )],
    })
}

/// A moment.
pub fn moment(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = Time::json_schema(generator);
    schema.insert("maxLength".to_owned(), json!(64));
    schema
}

// --- lists -------------------------------------------------------------------

fn list(max_items: usize, items: &Schema, rules: &[Value]) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": max_items,
        "items": items,
        "x-kubernetes-validations": rules,
    })
}

fn described(mut schema: Schema, description: &str) -> Schema {
    schema.insert("description".to_owned(), json!(description));
    schema
}

/// Names of catalog tools.
pub fn tool_names(_: &mut SchemaGenerator) -> Schema {
    let name = text(
        64,
        &[matches(
            "^[A-Za-z][A-Za-z0-9_-]*$",
            "must be the name of a tool: letters, digits, _ and -, beginning with a letter",
        )],
    );
    list(100, &described(name, "Name of a catalog tool."), &[unique("", "names a tool twice")])
}

/// Names of features.
pub fn features(_: &mut SchemaGenerator) -> Schema {
    let name = text(
        64,
        &[matches("^[a-z][a-z0-9_]*$", "must be the name of a feature, such as repo_scope")],
    );
    list(20, &described(name, "Name of a feature."), &[unique("", "names a feature twice")])
}

/// Reasoning levels.
pub fn reasoning_efforts(_: &mut SchemaGenerator) -> Schema {
    let level = text(
        32,
        &[matches("^[a-z][a-z0-9_-]*$", "must be a reasoning level, such as low, medium or high")],
    );
    list(10, &described(level, "A reasoning level."), &[unique("", "names a level twice")])
}

/// Names of programs.
pub fn commands(_: &mut SchemaGenerator) -> Schema {
    let name = text(
        64,
        &[matches(
            r"^[A-Za-z0-9_][A-Za-z0-9._+-]*$",
            "must be the name of a program, without path and arguments",
        )],
    );
    list(50, &described(name, "Name of a program."), &[unique("", "names a program twice")])
}

/// People besides the owner.
pub fn members(generator: &mut SchemaGenerator) -> Schema {
    list(
        100,
        &generator.subschema_for::<Member>(),
        &[unique(".subject", "names a person twice; give each one role")],
    )
}

/// Attached skills.
pub fn skills(generator: &mut SchemaGenerator) -> Schema {
    list(
        50,
        &generator.subschema_for::<SkillRef>(),
        &[unique(".name", "names a skill twice; attach it once, at one version")],
    )
}

/// Tool servers of an agent.
pub fn tool_servers(generator: &mut SchemaGenerator) -> Schema {
    let name = described(label(generator), "Name of a ToolServer.");
    list(20, &name, &[unique("", "names a ToolServer twice")])
}

/// Members of a swarm.
pub fn swarm_members(generator: &mut SchemaGenerator) -> Schema {
    let rules = [unique(".name", "names a member twice; give each a name of its own")];
    let mut schema = list(20, &generator.subschema_for::<SwarmMember>(), &rules);
    schema.insert("minItems".to_owned(), json!(1));
    schema
}

/// Environment variables.
pub fn env(generator: &mut SchemaGenerator) -> Schema {
    list(50, &generator.subschema_for::<EnvVar>(), &[unique(".name", "sets a variable twice")])
}
