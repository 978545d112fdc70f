//! Start numbers: which starts were asked for, which were acted on.
//!
//! The number goes up when a start or restart is asked for, when `desiredState`
//! flips to running by another hand, and when what the agent is told changes. Only
//! the first two begin a new process (LIFE-16).

use foundry_crds::agent::{DesiredState, LastStart, Lifecycle, SkillRef};
use foundry_crds::{AgentSpec, AgentStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::conditions::whole_second;

/// What the status says about starts once this spec has been seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Ledger {
    /// The source documents' *generation*.
    pub start_number: i64,
    /// Digest of what the agent is told at `start_number`.
    pub config_digest: String,
    /// What is desired now.
    pub desired_state: DesiredState,
    /// The last start of a process.
    pub last_start: Option<LastStart>,
    /// `spec.starts`, to be reported once the start has been acted on.
    pub starts: i64,
    /// Whether this very look begins a new process.
    pub begins: bool,
}

impl Ledger {
    /// Carries the bookkeeping of `status` forward to `spec`.
    pub fn next(spec: &AgentSpec, status: &AgentStatus, now: Timestamp) -> Self {
        let desired_state = desired_state(spec);
        let starts = spec.starts.unwrap_or(0);
        let digest = config_digest(spec);
        let before = status.start_number.unwrap_or(0);

        let begins = desired_state == DesiredState::Running
            && (is_asked_for(starts, status)
                || status.observed_desired_state != Some(DesiredState::Running));
        let edited = status.config_digest.as_ref().is_some_and(|known| *known != digest);
        let start_number = if begins || edited { before + 1 } else { before };

        let last_start = if begins {
            Some(LastStart {
                number: start_number,
                at: Some(Time(whole_second(now))),
                refused: None,
                starts: Some(starts),
            })
        } else {
            // Where `starts` was taken out, the count begins anew, and so do its answers.
            let answered = |known: Option<i64>| known.map(|known| known.min(starts));
            status
                .last_start
                .clone()
                .map(|start| LastStart { starts: answered(start.starts), ..start })
        };
        Self { start_number, config_digest: digest, desired_state, last_start, starts, begins }
    }

    /// Number of the process that should run or ran last.
    pub fn process(&self) -> Option<i64> {
        self.last_start.as_ref().map(|start| start.number)
    }

    /// Whether `status` lacks what must be stored before a workload is made, so
    /// that an operator that dies in between counts no start twice.
    pub fn is_ahead_of(&self, status: &AgentStatus) -> bool {
        self.begins
            || status.start_number != Some(self.start_number)
            || status.config_digest.as_ref() != Some(&self.config_digest)
            || status.observed_desired_state != Some(self.desired_state)
    }
}

/// What is desired of the process: nothing runs of an agent that is not in use.
pub fn desired_state(spec: &AgentSpec) -> DesiredState {
    match spec.lifecycle() {
        Lifecycle::Active => spec.desired_state(),
        Lifecycle::Expired | Lifecycle::Archive => DesiredState::Completed,
    }
}

/// Whether `starts` asks for a start that no stored start answers yet.
fn is_asked_for(starts: i64, status: &AgentStatus) -> bool {
    let answered = status.last_start.as_ref().and_then(|start| start.starts);
    starts > status.observed_starts.unwrap_or(0) && answered != Some(starts)
}

/// Digest of instructions, model, harness, skills and tools, those of tool servers among
/// them (LIFE-16).
fn config_digest(spec: &AgentSpec) -> String {
    #[derive(Serialize)]
    struct Told<'a> {
        instructions: Option<&'a str>,
        model: &'a str,
        harness: &'a str,
        skills: &'a [SkillRef],
        tools: &'a [String],
        // Left out when there are none, so that a digest stored before there were any
        // stays what it was.
        #[serde(skip_serializing_if = "<[String]>::is_empty")]
        tool_servers: &'a [String],
    }
    let told = Told {
        instructions: spec.instructions.as_deref(),
        model: spec.model(),
        harness: &spec.harness,
        skills: &spec.skills,
        tools: &spec.tools,
        tool_servers: &spec.tool_servers,
    };
    let mut digest = Sha256::new();
    // Strings, integers and lists always serialize.
    if let Ok(bytes) = serde_json::to_vec(&told) {
        digest.update(&bytes);
    }
    digest.finalize().iter().fold(String::with_capacity(64), |mut hex, byte| {
        hex.push(char::from_digit(u32::from(byte >> 4), 16).unwrap_or('0'));
        hex.push(char::from_digit(u32::from(byte & 15), 16).unwrap_or('0'));
        hex
    })
}
