use pretty_assertions::assert_eq;

use super::*;
use crate::policy::fit::scenes::{call, conversation, result, texts, user};
use crate::view::{Conversation, view_of};

fn skill(letter: char, chars: usize) -> String {
    letter.to_string().repeat(chars)
}

/// Loads of skills, in this order, all older than the stubs that cover them.
fn loads(skills: &[String]) -> Vec<Entry> {
    let mut log = vec![user("go")];
    for (n, skill) in skills.iter().enumerate() {
        log.push(call(&format!("load{n}"), "load_skill", &format!(r#"{{"name":"skill{n}"}}"#)));
        log.push(result(&format!("load{n}"), "load_skill", skill));
    }
    log.push(Entry::Stubs { covers: log.len() });
    log
}

fn shown(log: &[Entry]) -> Vec<String> {
    let stays: &dyn Fn(&str) -> bool = &|name| name == "load_skill";
    let seen = view_of(&Conversation { stays, ..conversation(log) });
    texts(&seen.messages).into_iter().filter(|text| !text.starts_with('{')).skip(1).collect()
}

/// SKILL-13
#[test]
fn loaded_skills_stay_whole_and_other_results_become_stubs() {
    let mut log = vec![user("go"), call("1", "read_file", r#"{"path":"a"}"#)];
    log.push(result("1", "read_file", &skill('r', 9_000)));
    log.extend([call("2", "load_skill", "{}"), result("2", "load_skill", &skill('s', 9_000))]);
    log.push(Entry::Stubs { covers: 5 });
    let shown = shown(&log);
    assert!(shown[0].starts_with("[left out to save space: read_file a"), "{}", shown[0]);
    assert_eq!(shown[1], skill('s', 9_000));
}

/// SKILL-13
#[test]
fn the_newest_skills_stay_within_24000_characters_in_all() {
    let skills = [skill('a', 10_000), skill('b', 10_000), skill('c', 10_000)];
    let shown = shown(&loads(&skills));
    assert_eq!(shown[1..], skills[1..]);
    assert_eq!(shown[0].chars().count(), 4_000);
    assert!(shown[0].starts_with("aaa") && shown[0].contains("the rest is left out"));
    let all: usize = shown.iter().map(|text| text.chars().count()).sum();
    assert_eq!(all, 24_000);
}

/// SKILL-13
#[test]
fn the_budget_counts_characters_and_not_bytes() {
    let skills = [skill('é', 12_000), skill('ö', 12_000)];
    assert_eq!(shown(&loads(&skills)), skills);
}

#[test]
fn a_beginning_too_short_to_be_of_use_is_not_kept() {
    let shown = shown(&loads(&[skill('a', 5_000), skill('b', 23_500)]));
    assert!(shown[0].starts_with("[left out to save space: load_skill skill0"), "{}", shown[0]);
}

#[test]
fn of_a_skill_that_was_loaded_twice_the_newest_copy_stays() {
    let shown = shown(&loads(&[skill('a', 5_000), skill('b', 5_000), skill('a', 5_000)]));
    assert!(shown[0].starts_with("[left out"), "{}", shown[0]);
    assert_eq!(shown[1..], [skill('b', 5_000), skill('a', 5_000)]);
}

#[test]
fn what_no_stub_covers_takes_nothing_of_the_budget() {
    let mut log = loads(&[skill('a', 20_000)]);
    log.extend([call("9", "load_skill", "{}"), result("9", "load_skill", &skill('b', 20_000))]);
    assert_eq!(shown(&log), [skill('a', 20_000), skill('b', 20_000)]);
}
