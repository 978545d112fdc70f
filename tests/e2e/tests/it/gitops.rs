//! Foundry run from Git: what the examples lay out, how Argo CD applies and judges it, and,
//! in a suite of its own (`cargo xtask test --gitops`), Flux' own controllers.

#[path = "gitops/argocd.rs"]
mod argocd;
#[path = "gitops/fields.rs"]
mod fields;
#[path = "gitops/flux.rs"]
mod flux;
#[path = "gitops/health.rs"]
mod health;
#[path = "gitops/kubelet.rs"]
mod kubelet;
#[path = "gitops/layout.rs"]
mod layout;
#[path = "gitops/manifests.rs"]
mod manifests;
#[path = "gitops/site.rs"]
mod site;
