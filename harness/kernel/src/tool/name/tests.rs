use pretty_assertions::assert_eq;
use proptest::prelude::*;
use rstest::rstest;

use super::*;

#[rstest]
#[case("github", "create_issue", "github__create_issue")]
#[case("my-server", "a", "my-server__a")]
fn a_legal_pair_of_names_is_joined(#[case] server: &str, #[case] tool: &str, #[case] name: &str) {
    assert_eq!(safe(server, tool), name);
}

#[rstest]
#[case("my server", "list files!")]
#[case("", "tool")]
#[case("server", "")]
#[case("größe", "maß")]
#[case("a__b", "c")]
#[case("a", "__b")]
#[case("a_", "b")]
fn any_other_pair_gets_a_mark(#[case] server: &str, #[case] tool: &str) {
    let name = safe(server, tool);
    assert!(is_legal(&name), "{name}");
    assert_eq!(name.rsplit("__").next().unwrap().len(), MARK, "{name}");
}

#[test]
fn names_that_differ_in_what_is_changed_or_cut_stay_apart() {
    let long = "x".repeat(100);
    let names = [
        safe("a b", "c"),
        safe("a_b", "c"),
        safe("a.b", "c"),
        safe("a", "b__c"),
        safe("a__b", "c"),
        safe("s", &format!("{long}1")),
        safe("s", &format!("{long}2")),
        safe("ab", "c!"),
        safe("a", "bc!"),
    ];
    for (at, name) in names.iter().enumerate() {
        assert!(is_legal(name), "{name}");
        assert!(!names[..at].contains(name), "{name} is there twice: {names:?}");
    }
}

/// A server that names its tool as another's marked name looks gains nothing.
#[test]
fn a_name_that_looks_marked_is_marked_itself() {
    let marked = safe("a b", "c");
    let (server, mark) = marked.split_once("__").unwrap();
    assert_ne!(safe(server, mark), marked);
    let (server, mark) = marked.rsplit_once("__").unwrap();
    assert_ne!(safe(server, mark), marked);
}

proptest! {
    #[test]
    fn every_name_is_legal_and_no_two_tools_share_one(
        one in ("[a_\\-. é]{0,6}", "[a_\\-. é]{0,6}"),
        other in ("[a_\\-. é]{0,6}", "[a_\\-. é]{0,6}"),
        long in ".{0,80}",
    ) {
        let (first, second) = (safe(&one.0, &one.1), safe(&other.0, &other.1));
        prop_assert!(is_legal(&first) && is_legal(&second) && is_legal(&safe(&long, &one.0)));
        prop_assert_eq!(one == other, first == second, "{} {}", first, second);
        prop_assert_eq!(safe(&long, &one.1), safe(&long, &one.1));
    }
}
