//! The rules over random conversations, as a careless store could hold them.

use std::borrow::Cow;

use foundry_llm::{Content, ToolCall};
use proptest::collection::vec;
use proptest::prelude::*;

use super::super::*;
use super::signed;
use crate::view::Answer;

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

fn some_results() -> impl Strategy<Value = Vec<Answer<'static>>> {
    let result = (id(), text(), any::<bool>()).prop_map(|(call_id, content, is_error)| Answer {
        call_id: Cow::Owned(call_id),
        name: Cow::Borrowed("echo"),
        content: Cow::Owned(content),
        is_error,
    });
    vec(result, 0..4)
}

fn said() -> impl Strategy<Value = Said<'static>> {
    let said_text = proptest::option::of(proptest::sample::select(vec!["so", "well", "", " \n"]));
    let reasoning = prop_oneof![Just([].as_slice()), Just(signed())];
    prop_oneof![
        vec(text().prop_map(|text| Content::Text { text }), 0..3)
            .prop_map(|content| Said::User { content: Cow::Owned(content) }),
        (said_text, reasoning, some_calls()).prop_map(|(text, reasoning, calls)| {
            Said::Assistant { text, reasoning, calls: Cow::Owned(calls) }
        }),
        some_results().prop_map(|results| Said::Results { results }),
    ]
}

/// Between an input and an input, for a run always sees to its two ends.
fn conversation() -> impl Strategy<Value = Vec<Shown<'static>>> {
    let input = |text: &str, entry| Shown { said: Said::user(text), own: true, entry };
    let middle = vec((said(), any::<bool>()), 0..12);
    middle.prop_map(move |middle| {
        let mut shown = vec![input("go", 0)];
        for (said, own) in middle {
            shown.push(Shown { said, own, entry: shown.len() });
        }
        shown.push(input("on", shown.len()));
        shown
    })
}

fn all_said<'s>(shown: &'s [Shown<'static>]) -> Vec<&'s Said<'static>> {
    shown.iter().map(|shown| &shown.said).collect()
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
                let (after, before) = (all_said(&mended), all_said(&before));
                prop_assert_eq!(after, before, "{} changed a valid view", rule.name);
            }
            before = mended;
        }
    }

    #[test]
    fn no_call_is_lost_in_repair(mut shown in conversation()) {
        let calls_of = |shown: &[Shown<'_>]| shown.iter().map(|s| calls(s).len()).sum::<usize>();
        let before = calls_of(&shown);
        enforce(&mut shown);
        prop_assert_eq!(calls_of(&shown), before);
    }

    /// What is left behind a cut, with a user message before it, and what is taken away,
    /// with a user message behind it, need no repair.
    #[test]
    fn a_cut_that_all_rules_allow_leaves_a_view_that_all_rules_accept(
        mut shown in conversation()
    ) {
        let log = shown.len();
        enforce(&mut shown);
        let cuts = legal_cuts(&shown, log);
        prop_assert_eq!(cuts.last(), Some(&Cut { at: shown.len(), covers: log }));
        for Cut { at, covers } in cuts {
            let (before, behind) = shown.split_at(at);
            prop_assert!(before.iter().all(|message| message.entry < covers));
            prop_assert!(behind.iter().all(|message| message.entry >= covers));
            let between = Shown { said: Said::user("digest"), own: false, entry: covers };
            let mut left = vec![between.clone()];
            left.extend_from_slice(behind);
            prop_assert_eq!(check(&left), [], "behind the cut at {}", at);
            let mut taken = before.to_vec();
            taken.push(between);
            prop_assert_eq!(check(&taken), [], "before the cut at {}", at);
        }
    }
}
