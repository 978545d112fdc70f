//! Deterministic names of what the operator makes, so that a replay, a stale
//! cache or a second operator cannot create anything twice (WORK-01).

/// Longest `metadata.name` of an Agent, so that
/// `foundry-agent-{id}-{start number}` fits a DNS label of 63 characters.
pub const MAX_AGENT_NAME: usize = 40;

/// Deployment of a persistent always-on agent (LIFE-02).
pub fn deployment(agent: &str) -> String {
    format!("foundry-agent-{agent}")
}

/// Job of an ephemeral agent at one start number (LIFE-07).
pub fn job(agent: &str, start_number: i64) -> String {
    format!("foundry-agent-{agent}-{start_number}")
}

/// Pod that the local runtime makes for one start of an agent.
pub fn local_pod(agent: &str, start_number: i64) -> String {
    format!("foundry-agent-{agent}-{start_number}-local")
}

/// ControllerRevision that keeps the version of a persistent agent which this start
/// number began (SPEC-01).
pub fn revision(agent: &str, start_number: i64) -> String {
    format!("foundry-agent-{agent}-{start_number}")
}

#[cfg(test)]
mod tests {
    use super::{MAX_AGENT_NAME, deployment, job, revision};

    /// WORK-01
    #[test]
    fn the_longest_agent_name_and_a_large_start_number_fit_a_dns_label() {
        let agent = "a".repeat(MAX_AGENT_NAME);
        assert_eq!(deployment(&agent).len(), 54);
        assert_eq!(job(&agent, 99_999_999).len(), 63);
        assert_eq!(revision(&agent, 99_999_999).len(), 63);
    }
}
