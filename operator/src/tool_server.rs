//! Tool servers: ready when what they refer to is there. Whether a server answers is the
//! API's to find out, and a condition of its own: a broken tool is no outage.

use std::sync::Arc;

use foundry_crds::condition::{kind, reason};
use foundry_crds::tool_server::ToolServerReport;
use foundry_crds::{ToolServer, ToolServerSpec, ToolServerStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;
use kube::Resource as _;
use kube::runtime::controller::Action;

use crate::apply::{self, Version};
use crate::caches::Guard;
use crate::conditions::{self, Wanted};
use crate::context::Context;
use crate::error::Error;
use crate::invalid;
use crate::secret_key::Key;

/// Reports on a tool server.
pub async fn reconcile(
    server: Arc<Guard<ToolServer>>,
    context: Arc<Context>,
) -> Result<Action, Error> {
    let server = match &server.0 {
        Ok(server) => server,
        Err(invalid) => return invalid::report::<ToolServer>(&context, invalid).await,
    };
    let version = Version::of("ToolServer", server.meta())?;
    let wanted = server.spec.auth_secret.as_ref();
    let key = Key::look(&context.client, &version.namespace, wanted).await?;
    let status = server.status.clone().unwrap_or_default();
    let ToolServerStatus { reported, observed_generation, conditions } = status;
    let present = ToolServerStatus { reported: None, observed_generation, conditions };
    let generation = server.metadata.generation.unwrap_or_default();
    let now = context.clock.now();
    let wanted = plan(&server.spec, key, reported.as_ref(), &present, generation, now);
    if wanted != present {
        apply::status::<ToolServer, _>(&context.client, version, &wanted).await?;
        context.metrics.written("status", "ToolServer");
        let about = server.object_ref(&());
        context.events.readiness(&about, &present.conditions, &wanted.conditions).await;
        if let Some(news) = news(&present.conditions, &wanted.conditions) {
            match news.status.as_str() {
                "True" => context.events.warning(&about, &news.reason, &news.message).await,
                _ => context.events.normal(&about, &news.reason, &news.message).await,
            }
        }
    }
    Ok(Action::requeue(key.look_again()))
}

/// Keeps of a tool server in memory all but the names of its tools.
pub fn prune(server: &mut ToolServer) {
    if let Some(reported) = server.status.as_mut().and_then(|status| status.reported.as_mut()) {
        reported.tools = Vec::new();
    }
}

fn plan(
    spec: &ToolServerSpec,
    key: Key,
    reported: Option<&ToolServerReport>,
    present: &ToolServerStatus,
    generation: i64,
    now: Timestamp,
) -> ToolServerStatus {
    let without = "this server is connected without a key";
    let mut wanted = key.conditions(spec.auth_secret.as_ref(), "spec.authSecret", without);
    wanted.extend(reported.and_then(|reported| degraded(reported, generation)));
    ToolServerStatus {
        observed_generation: Some(generation),
        reported: None,
        conditions: conditions::merge(&present.conditions, wanted, generation, now),
    }
}

/// What the API last found. What it found of another spec says nothing about this one.
fn degraded(reported: &ToolServerReport, generation: i64) -> Option<Wanted> {
    let ToolServerReport { generation: asked, reachable, message, tools: _, tool_count, since: _ } =
        reported;
    if *asked != Some(generation) {
        return None;
    }
    let (reason, message) = if *reachable {
        let message = match tool_count {
            Some(count) => format!("the server answers; agents get {count} of its tools"),
            None => "the server answers".to_owned(),
        };
        (reason::REACHABLE, message)
    } else {
        let why = message.as_deref().unwrap_or("it did not answer");
        let message = format!("{why}; agents go on without its tools, and it is asked again");
        (reason::UNREACHABLE, message)
    };
    Some(Wanted { kind: kind::TOOLS_DEGRADED, status: !reachable, reason, message })
}

/// `ToolsDegraded`, when a person should hear of it: it came true, or it was and is over.
fn news<'a>(before: &[Condition], after: &'a [Condition]) -> Option<&'a Condition> {
    let degraded = |it: &&Condition| it.type_ == kind::TOOLS_DEGRADED;
    let now = after.iter().find(degraded)?;
    let was = before.iter().find(degraded).is_some_and(|it| it.status == "True");
    (was != (now.status == "True")).then_some(now)
}

#[cfg(test)]
mod tests {
    use foundry_crds::model::SecretKeyRef;
    use pretty_assertions::assert_eq;

    use super::*;

    fn spec() -> ToolServerSpec {
        ToolServerSpec {
            url: "https://mcp.example/mcp".to_owned(),
            auth_secret: Some(SecretKeyRef { name: "crm".to_owned(), key: "header".to_owned() }),
            write: None,
        }
    }

    fn report(generation: i64, reachable: bool) -> ToolServerReport {
        ToolServerReport {
            generation: Some(generation),
            reachable,
            message: (!reachable).then(|| "connection refused".to_owned()),
            tools: Vec::new(),
            tool_count: reachable.then_some(3),
            since: None,
        }
    }

    fn planned(key: Key, reported: Option<&ToolServerReport>) -> ToolServerStatus {
        plan(&spec(), key, reported, &ToolServerStatus::default(), 2, Timestamp::UNIX_EPOCH)
    }

    fn told<'a>(status: &'a ToolServerStatus, kind: &str) -> Option<(&'a str, &'a str, &'a str)> {
        let found = status.conditions.iter().find(|it| it.type_ == kind)?;
        Some((&found.status, &found.reason, &found.message))
    }

    #[test]
    fn a_missing_secret_is_transient_and_says_what_to_do_and_when_it_is_looked_for() {
        let status = planned(Key::NoSecret, None);
        let (ready, reason, message) = told(&status, "Ready").unwrap();
        assert_eq!((ready, reason), ("False", "SecretNotFound"));
        assert_eq!(
            message,
            "Secret \"crm\" not found; create it or change spec.authSecret.name; looked for every \
             10 s"
        );
        assert_eq!(told(&status, "Reconciling").unwrap().0, "True");
        assert_eq!(told(&status, "Stalled"), None);
        let status = planned(Key::Missing, None);
        assert_eq!(told(&status, "Ready").unwrap().1, "SecretKeyMissing");
    }

    /// A broken tool is a condition, not an outage: `Ready` speaks of the spec alone, so
    /// that nobody who waits for it waits for another's server.
    #[test]
    fn a_server_that_does_not_answer_is_degraded_and_ready() {
        let status = planned(Key::Present, Some(&report(2, false)));
        assert_eq!(told(&status, "Ready").unwrap().0, "True");
        let (degraded, reason, message) = told(&status, "ToolsDegraded").unwrap();
        assert_eq!((degraded, reason), ("True", "Unreachable"));
        assert!(message.starts_with("connection refused; agents go on"), "{message}");

        let status = planned(Key::Present, Some(&report(2, true)));
        let (degraded, reason, message) = told(&status, "ToolsDegraded").unwrap();
        assert_eq!((degraded, reason), ("False", "Reachable"));
        assert_eq!(message, "the server answers; agents get 3 of its tools");
    }

    #[test]
    fn what_was_found_of_an_earlier_spec_is_not_said_of_this_one() {
        assert_eq!(told(&planned(Key::Present, Some(&report(1, false))), "ToolsDegraded"), None);
        assert_eq!(told(&planned(Key::Present, None), "ToolsDegraded"), None);
    }

    #[test]
    fn a_flap_is_news_once_each_way_and_a_first_answer_is_none() {
        let down = planned(Key::Present, Some(&report(2, false))).conditions;
        let up = planned(Key::Present, Some(&report(2, true))).conditions;
        let says = |before: &[Condition], after: &[Condition]| {
            news(before, after).map(|news| news.reason.clone())
        };
        assert_eq!(says(&[], &up), None);
        assert_eq!(says(&[], &down).as_deref(), Some("Unreachable"));
        assert_eq!(says(&down, &down), None);
        assert_eq!(says(&down, &up).as_deref(), Some("Reachable"));
    }

    #[test]
    fn a_settled_tool_server_is_reported_as_it_is() {
        let later = Timestamp::from_second(60).unwrap();
        let report = report(2, false);
        let first = planned(Key::NoSecret, Some(&report));
        assert_eq!(plan(&spec(), Key::NoSecret, Some(&report), &first, 2, later), first);
    }
}
