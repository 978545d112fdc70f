//! Who may come in: tokens of persons and service accounts, and the kubeconfigs
//! that carry them.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::PostParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::json;

use crate::random;

/// Name, groups. Only `admin` has rights from the start.
const PERSONS: [(&str, &str); 4] =
    [("admin", "system:masters"), ("ann", "people"), ("ben", "people"), ("eve", "visitors")];

/// A day: no test run and no evening with the demo outlives it.
const TOKEN_SECONDS: i64 = 24 * 3600;

pub(super) fn tokens_file(folder: &Path) -> PathBuf {
    folder.join("tokens.csv")
}

pub(super) fn kubeconfig_path(folder: &Path, who: &str) -> PathBuf {
    folder.join("kubeconfigs").join(format!("{who}.yaml"))
}

/// Gives each person a token, once.
pub(super) fn ensure_tokens(folder: &Path) -> Result<()> {
    if tokens_file(folder).exists() {
        return Ok(());
    }
    let mut lines = String::new();
    for (name, groups) in PERSONS {
        let token = random::hex::<32>()?;
        lines.extend([&token, ",", name, ",", name, ",\"", groups, "\"\n"]);
    }
    write_private(&tokens_file(folder), &lines)
}

/// Writes a kubeconfig for each person.
pub(super) fn write_kubeconfigs(folder: &Path, port: u16) -> Result<()> {
    let tokens = fs::read_to_string(tokens_file(folder)).context("failed to read tokens.csv")?;
    for line in tokens.lines() {
        let mut fields = line.split(',');
        let (Some(token), Some(name)) = (fields.next(), fields.next()) else { continue };
        write_kubeconfig(folder, name, &format!("https://127.0.0.1:{port}"), token)?;
    }
    Ok(())
}

/// Asks for a token of a service account and writes its kubeconfig.
pub(super) async fn service_account(
    folder: &Path,
    admin: &Client,
    namespace: &str,
    name: &str,
) -> Result<PathBuf> {
    let accounts: Api<ServiceAccount> = Api::namespaced(admin.clone(), namespace);
    let request = TokenRequest {
        spec: TokenRequestSpec { expiration_seconds: Some(TOKEN_SECONDS), ..Default::default() },
        ..Default::default()
    };
    let answer = accounts
        .create_token_request(name, &PostParams::default(), &request)
        .await
        .with_context(|| format!("failed to get a token for {namespace}/{name}"))?;
    let token = answer.status.context("the token request has no answer")?.token;
    let server = server_of(&kubeconfig_path(folder, "admin"))?;
    write_kubeconfig(folder, &format!("{namespace}.{name}"), &server, &token)
}

/// The client settings of a kubeconfig.
pub(super) async fn config(path: &Path) -> Result<Config> {
    let read = || format!("failed to read {}", path.display());
    let kubeconfig = Kubeconfig::read_from(path).with_context(read)?;
    Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .with_context(read)
}

fn server_of(path: &Path) -> Result<String> {
    let kubeconfig = Kubeconfig::read_from(path)
        .with_context(|| format!("failed to read {}", path.display()))?;
    let cluster = kubeconfig.clusters.into_iter().next().and_then(|named| named.cluster);
    cluster
        .and_then(|cluster| cluster.server)
        .with_context(|| format!("{} names no server", path.display()))
}

/// JSON is YAML, so both kubectl and kube read this.
fn write_kubeconfig(folder: &Path, who: &str, server: &str, token: &str) -> Result<PathBuf> {
    let certificate = folder.join("certs/apiserver.crt");
    let kubeconfig = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "foundry",
        "contexts": [{"name": "foundry", "context": {"cluster": "foundry", "user": who}}],
        "clusters": [{"name": "foundry", "cluster": {
            "server": server,
            "certificate-authority": certificate,
        }}],
        "users": [{"name": who, "user": {"token": token}}],
    });
    let path = kubeconfig_path(folder, who);
    write_private(&path, &format!("{kubeconfig:#}\n"))?;
    Ok(path)
}

/// Written beside and renamed, so that no reader sees half of it.
pub(super) fn write_private(path: &Path, text: &str) -> Result<()> {
    let failed = || format!("failed to write {}", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(failed)?;
    }
    // Tests of one process may write the same kubeconfig at once.
    let part = path.with_extension(format!("part-{}", random::hex::<4>()?));
    let mut file: File = File::options()
        .create(true)
        .write(true)
        .truncate(true)
        .mode(0o600)
        .open(&part)
        .with_context(failed)?;
    file.write_all(text.as_bytes()).with_context(failed)?;
    fs::rename(&part, path).with_context(failed)
}
