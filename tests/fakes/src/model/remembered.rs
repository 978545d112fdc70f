//! What the model said with its calls, to know it again when it comes back.

use std::collections::HashMap;

use super::captured::Captured;
use super::reply::Completion;
use super::wire;

/// What stood beside each call, by the call's id.
#[derive(Debug, Default)]
pub(super) struct Remembered(HashMap<String, Said>);

/// The model's reasoning before a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    /// The model that said it: no other can read its signature.
    pub model: String,
    /// Its thoughts.
    pub thinking: Option<String>,
    /// Thoughts that it does not show.
    pub redacted: Vec<String>,
}

impl Remembered {
    /// What stood beside this call.
    pub fn of(&self, call: &str) -> Option<&Said> {
        self.0.get(call)
    }

    /// The model answers a request so.
    pub fn remember(&mut self, request: &Captured, completion: &Completion) {
        let Completion { thinking, redacted, calls, .. } = completion;
        if thinking.is_none() && redacted.is_empty() {
            return;
        }
        let said = Said {
            model: request.model().to_owned(),
            thinking: thinking.clone(),
            redacted: redacted.clone(),
        };
        let ids = (0..calls.len()).map(|place| wire::call_id(request, place));
        self.0.extend(ids.map(|id| (id, said.clone())));
    }
}
