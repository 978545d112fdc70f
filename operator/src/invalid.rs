//! Objects that do not decode: reported on the object, or beside it where the API
//! server takes no status for it, and in nobody's way.

use std::fmt::Debug;
use std::time::Duration;

use foundry_crds::condition::reason;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Resource;
use kube::api::{Api, DynamicObject};
use kube::core::error_boundary::InvalidObject;
use kube::discovery::ApiResource;
use kube::runtime::controller::Action;
use serde::Serialize;
use serde::de::{Deserialize as _, DeserializeOwned};
use serde_json::Value;

use crate::apply::{self, Version};
use crate::caches::Guard;
use crate::conditions::{self, Readiness};
use crate::context::Context;
use crate::error::{Class, Error, chain};
use crate::read;

/// Watches may miss: look again this often.
const LOOK_AGAIN: Duration = Duration::from_mins(10);

/// What is said on an object that cannot be read; the rest of its status is left as
/// it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Verdict {
    observed_generation: i64,
    conditions: Vec<Condition>,
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
    let wanted = Verdict { observed_generation: generation, conditions };
    if wanted == present {
        return Ok(Action::requeue(LOOK_AGAIN));
    }
    match apply::merged_status::<Guard<K>, _>(&context.client, &version, &wanted).await {
        Ok(()) => context.metrics.written("status", "resource"),
        Err(error) if error.class() == Class::Refused => {
            // The API server writes no status of what it cannot check: an event says it.
            tracing::warn!(
                error = chain(&error),
                "failed to report an object that does not decode"
            );
            context.events.warning(&reference::<K>(invalid), reason::INVALID, &message).await;
        }
        Err(error) => return Err(error),
    }
    Ok(Action::requeue(LOOK_AGAIN))
}

fn reference<K: Resource<DynamicType = ()>>(invalid: &InvalidObject) -> ObjectReference {
    ObjectReference {
        api_version: Some(K::api_version(&()).into_owned()),
        kind: Some(K::kind(&()).into_owned()),
        name: invalid.metadata.name.clone(),
        namespace: invalid.metadata.namespace.clone(),
        uid: invalid.metadata.uid.clone(),
        ..ObjectReference::default()
    }
}

/// What is said on it now, read without knowing its type.
async fn present<K>(context: &Context, version: &Version) -> Result<Option<Verdict>, Error>
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
{
    let resource = ApiResource::erase::<K>(&());
    let api: Api<DynamicObject> =
        Api::namespaced_with(context.client.clone(), &version.namespace, &resource);
    let object = read::bounded("resource", &version.name, api.get_opt(&version.name)).await?;
    Ok(object.map(|object| verdict_in(&object.data)))
}

fn verdict_in(data: &Value) -> Verdict {
    let status = &data["status"];
    let conditions = Vec::<Condition>::deserialize(&status["conditions"]).unwrap_or_default();
    Verdict { observed_generation: status["observedGeneration"].as_i64().unwrap_or(-1), conditions }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_status_of_strange_types_counts_as_nothing_said_yet() {
        let strange = json!({ "status": { "observedGeneration": "three", "conditions": "none" } });
        let nothing = Verdict { observed_generation: -1, conditions: Vec::new() };
        assert_eq!(verdict_in(&strange), nothing);
        assert_eq!(verdict_in(&json!({})), nothing);
    }
}
