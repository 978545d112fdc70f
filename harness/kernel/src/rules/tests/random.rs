//! The rules over random conversations, as a careless store could hold them.

use foundry_llm::{Content, Message, Reasoning, ToolCall, ToolResult};
use proptest::collection::vec;
use proptest::prelude::*;

use super::super::*;

fn id() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-d]",
        1 => Just(String::new()),
        1 => Just("not legal".to_owned()),
        1 => Just("x".repeat(50)),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![3 => "[a-z]{1,6}", 1 => Just(String::new()), 1 => Just(" \n".to_owned())]
}

fn arguments() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("{}".to_owned()),
        Just(r#"{"a": 1}"#.to_owned()),
        Just(r#"{"a": "#.to_owned()),
        Just(String::new()),
        Just("[]".to_owned()),
    ]
}

fn some_calls() -> impl Strategy<Value = Vec<ToolCall>> {
    let call = (id(), arguments()).prop_map(|(id, arguments)| ToolCall {
        id,
        name: "echo".to_owned(),
        arguments,
    });
    vec(call, 0..4)
}

fn some_results() -> impl Strategy<Value = Vec<ToolResult>> {
    let result = (id(), text(), any::<bool>()).prop_map(|(call_id, content, is_error)| {
        ToolResult { call_id, name: "echo".to_owned(), content, is_error }
    });
    vec(result, 0..4)
}

fn message() -> impl Strategy<Value = Message> {
    let reasoning = vec(Just(Reasoning::Text { text: "hm".to_owned() }), 0..2);
    prop_oneof![
        vec(text().prop_map(|text| Content::Text { text }), 0..3)
            .prop_map(|content| Message::User { content }),
        (proptest::option::of(text()), reasoning, some_calls())
            .prop_map(|(text, reasoning, calls)| Message::Assistant { text, reasoning, calls }),
        some_results().prop_map(|results| Message::ToolResults { results }),
    ]
}

/// Between an input and an input, for a run always sees to its two ends.
fn conversation() -> impl Strategy<Value = Vec<Shown>> {
    let input = |text: &str| Shown {
        message: Message::User { content: vec![Content::Text { text: text.to_owned() }] },
        own: true,
    };
    let middle = vec((message(), any::<bool>()), 0..12);
    middle.prop_map(move |middle| {
        let mut shown = vec![input("go")];
        shown.extend(middle.into_iter().map(|(message, own)| Shown { message, own }));
        shown.push(input("on"));
        shown
    })
}

fn messages(shown: &[Shown]) -> Vec<&Message> {
    shown.iter().map(|shown| &shown.message).collect()
}

proptest! {
    /// KERN-23
    #[test]
    fn whatever_was_stored_every_rule_holds_after_repair(mut shown in conversation()) {
        enforce(&mut shown);
        prop_assert_eq!(check(&shown), []);
    }

    #[test]
    fn repair_is_idempotent_and_leaves_a_valid_view_as_it_is(mut shown in conversation()) {
        enforce(&mut shown);
        let once = shown.clone();
        prop_assert_eq!(enforce(&mut shown), []);
        prop_assert_eq!(shown, once);
    }

    /// Each repair alone, too: what it makes of a conversation it leaves alone.
    #[test]
    fn each_rule_is_content_with_its_own_repair(shown in conversation()) {
        let mut before = shown;
        for rule in &RULES {
            let mut mended = before.clone();
            match rule.repair {
                Repair::InPlace(mend) => mend(&mut mended),
                Repair::Rebuild(mend) => mend(&mut mended),
                Repair::None => {}
            }
            prop_assert_eq!(rule.violations(&mended), [], "{}", rule.name);
            if rule.violations(&before).is_empty() {
                let (after, before) = (messages(&mended), messages(&before));
                prop_assert_eq!(after, before, "{} changed a valid view", rule.name);
            }
            before = mended;
        }
    }

    #[test]
    fn no_call_is_lost_in_repair(mut shown in conversation()) {
        let calls_of = |shown: &[Shown]| shown.iter().map(|s| calls(s).len()).sum::<usize>();
        let before = calls_of(&shown);
        enforce(&mut shown);
        prop_assert_eq!(calls_of(&shown), before);
    }
}
