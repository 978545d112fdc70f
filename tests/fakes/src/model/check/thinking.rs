//! Thinking that goes back to the model that made it, with the results of its calls (KERN-40).

use super::Found;
use crate::model::captured::{Captured, Message, Wire};
use crate::model::remembered::{Remembered, Said};

/// Within the tool loop at the end of the conversation, the thinking before each call is there
/// as it was. Earlier turns may leave it out, but not change it.
pub(super) fn check(request: &Captured, said: &Remembered, found: &mut Found) {
    if request.wire == Wire::OpenAi {
        return; // drops it, or has it demanded: `Strict::echoing_reasoning`
    }
    let messages = request.conversation();
    let turn = messages.iter().rposition(|one| !one.only_results() && one.calls.is_empty());
    for (place, message) in messages.iter().enumerate() {
        let known = message.calls.first().and_then(|call| said.of(&call.id));
        let Some(known) = known.filter(|known| known.model == request.model()) else { continue };
        let in_the_loop = turn.is_none_or(|turn| place > turn);
        let whole = is_whole(message, known);
        let lawful = whole || (message.thinking.is_empty() && !in_the_loop);
        let what = format!("message {place} lacks the thinking that led to its calls");
        found.unless(lawful, "whole_thinking", what);
    }
}

fn is_whole(message: &Message, known: &Said) -> bool {
    let Said { model: _, thinking, redacted } = known;
    let expected = thinking.iter().chain(redacted);
    message.thinking.iter().map(|(text, _)| text).eq(expected)
}
