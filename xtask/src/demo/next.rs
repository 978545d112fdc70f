//! What a person may try next.

use testenv::stack::Stack;

use super::cluster::{Cluster, PERSON};
use super::coding::RUN;
use super::folder::DataFolder;
use super::story::AGENT;
use crate::printer::say;
use foundry_crds::meta::DEFAULT_NAMESPACE;

/// Prints commands that work as they stand.
pub(super) fn print(cluster: &Cluster, stack: &Stack, folder: &DataFolder) {
    let kubectl = cluster.person.program.display();
    let kubeconfig = cluster.person.kubeconfig.display();
    let acting = cluster.person.person.map(|name| format!(" --as {name}")).unwrap_or_default();
    let (api, issuer) = (stack.api_url(), stack.issuer_url());
    let data = folder.path().display();
    say(&format!(
        r#"
Everything stays up until you press Ctrl-C. In another terminal:

  export KUBECONFIG="{kubeconfig}"
  alias k='"{kubectl}" -n {DEFAULT_NAMESPACE}{acting}'
  api={api} issuer={issuer} data="{data}"
  token=$(curl -s $issuer/token -H 'content-type: application/json' \
    -d '{{"sub":"{PERSON}","workspaces":["{DEFAULT_NAMESPACE}"],"roles":["member"],"ttl_seconds":3600}}' \
    | sed 's/.*"access_token" *: *"\([^"]*\)".*/\1/')

The agent (docs/agents.md):

  k get agents -w
  k describe agent {AGENT}
  k edit agent {AGENT}
  curl -s $api/v1/agents/{AGENT}/memories -H "authorization: Bearer $token"
  curl -s -X POST $api/v1/agents/{AGENT}/restart -H "authorization: Bearer $token"

The coding run (docs/coding-runs.md):

  k describe codingrun {RUN}
  k delete codingrun {RUN} && k apply -k "$data/coding" && k get codingruns -w

Data and logs are in {data}; `cargo xtask demo --fresh` starts over."#
    ));
}
