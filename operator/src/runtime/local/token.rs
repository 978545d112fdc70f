//! The token of a process: bound to its Pod, so that it is the same identity that a
//! pod of a cluster has.

use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use foundry_crds::meta;
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Client;
use kube::api::{Api, PostParams};

use super::PodId;
use crate::clock::Clock;
use crate::error::Error;
use crate::pod;

/// How long one request may take.
const DEADLINE: Duration = Duration::from_secs(10);
/// Shortest time between two renewals.
const RENEW_AT_LEAST: Duration = Duration::from_secs(20);

/// Asks for a token of the Pod; gives it and how long until it should be renewed.
pub async fn request(
    client: &Client,
    clock: &Clock,
    id: &PodId,
) -> Result<(String, Duration), Error> {
    let api: Api<ServiceAccount> = Api::namespaced(client.clone(), &id.namespace);
    let wanted = TokenRequest {
        spec: TokenRequestSpec {
            audiences: vec![meta::TOKEN_AUDIENCE.to_owned()],
            bound_object_ref: Some(BoundObjectReference {
                api_version: Some("v1".to_owned()),
                kind: Some("Pod".to_owned()),
                name: Some(id.name.clone()),
                uid: Some(id.uid.clone()),
            }),
            expiration_seconds: Some(pod::TOKEN_SECONDS),
        },
        ..TokenRequest::default()
    };
    let parameters = PostParams::default();
    let answer = api.create_token_request(meta::HARNESS_SERVICE_ACCOUNT, &parameters, &wanted);
    let failed = |source| Error::Write {
        verb: "request a token of",
        kind: "Pod".to_owned(),
        name: id.name.clone(),
        source: Box::new(source),
    };
    let answer = tokio::time::timeout(DEADLINE, answer)
        .await
        .map_err(|_| Error::Deadline {
            verb: "request a token of",
            kind: "Pod".to_owned(),
            name: id.name.clone(),
            seconds: DEADLINE.as_secs(),
        })?
        .map_err(failed)?;
    let status = answer.status.ok_or_else(|| Error::Incomplete {
        kind: "TokenRequest",
        name: id.name.clone(),
        field: "status",
    })?;
    let left = status.expiration_timestamp.0.duration_since(clock.now());
    let left = Duration::try_from(left).unwrap_or_default();
    // As kubelets do: at four fifths of its life.
    Ok((status.token, (left * 4 / 5).max(RENEW_AT_LEAST)))
}

/// Puts a token in place, whole or not at all, readable by this user only.
pub fn store(path: &Path, token: &str) -> io::Result<()> {
    let fresh = path.with_extension("new");
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&fresh)?;
    file.write_all(token.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&fresh, path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_token_is_readable_by_its_user_only_and_replaced_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        store(&path, "first and longer").unwrap();
        store(&path, "second").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "second");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
