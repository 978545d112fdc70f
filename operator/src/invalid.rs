//! Objects that do not decode: reported on the object, and in nobody's way.

use std::fmt::Debug;
use std::time::Duration;

use foundry_crds::condition::reason;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Resource;
use kube::api::{Api, DynamicObject};
use kube::core::error_boundary::InvalidObject;
use kube::discovery::ApiResource;
use kube::runtime::controller::Action;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::apply::{self, Version};
use crate::caches::Guard;
use crate::conditions::{self, Readiness};
use crate::context::Context;
use crate::error::{Class, Error, chain};
use crate::read;

/// Watches may miss: look again this often.
const LOOK_AGAIN: Duration = Duration::from_mins(10);

/// Status fields that the API writes, under its own manager.
const REPORTED_BY_OTHERS: [&str; 4] =
    ["lastHeartbeat", "contextPercent", "planDocumentId", "reachable"];

/// A status whose conditions alone are understood; the rest is kept as it is, for
/// an apply that left it out would remove it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    observed_generation: i64,
    conditions: Vec<Condition>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// Says on the object that it does not fit the schema this operator knows.
pub async fn report<K>(context: &Context, invalid: &InvalidObject) -> Result<Action, Error>
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + DeserializeOwned
        + Clone
        + Debug,
{
    let version = Version::of("resource", &invalid.metadata)?;
    let Some(present) = present::<K>(context, &version).await? else {
        return Ok(Action::await_change());
    };
    let generation = invalid.metadata.generation.unwrap_or_default();
    let message =
        format!("this operator cannot read the object: {}; correct it or upgrade", invalid.error);
    let conditions = conditions::merge(
        &present.conditions,
        Readiness::Stalled.conditions(reason::INVALID, &message),
        generation,
        context.clock.now(),
    );
    let wanted = Status { observed_generation: generation, conditions, rest: present.rest.clone() };
    if wanted == present {
        return Ok(Action::requeue(LOOK_AGAIN));
    }
    match apply::status::<Guard<K>, _>(&context.client, version, &wanted).await {
        Ok(_) => context.metrics.written("status", "resource"),
        Err(error) if error.class() == Class::Refused => {
            // The status does not fit the newer schema either: the log still says it.
            tracing::warn!(
                error = chain(&error),
                "failed to report an object that does not decode"
            );
        }
        Err(error) => return Err(error),
    }
    Ok(Action::requeue(LOOK_AGAIN))
}

/// The status as it stands, read without knowing its type.
async fn present<K>(context: &Context, version: &Version) -> Result<Option<Status>, Error>
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
{
    let resource = ApiResource::erase::<K>(&());
    let api: Api<DynamicObject> =
        Api::namespaced_with(context.client.clone(), &version.namespace, &resource);
    let object = read::bounded("resource", &version.name, api.get_opt(&version.name)).await?;
    Ok(object.map(|object| status_of(&object.data)))
}

fn status_of(data: &Value) -> Status {
    let mut rest = data.get("status").and_then(Value::as_object).cloned().unwrap_or_default();
    for field in REPORTED_BY_OTHERS {
        rest.remove(field);
    }
    let conditions = rest
        .remove("conditions")
        .and_then(|conditions| serde_json::from_value(conditions).ok())
        .unwrap_or_default();
    let observed_generation =
        rest.remove("observedGeneration").and_then(|value| value.as_i64()).unwrap_or(-1);
    Status { observed_generation, conditions, rest }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reporting_keeps_what_the_operator_wrote_and_leaves_out_what_others_wrote() {
        let status = status_of(&json!({ "status": {
            "observedGeneration": 3, "startNumber": 7, "lastHeartbeat": "2026-01-01T00:00:00Z",
        }}));
        assert_eq!(status.observed_generation, 3);
        assert_eq!(Value::Object(status.rest), json!({ "startNumber": 7 }));
        assert!(status.conditions.is_empty());
    }
}
