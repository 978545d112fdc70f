//! Which requests an answer is for.

use serde::Deserialize;

use super::captured::{Captured, Role};
use super::reply::Reply;

/// Conditions on a request; all that are set must hold.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct When {
    last_user: Option<String>,
    message: Option<String>,
    system: Option<String>,
    system_lacks: Option<String>,
    result: Option<bool>,
    result_of: Option<String>,
    result_contains: Option<String>,
    tool: Option<String>,
    tool_lacks: Option<String>,
    header: Option<(String, String)>,
    agent: Option<String>,
    model: Option<String>,
    nth: Option<usize>,
    step: Option<usize>,
}

impl When {
    /// Any request.
    pub fn any() -> Self {
        Self::default()
    }

    /// The last message that a person or the host wrote contains this.
    #[must_use]
    pub fn last_user(mut self, text: impl Into<String>) -> Self {
        self.last_user = Some(text.into());
        self
    }

    /// Some message contains this.
    #[must_use]
    pub fn message(mut self, text: impl Into<String>) -> Self {
        self.message = Some(text.into());
        self
    }

    /// The system prompt contains this.
    #[must_use]
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.system = Some(text.into());
        self
    }

    /// The system prompt does not contain this.
    #[must_use]
    pub fn system_lacks(mut self, text: impl Into<String>) -> Self {
        self.system_lacks = Some(text.into());
        self
    }

    /// Whether the conversation ends with tool results.
    #[must_use]
    pub fn result(mut self, present: bool) -> Self {
        self.result = Some(present);
        self
    }

    /// The conversation ends with a result of this tool.
    #[must_use]
    pub fn result_of(mut self, tool: impl Into<String>) -> Self {
        self.result_of = Some(tool.into());
        self
    }

    /// A result at the end of the conversation contains this.
    #[must_use]
    pub fn result_contains(mut self, text: impl Into<String>) -> Self {
        self.result_contains = Some(text.into());
        self
    }

    /// This tool is offered.
    #[must_use]
    pub fn tool(mut self, name: impl Into<String>) -> Self {
        self.tool = Some(name.into());
        self
    }

    /// This tool is not offered.
    #[must_use]
    pub fn tool_lacks(mut self, name: impl Into<String>) -> Self {
        self.tool_lacks = Some(name.into());
        self
    }

    /// This header has this value.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.header = Some((name.into(), value.into()));
        self
    }

    /// The request names this agent (`X-Flow-Agent-Id`).
    #[must_use]
    pub fn agent(mut self, id: impl Into<String>) -> Self {
        self.agent = Some(id.into());
        self
    }

    /// The request asks for this model.
    #[must_use]
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.model = Some(name.into());
        self
    }

    /// The nth request of its conversation, from 1; repeated ones count.
    #[must_use]
    pub fn nth(mut self, nth: usize) -> Self {
        self.nth = Some(nth);
        self
    }

    /// The model has spoken `step - 1` times in this conversation.
    #[must_use]
    pub fn step(mut self, step: usize) -> Self {
        self.step = Some(step);
        self
    }

    pub(super) fn holds(&self, request: &Captured) -> bool {
        let Self {
            last_user,
            message,
            system,
            system_lacks,
            result,
            result_of,
            result_contains,
            tool,
            tool_lacks,
            header,
            agent,
            model,
            nth,
            step,
        } = self;
        let contains = |text: &str, part: &String| text.contains(part.as_str());
        // Only what is asked for is read: a request may be large.
        let messages = || request.conversation();
        let results = || request.tool_results();
        let spoken = || messages().iter().filter(|one| one.role == Role::Assistant).count();
        holds(last_user.as_ref(), |part| contains(&request.last_user_text(), part))
            && holds(message.as_ref(), |part| {
                messages().iter().any(|one| contains(&one.text, part))
            })
            && holds(system.as_ref(), |part| contains(&request.system(), part))
            && holds(system_lacks.as_ref(), |part| !contains(&request.system(), part))
            && holds(result.as_ref(), |present| results().is_empty() != *present)
            && holds(result_of.as_ref(), |tool| results().iter().any(|one| one.tool == *tool))
            && holds(result_contains.as_ref(), |part| {
                results().iter().any(|one| contains(&one.content, part))
            })
            && holds(tool.as_ref(), |name| request.tools().contains(name))
            && holds(tool_lacks.as_ref(), |name| !request.tools().contains(name))
            && holds(header.as_ref(), |(name, value)| request.header(name) == Some(value))
            && holds(agent.as_ref(), |id| request.header("x-flow-agent-id") == Some(id))
            && holds(model.as_ref(), |name| request.model() == name)
            && holds(nth.as_ref(), |nth| request.nth == *nth)
            && holds(step.as_ref(), |step| spoken() + 1 == *step)
    }
}

fn holds<T>(condition: Option<T>, check: impl FnOnce(T) -> bool) -> bool {
    condition.is_none_or(check)
}

/// An answer to every request that matches.
#[derive(Clone, Debug)]
pub struct Rule {
    pub(super) when: When,
    pub(super) reply: Reply,
    pub(super) left: Option<usize>,
}

impl Rule {
    /// This answer, whenever the conditions hold.
    pub fn new(when: When, reply: Reply) -> Self {
        Self { when, reply, left: None }
    }

    /// At most this often.
    #[must_use]
    pub fn times(mut self, times: usize) -> Self {
        self.left = Some(times);
        self
    }
}

impl From<(When, Reply)> for Rule {
    fn from((when, reply): (When, Reply)) -> Self {
        Self::new(when, reply)
    }
}
