use pretty_assertions::assert_eq;
use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::process::Exit;

fn own() -> FlowBranch {
    FlowBranch::new("fix").unwrap()
}

fn name(name: &str) -> RefName {
    RefName::parse(name).unwrap()
}

/// CODE-05
#[rstest]
#[case("main")]
#[case("Main")]
#[case("refs/heads/main")]
#[case("heads/main")]
#[case("origin/main")]
#[case("+main")]
#[case("HEAD:main")]
#[case("flow/fix:main")]
#[case("+flow/fix:refs/heads/main")]
#[case("refs/heads/flow/fix:refs/heads/main")]
#[case(":main")]
fn the_target_is_refused_however_it_is_spelt(#[case] asked: &str) {
    let expected = PushRefusal::TargetBranch { own: "flow/fix".to_owned() };
    assert_eq!(refusal(asked, &own(), &name("main")), Some(expected.clone()));
    assert_eq!(refusal(asked, &own(), &name("refs/heads/main")), Some(expected));
}

/// CODE-05
#[rstest]
#[case("other")]
#[case("flow/fix2")]
#[case("flow/fix:other")]
#[case("--all")]
#[case("")]
#[case("refs/tags/v1")]
#[case("flow/fix:flow/fix")]
fn nothing_but_the_own_branch_is_pushed(#[case] asked: &str) {
    let expected = PushRefusal::NotOwnBranch { own: "flow/fix".to_owned() };
    assert_eq!(refusal(asked, &own(), &name("main")), Some(expected));
}

/// CODE-05
#[test]
fn the_own_branch_is_pushed_unless_it_is_the_target() {
    assert_eq!(refusal("flow/fix", &own(), &name("main")), None);
    assert_eq!(refusal("refs/heads/flow/fix", &own(), &name("main")), None);
    assert!(refusal("flow/fix", &own(), &name("flow/fix")).is_some());
}

#[rstest]
#[case(" \tabc:refs/heads/flow/fix\tabc..def", Some(Outcome::Done))]
#[case("+\tabc:refs/heads/flow/fix\tabc...def (forced update)", Some(Outcome::Done))]
#[case("*\tabc:refs/heads/flow/fix\t[new branch]", Some(Outcome::Done))]
#[case("=\tabc:refs/heads/flow/fix\t[up to date]", Some(Outcome::WasThere))]
#[case(
    "!\tabc:refs/heads/flow/fix\t[rejected] (stale info)",
    Some(Outcome::Rejected("[rejected] (stale info)".to_owned()))
)]
#[case("!\tabc:refs/heads/other\t[rejected] (stale info)", None)]
#[case("Done", None)]
fn the_line_of_the_branch_says_what_became_of_it(
    #[case] line: &str,
    #[case] expected: Option<Outcome>,
) {
    let stdout = format!("To ssh://git@host/x\n{line}\nDone\n");
    assert_eq!(outcome(stdout.as_bytes(), "refs/heads/flow/fix"), expected);
}

#[test]
fn a_refusal_of_the_host_is_told_in_its_words() {
    let pushed = |stderr: &str| Captured {
        exit: Exit::Status(1),
        stdout: Vec::new(),
        stdout_bytes: 0,
        stderr: stderr.to_owned(),
    };
    let hook = pushed("remote: closed for today\nerror: failed to push some refs\n");
    let words = "closed for today ([remote rejected] (pre-receive hook declined))".to_owned();
    assert_eq!(
        rejection("[remote rejected] (pre-receive hook declined)", &hook),
        PushRefusal::Host { words }
    );
    assert_eq!(rejection("[rejected] (stale info)", &pushed("")), PushRefusal::Moved);
}

proptest! {
    /// CODE-05
    #[test]
    fn nothing_is_pushed_but_by_the_two_names_of_the_own_branch(asked in "\\PC{0,30}") {
        let legal = ["flow/fix", "refs/heads/flow/fix"].contains(&asked.trim());
        prop_assert_eq!(refusal(&asked, &own(), &name("main")).is_none(), legal);
    }

    #[test]
    fn no_bytes_make_the_parser_fail(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _outcome = outcome(&bytes, "refs/heads/flow/fix");
    }
}
