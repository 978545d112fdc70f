//! Condition types and reasons, after Kubernetes' conventions and kstatus.

/// Condition types.
pub mod kind {
    /// The cluster matches the spec. A stopped or on-demand agent is Ready too.
    pub const READY: &str = "Ready";
    /// Work is under way that will end by itself (kstatus: InProgress).
    pub const RECONCILING: &str = "Reconciling";
    /// Somebody must change something (kstatus: Failed).
    pub const STALLED: &str = "Stalled";
    /// A harness process of this agent is alive.
    pub const RUNNING: &str = "Running";
}

/// Reasons, stable CamelCase words documented in docs/conditions.md.
pub mod reason {
    /// Everything is as the spec says and a harness runs.
    pub const RUNNING: &str = "Running";
    /// Nothing should run and nothing does.
    pub const STOPPED: &str = "Stopped";
    /// An on-demand agent: no workload by design.
    pub const ON_DEMAND: &str = "OnDemand";
    /// The workload is asked for and not yet up.
    pub const PENDING: &str = "Pending";
    /// The agent is expired.
    pub const EXPIRED: &str = "Expired";
    /// The agent is archived.
    pub const ARCHIVED: &str = "Archived";
    /// The Harness this object names does not exist.
    pub const HARNESS_NOT_FOUND: &str = "HarnessNotFound";
    /// The Secret a Model names does not exist.
    pub const SECRET_NOT_FOUND: &str = "SecretNotFound";
    /// The Secret a Model names lacks the key.
    pub const SECRET_KEY_MISSING: &str = "SecretKeyMissing";
    /// Another agent already has this slug.
    pub const SLUG_TAKEN: &str = "SlugTaken";
    /// The cluster refused a create or delete (403, 422 or quota).
    pub const REFUSED: &str = "Refused";
    /// The object does not fit the schema this operator knows.
    pub const INVALID: &str = "Invalid";
    /// All references resolve.
    pub const RESOLVED: &str = "Resolved";
    /// The harness process keeps ending.
    pub const CRASH_LOOP: &str = "CrashLoop";
}
