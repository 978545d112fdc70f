//! Forms of lists in a status.

use schemars::{Schema, SchemaGenerator, json_schema};

use super::words;
use crate::coding_run::Check;
use crate::swarm::MemberStanding;

/// Conditions, merged by `type`, bounded as Kubernetes' own types bound them.
pub fn conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": 16,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "description": "One aspect of the object's state.",
            "type": "object",
            "required": ["lastTransitionTime", "message", "reason", "status", "type"],
            "properties": {
                "type": {
                    "description": "Which aspect, such as Ready, Running or Complete; docs/conditions.md explains each.",
                    "type": "string",
                    "maxLength": 316,
                },
                "status": {
                    "description": "True, False or Unknown.",
                    "type": "string",
                    "enum": ["True", "False", "Unknown"],
                },
                "reason": {
                    "description": "One stable CamelCase word; docs/conditions.md explains each.",
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 1024,
                    "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                },
                "message": {
                    "description": "What it means and what to do, for a person.",
                    "type": "string",
                    "maxLength": 32768,
                },
                "observedGeneration": {
                    "description": "metadata.generation this condition speaks of.",
                    "type": "integer",
                    "format": "int64",
                    "minimum": 0,
                },
                "lastTransitionTime": {
                    "description": "When the status last changed.",
                    "type": "string",
                    "format": "date-time",
                    "maxLength": 64,
                },
            },
        },
    })
}

/// Results of checks.
pub fn checks(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": 100,
        "items": generator.subschema_for::<Check>(),
    })
}

/// Members of a swarm and where they stand.
pub fn member_standings(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": 100,
        "items": generator.subschema_for::<MemberStanding>(),
    })
}

/// Names of tools that a server has: its own words, so they are bounded and no more.
pub fn discovered_tools(generator: &mut SchemaGenerator) -> Schema {
    let mut name = words::<256>(generator);
    name.insert("description".to_owned(), "Name of a tool.".into());
    json_schema!({ "type": "array", "maxItems": 256, "items": name })
}
