//! The proxy before the API server does what a test asks of it, and nothing else.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};
use pretty_assertions::assert_eq;
use testenv::{Verdict, control_plane, namespace, within};

const ADMIN: (&str, [&str; 1]) = ("admin", ["system:masters"]);
const SOON: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_call_is_forwarded_refused_cut_or_done_without_an_answer() {
    let cp = control_plane().await;
    let ns = namespace(cp, "proxy").await;
    let proxy = cp.proxy_as(ADMIN.0, &ADMIN.1).await;
    let through: Api<ConfigMap> = Api::namespaced(proxy.client(), &ns.name);
    let direct: Api<ConfigMap> = Api::namespaced(ns.client.clone(), &ns.name);
    let create = async |name: &str| {
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        let map = ConfigMap { metadata, ..ConfigMap::default() };
        through.create(&PostParams::default(), &map).await
    };

    create("forwarded").await.unwrap();
    proxy.rule(|_| Verdict::Answer(429, Some(7)));
    let refused = create("refused").await.unwrap_err();
    assert!(refused.to_string().contains("Too many requests"), "{refused}");
    proxy.rule(|_| Verdict::Cut);
    create("cut").await.unwrap_err();
    proxy.rule(|_| Verdict::ForwardThenCut);
    create("done").await.unwrap_err();

    let stored = direct.list(&kube::api::ListParams::default()).await.unwrap();
    let mut names: Vec<_> = stored.items.into_iter().filter_map(|it| it.metadata.name).collect();
    names.retain(|name| name != "kube-root-ca.crt");
    assert_eq!(names, ["done", "forwarded"]);
    let answered: Vec<_> = proxy.calls().iter().map(|call| call.request.status).collect();
    assert_eq!(answered, [201, 429, 0, 201]);
}

#[tokio::test]
async fn a_call_that_hangs_is_told_and_may_be_done_all_the_same() {
    let cp = control_plane().await;
    let ns = namespace(cp, "proxy-hang").await;
    let proxy = cp.proxy_as(ADMIN.0, &ADMIN.1).await;
    proxy.rule(|_| Verdict::ForwardThenHang);
    let through: Api<ConfigMap> = Api::namespaced(proxy.client(), &ns.name);
    let metadata = ObjectMeta { name: Some("held".to_owned()), ..ObjectMeta::default() };
    let map = ConfigMap { metadata, ..ConfigMap::default() };
    let nobody = PostParams::default();
    let held = tokio::select! {
        answer = through.create(&nobody, &map) => panic!("it was answered: {answer:?}"),
        held = proxy.until_held() => held,
    };
    assert_eq!((held.verb.as_str(), held.resource.as_str()), ("create", "configmaps"));
    let direct: Api<ConfigMap> = Api::namespaced(ns.client.clone(), &ns.name);
    within("it is stored", SOON, || async { direct.get("held").await.map(drop) }).await.unwrap();
}
