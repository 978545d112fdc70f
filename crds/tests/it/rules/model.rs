//! Rules of `Model` objects.

use serde_json::{Value, json};

use crate::it::cases::{Case, Change, case, change};

fn spec(more: &Value) -> Value {
    json!({ "spec": more })
}

fn at(url: &str) -> Value {
    spec(&json!({ "provider": "openaiCompatible", "baseUrl": url, "apiKey": null }))
}

pub fn cases() -> Vec<Case> {
    [identity(), addresses(), figures()].into_iter().flatten().collect()
}

fn identity() -> Vec<Case> {
    vec![
        case(
            "metadata.name",
            "must be a DNS label",
            json!({ "metadata": { "name": "gpt-5" } }),
            json!({ "metadata": { "name": "gpt.5" } }),
        ),
        case(
            "spec.wireId",
            "must begin with a letter or digit",
            spec(&json!({ "wireId": "meta-llama/Llama-3.1:8b@q4" })),
            spec(&json!({ "wireId": "gpt 5" })),
        ),
        case(
            "spec.wireId",
            "auto is what agents say",
            spec(&json!({ "wireId": "auto-1" })),
            spec(&json!({ "wireId": "auto" })),
        ),
        case(
            "spec.provider",
            "supported values: \"openai\", \"anthropic\", \"openaiCompatible\"",
            spec(&json!({ "provider": "anthropic" })),
            spec(&json!({ "provider": "google" })),
        ),
        case(
            "spec.upstreamModel",
            "must be the provider's name of a model",
            spec(&json!({ "upstreamModel": "claude-sonnet-4-5-20250929" })),
            spec(&json!({ "upstreamModel": "claude sonnet" })),
        ),
        case(
            "spec.apiKey",
            "the provider wants a key",
            spec(&json!({ "apiKey": null, "baseUrl": "http://localhost:8080/v1" })),
            spec(&json!({ "apiKey": null })),
        ),
        case(
            "spec.apiKey.name",
            "must be the name of a Secret",
            spec(&json!({ "apiKey": { "name": "team.openai" } })),
            spec(&json!({ "apiKey": { "name": "team/openai" } })),
        ),
        case(
            "spec.apiKey.key",
            "must be a key of a Secret",
            spec(&json!({ "apiKey": { "key": "API_KEY.txt" } })),
            spec(&json!({ "apiKey": { "key": "api key" } })),
        ),
    ]
}

fn addresses() -> Vec<Case> {
    vec![
        case(
            "spec.baseUrl",
            "say where it is served",
            at("http://vllm.models.svc:8000/v1"),
            spec(&json!({ "provider": "openaiCompatible" })),
        ),
        case(
            "spec.baseUrl",
            "must begin with http:// or https://",
            at("https://llm.example"),
            at("ftp://llm.example"),
        ),
        case(
            "spec.baseUrl",
            "must not hold credentials",
            at("https://llm.example/v1"),
            at("https://ann:pw@llm.example/v1"),
        ),
        case(
            "spec.baseUrl",
            "must not hold a query or fragment",
            at("https://llm.example:8443/v1/"),
            at("https://llm.example/v1?api-key=1"),
        ),
        case("spec.baseUrl", "must name a host", at("http://[::1]:8080/v1"), at("http://:8080/v1")),
        case(
            "spec.baseUrl",
            "must end before /chat/completions or /messages",
            at("https://llm.example/messages/v1"),
            at("https://llm.example/v1/chat/completions"),
        ),
    ]
}

fn figures() -> Vec<Case> {
    vec![
        // BIND-07
        case(
            "spec.maxContextTokens",
            "greater than or equal to 1",
            spec(&json!({ "maxContextTokens": 400_000 })),
            spec(&json!({ "maxContextTokens": 0 })),
        ),
        case(
            "spec.reasoningEfforts[0]",
            "must be a reasoning level",
            spec(&json!({ "reasoningEfforts": ["minimal", "low"] })),
            spec(&json!({ "reasoningEfforts": ["Very high"] })),
        ),
        case(
            "spec.reasoningEfforts",
            "names a level twice",
            spec(&json!({ "reasoningEfforts": ["low", "high"] })),
            spec(&json!({ "reasoningEfforts": ["low", "low"] })),
        ),
        case(
            "spec.prices.output",
            "greater than or equal to 0",
            spec(&json!({ "prices": { "input": 0, "output": 0 } })),
            spec(&json!({ "prices": { "input": 0, "output": -1 } })),
        ),
    ]
}

pub fn changes() -> Vec<Change> {
    vec![change(
        "spec.wireId",
        "cannot change, for agents hold it",
        json!({}),
        spec(&json!({ "upstreamModel": "gpt-5-mini-2025-08-07" })),
        spec(&json!({ "wireId": "gpt-5" })),
    )]
}
