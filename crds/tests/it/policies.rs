//! Who may write what, as different persons and service accounts.

use std::time::Duration;

use kube::api::{DeleteParams, DynamicObject, PostParams};
use kube::{Api, Client, Error};
use serde_json::{Value, json};
use testenv::{ControlPlane, TestNamespace, control_plane, eventually};

use super::cases::{Kind, dry_run, edited, merge};

mod grants;

const OPERATOR: &str = "system:serviceaccount:default:foundry-operator";
const API: &str = "system:serviceaccount:default:foundry-api";
const PATIENCE: Duration = Duration::from_mins(1);

/// A namespace in which ann may edit, ben is an administrator, and mia may write Models
/// and `ToolServers` and nothing else.
struct Office {
    control_plane: &'static ControlPlane,
    namespace: TestNamespace,
}

impl Office {
    async fn open() -> Self {
        let control_plane = control_plane().await;
        let namespace = testenv::namespace(control_plane, "policies").await;
        let office = Self { control_plane, namespace };
        office.bind("ann", "ClusterRole", "edit").await;
        office.bind("ben", "ClusterRole", "admin").await;
        office.role_for_addresses().await;
        office.bind("mia", "Role", "addresses").await;
        // Bindings and aggregated roles are read from watches, a moment later.
        let own = |user| (Kind::Agent, json!({ "spec": { "owner": user } }));
        office.until_accepted("ann", own("ann")).await;
        office.until_accepted("ben", own("ann")).await;
        let keyless = json!({ "spec": { "apiKey": null, "baseUrl": "http://llm.example" } });
        office.until_accepted("mia", (Kind::Model, keyless)).await;
        office
    }

    async fn bind(&self, user: &str, kind: &str, role: &str) {
        self.lay_in("RoleBinding", &json!({
            "metadata": { "name": user },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role },
            "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user }],
        }))
        .await;
    }

    async fn role_for_addresses(&self) {
        self.lay_in(
            "Role",
            &json!({
                "metadata": { "name": "addresses" },
                "rules": [{
                    "apiGroups": ["foundry.flow.life"],
                    "resources": ["models", "toolservers"],
                    "verbs": ["create", "update"],
                }],
            }),
        )
        .await;
    }

    async fn lay_in(&self, kind: &str, object: &Value) {
        let resource = kube::api::ApiResource {
            group: "rbac.authorization.k8s.io".into(),
            version: "v1".into(),
            api_version: "rbac.authorization.k8s.io/v1".into(),
            kind: kind.into(),
            plural: format!("{}s", kind.to_lowercase()),
        };
        let mut whole = json!({ "apiVersion": resource.api_version, "kind": kind });
        merge(&mut whole, object);
        let object: DynamicObject = serde_json::from_value(whole).unwrap();
        Api::<DynamicObject>::namespaced_with(self.admin(), &self.namespace.name, &resource)
            .create(&PostParams::default(), &object)
            .await
            .unwrap();
    }

    async fn until_accepted(&self, user: &str, (kind, more): (Kind, Value)) {
        eventually(&format!("{user} may write"), PATIENCE, || self.create(user, kind, &more)).await;
    }

    fn admin(&self) -> Client {
        self.namespace.client.clone()
    }

    fn api(&self, user: &str, kind: Kind) -> Api<DynamicObject> {
        kind.api(self.control_plane.client_as(user, &[]), &self.namespace.name)
    }

    async fn create(&self, user: &str, kind: Kind, more: &Value) -> kube::Result<DynamicObject> {
        self.api(user, kind).create(&dry_run(), &kind.object(more)).await
    }

    /// Exists, made by the administrator.
    async fn existing(&self, kind: Kind, more: &Value) -> DynamicObject {
        let api = kind.api(self.admin(), &self.namespace.name);
        api.create(&PostParams::default(), &kind.object(more)).await.unwrap()
    }

    async fn edit(
        &self,
        user: &str,
        kind: Kind,
        object: &DynamicObject,
        more: &Value,
    ) -> kube::Result<DynamicObject> {
        let name = object.metadata.name.as_deref().unwrap();
        self.api(user, kind).replace(name, &dry_run(), &edited(object, more)).await
    }
}

#[track_caller]
fn refused(answer: kube::Result<DynamicObject>, says: &str) {
    match answer {
        Err(Error::Api(status)) if status.code == 403 && status.message.contains(says) => {}
        other => panic!("wanted 403 {says}\n   got {other:?}"),
    }
}

/// AUTHZ-01
#[tokio::test]
async fn nobody_names_another_person_as_owner_without_the_right_to_act_for_them() {
    let office = Office::open().await;
    for kind in [Kind::Agent, Kind::CodingRun, Kind::Swarm] {
        let of = |owner: &str| json!({ "spec": { "owner": owner } });
        office.create("ann", kind, &of("ann")).await.unwrap();
        refused(
            office.create("ann", kind, &of("ben")).await,
            "spec.owner: ben is not you, ann; name yourself, or ask for the verb actas on agents",
        );
        office.create("ben", kind, &of("ann")).await.unwrap();
        office.create(API, Kind::Agent, &of("ann")).await.unwrap();
    }
}

/// AUTHZ-01
#[tokio::test]
async fn an_edit_may_keep_an_owner_and_may_not_name_a_third_person() {
    let office = Office::open().await;
    let agent = office.existing(Kind::Agent, &json!({ "spec": { "owner": "ben" } })).await;
    let instructions = json!({ "spec": { "instructions": "Watch." } });
    office.edit("ann", Kind::Agent, &agent, &instructions).await.unwrap();
    refused(
        office.edit("ann", Kind::Agent, &agent, &json!({ "spec": { "owner": "eve" } })).await,
        "spec.owner: eve is not you, ann",
    );
    office.edit("ben", Kind::Agent, &agent, &json!({ "spec": { "owner": "eve" } })).await.unwrap();
}

/// SKILL-06: who created a private skill sees it.
#[tokio::test]
async fn nobody_says_that_another_person_created_a_skill() {
    let office = Office::open().await;
    let by = |person: &str| json!({ "spec": { "createdBy": person } });
    office.create("ann", Kind::Skill, &by("ann")).await.unwrap();
    refused(
        office.create("ann", Kind::Skill, &by("ben")).await,
        "spec.createdBy: ben is not you, ann; name yourself, or ask for the verb actas on agents",
    );
    office.create("ben", Kind::Skill, &by("ann")).await.unwrap();
    let skill = office.existing(Kind::Skill, &by("ben")).await;
    let text = json!({ "spec": { "instructions": "Read it twice." } });
    office.edit("ann", Kind::Skill, &skill, &text).await.unwrap();
}

fn ephemeral() -> Value {
    json!({ "spec": {
        "lifetime": "ephemeral", "ttlAt": "2030-01-01T00:00:00Z", "parent": "lead",
    } })
}

/// LIFE-05
#[tokio::test]
async fn only_the_operator_makes_an_ephemeral_agent() {
    let office = Office::open().await;
    for user in ["ann", "ben", API] {
        refused(
            office.create(user, Kind::Agent, &ephemeral()).await,
            "spec.lifetime: only an agent makes an ephemeral agent; create a CodingRun or a Swarm",
        );
    }
    office.create(OPERATOR, Kind::Agent, &ephemeral()).await.unwrap();
}

/// LIFE-06
#[tokio::test]
async fn an_ephemeral_agent_belongs_to_a_parent_or_to_a_run() {
    let office = Office::open().await;
    let owned_by = |group: &str, kind: &str| {
        let mut object = ephemeral();
        object["spec"]["parent"] = Value::Null;
        object["metadata"] = json!({ "ownerReferences": [{
            "apiVersion": format!("{group}/v1alpha1"),
            "kind": kind,
            "name": "fix",
            "uid": "0c3f6d3a-0f65-4c55-9d36-6f5a3e6b6c0e",
        }] });
        object
    };
    office
        .create(OPERATOR, Kind::Agent, &owned_by("foundry.flow.life", "CodingRun"))
        .await
        .unwrap();
    let mut orphan = ephemeral();
    orphan["spec"]["parent"] = Value::Null;
    let strangers = [owned_by("example.com", "CodingRun"), owned_by("foundry.flow.life", "Model")];
    for object in strangers.into_iter().chain([orphan]) {
        refused(
            office.create(OPERATOR, Kind::Agent, &object).await,
            "spec.parent: an ephemeral agent belongs to its parent, its CodingRun or its Swarm",
        );
    }
}

/// LIFE-06: an agent reports for the run whose reference it bears.
#[tokio::test]
async fn nobody_makes_an_agent_a_runs_own() {
    let office = Office::open().await;
    // A run that is there: what names an owner that is not is collected as garbage.
    let run = office.existing(Kind::CodingRun, &json!({})).await;
    let of_a_run = |uid: &str| {
        json!({ "metadata": { "ownerReferences": [{
            "apiVersion": "foundry.flow.life/v1alpha1",
            "kind": "CodingRun",
            "name": run.metadata.name,
            "uid": uid,
            "controller": true,
        }] } })
    };
    let this = run.metadata.uid.as_deref().unwrap();
    let other = "7d8c5a52-54a6-4f0e-8b0a-8f3f0f6f7f11";
    let says = "metadata.ownerReferences: only Foundry makes an agent a CodingRun's";
    let mut of_mine = of_a_run(this);
    merge(&mut of_mine, &json!({ "spec": { "owner": "ann" } }));
    refused(office.create("ann", Kind::Agent, &of_mine).await, says);
    refused(office.create(API, Kind::Agent, &of_mine).await, says);

    let mine = office.existing(Kind::Agent, &json!({ "spec": { "owner": "ann" } })).await;
    refused(office.edit("ann", Kind::Agent, &mine, &of_a_run(this)).await, says);
    let admins = Kind::Agent.api(office.admin(), &office.namespace.name);
    admins.delete(mine.metadata.name.as_deref().unwrap(), &DeleteParams::default()).await.unwrap();

    let of_it = office.existing(Kind::Agent, &of_mine).await;
    let instructions = json!({ "spec": { "instructions": "Watch." } });
    office.edit("ann", Kind::Agent, &of_it, &instructions).await.unwrap();
    refused(office.edit("ann", Kind::Agent, &of_it, &of_a_run(other)).await, says);
}

/// BIND-11
#[tokio::test]
async fn nobody_has_a_secret_sent_to_a_provider_that_they_may_not_read_themselves() {
    const REFUSED: &str = "spec.apiKey.name: you may not read Secret openai";
    let office = Office::open().await;
    refused(office.create("mia", Kind::Model, &json!({})).await, REFUSED);
    office.create("ann", Kind::Model, &json!({})).await.unwrap();

    let model = office.existing(Kind::Model, &json!({})).await;
    let harmless = json!({ "spec": { "maxContextTokens": 128_000 } });
    office.edit("mia", Kind::Model, &model, &harmless).await.unwrap();
    for elsewhere in [
        json!({ "spec": { "baseUrl": "https://mia.example" } }),
        json!({ "spec": { "apiKey": { "key": "other" } } }),
        json!({ "spec": { "provider": "anthropic" } }),
    ] {
        refused(office.edit("mia", Kind::Model, &model, &elsewhere).await, REFUSED);
    }
}

/// SPEC-05
#[tokio::test]
async fn nobody_has_a_secret_sent_to_a_tool_server_that_they_may_not_read_themselves() {
    const REFUSED: &str = "spec.authSecret.name: you may not read Secret library, so you may not \
                           have it sent to a tool server; ask for the right to get it";
    let office = Office::open().await;
    let secret = json!({ "spec": { "authSecret": { "name": "library", "key": "token" } } });
    refused(office.create("mia", Kind::ToolServer, &secret).await, REFUSED);
    office.create("mia", Kind::ToolServer, &json!({})).await.unwrap();
    office.create("ann", Kind::ToolServer, &secret).await.unwrap();

    let open = office.existing(Kind::ToolServer, &json!({ "metadata": { "name": "open" } })).await;
    refused(office.edit("mia", Kind::ToolServer, &open, &secret).await, REFUSED);
    let server = office.existing(Kind::ToolServer, &secret).await;
    for harmless in
        [json!({ "spec": { "write": true } }), json!({ "spec": { "authSecret": null } })]
    {
        office.edit("mia", Kind::ToolServer, &server, &harmless).await.unwrap();
    }
    for elsewhere in [
        json!({ "spec": { "url": "https://mia.example/mcp" } }),
        json!({ "spec": { "authSecret": { "key": "other" } } }),
    ] {
        refused(office.edit("mia", Kind::ToolServer, &server, &elsewhere).await, REFUSED);
    }
}
