//! Forms of amounts with a unit.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::{says, text};

/// A duration between one minute and one day, such as `30m` (CODE-24).
pub fn duration(_: &mut SchemaGenerator) -> Schema {
    const FORM: &str = "^([0-9]{1,5}h)?([0-9]{1,6}m)?([0-9]{1,6}s)?$";
    text(
        20,
        &[
            says(
                &format!("self.matches('{FORM}')"),
                "must be a duration in hours, minutes and seconds, such as 30m, 2h or 1h30m",
            ),
            bound(FORM, "duration(self) >= duration('1m')", "is under the minimum 1m"),
            bound(FORM, "duration(self) <= duration('24h')", "is over the maximum 24h"),
        ],
    )
}

fn bound(form: &str, within: &str, message: &str) -> Value {
    json!({
        "rule": format!("!self.matches('{form}') || {within}"),
        "message": message,
        "messageExpression": format!("self + ' {message}'"),
    })
}

/// CPU and memory of a container: `limits` and `requests`, nothing else, for claims
/// name devices of a pod that the operator writes.
pub fn resources(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "properties": {
            "limits": amounts("The most the container may use."),
            "requests": amounts("What the scheduler sets aside; the limits unless said otherwise."),
        },
        "x-kubernetes-validations": [{
            "rule": format!(
                "!has(self.limits) || !has(self.requests) || self.requests.all(k, !(k in self.limits) \
                 || !{request} || !{limit} \
                 || quantity(string(self.requests[k])).compareTo(quantity(string(self.limits[k]))) <= 0)",
                request = is_amount("self.requests[k]"),
                limit = is_amount("self.limits[k]"),
            ),
            "message": "asks for more than the limit allows; lower the request or raise the limit",
            "fieldPath": ".requests",
        }],
    })
}

fn amounts(description: &str) -> Value {
    json!({
        "description": description,
        "type": "object",
        "maxProperties": 8,
        "additionalProperties": {
            "description": "An amount, such as 500m of cpu or 64Mi of memory.",
            "anyOf": [{ "type": "integer" }, { "type": "string" }],
            "x-kubernetes-int-or-string": true,
            "maxLength": 32,
            "x-kubernetes-validations": [says(
                &is_amount("self"),
                "must be an amount that is not negative, such as 1, 500m or 64Mi",
            )],
        },
    })
}

fn is_amount(value: &str) -> String {
    format!(
        "(isQuantity(string({value})) && quantity(string({value})).compareTo(quantity('0')) >= 0)"
    )
}
