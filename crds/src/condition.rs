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
    /// A coding run, or every member of a swarm, ended well.
    pub const COMPLETE: &str = "Complete";
    /// The people service knows this agent's mailbox.
    pub const MAILBOX_REGISTERED: &str = "MailboxRegistered";
    /// Tools that somebody asked for are not to be had; all else goes on.
    pub const TOOLS_DEGRADED: &str = "ToolsDegraded";
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
pub const KINDS: [Kind; 7] = [
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
        on: "CodingRun, Swarm",
        meaning: "The run, or every member of the swarm, ended well; while it is `False`, the \
                  reason says where it stands.",
    },
    Kind {
        word: kind::MAILBOX_REGISTERED,
        on: "Agent",
        meaning: "The people service knows this agent's mailbox, under its present name. \
                  `Ready` does not depend on it. Absent where the installation names no people \
                  service, and on agents without a mailbox.",
    },
    Kind {
        word: kind::TOOLS_DEGRADED,
        on: "Agent, ToolServer",
        meaning: "Of a tool server: it did not answer when the API last asked it for its tools. \
                  Of an agent: a tool server that its spec names does not exist. It is no part of \
                  `Ready`: everything else goes on.",
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
    RUNNING = "Running" on "Agent, Swarm",
        "Everything is as the spec says and a harness runs; of a swarm, those of its members.",
        "Nothing to do.";
    STOPPED = "Stopped" on "Agent, CodingRun, Swarm",
        "Nothing should run and nothing does. Of a run: somebody stopped or expired its agent \
         before it had a result.",
        "Start the agent, or set `spec.desiredState: running`; an expired agent of a run is \
         restarted instead.";
    ON_DEMAND = "OnDemand" on "Agent",
        "An on-demand agent: a call wakes it inside the API, there is no workload by design.",
        "Nothing to do.";
    PENDING = "Pending" on "Agent, CodingRun, Swarm",
        "The workload is asked for and not yet up.",
        "Wait; if it lasts, read the message and the pod's events.";
    DRAINING = "Draining" on "Agent, CodingRun, Swarm",
        "An earlier process of this agent, or the agent of an earlier run of this name, is still \
         ending; the next one starts when it is gone, so that two never poll one inbox.",
        "Wait; it ends within its grace period.";
    PLANNING = "Planning" on "CodingRun",
        "The run's harness reads the repository and plans.",
        "Nothing to do.";
    AWAITING_APPROVAL = "AwaitingApproval" on "CodingRun",
        "A plan is stored and waits for a person; the run's clock stands still.",
        "Read the plan, then answer `build` with its digest, as the message says; other words \
         change the plan.";
    AWAITING_ANSWER = "AwaitingAnswer" on "CodingRun",
        "The run asks a person something; its clock stands still.",
        "Answer as the message says.";
    BUILDING = "Building" on "CodingRun",
        "The plan is approved; the run's harness edits, checks and commits.",
        "Nothing to do.";
    FINISHING = "Finishing" on "CodingRun",
        "The run's harness is gone and its result is not known yet; a report may be on its way.",
        "Wait a few seconds.";
    SUCCEEDED = "Succeeded" on "CodingRun, Swarm",
        "The run is done, with a check that passed after the last edit. Of a swarm: every member \
         ended well.",
        "Look at the pull request, or at what the members say.";
    OUT_OF_TIME = "OutOfTime" on "CodingRun",
        "The wall clock ran out first. What was pushed is kept.",
        "Raise `spec.limits.wallClock` and restart the run's agent, or narrow the task.";
    BUDGET_EXHAUSTED = "BudgetExhausted" on "CodingRun",
        "The budget ran out first. What was pushed is kept.",
        "Raise the budget and restart the run's agent, or narrow the task.";
    RUN_FAILED = "RunFailed" on "CodingRun",
        "The model gave the task up and says why.",
        "Read the message; create another run with a task that says what was missing.";
    CLONE_FAILED = "CloneFailed" on "CodingRun",
        "The repository could not be cloned: its key, host key, remote or branch.",
        "Correct what the message names, in Secret `foundry-harness-ssh` or in another run, and \
         restart the run's agent.";
    MODEL_FAILED = "ModelFailed" on "CodingRun",
        "The model could not be reached, or answered with errors to the end.",
        "Read the message and the Model; restart the run's agent when it answers again.";
    HARNESS_FAILED = "HarnessFailed" on "CodingRun",
        "The harness itself could not go on.",
        "Read the agent's log, then restart the run's agent.";
    HARNESS_LOST = "HarnessLost" on "CodingRun",
        "The harness went without a result: killed, out of memory, evicted, or deleted with its \
         agent. What was not pushed is lost.",
        "Correct what the message names, then restart the run's agent; when the agent is \
         deleted, create another run.";
    MEMBER_FAILED = "MemberFailed" on "Swarm",
        "A member's process ended badly, or its agent was deleted.",
        "Read the agent's log and restart it; a member whose agent is deleted is taken out of \
         `spec.members`, and made anew when it is added again.";
    DISMISSED = "Dismissed" on "Swarm",
        "The swarm is dismissed: its members are expired and their Jobs gone.",
        "Nothing to do; a single member can be restarted.";
    PARENT_ARCHIVED = "ParentArchived" on "Swarm",
        "The agent named by `spec.parent` is archived, so no further member is made. Those that \
         are there go on until their time is over.",
        "Dismiss the swarm, or create it for another agent.";
    COMPLETED = "Completed" on "Agent",
        "The process of an ephemeral agent ended well.",
        "Nothing to do; a restart runs the agent again.";
    FAILED = "Failed" on "Agent",
        "The process of an ephemeral agent ended badly.",
        "Read the agent's log, then restart it.";
    EXPIRED = "Expired" on "Agent, CodingRun, Swarm",
        "The agent is expired: its run ended or `spec.ttlAt` has passed. Of a run: that moment \
         passed before it had a result.",
        "Restart an ephemeral agent to bring it back.";
    ARCHIVED = "Archived" on "Agent",
        "The agent is archived; nothing of it runs.",
        "Nothing to do; create another agent to go on.";
    CRASH_LOOP = "CrashLoop" on "Agent, CodingRun, Swarm",
        "The harness process keeps ending; it is started again with growing pauses.",
        "Read the pod's log; the message names the last exit.";
    OUTDATED = "Outdated" on "Agent",
        "The running process was started with an older image or environment than a start would \
         use now.",
        "Restart the agent when it suits.";
    HARNESS_NOT_FOUND = "HarnessNotFound" on "Agent, CodingRun, Swarm",
        "The Harness named by `spec.harness` does not exist in this namespace.",
        "Create the Harness or name another; it heals by itself.";
    HARNESS_LACKS_FEATURE = "HarnessLacksFeature" on "Agent, CodingRun, Swarm",
        "The Harness named by `spec.harness` cannot work on a repository: it lacks the feature \
         `repo_scope`, or it has no pods.",
        "Name a Harness that has it, or add the feature to this one; it heals by itself.";
    TOOL_NOT_PERMITTED = "ToolNotPermitted" on "Agent",
        "`spec.tools` names a tool that the Harness does not list any more; what runs goes on, and \
         nothing new is started.",
        "Take the tool out of `spec.tools`, or add it to the Harness; it heals by itself.";
    SKILLS_NOT_ALLOWED = "SkillsNotAllowed" on "Agent",
        "`spec.skills` is not empty and the Harness allows no skills any more; what runs goes on, \
         and nothing new is started.",
        "Empty `spec.skills`, or set `spec.allowsSkills` of the Harness; it heals by itself.";
    SKILL_NOT_FOUND = "SkillNotFound" on "Agent",
        "A Skill named by `spec.skills` does not exist in this namespace.",
        "Create the Skill or take it out; it heals by itself.";
    SKILL_VERSION_NOT_FOUND = "SkillVersionNotFound" on "Agent",
        "A Skill named by `spec.skills` has no such version as the one pinned.",
        "Publish the version, pin another, or leave the pin out to have the latest; it heals by \
         itself.";
    TOOL_SERVER_NOT_FOUND = "ToolServerNotFound" on "Agent",
        "A ToolServer named by `spec.toolServers` does not exist in this namespace; the agent goes \
         on without its tools.",
        "Create the ToolServer or take it out; it heals by itself.";
    UNREACHABLE = "Unreachable" on "ToolServer",
        "The server did not answer when the API asked it for its tools; agents go on without them.",
        "Read the message; see that `spec.url` leads to a running server and that the Secret holds \
         what it wants. It is asked again by itself.";
    REACHABLE = "Reachable" on "ToolServer",
        "The server answered when the API asked it for its tools.",
        "Nothing to do.";
    PARENT_NOT_FOUND = "ParentNotFound" on "Agent, CodingRun, Swarm",
        "The agent named by `spec.parent`, or by `spec.agent` of a run, does not exist in this \
         namespace.",
        "Create that agent, or delete this object.";
    PARENT_OWNER = "ParentOwner" on "Agent, CodingRun, Swarm",
        "The owner differs from the owner of the agent named by `spec.parent`, or by \
         `spec.agent` of a run.",
        "Delete this object; a child acts for the person its parent acts for.";
    SLUG_TAKEN = "SlugTaken" on "Agent, CodingRun, Swarm",
        "An earlier agent already has this slug, so this one gets no mailbox.",
        "Set another `spec.slug`; create a run anew under another name.";
    NAME_TAKEN = "NameTaken" on "Agent, CodingRun, Swarm",
        "An object with the workload's name exists that Foundry did not make, or an agent with \
         the run's name that is not the run's.",
        "Delete or rename that object, or use another name for this one.";
    REFUSED = "Refused" on "Agent, CodingRun, Swarm",
        "The cluster refused a create or delete; the message carries its words.",
        "Fix what the message names (quota, policy, rights), then start again.";
    INVALID = "Invalid" on "all",
        "The object does not fit the schema this operator knows.",
        "Fix the field that the message names, or install the CRDs of this release.";
    RESOLVED = "Resolved" on "Harness, Model, Skill, ToolServer",
        "Everything the object names exists.",
        "Nothing to do.";
    REGISTERED = "Registered" on "Agent",
        "The people service knows the agent's mailbox.",
        "Nothing to do.";
    REGISTERING = "Registering" on "Agent",
        "The agent's mailbox is to be registered with the people service.",
        "Wait; it is its turn in seconds, or after those that wait before it.";
    PEOPLE_UNAVAILABLE = "PeopleUnavailable" on "Agent",
        "The people service cannot be reached, does not answer in time, or answers that it \
         cannot.",
        "See to the people service, and to `FOUNDRY_PEOPLE_URL`; it is tried again by itself.";
    PEOPLE_REFUSED = "PeopleRefused" on "Agent",
        "The people service takes this person not; the message carries its words.",
        "Change what it minds, such as `spec.displayName`; it is tried again by itself.";
    PEOPLE_TOKEN = "PeopleTokenInvalid" on "Agent",
        "The service token for the people service cannot be read, or is not known there.",
        "Put the right token into the file of `FOUNDRY_PEOPLE_TOKEN_FILE`; it is read at each \
         use.";
    SECRET_NOT_FOUND = "SecretNotFound" on "Agent, CodingRun, Swarm, Model, ToolServer",
        "A Secret does not exist in this namespace: of a Model the one named by \
         `spec.apiKey.name`, of a ToolServer the one named by `spec.authSecret.name`, of a coding \
         agent `foundry-harness-ssh`.",
        "Create the Secret, or name another; it heals by itself.";
    SECRET_KEY_MISSING = "SecretKeyMissing" on "Model, ToolServer",
        "The Secret lacks the key: of a Model `spec.apiKey.key`, of a ToolServer \
         `spec.authSecret.key`.",
        "Add the key or name another; it heals by itself.";
}

/// A reason by its word; none for a word that is not ours.
pub fn documented(word: &str) -> Option<&'static Documented> {
    REASONS.iter().find(|reason| reason.word == word)
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
         $ kubectl wait --for=jsonpath='{.status.phase}'=AwaitingApproval codingrun/fix-greeting\n\
         $ kubectl wait --for=condition=Complete codingrun/fix-greeting swarm/survey\n\
         $ kubectl wait --for=condition=Ready toolserver/library skill/review model/gpt-5-mini harness/agent-v1\n\
         ```\n\n\
         A CodingRun is judged like a Job: Ready once its agent's workload is there, then \
         `Complete`; one that ended otherwise is `Stalled`, or Ready again when somebody stopped \
         it. So is a Swarm, by its members. The REASON column of `kubectl get codingruns,swarms -o wide` \
         is that of `Complete`.\n\n\
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
