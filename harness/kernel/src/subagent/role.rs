//! What a subagent is there for.

use crate::policy::truncate::prefix;

/// Bytes of a description in the list of types.
const SHOWN_BYTES: usize = 250;
/// Bytes of the whole list; what is over it is told by name alone.
const LISTED_BYTES: usize = 8_000;

/// A type of subagent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// Name by which a model asks for it.
    pub name: String,
    /// What it is good for, for the model that chooses.
    pub description: String,
    /// Its role prompt: for a registered agent, that agent's instructions.
    pub instructions: String,
    pub(super) kind: Kind,
}

/// How a subagent ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// With words.
    Answers,
    /// With a verdict that cites what it read (KERN-31).
    Verifies,
}

impl Role {
    /// A registered agent as a type of subagent.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        instructions: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            instructions: instructions.into(),
            kind: Kind::Answers,
        }
    }
}

/// Said to every subagent, whatever its role.
pub(super) const CONDUCT: &str = "You are a subagent: another agent gave you one task, and reads \
    only your last message. You can read and change nothing. Nobody can be asked; where something \
    stays open, say so. Answer with what you found, where it stands, and nothing else.";

const EXPLORE: &str = "You explore: find out what is asked, from the sources your tools reach. \
    Begin broadly, then read what matters in full. Make independent calls in one turn. Name the \
    place of everything you report (file and line, id, link), quote what is decisive, and tell \
    what you saw from what you conclude. Say what you looked for and did not find.";

const VERIFY: &str = "You verify a claim. Try to refute it first: look for the case in which it is \
    false, the source that contradicts it, the check that was not made. Read the sources yourself; \
    what the task tells you is the claim, not evidence. Only when honest tries to refute it have \
    failed is it not refuted; when you could not find out, it is unclear. Submit your verdict with \
    its reasons, and cite for each what your tools returned: the name of the tool and a passage of \
    its output, copied word for word.";

/// The types that every run has.
pub(super) fn built_in() -> Vec<Role> {
    let verify = Role::new(
        "verify",
        "Checks one claim: tries to refute it by reading, and returns a verdict (refuted, \
         not_refuted or unclear) with reasons and citations.",
        VERIFY,
    );
    vec![
        Role::new(
            "explore",
            "Finds something out by reading widely, and returns a summary with its places.",
            EXPLORE,
        ),
        Role { kind: Kind::Verifies, ..verify },
    ]
}

/// The types as the description of the tool lists them.
pub(super) fn listed(roles: &[Role]) -> String {
    let mut list = String::new();
    for Role { name, description, .. } in roles {
        if !list.is_empty() {
            list.push('\n');
        }
        let first = description.lines().next().unwrap_or_default();
        let line = format!("- {name}: {}", prefix(first, SHOWN_BYTES));
        let is_short = list.len() + line.len() <= LISTED_BYTES;
        list.push_str(if is_short { &line } else { line.get(..name.len() + 2).unwrap_or(name) });
    }
    list
}
