//! Rules of `ToolServer` objects.

use serde_json::{Value, json};

use crate::it::cases::{Case, Change, case, change};

fn spec(more: &Value) -> Value {
    json!({ "spec": more })
}

fn at(url: &str) -> Value {
    spec(&json!({ "url": url }))
}

pub fn cases() -> Vec<Case> {
    vec![
        case(
            "metadata.name",
            "must be a DNS label",
            json!({ "metadata": { "name": "library-2" } }),
            json!({ "metadata": { "name": "library.2" } }),
        ),
        case(
            "spec.url",
            "Required value",
            at("http://library.tools.svc/mcp"),
            spec(&json!({ "url": null })),
        ),
        case(
            "spec.url",
            "must begin with http:// or https://",
            at("https://library.example/mcp"),
            at("unix://library.example/mcp"),
        ),
        case(
            "spec.url",
            "must not hold credentials; put them into a Secret and name it in spec.authSecret",
            at("https://library.example/mcp"),
            at("https://ann:pw@library.example/mcp"),
        ),
        case(
            "spec.url",
            "must not hold a query or fragment",
            at("https://library.example:8443/a/mcp"),
            at("https://library.example/mcp?key=1"),
        ),
        case("spec.url", "must name a host", at("http://[::1]:8080/mcp"), at("http://:8080/mcp")),
        case(
            "spec.authSecret.name",
            "must be the name of a Secret",
            spec(&json!({ "authSecret": { "name": "team.library", "key": "token" } })),
            spec(&json!({ "authSecret": { "name": "team/library", "key": "token" } })),
        ),
        case(
            "spec.authSecret.key",
            "must be a key of a Secret",
            spec(&json!({ "authSecret": { "name": "library", "key": "TOKEN.txt" } })),
            spec(&json!({ "authSecret": { "name": "library", "key": "the token" } })),
        ),
        case(
            "spec.authSecret.key",
            "Required value",
            spec(&json!({ "authSecret": { "name": "library", "key": "token" } })),
            spec(&json!({ "authSecret": { "name": "library" } })),
        ),
    ]
}

pub fn changes() -> Vec<Change> {
    vec![change(
        "spec.url",
        "must not hold credentials",
        json!({}),
        at("https://elsewhere.example/mcp"),
        at("https://ann@elsewhere.example/mcp"),
    )]
}
