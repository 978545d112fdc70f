//! Condition types and reasons, after Kubernetes' conventions and kstatus.
//!
//! Each reason stands once, with its meaning and its remedy, in the table below;
//! `docs/conditions.md` is generated from it.

use std::fmt::Write as _;

/// Condition types.
pub mod kind {
    /// The cluster matches the spec. A stopped or on-demand agent is Ready too.
    pub const READY: &str = "Ready";
    /// Work is under way that will end by itself (kstatus: `InProgress`).
    pub const RECONCILING: &str = "Reconciling";
    /// Somebody must change something (kstatus: Failed).
    pub const STALLED: &str = "Stalled";
    /// A harness process of this agent is alive.
    pub const RUNNING: &str = "Running";
    /// A coding run ended well.
    pub const COMPLETE: &str = "Complete";
}

/// A condition type as `docs/conditions.md` explains it.
pub struct Kind {
    /// The word in `type`.
    pub word: &'static str,
    /// Which resources carry it.
    pub on: &'static str,
    /// What `True` says.
    pub meaning: &'static str,
}

/// Every condition type.
pub const KINDS: [Kind; 5] = [
    Kind {
        word: kind::READY,
        on: "all",
        meaning: "The cluster matches the spec. A stopped agent and an on-demand agent are \
                  Ready too, so that Flux and Argo CD do not wait for a process nobody asked for.",
    },
    Kind {
        word: kind::RECONCILING,
        on: "all",
        meaning: "Work is under way that ends by itself; kstatus reads it as InProgress. \
                  Absent otherwise.",
    },
    Kind {
        word: kind::STALLED,
        on: "all",
        meaning: "Nothing moves until somebody changes something; kstatus reads it as Failed. \
                  Absent otherwise.",
    },
    Kind { word: kind::RUNNING, on: "Agent", meaning: "A harness process of this agent is alive." },
    Kind {
        word: kind::COMPLETE,
        on: "CodingRun",
        meaning: "The run ended well; while it is `False`, the reason says where it stands.",
    },
];

/// A reason as `docs/conditions.md` explains it.
pub struct Documented {
    /// The word in `reason`.
    pub word: &'static str,
    /// Which resources carry it.
    pub on: &'static str,
    /// What it says.
    pub meaning: &'static str,
    /// What a person does about it.
    pub remedy: &'static str,
}

macro_rules! reasons {
    ($($name:ident = $word:literal on $on:literal, $meaning:literal, $remedy:literal;)*) => {
        /// Reasons: stable `CamelCase` words, explained in `docs/conditions.md`.
        pub mod reason {
            $(#[doc = $meaning] pub const $name: &str = $word;)*
        }

        /// Every reason, in the order of the reference.
        pub const REASONS: &[Documented] = &[$(Documented {
            word: reason::$name,
            on: $on,
            meaning: $meaning,
            remedy: $remedy,
        },)*];
    };
}

reasons! {
    RUNNING = "Running" on "Agent",
        "Everything is as the spec says and a harness runs.",
        "Nothing to do.";
    STOPPED = "Stopped" on "Agent",
        "Nothing should run and nothing does.",
        "Start the agent, or set `spec.desiredState: running`.";
    ON_DEMAND = "OnDemand" on "Agent",
        "An on-demand agent: a call wakes it inside the API, there is no workload by design.",
        "Nothing to do.";
    PENDING = "Pending" on "Agent",
        "The workload is asked for and not yet up.",
        "Wait; if it lasts, read the message and the pod's events.";
    DRAINING = "Draining" on "Agent",
        "An earlier process of this agent is still ending; the next one starts when it is gone, \
         so that two never poll one inbox.",
        "Wait; it ends within its grace period.";
    COMPLETED = "Completed" on "Agent",
        "The process of an ephemeral agent ended well.",
        "Nothing to do; a restart runs the agent again.";
    FAILED = "Failed" on "Agent",
        "The process of an ephemeral agent ended badly.",
        "Read the agent's log, then restart it.";
    EXPIRED = "Expired" on "Agent",
        "The agent is expired: its run ended or `spec.ttlAt` has passed.",
        "Restart an ephemeral agent to bring it back.";
    ARCHIVED = "Archived" on "Agent",
        "The agent is archived; nothing of it runs.",
        "Nothing to do; create another agent to go on.";
    CRASH_LOOP = "CrashLoop" on "Agent",
        "The harness process keeps ending; it is started again with growing pauses.",
        "Read the pod's log; the message names the last exit.";
    OUTDATED = "Outdated" on "Agent",
        "The running process was started with an older image or environment than a start would \
         use now.",
        "Restart the agent when it suits.";
    HARNESS_NOT_FOUND = "HarnessNotFound" on "Agent",
        "The Harness named by `spec.harness` does not exist in this namespace.",
        "Create the Harness or name another; it heals by itself.";
    PARENT_NOT_FOUND = "ParentNotFound" on "Agent",
        "The agent named by `spec.parent` does not exist in this namespace.",
        "Create the parent, or delete this agent.";
    PARENT_OWNER = "ParentOwner" on "Agent",
        "The owner differs from the owner of the agent named by `spec.parent`.",
        "Delete this agent; a child acts for the person its parent acts for.";
    SLUG_TAKEN = "SlugTaken" on "Agent",
        "An earlier agent already has this slug, so this one gets no mailbox.",
        "Set another `spec.slug`.";
    NAME_TAKEN = "NameTaken" on "Agent",
        "An object with the workload's name exists that Foundry did not make.",
        "Delete or rename that object, or use another agent name.";
    REFUSED = "Refused" on "Agent",
        "The cluster refused a create or delete; the message carries its words.",
        "Fix what the message names (quota, policy, rights), then start again.";
    INVALID = "Invalid" on "all",
        "The object does not fit the schema this operator knows.",
        "Fix the field that the message names, or install the CRDs of this release.";
    RESOLVED = "Resolved" on "Harness, Model",
        "Everything the object names exists.",
        "Nothing to do.";
    SECRET_NOT_FOUND = "SecretNotFound" on "Model",
        "The Secret named by `spec.apiKey.name` does not exist in this namespace.",
        "Create the Secret or name another; it heals by itself.";
    SECRET_KEY_MISSING = "SecretKeyMissing" on "Model",
        "The Secret named by `spec.apiKey.name` lacks the key `spec.apiKey.key`.",
        "Add the key or name another; it heals by itself.";
}

/// The reference in `docs/conditions.md`.
pub fn reference() -> String {
    let mut text = String::from(
        "<!-- Generated by `cargo xtask generate` from crds/src/condition.rs. -->\n\n\
         # Conditions\n\n\
         Conditions follow Kubernetes' conventions: each has a status, a stable reason, a message \
         for a person and the `observedGeneration` it speaks of. `Ready`, `Reconciling` and \
         `Stalled` are what kstatus, and with it Flux, reads; a new object's \
         `status.observedGeneration` is -1 until the operator has looked.\n\n\
         ```console\n\
         $ kubectl wait --for=condition=Ready agent/scout\n\
         ```\n\n\
         ## Types\n\n\
         | type | on | when `True` |\n|-|-|-|\n",
    );
    for Kind { word, on, meaning } in KINDS {
        row(&mut text, format_args!("| `{word}` | {on} | {meaning} |"));
    }
    text.push_str("\n## Reasons\n\n| reason | on | meaning | what to do |\n|-|-|-|-|\n");
    for Documented { word, on, meaning, remedy } in REASONS {
        row(&mut text, format_args!("| `{word}` | {on} | {meaning} | {remedy} |"));
    }
    text
}

fn row(text: &mut String, row: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    writeln!(text, "{row}").unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{KINDS, REASONS, reference};

    #[test]
    fn a_reason_is_one_camel_case_word_and_means_one_thing() {
        let words: BTreeSet<_> = REASONS.iter().map(|reason| reason.word).collect();
        assert_eq!(words.len(), REASONS.len());
        for word in words {
            assert!(word.starts_with(|c: char| c.is_ascii_uppercase()), "{word}");
            assert!(word.chars().all(|c| c.is_ascii_alphanumeric()), "{word}");
        }
    }

    #[test]
    fn the_reference_explains_every_type_and_reason() {
        let reference = reference();
        let words = KINDS.iter().map(|it| it.word).chain(REASONS.iter().map(|it| it.word));
        for word in words {
            assert!(reference.contains(&format!("| `{word}` |")), "{word}");
        }
    }
}
