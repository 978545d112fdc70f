//! Rules of `Swarm` objects.

use serde_json::{Value, json};

use crate::it::cases::{Case, Change, case, change, merge};

const ANOTHER: &str = "cannot change; create another swarm";
const LABEL: &str = "must be a DNS label of at most 40 characters";
const TOGETHER: &str = "a member's agent is named {swarm}-{member}, at most 40 characters together";

fn spec(more: &Value) -> Value {
    json!({ "spec": more })
}

/// A swarm of one member, who is as `more` says.
fn member(more: &Value) -> Value {
    let mut member = json!({ "name": "search", "harness": "agent-v1", "instructions": "Search." });
    merge(&mut member, more);
    spec(&json!({ "members": [member] }))
}

/// A swarm of that name with members of these names.
fn named(swarm: &str, members: &[&str]) -> Value {
    let members = members.iter().map(
        |name| json!({ "name": name, "harness": "agent-v1", "instructions": "Do your part." }),
    );
    json!({ "metadata": { "name": swarm }, "spec": { "members": members.collect::<Vec<_>>() } })
}

pub fn cases() -> Vec<Case> {
    [names(), numbers(), choices(), lists()].into_iter().flatten().collect()
}

fn names() -> Vec<Case> {
    // A member's agent of 40 characters, and of 41.
    let fits = "m".repeat(38);
    let over = "m".repeat(39);
    vec![
        case(
            "metadata.name",
            LABEL,
            named("review-1", &["search"]),
            named("review.1", &["search"]),
        ),
        case("spec.members", TOGETHER, named("s", &[&fits]), named("s", &[&over])),
        case("spec.members", TOGETHER, named("s", &["a", &fits]), named("s", &["a", &over])),
        case(
            "spec.members[0].name",
            "may not be more than 40",
            member(&json!({ "name": "search-2" })),
            member(&json!({ "name": "m".repeat(41) })),
        ),
        case(
            "spec.members[0].name",
            LABEL,
            member(&json!({ "name": "search-2" })),
            member(&json!({ "name": "search.2" })),
        ),
        case(
            "spec.members",
            "names a member twice; give each a name of its own",
            named("review", &["search", "write"]),
            named("review", &["search", "search"]),
        ),
        // Of `scout` and its member `search`.
        case(
            "spec.members",
            "and the parent has that name; rename the member",
            spec(&json!({ "parent": "scout-search-2" })),
            spec(&json!({ "parent": "scout-search" })),
        ),
        case(
            "spec.parent",
            LABEL,
            spec(&json!({ "parent": "l".repeat(40) })),
            spec(&json!({ "parent": "lead.1" })),
        ),
        case(
            "spec.parent",
            "Required value",
            spec(&json!({ "parent": "lead" })),
            spec(&json!({ "parent": null })),
        ),
        case(
            "spec.owner",
            "must be the subject of a person",
            spec(&json!({ "owner": "auth0|ann@example.com" })),
            spec(&json!({ "owner": "ann b" })),
        ),
    ]
}

fn numbers() -> Vec<Case> {
    let names: Vec<String> = (0..21).map(|number| format!("m{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    vec![
        case(
            "spec.members",
            "should have at least 1 items",
            named("review", &names[..1]),
            named("review", &[]),
        ),
        case(
            "spec.members",
            "must have at most 20 items",
            named("review", &names[..20]),
            named("review", &names),
        ),
        case(
            "spec.ttl",
            "must be a duration",
            spec(&json!({ "ttl": "1h30m" })),
            spec(&json!({ "ttl": "an hour" })),
        ),
        case(
            "spec.ttl",
            "is under the minimum 1m",
            spec(&json!({ "ttl": "60s" })),
            spec(&json!({ "ttl": "59s" })),
        ),
        case(
            "spec.ttl",
            "is over the maximum 24h",
            spec(&json!({ "ttl": "24h" })),
            spec(&json!({ "ttl": "25h" })),
        ),
    ]
}

fn choices() -> Vec<Case> {
    vec![
        case(
            "spec.goal",
            "must say what the members work towards",
            spec(&json!({ "goal": "# One\n\nreview." })),
            spec(&json!({ "goal": " \n" })),
        ),
        case(
            "spec.goal",
            "may not be more than 16384",
            spec(&json!({ "goal": "g".repeat(16_384) })),
            spec(&json!({ "goal": "g".repeat(16_385) })),
        ),
        case(
            "spec.members[0].instructions",
            "must say what the member is to do",
            member(&json!({ "instructions": "Read.\n" })),
            member(&json!({ "instructions": "\n\t" })),
        ),
        case(
            "spec.members[0].instructions",
            "may not be more than 32768",
            member(&json!({ "instructions": "i".repeat(32_768) })),
            member(&json!({ "instructions": "i".repeat(32_769) })),
        ),
        case(
            "spec.members[0].harness",
            LABEL,
            member(&json!({ "harness": "coding-v1" })),
            member(&json!({ "harness": "Coding" })),
        ),
        case(
            "spec.members[0].model",
            "must be auto or the wireId of a Model",
            member(&json!({ "model": "auto" })),
            member(&json!({ "model": "gpt 5" })),
        ),
    ]
}

fn lists() -> Vec<Case> {
    vec![
        case(
            "spec.members[0].tools[0]",
            "must be the name of a tool",
            member(&json!({ "tools": ["recall"] })),
            member(&json!({ "tools": ["re call"] })),
        ),
        case(
            "spec.members[0].tools",
            "names a tool twice",
            member(&json!({ "tools": ["recall", "remember"] })),
            member(&json!({ "tools": ["recall", "recall"] })),
        ),
        case(
            "spec.members[0].skills[0].name",
            LABEL,
            member(&json!({ "skills": [{ "name": "review", "version": 3 }] })),
            member(&json!({ "skills": [{ "name": "review/3" }] })),
        ),
        case(
            "spec.members[0].skills",
            "names a skill twice",
            member(&json!({ "skills": [{ "name": "review" }, { "name": "write" }] })),
            member(&json!({ "skills": [{ "name": "review" }, { "name": "review" }] })),
        ),
        case(
            "spec.members[0].toolServers[0]",
            LABEL,
            member(&json!({ "toolServers": ["library"] })),
            member(&json!({ "toolServers": ["http://library"] })),
        ),
        case(
            "spec.members[0].toolServers",
            "names a ToolServer twice",
            member(&json!({ "toolServers": ["library", "tickets"] })),
            member(&json!({ "toolServers": ["library", "library"] })),
        ),
    ]
}

pub fn changes() -> Vec<Change> {
    let edit = spec(&json!({ "goal": "Another goal." }));
    vec![
        change("spec.owner", ANOTHER, json!({}), edit.clone(), spec(&json!({ "owner": "ben" }))),
        change(
            "spec.parent",
            ANOTHER,
            json!({}),
            edit.clone(),
            spec(&json!({ "parent": "other" })),
        ),
        // SWARM-04
        change(
            "spec.dismissed",
            "a dismissed swarm stays dismissed",
            spec(&json!({ "dismissed": true })),
            edit.clone(),
            spec(&json!({ "dismissed": false })),
        ),
        change(
            "spec.dismissed",
            "a dismissed swarm stays dismissed",
            spec(&json!({ "dismissed": true })),
            edit,
            spec(&json!({ "dismissed": null })),
        ),
        // What holds of a new swarm holds of an edited one.
        change(
            "spec.members",
            TOGETHER,
            json!({ "metadata": { "name": "s".repeat(20) } }),
            json!({ "spec": named("", &[&"m".repeat(19)])["spec"] }),
            json!({ "spec": named("", &[&"m".repeat(20)])["spec"] }),
        ),
    ]
}
