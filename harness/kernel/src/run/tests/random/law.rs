//! What holds of every log and every request, written anew.

use std::collections::BTreeSet;

use foundry_llm::Message;
use pretty_assertions::assert_eq;

use crate::entry::Entry;

/// KERN-24, over the log itself, where nothing is repaired. A shortening may stand between.
pub(in crate::run::tests) fn assert_every_call_has_its_result(log: &[Entry]) {
    let said: Vec<&Entry> = log
        .iter()
        .filter(|entry| !matches!(entry, Entry::Fold { .. } | Entry::Stubs { .. }))
        .collect();
    for (at, entry) in said.iter().enumerate() {
        let Entry::Assistant { reply } = entry else { continue };
        if reply.calls.is_empty() {
            continue;
        }
        let Some(Entry::Results { results }) = said.get(at + 1) else {
            panic!("entry {at} is not answered: {log:?}")
        };
        let asked: Vec<&str> = reply.calls.iter().map(|call| call.id.as_str()).collect();
        let answered: Vec<&str> = results.iter().map(|result| result.call_id.as_str()).collect();
        assert_eq!(asked, answered);
    }
}

/// Section 2's rules for a request.
pub(super) fn assert_acceptable(messages: &[Message]) {
    assert!(matches!(messages.first(), Some(Message::User { .. })), "{messages:?}");
    assert!(!matches!(messages.last(), Some(Message::Assistant { .. })), "{messages:?}");
    let mut seen = BTreeSet::new();
    for (at, message) in messages.iter().enumerate() {
        match message {
            Message::User { content } => assert!(!content.is_empty(), "{messages:?}"),
            Message::ToolResults { .. } => {
                let before = at.checked_sub(1).map(|before| &messages[before]);
                let follows_calls =
                    matches!(before, Some(Message::Assistant { calls, .. }) if !calls.is_empty());
                assert!(follows_calls, "{messages:?}");
            }
            Message::Assistant { text, calls, .. } => {
                assert!(text.as_deref() != Some(""), "{messages:?}");
                assert!(text.is_some() || !calls.is_empty(), "{messages:?}");
                for call in calls {
                    assert!(!call.id.is_empty() && seen.insert(&call.id), "{messages:?}");
                    let arguments: serde_json::Value = call.arguments.parse().unwrap();
                    assert!(arguments.is_object(), "{messages:?}");
                }
                if !calls.is_empty() {
                    let Some(Message::ToolResults { results }) = messages.get(at + 1) else {
                        panic!("message {at} is not answered: {messages:?}")
                    };
                    let mut pairs = calls.iter().zip(results);
                    assert!(pairs.all(|(call, result)| call.id == result.call_id));
                    assert_eq!(calls.len(), results.len());
                }
            }
        }
    }
}
