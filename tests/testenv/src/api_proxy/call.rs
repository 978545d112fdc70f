//! What a call is, read from its method and its path.

use http::{Method, Uri};
use k8s_openapi::jiff::Timestamp;

use crate::Request;
use crate::audit::manager_of;

/// The call as the API server would name it in its audit log.
pub(super) fn classify(method: &Method, uri: &Uri, user: &str) -> Request {
    let mut parts = uri.path().split('/').filter(|part| !part.is_empty());
    let group = match parts.next() {
        Some("api") => Some(String::new()),
        Some("apis") => parts.next().map(str::to_owned),
        _ => None,
    };
    // The version says nothing of what is asked.
    let is_of_resources = group.is_some() && parts.next().is_some();
    let mut rest: Vec<&str> = if is_of_resources { parts.collect() } else { Vec::new() };
    let namespace = match rest.as_slice() {
        ["namespaces", namespace, _, ..] => {
            let namespace = (*namespace).to_owned();
            rest.drain(..2);
            namespace
        }
        _ => String::new(),
    };
    let name = rest.get(1).copied().unwrap_or_default();
    let resource = match (rest.first(), rest.get(2)) {
        (Some(resource), Some(subresource)) => format!("{resource}/{subresource}"),
        (Some(resource), None) => (*resource).to_owned(),
        (None, _) => String::new(),
    };
    let now = now();
    Request {
        user: user.to_owned(),
        verb: verb(method, uri, name).to_owned(),
        manager: manager_of(&uri.to_string()),
        group: group.unwrap_or_default(),
        resource,
        namespace,
        name: name.to_owned(),
        status: 0,
        received: now,
        answered: now,
        dry_run: uri.query().is_some_and(|query| query.contains("dryRun=All")),
    }
}

/// When a call comes and when it is answered.
#[expect(
    clippy::disallowed_methods,
    reason = "the clock of the proxy, as of the server it stands for"
)]
pub(super) fn now() -> Timestamp {
    Timestamp::now()
}

fn verb(method: &Method, uri: &Uri, name: &str) -> &'static str {
    let is_watch = uri.query().is_some_and(|query| {
        query.split('&').any(|pair| pair == "watch=true" || pair == "watch=1")
    });
    match (method.as_str(), name.is_empty()) {
        ("GET", _) if is_watch => "watch",
        ("GET", false) => "get",
        ("GET", true) => "list",
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("PATCH", _) => "patch",
        ("DELETE", false) => "delete",
        ("DELETE", true) => "deletecollection",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn told(method: &str, uri: &str) -> String {
        let method = method.parse().unwrap();
        let Request { verb, manager, group, resource, namespace, name, .. } =
            classify(&method, &uri.parse().unwrap(), "operator");
        let manager = manager.unwrap_or_default();
        format!("{verb} {group} {resource} {namespace}/{name} {manager}")
    }

    #[test]
    fn a_call_is_named_as_the_audit_log_names_it() {
        let ours = "/apis/foundry.flow.life/v1alpha1/namespaces/team";
        let status = format!("{ours}/agents/ann/status?force=true&fieldManager=foundry%2Fstatus");
        let watch = format!("{ours}/agents?allowWatchBookmarks=true&watch=true");
        for (method, uri, expected) in [
            ("PATCH", &*status, "patch foundry.flow.life agents/status team/ann foundry/status"),
            ("GET", &*watch, "watch foundry.flow.life agents team/ "),
            ("GET", "/api/v1/namespaces/team/pods?limit=5", "list  pods team/ "),
            ("GET", "/api/v1/namespaces/team", "get  namespaces /team "),
            ("GET", "/api/v1/nodes", "list  nodes / "),
            ("DELETE", "/apis/batch/v1/namespaces/team/jobs/one", "delete batch jobs team/one "),
            (
                "POST",
                "/apis/events.k8s.io/v1/namespaces/a/events",
                "create events.k8s.io events a/ ",
            ),
            ("GET", "/readyz", "list   / "),
        ] {
            assert_eq!(told(method, uri), expected, "{method} {uri}");
        }
    }
}
