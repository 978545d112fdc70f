use std::process::Command;

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use rstest::rstest;

use super::*;

/// CODE-02
#[rstest]
#[case::empty("")]
#[case::option("-x")]
#[case::upload_pack("--upload-pack=touch /tmp/x")]
#[case::blank("a b")]
#[case::newline("a\nb")]
#[case::other_blank("a\u{2003}b")]
#[case::revision("main~1")]
#[case::parents("main^")]
#[case::refspec("main:other")]
#[case::glob("rel*")]
#[case::backslash("a\\b")]
#[case::range("a..b")]
#[case::reflog("a@{1}")]
#[case::at("@")]
#[case::absolute("/main")]
#[case::folder("main/")]
#[case::gap("a//b")]
#[case::hidden("a/.b")]
#[case::dot("a.")]
#[case::lock("a.lock/b")]
fn what_git_would_misread_is_no_ref(#[case] name: &str) {
    assert!(RefName::parse(name).is_err());
}

/// CODE-02
#[rstest]
#[case("main")]
#[case("release/1.2")]
#[case("v1.0.0")]
#[case("refs/tags/v1")]
#[case("c++")]
#[case("über/größe")]
#[case("HEAD")]
#[case("a@b")]
fn names_of_branches_and_tags_are_refs(#[case] name: &str) {
    assert_eq!(RefName::parse(name).unwrap().as_str(), name);
}

#[test]
fn an_error_quotes_no_more_than_a_name_can_be_long() {
    let error = RefName::parse(&"x".repeat(100_000)).unwrap_err().to_string();
    assert!(error.len() < 400, "{}", error.len());
}

/// CODE-03
#[test]
fn the_branch_of_a_run_is_flow_and_its_slug() {
    assert_eq!(FlowBranch::new("fix-greeting").unwrap().as_str(), "flow/fix-greeting");
    assert!(FlowBranch::new("").is_err());
    assert!(FlowBranch::new("a b").is_err());
}

/// CODE-03
#[rstest]
#[case("Fix the greeting!", "fix-the-greeting")]
#[case("  -- ", "task")]
#[case("größer", "gr-er")]
#[case(
    "one two three four five six seven eight nine ten",
    "one-two-three-four-five-six-seven-eight"
)]
fn a_slug_is_the_first_words(#[case] words: &str, #[case] expected: &str) {
    assert_eq!(slug(words), expected);
}

/// CODE-05
#[rstest]
#[case("main")]
#[case("refs/heads/main")]
#[case("heads/main")]
#[case("origin/main")]
#[case("refs/remotes/origin/main")]
#[case("+main")]
#[case("HEAD:main")]
#[case("+HEAD:refs/heads/main")]
#[case(":main")]
#[case(" main ")]
fn a_branch_is_recognised_however_it_is_spelt(#[case] spelling: &str) {
    assert_eq!(meant(spelling), "main");
}

#[test]
fn an_id_is_whole_and_in_lower_case() {
    let id = "0123456789abcdef0123456789abcdef01234567";
    assert_eq!(ObjectId::parse(&format!("{id}\n")).unwrap().as_str(), id);
    assert_eq!(ObjectId::parse(&id[1..]), None);
    assert_eq!(ObjectId::parse(&id.to_uppercase()), None);
    assert_eq!(ObjectId::parse("--upload-pack=xxxxxxxxxxxxxxxxxxxxxxxxxxx"), None);
}

fn git_accepts(name: &str) -> bool {
    let mut git = Command::new("git");
    git.args(["check-ref-format", &format!("refs/heads/{name}")]).status().unwrap().success()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// CODE-02: what passes here passes git's own check too.
    #[test]
    fn a_legal_name_is_legal_to_git(name in "[-a-z./@{}~^:?*\\[\\\\ +#%=]{1,8}(\\.lock)?") {
        if RefName::parse(&name).is_ok() {
            prop_assert!(git_accepts(&name), "{name:?}");
            prop_assert!(!name.starts_with('-'));
        }
    }

    /// CODE-03: any words make a legal branch.
    #[test]
    fn any_words_make_a_branch(words in "\\PC{0,80}") {
        let slug = slug(&words);
        prop_assert!(slug.len() <= 40);
        prop_assert!(FlowBranch::new(&slug).is_ok());
    }

    /// CODE-05: a target is recognised whatever is put in front of it.
    #[test]
    fn prefixes_do_not_hide_a_branch(
        prefixes in prop::collection::vec(
            prop::sample::select(vec!["refs/heads/", "heads/", "refs/remotes/origin/", "origin/"]),
            0..4,
        ),
        source in prop::sample::select(vec!["", "+", "HEAD:", "+flow/x:", ":"]),
    ) {
        let spelling = format!("{source}{}main", prefixes.concat());
        prop_assert_eq!(meant(&spelling), "main");
    }
}
