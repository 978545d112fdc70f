//! The three processes, their settings and their order.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::{Api, Client};
use serde::{Deserialize, Serialize};

use super::{Durability, access, create_folder};
use crate::audit::Audit;
use crate::process::Process;
use crate::{Executables, free_port, ports};

/// On a busy two-core machine each part has been seen to need a third of this.
const PATIENCE: Duration = Duration::from_mins(2);

/// Issuer in service account tokens; a name, not an address anyone calls.
const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

/// Names that the processes go by.
pub(super) const ETCD: &str = "etcd";
pub(super) const APISERVER: &str = "kube-apiserver";

#[derive(Clone, Copy, Serialize, Deserialize)]
struct Ports {
    etcd: u16,
    etcd_peer: u16,
    apiserver: u16,
}

pub(super) fn logs(folder: &Path) -> PathBuf {
    folder.join("logs")
}

pub(super) fn audit_log(folder: &Path) -> PathBuf {
    folder.join("audit.log")
}

/// Lays out what the processes read: keys, tokens, the audit policy.
pub(super) fn prepare(folder: &Path, audit: Audit) -> Result<()> {
    crate::install_tls_provider();
    create_folder(&folder.join("certs"))?;
    access::ensure_tokens(folder)?;
    ensure_signing_key(&signing_key(folder))?;
    fs::write(audit_policy(folder), audit.policy()).context("failed to write the audit policy")
}

/// Starts all three, each when the one it needs answers.
pub(super) async fn start(
    folder: &Path,
    executables: &Executables,
    durability: Durability,
) -> Result<Vec<Process>> {
    let ports = choose_ports(folder)?;
    access::write_kubeconfigs(folder, ports.apiserver)?;
    let etcd = start_etcd(folder, executables, ports, durability)?;
    let mut apiserver = start_apiserver(folder, executables, ports)?;
    let client = wait_until_ready(folder, &mut apiserver).await?;
    let mut controllers = start_controller_manager(folder, executables)?;
    wait_until_controllers_work(&client, &mut controllers).await?;
    Ok(vec![etcd, apiserver, controllers])
}

/// Starts the API server again where the last one was.
pub(super) async fn start_apiserver_again(
    folder: &Path,
    executables: &Executables,
) -> Result<Process> {
    let mut apiserver = start_apiserver(folder, executables, last_ports(folder)?)?;
    wait_until_ready(folder, &mut apiserver).await?;
    Ok(apiserver)
}

/// Starts the store again where the last one was, on its data.
pub(super) fn start_etcd_again(
    folder: &Path,
    executables: &Executables,
    durability: Durability,
) -> Result<Process> {
    start_etcd(folder, executables, last_ports(folder)?, durability)
}

fn last_ports(folder: &Path) -> Result<Ports> {
    let file = ports_file(folder);
    let text = fs::read(&file).with_context(|| format!("failed to read {}", file.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("{} is strange", file.display()))
}

fn ports_file(folder: &Path) -> PathBuf {
    folder.join("ports.json")
}

/// The ports of the last start where they are free, so that a kubeconfig somebody
/// holds stays true.
fn choose_ports(folder: &Path) -> Result<Ports> {
    let file = ports_file(folder);
    let last = fs::read(&file).ok().and_then(|text| serde_json::from_slice::<Ports>(&text).ok());
    if let Some(last) = last
        && [last.etcd, last.etcd_peer, last.apiserver].into_iter().all(ports::is_free)
    {
        return Ok(last);
    }
    let ports = Ports { etcd: free_port()?, etcd_peer: free_port()?, apiserver: free_port()? };
    let text = serde_json::to_vec(&ports).context("failed to render the ports")?;
    fs::write(&file, text).with_context(|| format!("failed to write {}", file.display()))?;
    Ok(ports)
}

fn start_etcd(
    folder: &Path,
    executables: &Executables,
    ports: Ports,
    durability: Durability,
) -> Result<Process> {
    let client_url = format!("http://127.0.0.1:{}", ports.etcd);
    let peer_url = format!("http://127.0.0.1:{}", ports.etcd_peer);
    let mut etcd = Command::new(&executables.etcd);
    etcd.arg("--data-dir").arg(folder.join("etcd"));
    etcd.args(["--name", "default"]);
    etcd.args(["--listen-client-urls", &client_url, "--advertise-client-urls", &client_url]);
    etcd.args(["--listen-peer-urls", &peer_url, "--initial-advertise-peer-urls", &peer_url]);
    etcd.args(["--initial-cluster", &format!("default={peer_url}")]);
    etcd.args(["--log-level", "error"]);
    if durability == Durability::Throwaway {
        etcd.arg("--unsafe-no-fsync");
    }
    Process::spawn(ETCD, &etcd, &logs(folder).join("etcd.log"))
}

fn start_apiserver(folder: &Path, executables: &Executables, ports: Ports) -> Result<Process> {
    let mut apiserver = Command::new(&executables.apiserver);
    apiserver.args(["--etcd-servers", &format!("http://127.0.0.1:{}", ports.etcd)]);
    apiserver.arg("--cert-dir").arg(folder.join("certs"));
    apiserver.args(["--bind-address", "127.0.0.1"]);
    apiserver.args(["--secure-port", &ports.apiserver.to_string()]);
    apiserver.args(["--service-account-issuer", ISSUER]);
    apiserver.args(["--api-audiences", &format!("{ISSUER},foundry-api")]);
    apiserver.arg("--service-account-key-file").arg(signing_key(folder));
    apiserver.arg("--service-account-signing-key-file").arg(signing_key(folder));
    apiserver.arg("--token-auth-file").arg(access::tokens_file(folder));
    apiserver.arg("--audit-policy-file").arg(audit_policy(folder));
    apiserver.arg("--audit-log-path").arg(audit_log(folder));
    apiserver.args(["--authorization-mode", "RBAC,Node"]);
    apiserver.args(["--service-cluster-ip-range", "10.0.0.0/24"]);
    apiserver.args(["--allow-privileged", "--v=1"]);
    Process::spawn(APISERVER, &apiserver, &logs(folder).join("kube-apiserver.log"))
}

fn start_controller_manager(folder: &Path, executables: &Executables) -> Result<Process> {
    let mut controllers = Command::new(&executables.controller_manager);
    controllers.arg("--kubeconfig").arg(access::kubeconfig_path(folder, "admin"));
    controllers.arg("--service-account-private-key-file").arg(signing_key(folder));
    controllers.args(["--leader-elect=false", "--controllers=*", "--secure-port=0", "--v=1"]);
    controllers.args(["--kube-api-qps=200", "--kube-api-burst=400"]);
    let log = logs(folder).join("kube-controller-manager.log");
    Process::spawn("kube-controller-manager", &controllers, &log)
}

async fn wait_until_ready(folder: &Path, apiserver: &mut Process) -> Result<Client> {
    let kubeconfig = access::kubeconfig_path(folder, "admin");
    let ready = || async {
        let client = Client::try_from(access::config(&kubeconfig).await?)?;
        let request = http::Request::get("/readyz").body(Vec::new())?;
        client.request_text(request).await?;
        anyhow::Ok(client)
    };
    apiserver.wait_for("kube-apiserver is ready", PATIENCE, ready).await
}

/// The `default` service account is made by a controller: when it is there, they
/// work.
async fn wait_until_controllers_work(client: &Client, controllers: &mut Process) -> Result<()> {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), "default");
    let account = || async { accounts.get("default").await.map(drop) };
    controllers.wait_for("the controllers work", PATIENCE, account).await
}

fn signing_key(folder: &Path) -> PathBuf {
    folder.join("certs/service-accounts.key")
}

fn audit_policy(folder: &Path) -> PathBuf {
    folder.join("audit-policy.yaml")
}

/// Kept over restarts: tokens that pods hold must stay true.
fn ensure_signing_key(path: &Path) -> Result<()> {
    if path.exists() {
        return Ok(());
    }
    let key = KeyPair::generate(KeySize::Rsa2048).context("failed to make a signing key")?;
    let der: Pkcs8V1Der = key.as_der().context("failed to render the signing key")?;
    let text = STANDARD.encode(der.as_ref());
    let lines: Vec<_> = text.as_bytes().chunks(64).map(String::from_utf8_lossy).collect();
    let pem =
        format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", lines.join("\n"));
    access::write_private(path, &pem)
}
