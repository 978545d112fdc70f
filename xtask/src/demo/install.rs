//! Laying Foundry into a cluster, with kubectl.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use foundry_crds::meta::{DEFAULT_NAMESPACE, manager};
use testenv::{wait_until_policies_act, within, workspace_root};

use super::cluster::{Cluster, PERSON};
use super::kubectl::Kubectl;
use crate::printer::say;

/// What is laid in, in this order: types, policies about them, rights on them.
const FILES: [&str; 3] = ["crds.yaml", "policies.yaml", "rbac.yaml"];

/// Installs, and waits until types are served and policies act.
pub(super) async fn install(cluster: &Cluster) -> Result<()> {
    let yaml = workspace_root().join("crds/yaml");
    for file in FILES {
        let path = yaml.join(file).display().to_string();
        let manager = format!("--field-manager={}", manager::INSTALL);
        let apply = ["apply", "--server-side", "--force-conflicts", &manager, "--filename", &path];
        cluster.admin.run(&apply).await.with_context(|| format!("failed to install {file}"))?;
        if file == "crds.yaml" {
            let established = ["wait", "--for=condition=Established", "--timeout=60s"];
            let of_file = ["--filename", &path];
            cluster.admin.run(&[established.as_slice(), &of_file].concat()).await?;
        }
    }
    wait_until_policies_act(&cluster.client).await?;
    let_the_person_in(cluster).await?;
    say("types, admission policies and roles are installed");
    Ok(())
}

/// The person may edit what lives in the agents' namespace, as any editor there.
async fn let_the_person_in(cluster: &Cluster) -> Result<()> {
    let user = format!("--user={PERSON}");
    let name = format!("foundry-demo-{PERSON}");
    let admin = Kubectl { namespace: Some(DEFAULT_NAMESPACE), ..cluster.admin.clone() };
    if admin.run(&["get", "rolebinding", &name]).await.is_err() {
        admin.run(&["create", "rolebinding", &name, "--clusterrole=edit", &user]).await?;
    }
    // The cluster role `edit` takes Foundry's rights in a moment after they are made.
    let allowed = || async {
        for resource in [
            "secrets",
            "agents.foundry.flow.life",
            "codingruns.foundry.flow.life",
            "models.foundry.flow.life",
            "skills.foundry.flow.life",
            "swarms.foundry.flow.life",
            "toolservers.foundry.flow.life",
        ] {
            let ask = ["auth", "can-i", "patch", resource];
            let answer = cluster.person.run(&ask).await?;
            ensure!(answer.trim() == "yes", "{PERSON} may not patch {resource}");
        }
        Ok(())
    };
    within("the person has an editor's rights", Duration::from_secs(30), allowed).await
}
