//! Whether a key that a resource names is in its Secret. Never the key itself.

use std::collections::BTreeMap;
use std::time::Duration;

use foundry_crds::condition::reason;
use foundry_crds::model::SecretKeyRef;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::Api;

use crate::conditions::{Readiness, Wanted};
use crate::error::Error;
use crate::read;

/// How often a Secret that is there is looked at: Secrets are not watched, for that
/// would need the right to read them all.
const PRESENT_AGAIN: Duration = Duration::from_mins(2);
/// How often a missing Secret is looked for.
const MISSING_AGAIN: Duration = Duration::from_secs(10);

/// What is known of a key that a resource names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// The resource wants none.
    Unneeded,
    /// It is there.
    Present,
    /// The Secret does not exist.
    NoSecret,
    /// The Secret exists without this key, or with an empty one.
    Missing,
}

impl Key {
    /// Looks for the key.
    pub async fn look(
        client: &Client,
        namespace: &str,
        wanted: Option<&SecretKeyRef>,
    ) -> Result<Self, Error> {
        let Some(SecretKeyRef { name, key }) = wanted else { return Ok(Self::Unneeded) };
        let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
        Ok(match read::bounded("Secret", name, api.get_opt(name)).await? {
            None => Self::NoSecret,
            Some(secret) if has_key(secret.data.as_ref(), key) => Self::Present,
            Some(_) => Self::Missing,
        })
    }

    /// When to look again.
    pub fn look_again(self) -> Duration {
        match self {
            Self::Unneeded | Self::Present => PRESENT_AGAIN,
            Self::NoSecret | Self::Missing => MISSING_AGAIN,
        }
    }

    /// What is said of a resource that wants `wanted` in its field `field`, and `without`
    /// where it wants none. A missing key is transient: it is looked for again and heals
    /// untouched.
    pub fn conditions(
        self,
        wanted: Option<&SecretKeyRef>,
        field: &str,
        without: &str,
    ) -> Vec<Wanted> {
        let (secret, key) = wanted.map_or(("", ""), |it| (it.name.as_str(), it.key.as_str()));
        let seconds = MISSING_AGAIN.as_secs();
        match self {
            Self::Unneeded => Readiness::Ready.conditions(reason::RESOLVED, without),
            Self::Present => Readiness::Ready
                .conditions(reason::RESOLVED, &format!("Secret \"{secret}\" has key \"{key}\"")),
            Self::NoSecret => Readiness::Reconciling.conditions(
                reason::SECRET_NOT_FOUND,
                &format!(
                    "Secret \"{secret}\" not found; create it or change {field}.name; looked for \
                     every {seconds} s"
                ),
            ),
            Self::Missing => Readiness::Reconciling.conditions(
                reason::SECRET_KEY_MISSING,
                &format!(
                    "Secret \"{secret}\" has no key \"{key}\"; add it or change {field}.key; \
                     looked for every {seconds} s"
                ),
            ),
        }
    }
}

fn has_key(data: Option<&BTreeMap<String, ByteString>>, key: &str) -> bool {
    data.and_then(|data| data.get(key)).is_some_and(|ByteString(bytes)| !bytes.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_key_is_a_missing_key() {
        let data = BTreeMap::from([("apiKey".to_owned(), ByteString(Vec::new()))]);
        assert!(!has_key(Some(&data), "apiKey"));
        assert!(!has_key(None, "apiKey"));
    }
}
