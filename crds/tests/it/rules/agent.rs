//! Rules of `Agent` objects.

use serde_json::{Value, json};

use super::coding_run;
use crate::it::cases::{Case, Change, case, change, merge};

const LABEL: &str = "must be a DNS label of at most 40 characters";
const ANOTHER: &str = "cannot change; create another agent";

fn spec(more: &Value) -> Value {
    json!({ "spec": more })
}

/// An ephemeral agent of the agent `lead`.
fn ephemeral(more: &Value) -> Value {
    let mut object = spec(&json!({
        "lifetime": "ephemeral", "ttlAt": "2030-01-01T00:00:00Z", "parent": "lead",
    }));
    merge(&mut object["spec"], more);
    object
}

/// An agent that works on a repository.
fn coding(more: &Value) -> Value {
    let mut object = spec(&json!({
        "harness": "coding-v1", "repository": { "remote": "git@git.example:team/app.git" },
    }));
    merge(&mut object, more);
    object
}

pub fn cases() -> Vec<Case> {
    [names_and_people(), choices(), lists(), ephemeral_agents(), coding_agents()]
        .into_iter()
        .flatten()
        .collect()
}

/// What a run says of its repository and its bounds, its agent says in the same words.
fn coding_agents() -> Vec<Case> {
    let shared = coding_run::repositories().into_iter().chain(coding_run::clocks());
    let own = [
        // CODE-38
        case(
            "spec.repository",
            "a coding agent needs a process of its own; set activation: alwaysOn",
            coding(&spec(&json!({ "activation": "alwaysOn" }))),
            coding(&spec(&json!({ "activation": "onDemand" }))),
        ),
        // CODE-31
        case(
            "spec.approval",
            "supported values: \"person\", \"self\"",
            coding(&spec(&json!({ "approval": "self" }))),
            coding(&spec(&json!({ "approval": "nobody" }))),
        ),
        case(
            "spec.approval",
            "speaks of the plans of a coding agent; set repository or leave it out",
            coding(&spec(&json!({ "approval": "person" }))),
            spec(&json!({ "approval": "person" })),
        ),
        case(
            "spec.limits",
            "speaks of the tasks of a coding agent; set repository or leave it out",
            coding(&spec(&json!({ "limits": { "turnsPerAttempt": 10 } }))),
            spec(&json!({ "limits": { "turnsPerAttempt": 10 } })),
        ),
    ];
    shared
        .map(|Case { field, says, good, bad }| case(field, says, coding(&good), coding(&bad)))
        .chain(own)
        .collect()
}

fn names_and_people() -> Vec<Case> {
    vec![
        case(
            "metadata.name",
            LABEL,
            json!({ "metadata": { "name": "scout-2" } }),
            json!({ "metadata": { "name": "scout.2" } }),
        ),
        case(
            "metadata.name",
            "may not be more than 40",
            json!({ "metadata": { "name": "a".repeat(40) } }),
            json!({ "metadata": { "name": "a".repeat(41) } }),
        ),
        case(
            "spec.owner",
            "must be the subject of a person",
            spec(&json!({ "owner": "auth0|ann@example.com" })),
            spec(&json!({ "owner": "ann b" })),
        ),
        case("spec.slug", LABEL, spec(&json!({ "slug": "ann" })), spec(&json!({ "slug": "Ann" }))),
        case(
            "spec.displayName",
            "must be one line",
            spec(&json!({ "displayName": "Ännchen, die Späherin" })),
            spec(&json!({ "displayName": "Ann\nBcc: all" })),
        ),
        case(
            "spec.members[0].subject",
            "must be the subject of a person",
            spec(&json!({ "members": [{ "subject": "ben", "role": "viewer" }] })),
            spec(&json!({ "members": [{ "subject": "ben\t", "role": "viewer" }] })),
        ),
        case(
            "spec.members",
            "names a person twice",
            spec(&json!({ "members": [
                { "subject": "ben", "role": "viewer" }, { "subject": "eve", "role": "editor" },
            ] })),
            spec(&json!({ "members": [
                { "subject": "ben", "role": "viewer" }, { "subject": "ben", "role": "editor" },
            ] })),
        ),
        case(
            "spec.members[0].role",
            "supported values: \"viewer\", \"editor\"",
            spec(&json!({ "members": [{ "subject": "ben", "role": "editor" }] })),
            spec(&json!({ "members": [{ "subject": "ben", "role": "owner" }] })),
        ),
        case(
            "spec.project",
            "must be one line",
            spec(&json!({ "project": "Ship it" })),
            spec(&json!({ "project": " Ship it" })),
        ),
    ]
}

fn choices() -> Vec<Case> {
    vec![
        case(
            "spec.harness",
            LABEL,
            spec(&json!({ "harness": "chat-v1" })),
            spec(&json!({ "harness": "-chat" })),
        ),
        case("spec.harness", "Required value", json!({}), spec(&json!({ "harness": null }))),
        // BIND-01
        case(
            "spec.model",
            "must be auto or the wireId of a Model",
            spec(&json!({ "model": "claude-sonnet-4.5" })),
            spec(&json!({ "model": "gpt 5" })),
        ),
        case(
            "spec.memoryModel",
            "must be auto or the wireId of a Model",
            spec(&json!({ "memoryModel": "auto" })),
            spec(&json!({ "memoryModel": "--model" })),
        ),
        // LOOP-05
        case(
            "spec.maxTurns",
            "greater than or equal to 10",
            spec(&json!({ "maxTurns": 10 })),
            spec(&json!({ "maxTurns": 9 })),
        ),
        // SPEC-01
        case(
            "spec.revisionHistoryLimit",
            "greater than or equal to 1",
            spec(&json!({ "revisionHistoryLimit": 1 })),
            spec(&json!({ "revisionHistoryLimit": 0 })),
        ),
        case(
            "spec.starts",
            "greater than or equal to 0",
            spec(&json!({ "starts": 0 })),
            spec(&json!({ "starts": -1 })),
        ),
        // LIFE-01
        case(
            "spec.lifecycle",
            "supported values: \"active\", \"expired\", \"archive\"",
            spec(&json!({ "lifecycle": "expired" })),
            spec(&json!({ "lifecycle": "running" })),
        ),
        case(
            "spec.desiredState",
            "supported values: \"running\", \"completed\", \"stopped\"",
            spec(&json!({ "desiredState": "stopped" })),
            spec(&json!({ "desiredState": "archive" })),
        ),
        case(
            "spec.activation",
            "supported values: \"alwaysOn\", \"onDemand\"",
            spec(&json!({ "activation": "onDemand" })),
            spec(&json!({ "activation": "always" })),
        ),
        case(
            "spec.instructions",
            "may not be more than 65536",
            spec(&json!({ "instructions": "a".repeat(65536) })),
            spec(&json!({ "instructions": "a".repeat(65537) })),
        ),
    ]
}

fn lists() -> Vec<Case> {
    vec![
        case(
            "spec.tools[1]",
            "must be the name of a tool",
            spec(&json!({ "tools": ["recall", "list_agents"] })),
            spec(&json!({ "tools": ["recall", "list agents"] })),
        ),
        case(
            "spec.tools",
            "names a tool twice",
            spec(&json!({ "tools": ["recall", "remember"] })),
            spec(&json!({ "tools": ["recall", "recall"] })),
        ),
        case(
            "spec.skills[0].name",
            LABEL,
            spec(&json!({ "skills": [{ "name": "review", "version": 3 }] })),
            spec(&json!({ "skills": [{ "name": "../review" }] })),
        ),
        case(
            "spec.skills",
            "names a skill twice",
            spec(&json!({ "skills": [{ "name": "review" }, { "name": "write" }] })),
            spec(&json!({ "skills": [{ "name": "review" }, { "name": "review", "version": 2 }] })),
        ),
        case(
            "spec.skills[0].version",
            "greater than or equal to 1",
            spec(&json!({ "skills": [{ "name": "review", "version": 1 }] })),
            spec(&json!({ "skills": [{ "name": "review", "version": 0 }] })),
        ),
        // SPEC-05
        case(
            "spec.toolServers[0]",
            LABEL,
            spec(&json!({ "toolServers": ["library"] })),
            spec(&json!({ "toolServers": ["http://library"] })),
        ),
        case(
            "spec.toolServers",
            "names a ToolServer twice",
            spec(&json!({ "toolServers": ["library", "tickets"] })),
            spec(&json!({ "toolServers": ["library", "library"] })),
        ),
    ]
}

fn ephemeral_agents() -> Vec<Case> {
    vec![
        // LIFE-06
        case(
            "spec.ttlAt",
            "an ephemeral agent must say when it expires",
            ephemeral(&json!({})),
            ephemeral(&json!({ "ttlAt": null })),
        ),
        case(
            "spec.ttlAt",
            "only an ephemeral agent expires",
            spec(&json!({ "lifetime": "persistent" })),
            spec(&json!({ "ttlAt": "2030-01-01T00:00:00Z" })),
        ),
        case(
            "spec.ttlAt",
            "must be of type date-time",
            ephemeral(&json!({ "ttlAt": "2030-01-01T00:00:00+02:00" })),
            ephemeral(&json!({ "ttlAt": "tomorrow" })),
        ),
        case(
            "spec.parent",
            "only an ephemeral agent has a parent",
            ephemeral(&json!({})),
            spec(&json!({ "parent": "lead" })),
        ),
        case(
            "spec.parent",
            LABEL,
            ephemeral(&json!({ "parent": "lead-2" })),
            ephemeral(&json!({ "parent": "Lead" })),
        ),
        case(
            "spec.parent",
            "must name another agent than this one",
            ephemeral(&json!({ "parent": "scout-2" })),
            ephemeral(&json!({ "parent": "scout" })),
        ),
        case(
            "spec.swarm",
            "a member of a swarm is named {swarm}-{member}",
            member("search", "search-scout"),
            member("search", "scout-search"),
        ),
        case("spec.swarm", LABEL, member("s-1", "s-1-scout"), member("s-", "s--scout")),
        case(
            "spec.parent",
            "a member of a swarm must name the agent that made the swarm",
            member("search", "search-scout"),
            json!({
                "metadata": { "name": "search-scout" },
                "spec": {
                    "lifetime": "ephemeral", "ttlAt": "2030-01-01T00:00:00Z", "swarm": "search",
                },
            }),
        ),
    ]
}

fn member(swarm: &str, name: &str) -> Value {
    let mut object = ephemeral(&json!({ "swarm": swarm }));
    object["metadata"] = json!({ "name": name });
    object
}

pub fn changes() -> Vec<Change> {
    let edit = spec(&json!({ "instructions": "Watch." }));
    vec![
        change(
            "spec.lifetime",
            ANOTHER,
            json!({}),
            edit.clone(),
            spec(&json!({ "lifetime": "ephemeral", "ttlAt": "2030-01-01T00:00:00Z" })),
        ),
        change(
            "spec.parent",
            ANOTHER,
            ephemeral(&json!({})),
            edit.clone(),
            spec(&json!({ "parent": "other" })),
        ),
        change(
            "spec.swarm",
            ANOTHER,
            json!({
                "metadata": { "name": "search-scout" },
                "spec": ephemeral(&json!({ "swarm": "search" }))["spec"],
            }),
            edit.clone(),
            spec(&json!({ "swarm": null })),
        ),
        change(
            "spec.owner",
            "an ephemeral agent acts for the person its run or swarm acts for",
            ephemeral(&json!({})),
            edit.clone(),
            spec(&json!({ "owner": "ben" })),
        ),
        // CODE-31: an edit never approves a plan.
        change(
            "spec.approval",
            "an ephemeral agent keeps who approves its plans",
            coding(&ephemeral(&json!({ "approval": "person" }))),
            edit.clone(),
            spec(&json!({ "approval": "self" })),
        ),
        change(
            "spec.repository",
            "an ephemeral agent works on the repository of its run",
            coding(&ephemeral(&json!({}))),
            spec(&json!({ "limits": { "wallClock": "1h" } })),
            spec(&json!({ "repository": { "remote": "git@git.example:team/other.git" } })),
        ),
        change(
            "spec.lifecycle",
            "an archived agent stays archived",
            spec(&json!({ "lifecycle": "archive" })),
            spec(&json!({ "displayName": "Old scout" })),
            spec(&json!({ "lifecycle": null })),
        ),
        change(
            "spec.starts",
            "can only be raised",
            spec(&json!({ "starts": 2 })),
            spec(&json!({ "starts": 3 })),
            spec(&json!({ "starts": 1 })),
        ),
    ]
}
