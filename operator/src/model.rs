//! Models: ready when what they refer to is there.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use foundry_crds::condition::reason;
use foundry_crds::model::SecretKeyRef;
use foundry_crds::{Model, ModelSpec, ModelStatus};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::jiff::Timestamp;
use kube::api::Api;
use kube::runtime::controller::Action;
use kube::{Client, Resource as _};

use crate::apply::{self, Version};
use crate::caches::Guard;
use crate::conditions::{self, Readiness, ready_reason};
use crate::context::Context;
use crate::error::Error;
use crate::{invalid, read};

/// How often a Secret that is there is looked at: Secrets are not watched, for that
/// would need the right to read them all.
const PRESENT_AGAIN: Duration = Duration::from_mins(2);
/// How often a missing Secret is looked for.
const MISSING_AGAIN: Duration = Duration::from_secs(10);

/// What is known of the key a Model names. Never the key itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    /// The Model wants none.
    Unneeded,
    /// It is there.
    Present,
    /// The Secret does not exist.
    NoSecret,
    /// The Secret exists without this key, or with an empty one.
    Missing,
}

/// Reports on a Model.
pub async fn reconcile(model: Arc<Guard<Model>>, context: Arc<Context>) -> Result<Action, Error> {
    let model = match &model.0 {
        Ok(model) => model,
        Err(invalid) => return invalid::report::<Model>(&context, invalid).await,
    };
    let version = Version::of("Model", model.meta())?;
    let key = observe(&context.client, &version.namespace, model.spec.api_key.as_ref()).await?;
    let reported = model.status.clone().unwrap_or_default();
    // Whether the provider answers is the API's to say.
    let present = ModelStatus { reachable: None, ..reported };
    let generation = model.metadata.generation.unwrap_or_default();
    let wanted = plan(&model.spec, key, &present, generation, context.clock.now());
    if wanted != present {
        apply::status::<Model, _>(&context.client, version, &wanted).await?;
        context.metrics.written("status", "Model");
        tell(&context, model, &present, &wanted).await;
    }
    Ok(Action::requeue(match key {
        Key::Unneeded | Key::Present => PRESENT_AGAIN,
        Key::NoSecret | Key::Missing => MISSING_AGAIN,
    }))
}

async fn observe(
    client: &Client,
    namespace: &str,
    wanted: Option<&SecretKeyRef>,
) -> Result<Key, Error> {
    let Some(SecretKeyRef { name, key }) = wanted else { return Ok(Key::Unneeded) };
    let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
    Ok(match read::bounded("Secret", name, api.get_opt(name)).await? {
        None => Key::NoSecret,
        Some(secret) if has_key(secret.data.as_ref(), key) => Key::Present,
        Some(_) => Key::Missing,
    })
}

fn has_key(data: Option<&BTreeMap<String, ByteString>>, key: &str) -> bool {
    data.and_then(|data| data.get(key)).is_some_and(|ByteString(bytes)| !bytes.is_empty())
}

/// A missing reference is transient: it is looked for again and heals untouched.
fn plan(
    spec: &ModelSpec,
    key: Key,
    present: &ModelStatus,
    generation: i64,
    now: Timestamp,
) -> ModelStatus {
    let (secret, key_name) =
        spec.api_key.as_ref().map_or(("", ""), |it| (it.name.as_str(), it.key.as_str()));
    let seconds = MISSING_AGAIN.as_secs();
    let wanted = match key {
        Key::Unneeded => {
            Readiness::Ready.conditions(reason::RESOLVED, "this model is called without a key")
        }
        Key::Present => Readiness::Ready
            .conditions(reason::RESOLVED, &format!("Secret \"{secret}\" has key \"{key_name}\"")),
        Key::NoSecret => Readiness::Reconciling.conditions(
            reason::SECRET_NOT_FOUND,
            &format!(
                "Secret \"{secret}\" not found; create it or change spec.apiKey.name; looked for \
                 every {seconds} s"
            ),
        ),
        Key::Missing => Readiness::Reconciling.conditions(
            reason::SECRET_KEY_MISSING,
            &format!(
                "Secret \"{secret}\" has no key \"{key_name}\"; add it or change spec.apiKey.key; \
                 looked for every {seconds} s"
            ),
        ),
    };
    ModelStatus {
        observed_generation: Some(generation),
        upstream_model: Some(spec.upstream_model.as_ref().unwrap_or(&spec.wire_id).clone()),
        reachable: None,
        conditions: conditions::merge(&present.conditions, wanted, generation, now),
    }
}

async fn tell(context: &Context, model: &Model, present: &ModelStatus, wanted: &ModelStatus) {
    let reason = ready_reason(&wanted.conditions);
    if reason == ready_reason(&present.conditions) {
        return;
    }
    let Some(ready) = wanted.conditions.first() else { return };
    let about = model.object_ref(&());
    if ready.status == "True" {
        context.events.normal(&about, &ready.reason, &ready.message).await;
    } else {
        context.events.warning(&about, &ready.reason, &ready.message).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foundry_crds::model::Provider;
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
    fn an_empty_key_is_a_missing_key() {
        let data = BTreeMap::from([("apiKey".to_owned(), ByteString(Vec::new()))]);
        assert!(!has_key(Some(&data), "apiKey"));
        assert!(!has_key(None, "apiKey"));
    }

    #[test]
    fn a_settled_model_is_reported_as_it_is() {
        let first = plan(&spec(), Key::NoSecret, &no_status(), 1, Timestamp::UNIX_EPOCH);
        let later = Timestamp::from_second(60).unwrap();
        assert_eq!(plan(&spec(), Key::NoSecret, &first, 1, later), first);
    }
}
