//! Asking one server for its tools.

use std::time::Duration;

use foundry_crds::ToolServer;
use foundry_mcp::{Connections, Options, Server, Servers};
use kube::ResourceExt;
use secrecy::SecretString;
use tokio::time::timeout;
use url::Url;

use super::pace::Answer;
use crate::cluster::Cluster;

/// How long connecting, the handshake and the list may take, each.
const STEP: Duration = Duration::from_secs(10);
/// How long all of it may take.
const DEADLINE: Duration = Duration::from_secs(20);
/// How long a server may take to hear that we are done with it.
const PARTING: Duration = Duration::from_secs(2);

/// Asks the server; nothing when the question could not be put for a reason of ours.
pub async fn ask(cluster: &Cluster, server: &ToolServer) -> Option<Answer> {
    let name = server.name_any();
    let reached = match reach(cluster, server).await {
        Ok(reached) => reached?,
        Err(why) => return Some(Answer::Silent(why)),
    };
    let options = Options { connect: STEP, trust_read_only: true, ..Options::default() };
    let listed = timeout(DEADLINE, list(&name, reached, options, server)).await;
    let late = || Answer::Silent(format!("it did not list its tools within {DEADLINE:?}"));
    Some(listed.unwrap_or_else(|_| late()))
}

/// How the server is reached, or why it cannot be. No secret is in the words.
async fn reach(cluster: &Cluster, server: &ToolServer) -> Result<Option<Server>, String> {
    let spec = &server.spec;
    let url = Url::parse(&spec.url).map_err(|error| format!("spec.url is no URL: {error}"))?;
    // Whoever writes a ToolServer names an address, and the API connects to it.
    let reached = Server::http(server.name_any(), url).not_the_machines();
    let Some(secret) = &spec.auth_secret else { return Ok(Some(reached)) };
    let namespace = server.namespace().unwrap_or_default();
    let key: Option<SecretString> =
        match cluster.secret(&namespace, &secret.name, &secret.key).await {
            Ok(key) => key,
            Err(problem) => {
                tracing::warn!(
                    tool_server = server.name_any(),
                    cause = problem.detail(),
                    "failed to read the Secret of a tool server; it is asked again"
                );
                return Ok(None);
            }
        };
    let key = key.ok_or_else(|| {
        format!(
            "Secret {} has no key {}; create it, or correct spec.authSecret",
            secret.name, secret.key
        )
    })?;
    Ok(Some(reached.authorization(key)))
}

async fn list(name: &str, reached: Server, options: Options, server: &ToolServer) -> Answer {
    let (connections, problems) =
        Connections::open(Servers::default().with(reached), options).await;
    let offered = connections.tools();
    // One that parts slowly has answered nevertheless; the drop ends the session at once.
    drop(timeout(PARTING, connections.close()).await);
    let of_the_server = problems.iter().find(|problem| problem.tool.is_none());
    if let Some(problem) = of_the_server.filter(|_| offered.is_empty()) {
        return Answer::Silent(problem.words.clone());
    }
    let prefix = format!("{name}__");
    let tools = offered
        .iter()
        .filter(|tool| server.spec.allows_writes() || tool.effect == foundry_mcp::Effect::Read)
        .map(|tool| {
            let name = tool.spec.name.as_str();
            name.strip_prefix(&prefix).unwrap_or(name).to_owned()
        })
        .collect();
    Answer::Tools(tools)
}
