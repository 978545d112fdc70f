//! API group, labels, annotations and field managers: each word once.

/// API group of every resource of ours.
pub const GROUP: &str = "foundry.flow.life";
/// The served and stored version.
pub const VERSION: &str = "v1alpha1";
/// Namespace that agents live in unless configured otherwise (WORK-04).
pub const DEFAULT_NAMESPACE: &str = "foundry-agents";
/// ServiceAccount of every harness pod; it has no Role (WORK-04).
pub const HARNESS_SERVICE_ACCOUNT: &str = "foundry-harness";
/// Secret with the SSH keys of coding pods and the host keys they accept (WORK-12).
pub const SSH_SECRET: &str = "foundry-harness-ssh";
/// Secret with the tokens for Git hosts' own APIs, each of them optional (WORK-12).
pub const GIT_SECRET: &str = "foundry-harness-git";
/// Audience of the projected tokens that harness pods show to the API.
pub const TOKEN_AUDIENCE: &str = "foundry-api";
/// Scheduler name of pods that the local runtime runs as processes: no scheduler
/// answers to it, so the Pod is record and identity only.
pub const LOCAL_SCHEDULER: &str = "foundry-local";

/// Labels on workloads and pods.
pub mod label {
    /// `app: foundry-harness` on every harness pod (WORK-10).
    pub const APP: &str = "app";
    /// Value of [`APP`] on harness pods.
    pub const APP_HARNESS: &str = "foundry-harness";
    /// `foundry-role: coding` on coding pods, and only on them (WORK-10).
    pub const ROLE: &str = "foundry-role";
    /// Value of [`ROLE`] on coding pods.
    pub const ROLE_CODING: &str = "coding";
    /// Name of the Agent a workload or pod belongs to. A hint for people and
    /// selectors; identity is read from owner references.
    pub const AGENT: &str = "foundry.flow.life/agent";
    /// Start number of the process a pod runs.
    pub const START: &str = "foundry.flow.life/start";
    /// Name of the agent that started an ephemeral agent: a hint, as `spec.parent` says.
    pub const PARENT: &str = "foundry.flow.life/parent";
    /// Name of the Swarm that an agent is a member of: a hint, as `spec.swarm` says.
    pub const SWARM: &str = "foundry.flow.life/swarm";
    /// `app.kubernetes.io/managed-by`.
    pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
    /// Value of [`MANAGED_BY`] on what the operator makes.
    pub const MANAGED_BY_OPERATOR: &str = "foundry-operator";
}

/// Annotations.
pub mod annotation {
    /// Start number that a pod template was rendered for; it changes only on start
    /// and restart, so that nothing else rolls a pod (LIFE-16).
    pub const PROCESS_START: &str = "foundry.flow.life/process-start";
    /// Seconds of `spec.ttl` of a Swarm that `spec.ttlAt` of a member goes by, so that an
    /// edit of it moves `ttlAt` by the difference and takes back no restart (LIFE-13).
    pub const SWARM_TTL: &str = "foundry.flow.life/swarm-ttl-seconds";
    /// Digest of what a version of an agent tells it, on the ControllerRevision that keeps
    /// the version (SPEC-01).
    pub const CONFIG_DIGEST: &str = "foundry.flow.life/config-digest";
}

/// Server-side apply field managers, `foundry-<binary>/<writer>`, tested unique.
/// The operator forces; the API's verbs force only against managers listed here.
pub mod manager {
    /// The operator's writes to workloads and other children.
    pub const OPERATOR_CHILDREN: &str = "foundry-operator/children";
    /// The operator's writes to status.
    pub const OPERATOR_STATUS: &str = "foundry-operator/status";
    /// The operator's writes to spec that time alone decides: an agent that is over.
    pub const OPERATOR_INTENT: &str = "foundry-operator/intent";
    /// The operator's writes to the ephemeral agents of coding runs. Not those of
    /// [`OPERATOR_INTENT`]: an apply un-sets what its manager set before and leaves out.
    pub const OPERATOR_RUNS: &str = "foundry-operator/runs";
    /// The operator's writes to the ephemeral agents of swarms.
    pub const OPERATOR_SWARMS: &str = "foundry-operator/swarms";
    /// The API's creates and edits.
    pub const API_EDIT: &str = "foundry-api/edit";
    /// The API's runtime verbs: `lifecycle`, `desiredState`, `starts`, `ttlAt`.
    pub const API_VERBS: &str = "foundry-api/verbs";
    /// What harnesses report and the API writes to status.
    pub const API_REPORTED: &str = "foundry-api/reported";
    /// The installer (xtask and tests): CRDs and admission policies.
    pub const INSTALL: &str = "foundry-xtask/install";

    /// Every manager above.
    pub const ALL: [&str; 9] = [
        OPERATOR_CHILDREN,
        OPERATOR_STATUS,
        OPERATOR_INTENT,
        OPERATOR_RUNS,
        OPERATOR_SWARMS,
        API_EDIT,
        API_VERBS,
        API_REPORTED,
        INSTALL,
    ];
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::manager;

    #[test]
    fn every_writer_has_a_field_manager_of_its_own() {
        let managers: BTreeSet<_> = manager::ALL.into_iter().collect();
        assert_eq!(managers.len(), manager::ALL.len());
        for manager in managers {
            let (binary, writer) = manager.split_once('/').unwrap();
            assert!(binary.starts_with("foundry-") && !writer.is_empty(), "{manager}");
        }
    }
}
