//! How much one run may spend.

use foundry_llm::Usage;
use serde::{Deserialize, Serialize};

use crate::outcome::Stop;

/// Turns of one run, unless set (LOOP-05).
const DEFAULT_MAX_TURNS: u32 = 10;

/// What one run may spend. Checked before each model call, so a reply that is paid for
/// has its calls run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Model replies.
    pub max_turns: u32,
    /// Tokens in all, when there is a limit.
    pub budget_tokens: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_turns: DEFAULT_MAX_TURNS, budget_tokens: None }
    }
}

impl Limits {
    /// Tokens that may still be spent, when there is a limit.
    pub fn remaining(&self, usage: Usage) -> Option<u64> {
        self.budget_tokens.map(|budget| budget.saturating_sub(usage.total()))
    }

    /// Why no further model call may be made, if none may.
    pub fn check(&self, turns: u32, usage: Usage) -> Option<Stop> {
        let Self { max_turns, budget_tokens } = *self;
        let used = usage.total();
        if let Some(budget) = budget_tokens
            && used >= budget
        {
            let reason = format!("the run has used {used} of its {budget} tokens");
            return Some(Stop::Budget { reason });
        }
        (turns >= max_turns).then_some(Stop::MaxTurns)
    }
}
