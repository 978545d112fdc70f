//! The control plane: it is the real one, and keeps what it should.

use std::time::Duration;

use k8s_openapi::api::authorization::v1::SelfSubjectAccessReview;
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use kube::api::{ListParams, ObjectMeta, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use pretty_assertions::assert_eq;
use testenv::{ControlPlane, Durability, RunFolder, control_plane, eventually, namespace};

const SOON: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_namespace_holds_the_service_accounts_of_an_installation() {
    let cp = control_plane().await;
    let ns = namespace(cp, "accounts").await;
    let accounts: Api<ServiceAccount> = Api::namespaced(ns.client, &ns.name);
    let names: Vec<_> = accounts
        .list(&ListParams::default())
        .await
        .unwrap()
        .into_iter()
        .filter_map(|account| account.metadata.name)
        .collect();
    assert!(names.contains(&"foundry-harness".to_owned()), "{names:?}");
}

#[tokio::test]
async fn a_person_has_only_the_rights_that_rbac_gives() {
    let cp = control_plane().await;
    let ns = namespace(cp, "rights").await;
    let maps: Api<ConfigMap> = Api::namespaced(cp.client_as("eve", &["visitors"]), &ns.name);
    let error = maps.list(&ListParams::default()).await.unwrap_err().to_string();
    assert!(error.contains("User \"eve\" cannot list resource \"configmaps\""), "{error}");
}

#[tokio::test]
async fn a_service_account_is_itself_by_its_kubeconfig() {
    let cp = control_plane().await;
    let path = cp.kubeconfig_for_service_account("default", "default").await;
    let client = client(&path).await;
    let reviews: Api<SelfSubjectAccessReview> = Api::all(client);
    let mut review = SelfSubjectAccessReview::default();
    review.spec.non_resource_attributes =
        Some(k8s_openapi::api::authorization::v1::NonResourceAttributes {
            path: Some("/anything".to_owned()),
            verb: Some("get".to_owned()),
        });
    let answer = reviews.create(&PostParams::default(), &review).await.unwrap();
    assert!(!answer.status.unwrap().allowed);
}

#[tokio::test]
async fn writes_are_counted_by_user_and_field_manager() {
    let cp = control_plane().await;
    let ns = namespace(cp, "audit").await;
    create_map(ns.client.clone(), &ns.name, "counted").await;
    let written = eventually("the audit log has the write", SOON, || async {
        let writes = cp.writes().into_iter();
        let mine: Vec<_> = writes
            .filter(|write| write.namespace == ns.name && write.resource == "configmaps")
            .filter(|write| write.manager.is_some())
            .collect();
        if mine.is_empty() { Err("nothing") } else { Ok(mine) }
    })
    .await;
    let seen: Vec<_> = written
        .iter()
        .map(|write| (write.user.as_str(), write.verb.as_str(), write.manager.as_deref()))
        .collect();
    assert_eq!(seen, [("admin", "create", Some("a-test/writer"))]);
}

/// Two at once, in folders with blanks, one of which is restarted.
#[tokio::test]
async fn a_control_plane_keeps_its_data_and_its_address_over_a_restart() {
    let run = RunFolder::create().unwrap();
    let cp = ControlPlane::start(&run.path().join("my data"), Durability::Kept).await.unwrap();
    create_map(cp.admin(), "default", "kept").await;

    cp.restart().await.unwrap();

    let maps: Api<ConfigMap> = Api::namespaced(client(&cp.kubeconfig()).await, "default");
    maps.get("kept").await.unwrap();
    cp.stop().await.unwrap();
}

async fn create_map(client: Client, namespace: &str, name: &str) {
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..Default::default() };
    let map = ConfigMap { metadata, ..Default::default() };
    let parameters =
        PostParams { field_manager: Some("a-test/writer".to_owned()), ..Default::default() };
    Api::namespaced(client, namespace).create(&parameters, &map).await.unwrap();
}

async fn client(kubeconfig: &std::path::Path) -> Client {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
    Client::try_from(config).unwrap()
}
