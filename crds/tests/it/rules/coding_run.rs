//! Rules of `CodingRun` objects.

use serde_json::{Value, json};

use crate::it::cases::{Case, Change, case, change};

const ANOTHER: &str = "cannot change; create another run";
const LABEL: &str = "must be a DNS label of at most 40 characters";

fn spec(more: &Value) -> Value {
    json!({ "spec": more })
}

fn repository(more: &Value) -> Value {
    spec(&json!({ "repository": more }))
}

fn remote(remote: &str) -> Value {
    repository(&json!({ "remote": remote }))
}

pub fn cases() -> Vec<Case> {
    [names(), repositories(), clocks(), budgets()].into_iter().flatten().collect()
}

/// CODE-01, CODE-02, CODE-09, CODE-10: as a run and a coding agent say it.
pub fn repositories() -> Vec<Case> {
    [remotes(), refs(), scope()].into_iter().flatten().collect()
}

fn names() -> Vec<Case> {
    vec![
        case(
            "metadata.name",
            LABEL,
            json!({ "metadata": { "name": "fix-1" } }),
            json!({ "metadata": { "name": "fix.1" } }),
        ),
        case(
            "spec.owner",
            "must be the subject of a person",
            spec(&json!({ "owner": "system:serviceaccount:a:b" })),
            spec(&json!({ "owner": "ann\u{200b}" })),
        ),
        case(
            "spec.agent",
            LABEL,
            spec(&json!({ "agent": "lead" })),
            spec(&json!({ "agent": "L" })),
        ),
        case(
            "spec.agent",
            "the run's own agent takes the run's name",
            spec(&json!({ "agent": "scout-2" })),
            spec(&json!({ "agent": "scout" })),
        ),
        case(
            "spec.harness",
            LABEL,
            spec(&json!({ "harness": "coding-v1" })),
            spec(&json!({ "harness": "coding_v1" })),
        ),
        case(
            "spec.task",
            "must say what is to be done",
            spec(&json!({ "task": "Fix\nthe build." })),
            spec(&json!({ "task": " \n\t" })),
        ),
        case(
            "spec.approval",
            "supported values: \"person\", \"self\"",
            spec(&json!({ "approval": "self" })),
            spec(&json!({ "approval": "none" })),
        ),
        case(
            "spec.model",
            "must be auto or the wireId of a Model",
            spec(&json!({ "model": "gpt-5" })),
            spec(&json!({ "model": "gpt,5" })),
        ),
    ]
}

/// CODE-01
fn remotes() -> Vec<Case> {
    let good = [
        "ssh://git@git.example/team/app.git",
        "ssh://git.example:2222/~ann/app",
        "ssh://git@[::1]:2222/srv/app.git",
        "git@ssh.dev.azure.com:v3/org/My%20Project/app",
    ];
    let bad = [
        ("https://git.example/team/app.git", "must be an SSH remote"),
        ("FILE:///srv/app.git", "must be an SSH remote"),
        ("--upload-pack=touch", "must not begin with '-'"),
        ("ssh://-oProxyCommand=touch/app", "must be ssh://git@host/path or git@host:path"),
        ("git@-oProxyCommand=touch:app", "must be ssh://git@host/path or git@host:path"),
        ("git@git.example:-app", "must be ssh://git@host/path or git@host:path"),
        ("ssh://git:pw@git.example/app", "must be ssh://git@host/path or git@host:path"),
        ("git@git.example:app;touch", "must be ssh://git@host/path or git@host:path"),
        ("git@git.example:app\n", "must be ssh://git@host/path or git@host:path"),
        ("ext::sh -c touch", "must be ssh://git@host/path or git@host:path"),
        ("/srv/app.git", "must be ssh://git@host/path or git@host:path"),
    ];
    bad.into_iter()
        .zip(good.into_iter().cycle())
        .map(|((bad, says), good)| case("spec.repository.remote", says, remote(good), remote(bad)))
        .collect()
}

/// CODE-02
fn refs() -> Vec<Case> {
    let good = ["main", "feature/añadir-1", "v1.2.3", "refs/heads/a", "0a1b2c"];
    let bad = [
        ("-main", "must not begin with '-'"),
        ("feature one", "must be the name of a branch or tag, without blanks"),
        ("main~1", "must be the name of a branch or tag, without blanks"),
        ("main\u{7}", "must be the name of a branch or tag, without blanks"),
        ("a..b", "that git accepts"),
        ("/main", "that git accepts"),
        ("main/", "that git accepts"),
        ("a//b", "that git accepts"),
        (".main", "that git accepts"),
        ("a/.b", "that git accepts"),
        ("main.lock", "that git accepts"),
        ("main.lock/a", "that git accepts"),
        ("main.", "that git accepts"),
        ("a@{1}", "that git accepts"),
        ("@", "that git accepts"),
    ];
    bad.into_iter()
        .zip(good.into_iter().cycle())
        .flat_map(|((bad, says), good)| {
            [("spec.repository.baseRef", "baseRef"), ("spec.repository.defaultRef", "defaultRef")]
                .map(|(field, name)| {
                    let with = |name_of_ref: &str| {
                        let mut object = json!({ "spec": { "repository": {} } });
                        object["spec"]["repository"][name] = json!(name_of_ref);
                        object
                    };
                    case(field, says, with(good), with(bad))
                })
        })
        .collect()
}

/// CODE-09, CODE-10
fn scope() -> Vec<Case> {
    let paths = |path: &str| repository(&json!({ "paths": [path] }));
    vec![
        case(
            "spec.repository.paths[0]",
            "must be relative to the root",
            paths("services/api/"),
            paths("/services"),
        ),
        case(
            "spec.repository.paths[0]",
            "must stay beneath the root",
            paths("a..b"),
            paths("services/../../etc"),
        ),
        case(
            "spec.repository.paths[0]",
            "must not hold control characters",
            paths("docs/Ünïcode name"),
            paths("docs\\name"),
        ),
        case(
            "spec.repository.extraCommands[0]",
            "must be the name of a program",
            repository(&json!({ "extraCommands": ["cargo", "g++"] })),
            repository(&json!({ "extraCommands": ["./build.sh"] })),
        ),
        case(
            "spec.repository.extraCommands",
            "names a program twice",
            repository(&json!({ "extraCommands": ["cargo", "rustc"] })),
            repository(&json!({ "extraCommands": ["cargo", "cargo"] })),
        ),
    ]
}

/// CODE-23, CODE-24
pub fn clocks() -> Vec<Case> {
    const CLOCK: &str = "spec.limits.wallClock";
    let clock = |time: &str| spec(&json!({ "limits": { "wallClock": time } }));
    vec![
        case(CLOCK, "must be a duration", clock("1h30m"), clock("30 minutes")),
        case(CLOCK, "must be a duration", clock("90m"), clock("1.5h")),
        case(CLOCK, "must be a duration", clock("90s"), clock("-1h")),
        case(CLOCK, "is over the maximum 24h", clock("24h"), clock("48h")),
        case(CLOCK, "48h is over the maximum 24h", clock("1440m"), clock("48h")),
        case(CLOCK, "is under the minimum 1m", clock("1m"), clock("59s")),
        case(
            "spec.limits.turnsPerAttempt",
            "greater than or equal to 10",
            spec(&json!({ "limits": { "turnsPerAttempt": 60 } })),
            spec(&json!({ "limits": { "turnsPerAttempt": 0 } })),
        ),
    ]
}

fn budgets() -> Vec<Case> {
    vec![
        case(
            "spec.budget.costMicros",
            "greater than or equal to 1",
            spec(&json!({ "budget": { "costMicros": 1_000_000 } })),
            spec(&json!({ "budget": { "costMicros": 0 } })),
        ),
        case(
            "spec.budget.costMicros",
            "a budget must bound costMicros, tokens or both",
            spec(&json!({ "budget": { "tokens": 200_000 } })),
            spec(&json!({ "budget": {} })),
        ),
    ]
}

pub fn changes() -> Vec<Change> {
    let edit = spec(&json!({
        "budget": { "costMicros": 1 }, "model": "gpt-5", "limits": { "wallClock": "1h" },
    }));
    let fixed = |field, bad: Value| change(field, ANOTHER, json!({}), edit.clone(), spec(&bad));
    vec![
        fixed("spec.owner", json!({ "owner": "ben" })),
        fixed("spec.agent", json!({ "agent": "lead" })),
        fixed("spec.harness", json!({ "harness": "coding-v2" })),
        fixed("spec.task", json!({ "task": "Something else." })),
        fixed("spec.repository", json!({ "repository": { "baseRef": "other" } })),
        // CODE-31: an edit must never approve a plan.
        fixed("spec.approval", json!({ "approval": "self" })),
    ]
}
