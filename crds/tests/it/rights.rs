//! What the service accounts and the aggregated roles may do, and what they may not.

use std::time::Duration;

use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};
use testenv::{control_plane, eventually};

const OPERATOR: &str = "system:serviceaccount:default:foundry-operator";
const API: &str = "system:serviceaccount:default:foundry-api";

/// One question: may `user` do `verb` to `resource` (`group/resource/subresource`, `-` for
/// the core group), with the name `name`?
struct Question<'a> {
    user: &'a str,
    verb: &'a str,
    resource: &'a str,
    name: Option<&'a str>,
    namespace: &'a str,
}

impl Question<'_> {
    async fn ask(&self, client: &Client) -> bool {
        let mut parts = self.resource.splitn(3, '/');
        let group = parts.next().filter(|&group| group != "-").unwrap_or_default();
        let attributes = ResourceAttributes {
            group: Some(group.to_owned()),
            resource: parts.next().map(str::to_owned),
            subresource: parts.next().map(str::to_owned),
            verb: Some(self.verb.to_owned()),
            name: self.name.map(str::to_owned),
            namespace: (!self.namespace.is_empty()).then(|| self.namespace.to_owned()),
            ..ResourceAttributes::default()
        };
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: Some(self.user.to_owned()),
                resource_attributes: Some(attributes),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        };
        let reviews: Api<SubjectAccessReview> = Api::all(client.clone());
        let answer = reviews.create(&PostParams::default(), &review).await.unwrap();
        answer.status.is_some_and(|status| status.allowed)
    }
}

/// Answers that differ from `allowed`, asked in a new namespace.
async fn wrong(user: &str, allowed: bool, questions: &[(&str, &str)]) -> Vec<String> {
    let namespace = testenv::namespace(control_plane().await, "rights").await;
    let user = user.replace("{namespace}", &namespace.name);
    let mut wrong = Vec::new();
    for &(verb, resource) in questions {
        let question =
            Question { user: &user, verb, resource, name: None, namespace: &namespace.name };
        if question.ask(&namespace.client).await != allowed {
            wrong.push(format!("{user} {verb} {resource}: allowed is {}", !allowed));
        }
    }
    wrong
}

/// WORK-05
#[tokio::test]
async fn the_operator_may_do_what_it_does_and_nothing_more() {
    let may = [
        ("create", "apps/deployments"),
        ("delete", "batch/jobs"),
        ("list", "apps/deployments"),
        ("get", "apps/deployments"),
        ("patch", "-/pods/status"),
        ("get", "-/secrets"),
        ("create", "foundry.flow.life/agents/ephemeral"),
        ("actas", "foundry.flow.life/agents"),
        ("patch", "foundry.flow.life/agents/status"),
        ("watch", "foundry.flow.life/codingruns"),
        ("patch", "foundry.flow.life/codingruns/status"),
        ("patch", "events.k8s.io/events"),
        ("watch", "foundry.flow.life/swarms"),
        ("patch", "foundry.flow.life/swarms/status"),
        ("watch", "foundry.flow.life/skills"),
        ("patch", "foundry.flow.life/skills/status"),
        ("watch", "foundry.flow.life/toolservers"),
        ("patch", "foundry.flow.life/toolservers/status"),
        ("list", "apps/controllerrevisions"),
        ("create", "apps/controllerrevisions"),
        ("delete", "apps/controllerrevisions"),
    ];
    let may_not = [
        ("list", "-/secrets"),
        ("create", "-/secrets"),
        ("create", "-/serviceaccounts/token"),
        ("create", "-/pods/exec"),
        ("delete", "foundry.flow.life/agents"),
        ("create", "foundry.flow.life/codingruns"),
        ("patch", "foundry.flow.life/codingruns"),
        ("patch", "foundry.flow.life/swarms"),
        ("create", "foundry.flow.life/swarms"),
        ("patch", "foundry.flow.life/skills"),
        ("patch", "foundry.flow.life/toolservers"),
        ("patch", "apps/controllerrevisions"),
        ("update", "apps/controllerrevisions"),
        ("create", "rbac.authorization.k8s.io/roles"),
        ("list", "apps/replicasets"),
        ("get", "-/pods"),
        ("get", "foundry.flow.life/agents/status"),
    ];
    assert_eq!(wrong(OPERATOR, true, &may).await, [""; 0]);
    assert_eq!(wrong(OPERATOR, false, &may_not).await, [""; 0]);
}

#[tokio::test]
async fn the_operator_asks_for_tokens_of_the_harness_account_only() {
    let namespace = testenv::namespace(control_plane().await, "rights").await;
    let ask = |name| Question {
        user: OPERATOR,
        verb: "create",
        resource: "-/serviceaccounts/token",
        name: Some(name),
        namespace: &namespace.name,
    };
    assert!(ask("foundry-harness").ask(&namespace.client).await);
    assert!(!ask("default").ask(&namespace.client).await);
}

#[tokio::test]
async fn the_api_may_do_what_it_does_and_nothing_more() {
    let may = [
        ("patch", "foundry.flow.life/agents"),
        ("patch", "foundry.flow.life/agents/status"),
        ("actas", "foundry.flow.life/agents"),
        ("watch", "foundry.flow.life/models"),
        ("get", "foundry.flow.life/harnesses"),
        ("create", "foundry.flow.life/codingruns"),
        ("patch", "foundry.flow.life/codingruns/status"),
        ("get", "foundry.flow.life/swarms"),
        ("create", "foundry.flow.life/swarms"),
        ("patch", "foundry.flow.life/swarms"),
        ("watch", "foundry.flow.life/toolservers"),
        ("patch", "foundry.flow.life/toolservers/status"),
        ("get", "-/secrets"),
        ("get", "-/pods"),
        ("get", "batch/jobs"),
    ];
    let may_not = [
        ("list", "-/secrets"),
        ("create", "-/pods"),
        ("create", "apps/deployments"),
        ("create", "foundry.flow.life/agents/ephemeral"),
        ("patch", "foundry.flow.life/codingruns"),
        ("patch", "foundry.flow.life/harnesses"),
        ("get", "foundry.flow.life/models"),
        ("patch", "foundry.flow.life/toolservers"),
        ("patch", "foundry.flow.life/swarms/status"),
        ("list", "foundry.flow.life/skills"),
        ("list", "apps/controllerrevisions"),
        ("create", "-/serviceaccounts/token"),
    ];
    assert_eq!(wrong(API, true, &may).await, [""; 0]);
    assert_eq!(wrong(API, false, &may_not).await, [""; 0]);
}

/// WORK-04
#[tokio::test]
async fn the_harness_account_may_do_nothing() {
    let harness = "system:serviceaccount:{namespace}:foundry-harness";
    let questions = [
        ("get", "foundry.flow.life/agents"),
        ("list", "-/pods"),
        ("get", "-/secrets"),
        ("create", "batch/jobs"),
    ];
    assert_eq!(wrong(harness, false, &questions).await, [""; 0]);
}

#[tokio::test]
async fn outside_the_watched_namespaces_the_operator_and_the_api_have_a_lease_and_token_reviews() {
    let client = control_plane().await.admin();
    let ask =
        |user, verb, resource, namespace| Question { user, verb, resource, name: None, namespace };
    let may = [
        ask(OPERATOR, "update", "coordination.k8s.io/leases", "default"),
        ask(API, "create", "authentication.k8s.io/tokenreviews", ""),
    ];
    let may_not = [
        ask(OPERATOR, "get", "-/secrets", "default"),
        ask(OPERATOR, "list", "foundry.flow.life/agents", ""),
        ask(API, "get", "-/secrets", "kube-system"),
        ask(API, "list", "foundry.flow.life/agents", ""),
    ];
    for question in may {
        assert!(question.ask(&client).await, "{} {}", question.user, question.resource);
    }
    for question in may_not {
        assert!(!question.ask(&client).await, "{} {}", question.user, question.resource);
    }
}

#[tokio::test]
async fn the_roles_view_edit_and_admin_speak_of_our_kinds() {
    use k8s_openapi::api::rbac::v1::ClusterRole;

    let roles: Api<ClusterRole> = Api::all(control_plane().await.admin());
    let kinds = ["agents", "codingruns", "harnesses", "models", "skills", "swarms", "toolservers"];
    for (role, verb, kinds) in
        [("view", "get", &kinds[..]), ("edit", "create", &kinds), ("admin", "actas", &kinds[..1])]
    {
        let what = format!("{role} may {verb} {kinds:?}");
        eventually(&what, Duration::from_mins(1), || async {
            let found = roles.get(role).await.map_err(|error| error.to_string())?;
            let granted = |kind: &&str| {
                found.rules.iter().flatten().any(|rule| {
                    rule.api_groups.iter().flatten().any(|group| group == "foundry.flow.life")
                        && rule.resources.iter().flatten().any(|known| known == kind)
                        && rule.verbs.iter().any(|known| known == verb)
                })
            };
            let missing: Vec<_> = kinds.iter().filter(|kind| !granted(kind)).collect();
            if missing.is_empty() { Ok(()) } else { Err(format!("no rule for {missing:?}")) }
        })
        .await;
    }
}
