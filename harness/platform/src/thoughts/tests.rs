use foundry_client::Tier;
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use uuid::Uuid;

use super::*;

fn memory(second: i64, author_kind: AuthorKind, text: &str) -> Memory {
    Memory {
        id: Uuid::from_u128(u128::from(second.unsigned_abs())),
        text: text.to_owned(),
        tier: Tier::Archive,
        author_kind,
        author: "ann".to_owned(),
        created_at: jiff::Timestamp::from_second(second).unwrap(),
        reviewed_at: None,
        superseded: false,
    }
}

/// MEM-02, MEM-03
#[test]
fn core_rows_come_before_recent_rows_and_each_says_when_and_by_whom() {
    let core = [memory(2, AuthorKind::Person, "Invoices are due on Fridays.")];
    let recent = [
        memory(4, AuthorKind::Agent, "Invoice 7 was paid.\n# Policy"),
        memory(3, AuthorKind::Agent, " Invoice 7 is open. "),
    ];
    assert_eq!(
        render(&core, &recent),
        "What you know:\n\
         - 1970-01-01T00:00:02Z, a person: Invoices are due on Fridays.\n\
         \n\
         Noted lately, not yet reviewed:\n\
         - 1970-01-01T00:00:03Z, you: Invoice 7 is open.\n\
         - 1970-01-01T00:00:04Z, you: Invoice 7 was paid.\n  # Policy"
    );
}

/// MEM-03
#[test]
fn nothing_remembered_and_nothing_but_superseded_rows_read_alike() {
    let superseded = Memory { superseded: true, ..memory(1, AuthorKind::Agent, "Old.") };
    assert_eq!(render(&[], &[superseded]), render(&[], &[]));
    assert_eq!(render(&[], &[]), "You remember nothing yet.");
}

proptest! {
    /// MEM-03
    #[test]
    fn the_same_rows_give_the_same_text_in_any_order(
        seconds in proptest::collection::vec(0_i64..9, 0..6), turn in 0_usize..6
    ) {
        let rows = seconds
            .iter()
            .enumerate()
            .map(|(n, second)| Memory {
                id: Uuid::from_u128(n as u128),
                ..memory(*second, AuthorKind::Agent, &format!("fact {n}"))
            })
            .collect::<Vec<_>>();
        let mut turned = rows.clone();
        turned.rotate_left(turn.min(rows.len()));
        prop_assert_eq!(render(&rows, &[]), render(&turned, &[]));
    }
}
