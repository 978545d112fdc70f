//! The rights of the chart, by using them: operator and API run as the accounts it makes,
//! with the settings it gives, and the audit log says what they asked for.

#[path = "rights/scene.rs"]
mod scene;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, resume_unwind};

use futures::FutureExt as _;
use pretty_assertions::assert_eq;
use serde_json::Value;
use testenv::{Audit, Request};

use super::place::{Place, chart};
use scene::Scene;

const OPERATOR: &str = "foundry-operator";
const API: &str = "foundry-api";

/// What an account may do, or did: `account: verb group/resource in namespace`.
type Rights = BTreeSet<String>;

/// WORK-05: with exactly the chart's Roles everything works, and no right is idle.
#[tokio::test(flavor = "multi_thread")]
async fn operator_and_api_use_every_right_of_the_chart_and_ask_for_no_other() {
    let place = Place::start(Audit::Requests).await;
    place.install(&chart(), &[]).await;
    testenv::wait_until_policies_act(&place.client).await.unwrap();
    let granted = granted(&place.objects().await);
    assert!(granted.len() > 50, "{granted:#?}");

    // Whatever ends the scene early, what was refused explains it best.
    let scene = AssertUnwindSafe(async { Scene::set(&place).await.play().await });
    let played = scene.catch_unwind().await;

    let requests = place.control_plane.requests();
    let requests: Vec<_> = requests.iter().filter_map(|it| Some((account(it)?, it))).collect();
    let refused: Rights = requests
        .iter()
        .filter(|(_, request)| request.status == 403)
        .map(|(account, request)| right(account, request, &request.verb))
        .collect();
    assert_eq!(refused, Rights::new(), "rights that the chart lacks");
    played.unwrap_or_else(|panic| resume_unwind(panic));

    let used: Rights =
        requests.iter().flat_map(|(account, request)| used(account, request)).collect();
    let idle: Vec<_> = granted.difference(&used).collect();
    assert_eq!(idle, [""; 0], "rights that nobody uses");

    // What the operator wrote in the release's namespace goes with the release.
    let is_lease = |name: &String| name.starts_with("Lease default/");
    let lease = BTreeSet::from(["Lease default/foundry-operator".to_owned()]);
    let there = place.inventory().await.unwrap();
    assert_eq!(there.into_iter().filter(is_lease).collect::<BTreeSet<_>>(), lease);
    // The scene had the operator make it again; an upgrade takes it back to the release.
    place.upgrade(&chart(), &[]).await;
    place.uninstall().await;
    let left = place.inventory().await.unwrap();
    assert_eq!(left.into_iter().filter(is_lease).collect::<BTreeSet<_>>(), BTreeSet::new());
    place.control_plane.stop().await.unwrap();
}

/// Everything that the chart's roles allow the two accounts.
fn granted(objects: &[Value]) -> Rights {
    let words = |value: &Value| -> Vec<String> {
        let words = value.as_array().into_iter().flatten();
        words.map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    let mut granted = Rights::new();
    for object in objects.iter().filter(|it| it["kind"] == "Role" || it["kind"] == "ClusterRole") {
        let name = object["metadata"]["name"].as_str().unwrap();
        let account = match name {
            OPERATOR | API => name,
            "foundry-api-token-review" => API,
            _ => continue,
        };
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
        for rule in object["rules"].as_array().unwrap() {
            let group = rule["apiGroups"][0].as_str().unwrap();
            for resource in words(&rule["resources"]) {
                for verb in words(&rule["verbs"]) {
                    granted.insert(spelt(account, &verb, group, &resource, namespace));
                }
            }
        }
    }
    granted
}

/// The rights that a request was allowed by.
fn used(account: &str, request: &Request) -> Rights {
    let mut rights = Rights::from([right(account, request, &request.verb)]);
    // What an apply makes, it creates.
    let creates = request.verb == "create" || (request.verb == "patch" && request.status == 201);
    if creates {
        rights.insert(right(account, request, "create"));
    }
    // The admission policies ask for these two, and the log does not tell of it: agents, runs
    // and swarms of the scene have an owner who is not the writer, and the operator's agents end.
    let group = request.group.as_str();
    if creates && ["agents", "codingruns", "swarms"].contains(&request.resource.as_str()) {
        rights.insert(spelt(account, "actas", group, "agents", &request.namespace));
        if account == OPERATOR {
            rights.insert(spelt(account, "create", group, "agents/ephemeral", &request.namespace));
        }
    }
    rights
}

fn right(account: &str, request: &Request, verb: &str) -> String {
    spelt(account, verb, &request.group, &request.resource, &request.namespace)
}

fn spelt(account: &str, verb: &str, group: &str, resource: &str, namespace: &str) -> String {
    format!("{account}: {verb} {group}/{resource} in {namespace}")
}

/// Which of the two asked about a resource.
fn account(request: &Request) -> Option<&'static str> {
    let name = request.user.strip_prefix("system:serviceaccount:default:")?;
    let known = [OPERATOR, API].into_iter().find(|known| *known == name)?;
    (!request.resource.is_empty()).then_some(known)
}
