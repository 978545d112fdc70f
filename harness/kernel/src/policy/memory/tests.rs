use pretty_assertions::assert_eq;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::policy::fit::scenes::{FORM, assistant, call, reads, result, tells, user};
use crate::view::{View, view, violations};

/// Turns of a chat, each a question, a look and an answer: five records, places from 10.
fn turns(count: usize, bytes: usize) -> Vec<Record> {
    let turn = |n: usize| {
        let id = format!("c{n}");
        [
            user(&format!("question {n}")),
            call(&id, "get_file", r#"{"path":"notes.md"}"#),
            result(&id, "get_file", &"x".repeat(bytes)),
            assistant(&format!("answer {n}")),
        ]
    };
    number((0..count).flat_map(turn).collect())
}

/// Places rise and have gaps, as rows have.
fn number(entries: Vec<Entry>) -> Vec<Record> {
    (5_u64..).step_by(2).zip(entries).collect()
}

fn replayed(memory: Option<&Memory>, records: &[Record]) -> View {
    let mut log = replay(memory, records);
    let began = log.len();
    log.push(user("and now?"));
    let seen = view(&log, began);
    assert_eq!(violations(&seen), []);
    assert_eq!(seen.repaired, []);
    seen
}

fn folded(memory: Option<&Memory>, records: &[Record]) -> Memory {
    Folding::due(memory, records).expect("due").accept(Some(FORM)).expect("taken")
}

/// KERN-32
#[test]
fn a_replay_within_100000_characters_is_left_alone() {
    assert_eq!(Folding::due(None, &turns(12, 8_000)), None);
    assert!(Folding::due(None, &turns(13, 8_000)).is_some());
}

/// KERN-32
#[test]
fn records_older_than_the_newest_20_are_folded_where_a_person_speaks() {
    let records = turns(13, 8_000); // 52 records; 20 stay: up to turn 8, which begins at 32
    let memory = folded(None, &records);
    assert_eq!(memory, Memory { memory: FORM.into(), memory_through_seq: records[31].0 });
}

/// KERN-32
#[test]
fn the_boundary_lies_before_the_newest_20_even_inside_a_turn() {
    let mut records = turns(13, 8_000);
    records.pop(); // 51 records: the 20 newest begin in the middle of turn 7
    let memory = folded(None, &records);
    assert_eq!(memory.memory_through_seq, records[27].0);
}

/// KERN-33
#[test]
fn the_next_turn_replays_the_digest_and_the_records_it_does_not_cover() {
    let records = turns(13, 8_000);
    let memory = folded(None, &records);
    let seen = replayed(Some(&memory), &records);
    assert_eq!(seen.messages.len(), 1 + 20 + 1);
    assert!(tells(&seen, FORM) && tells(&seen, "question 8") && tells(&seen, "and now?"));
    assert!(!tells(&seen, "question 7"));
    assert_eq!(Folding::due(Some(&memory), &records), None, "short again");
}

/// KERN-32
#[test]
fn a_second_digest_is_seeded_with_the_first() {
    let mut records = turns(13, 8_000);
    let first = folded(None, &records);
    let more = turns(26, 8_000).split_off(52);
    records.extend(more);
    let due = Folding::due(Some(&first), &records).expect("due");
    assert!(due.request.contains(&format!("<noted>\n{FORM}\n</noted>")));
    assert!(!due.request.contains("question 7") && due.request.contains("question 8"));
    let second = due.accept(Some(FORM)).expect("taken");
    assert_eq!(second.memory_through_seq, records[83].0);
}

#[test]
fn the_request_asks_for_the_form_and_tells_every_record_within_its_bound() {
    let due = Folding::due(None, &turns(400, 8_000)).expect("due");
    assert!(due.request.contains("\n## Exact next action\n"));
    assert!(due.request.contains("user: question 0\n") && due.request.contains("answer 300"));
    assert!(due.request.len() < 205_000, "{}", due.request.len());
}

/// KERN-33
#[test]
fn when_the_summariser_declines_the_full_replay_stays() {
    let records = turns(13, 8_000);
    let due = || Folding::due(None, &records).expect("due");
    assert_eq!(due().accept(None), None);
    assert_eq!(due().accept(Some("  \n")), None);
    assert_eq!(due().accept(Some("They talked about notes.")), None, "not the form");
    assert_eq!(due().accept(Some(&FORM.replace("## Decisions\n", ""))), None, "incomplete");
    let long = FORM.replace("the lexer", &"the lexer ".repeat(30_000));
    assert_eq!(due().accept(Some(&long)), None, "longer than what it replaces");
    assert_eq!(replayed(None, &records).messages.len(), 52 + 1);
}

#[test]
fn one_turn_that_is_long_by_itself_is_not_cut() {
    let mut log = vec![user("one question")];
    log.extend(reads(60, 4_000));
    log.push(assistant("one answer"));
    assert_eq!(Folding::due(None, &number(log)), None);
}

#[test]
fn few_records_are_never_folded_however_long() {
    assert_eq!(Folding::due(None, &turns(5, 200_000)), None);
}

/// A run's own folds and stubs count entries of its log; a digest shifts that log.
#[test]
fn marks_of_a_run_hold_in_the_same_replay_and_are_left_out_of_another() {
    let mut entries: Vec<Entry> = turns(13, 8_000).into_iter().map(|(_, entry)| entry).collect();
    entries.insert(51, Entry::Stubs { covers: 47 });
    entries.push(Entry::Fold { covers: 44, digest: "a run's own".into() });
    let records = number(entries);
    assert!(tells(&replayed(None, &records), "a run's own"));

    let memory = Memory { memory: FORM.into(), memory_through_seq: records[31].0 };
    let seen = replayed(Some(&memory), &records);
    assert_eq!(seen.messages.len(), 1 + 20 + 1);
    assert!(!tells(&seen, "a run's own") && !tells(&seen, "left out to save space"));
}

#[test]
fn a_digest_that_covers_everything_leaves_the_question_alone() {
    let records = turns(2, 10);
    let memory = Memory { memory: FORM.into(), memory_through_seq: records[7].0 };
    assert_eq!(replayed(Some(&memory), &records).messages.len(), 2);
}

/// Anything that a store could give back, in any order.
fn record() -> impl Strategy<Value = Entry> {
    let text = (0..9_000_usize, "[ -~é\n]{0,3}").prop_map(|(n, s)| format!("{s}{}", "é".repeat(n)));
    (0..8_u8, "[a-c]", text, 0..70_usize).prop_map(|(kind, id, text, covers)| match kind {
        0 | 1 => user(&text),
        2 | 3 => call(&id, "get_file", r#"{"path":"notes.md"}"#),
        4 | 5 => result(&id, "get_file", &text),
        6 => assistant(&text),
        _ if covers % 2 == 0 => Entry::Stubs { covers },
        _ => Entry::Fold { covers, digest: text },
    })
}

proptest! {
    /// KERN-32, KERN-33: whatever is stored, the newest 20 stay, digest after digest, and what
    /// is replayed breaks no rule.
    #[test]
    fn no_store_makes_a_digest_swallow_what_is_new(
        entries in vec(record(), 0..80),
        more in vec(record(), 0..40),
    ) {
        let mut records = number(entries);
        let mut memory: Option<Memory> = None;
        for added in [Vec::new(), more] {
            let last = records.last().map_or(5, |(seq, _)| *seq);
            records.extend((last + 1..).step_by(3).zip(added));
            if let Some(folding) = Folding::due(memory.as_ref(), &records) {
                let through = folding.through_seq;
                let kept = records.iter().filter(|(seq, _)| *seq > through).count();
                prop_assert!(kept >= 20, "{kept} kept");
                prop_assert!(memory.as_ref().is_none_or(|m| m.memory_through_seq < through));
                prop_assert!(folding.request.len() < 210_000 + FORM.len());
                memory = folding.accept(Some(FORM)).or(memory);
            }
            let mut log = replay(memory.as_ref(), &records);
            let began = log.len();
            log.push(user("and now?"));
            let found = violations(&view(&log, began));
            // A store that begins with the model is refused when a run is assembled.
            prop_assert!(found.iter().all(|one| one.rule == "ends_open" && one.at == 0), "{found:?}");
        }
    }
}
