//! Models: ready when what they refer to is there.

use std::sync::Arc;

use foundry_crds::{Model, ModelSpec, ModelStatus};
use k8s_openapi::jiff::Timestamp;
use kube::Resource as _;
use kube::runtime::controller::Action;

use crate::apply::{self, Version};
use crate::caches::Guard;
use crate::conditions;
use crate::context::Context;
use crate::error::Error;
use crate::invalid;
use crate::secret_key::Key;

/// Reports on a Model.
pub async fn reconcile(model: Arc<Guard<Model>>, context: Arc<Context>) -> Result<Action, Error> {
    let model = match &model.0 {
        Ok(model) => model,
        Err(invalid) => return invalid::report::<Model>(&context, invalid).await,
    };
    let version = Version::of("Model", model.meta())?;
    let wanted = model.spec.api_key.as_ref();
    let key = Key::look(&context.client, &version.namespace, wanted).await?;
    let reported = model.status.clone().unwrap_or_default();
    // Whether the provider answers is the API's to say.
    let present = ModelStatus { reachable: None, ..reported };
    let generation = model.metadata.generation.unwrap_or_default();
    let wanted = plan(&model.spec, key, &present, generation, context.clock.now());
    if wanted != present {
        apply::status::<Model, _>(&context.client, version, &wanted).await?;
        context.metrics.written("status", "Model");
        let about = model.object_ref(&());
        context.events.readiness(&about, &present.conditions, &wanted.conditions).await;
    }
    Ok(Action::requeue(key.look_again()))
}

/// A missing reference is transient: it is looked for again and heals untouched.
fn plan(
    spec: &ModelSpec,
    key: Key,
    present: &ModelStatus,
    generation: i64,
    now: Timestamp,
) -> ModelStatus {
    let wanted =
        key.conditions(spec.api_key.as_ref(), "spec.apiKey", "this model is called without a key");
    ModelStatus {
        observed_generation: Some(generation),
        upstream_model: Some(spec.upstream_model.as_ref().unwrap_or(&spec.wire_id).clone()),
        reachable: None,
        conditions: conditions::merge(&present.conditions, wanted, generation, now),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foundry_crds::condition::reason;
    use foundry_crds::model::{Provider, SecretKeyRef};
    use pretty_assertions::assert_eq;

    fn spec() -> ModelSpec {
        ModelSpec {
            wire_id: "gpt-5-mini".to_owned(),
            provider: Provider::OpenAi,
            upstream_model: None,
            base_url: None,
            api_key: Some(SecretKeyRef { name: "openai".to_owned(), key: "apiKey".to_owned() }),
            max_context_tokens: None,
            reasoning_efforts: Vec::new(),
            prices: None,
        }
    }

    fn no_status() -> ModelStatus {
        ModelStatus::default()
    }

    fn told(key: Key) -> (String, String, String) {
        let status = plan(&spec(), key, &no_status(), 1, Timestamp::UNIX_EPOCH);
        let ready = status.conditions.first().unwrap().clone();
        (ready.status, ready.reason, ready.message)
    }

    #[test]
    fn a_missing_secret_is_transient_and_says_what_to_do() {
        let (status, reason, message) = told(Key::NoSecret);
        assert_eq!((status.as_str(), reason.as_str()), ("False", reason::SECRET_NOT_FOUND));
        assert!(message.contains("\"openai\" not found; create it"), "{message}");
        let (_, reason, message) = told(Key::Missing);
        assert_eq!(reason, reason::SECRET_KEY_MISSING);
        assert!(message.contains("has no key \"apiKey\"; add it"), "{message}");
        assert_eq!(told(Key::Present).0, "True");
    }

    #[test]
    fn a_settled_model_is_reported_as_it_is() {
        let first = plan(&spec(), Key::NoSecret, &no_status(), 1, Timestamp::UNIX_EPOCH);
        let later = Timestamp::from_second(60).unwrap();
        assert_eq!(plan(&spec(), Key::NoSecret, &first, 1, later), first);
    }
}
