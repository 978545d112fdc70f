//! A run under random answers, interrupts and aborts, at any step.

use foundry_llm::{ErrorKind, Message, Reply, StopReason, ToolCall};
use pretty_assertions::assert_eq;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// What happens to the run at one step.
#[derive(Clone, Debug)]
enum Happening {
    Reply(Reply),
    Failure(ErrorKind),
    Results(usize),
    Steer,
    Interrupt,
    Abort,
    /// Stored, and taken up by another process.
    Move,
}

fn reply() -> impl Strategy<Value = Reply> {
    let call = (
        prop_oneof!["[a-c]", Just(String::new()), Just("no id".to_owned())],
        prop_oneof![3 => Just("echo"), 1 => Just("missing")],
        prop_oneof![Just(""), Just("{}"), Just(r#"{"n": 1}"#), Just(r#"{"n": "#), Just("[]")],
    )
        .prop_map(|(id, name, arguments)| ToolCall {
            id,
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        });
    let text = prop_oneof![Just(None), Just(Some(String::new())), Just(Some("so".to_owned()))];
    let stop = prop_oneof![
        6 => Just(StopReason::ToolUse),
        1 => Just(StopReason::MaxTokens),
        1 => Just(StopReason::EndTurn),
        1 => Just(StopReason::Other("length_exceeded".to_owned())),
    ];
    (text, vec(call, 0..4), stop).prop_map(|(text, calls, stop)| Reply {
        text,
        calls,
        stop,
        ..says("")
    })
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        8 => reply().prop_map(Happening::Reply),
        4 => (0_usize..4).prop_map(Happening::Results),
        1 => Just(Happening::Failure(ErrorKind::Server)),
        1 => Just(Happening::Failure(ErrorKind::BadRequest)),
        2 => Just(Happening::Steer),
        1 => Just(Happening::Interrupt),
        1 => Just(Happening::Abort),
        2 => Just(Happening::Move),
    ]
}

fn befall(run: Run, happening: &Happening) -> Run {
    let mut run = run;
    match happening {
        Happening::Reply(reply) => run.replied(Ok(reply.clone())),
        Happening::Failure(kind) => run.replied(Err(error(*kind))),
        Happening::Results(some) => run.ran(vec![Settled::output("done"); *some]),
        Happening::Steer => run.steer(UserInput::from("more")),
        Happening::Interrupt => run.interrupt(),
        Happening::Abort => run.abort(),
        Happening::Move => {
            let stored = serde_json::to_string(run.state()).unwrap();
            let before = format!("{:?}", run.clone().step(NOW));
            run = Run::resume(serde_json::from_str(&stored).unwrap(), vec![echo()]).unwrap();
            assert_eq!(format!("{:?}", run.clone().step(NOW)), before);
        }
    }
    run
}

/// KERN-24, written anew and over the log itself, where nothing is repaired.
fn assert_every_call_has_its_result(log: &[Entry]) {
    for (at, entry) in log.iter().enumerate() {
        let Entry::Assistant { reply } = entry else { continue };
        if reply.calls.is_empty() {
            continue;
        }
        let Some(Entry::Results { results }) = log.get(at + 1) else {
            panic!("entry {at} is not answered: {log:?}")
        };
        let asked: Vec<&str> = reply.calls.iter().map(|call| call.id.as_str()).collect();
        let answered: Vec<&str> = results.iter().map(|result| result.call_id.as_str()).collect();
        assert_eq!(asked, answered);
    }
}

/// Section 2's rules for a request, written anew.
fn assert_acceptable(messages: &[Message]) {
    assert!(matches!(messages.first(), Some(Message::User { .. })), "{messages:?}");
    assert!(!matches!(messages.last(), Some(Message::Assistant { .. })), "{messages:?}");
    let mut seen = std::collections::BTreeSet::new();
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
                    let pairs = calls.iter().zip(results);
                    assert!(pairs.clone().all(|(call, result)| call.id == result.call_id));
                    assert_eq!(calls.len(), results.len());
                }
            }
        }
    }
}

proptest! {
    /// KERN-24: whatever happens, at whatever step, no request breaks a rule, each begins
    /// with the one before (no fold lies between them), and the end leaves no call open.
    #[test]
    fn no_chain_of_events_breaks_a_conversation(happenings in vec(happening(), 0..40)) {
        let limits = Limits { max_turns: 12, ..Limits::default() };
        let mut run = run_with(Settings { limits, ..settings() }, vec![echo()]);
        let mut sent: Vec<Message> = Vec::new();
        for happening in &happenings {
            if let Step::CallModel(call) = run.step(NOW) {
                assert_acceptable(&call.request.messages);
                prop_assert!(call.request.messages.starts_with(&sent), "not the same beginning");
                sent = call.request.messages;
            }
            run = befall(run, happening);
        }
        run.abort();
        let outcome = outcome(&mut run);
        assert_every_call_has_its_result(run.log());
        prop_assert_eq!(outcome.entries, run.log());
        prop_assert!(outcome.turns <= 12);
    }
}
