use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;

#[test]
fn an_item_keeps_its_number_whatever_becomes_of_the_others() {
    let mut todos = Todos::default();
    assert_eq!(todos.add("  read\n the code "), Ok(1));
    assert_eq!(todos.add("write the test"), Ok(2));
    todos.set(1, Status::Dropped).unwrap();
    todos.set(2, Status::InProgress).unwrap();
    assert_eq!(todos.add("make it pass"), Ok(3));
    let shown =
        "1. [dropped] read the code\n2. [in_progress] write the test\n3. [open] make it pass";
    assert_eq!(todos.to_string(), shown);
    assert_eq!(todos.left().map(|(number, _)| number).collect::<Vec<_>>(), [2, 3]);
}

#[test]
fn an_empty_list_says_so() {
    assert_eq!(Todos::default().to_string(), "The task list is empty.");
}

#[test]
fn what_cannot_be_done_is_said_and_changes_nothing() {
    let mut todos = Todos::with_limit(1);
    assert_eq!(todos.add(" \n"), Err(TodoError::NoTitle));
    assert_eq!(todos.add(&"é".repeat(301)), Err(TodoError::LongTitle(301)));
    todos.add(&"é".repeat(300)).unwrap();
    let before = todos.clone();
    assert_eq!(todos.add("one more"), Err(TodoError::Full(1)));
    for number in [0, 2, usize::MAX] {
        assert_eq!(todos.set(number, Status::Done), Err(TodoError::NoSuchItem(number)));
    }
    assert_eq!(todos, before);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_list_stays_bounded_and_is_stored_as_it_is(
        titles in prop::collection::vec((prop::sample::select(vec!["x", "é", " ", "a\n"]), 0_usize..400), 0..150),
    ) {
        let titles: Vec<String> = titles.into_iter().map(|(part, times)| part.repeat(times)).collect();
        let mut todos = Todos::default();
        for title in &titles {
            let number = todos.add(title);
            prop_assert!(number.is_err() || number == Ok(todos.items().len()));
        }
        prop_assert!(todos.items().len() <= 100);
        prop_assert!(todos.items().iter().all(|todo| todo.title.chars().count() <= 300));
        prop_assert_eq!(todos.to_string().lines().count(), todos.items().len().max(1));
        let stored = serde_json::to_string(&todos).unwrap();
        prop_assert_eq!(serde_json::from_str::<Todos>(&stored).unwrap(), todos);
    }
}
