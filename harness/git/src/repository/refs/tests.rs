use pretty_assertions::assert_eq;
use proptest::prelude::*;
use rstest::rstest;

use super::*;

fn id(digit: char) -> ObjectId {
    ObjectId::parse(&digit.to_string().repeat(40)).unwrap()
}

fn listed() -> Vec<u8> {
    let line = |name: &str, object: char, peeled: &str, symbolic: &str| {
        format!("{name}\0{}\0{peeled}\0{symbolic}\n", id(object))
    };
    [
        line("refs/remotes/origin/HEAD", 'a', "", "refs/remotes/origin/main"),
        line("refs/remotes/origin/main", 'a', "", ""),
        line("refs/remotes/origin/release", 'b', "", ""),
        line("refs/remotes/origin/release/old", 'c', "", ""),
        line("refs/remotes/origin/flow/fix", 'd', "", ""),
        line("refs/tags/v1", 'e', &"f".repeat(40), ""),
        line("refs/tags/release", 'e', "", ""),
    ]
    .concat()
    .into_bytes()
}

fn find(
    refs: &[Ref],
    base: Option<&str>,
    default: Option<&str>,
) -> Result<(String, ObjectId, Option<String>), GitError> {
    let parse = |name: Option<&str>| name.map(|name| RefName::parse(name).unwrap());
    let (base, default) = (parse(base), parse(default));
    let branch = FlowBranch::new("fix").unwrap();
    let wanted = Wanted {
        remote: "git@host:x",
        base_ref: base.as_ref(),
        default_ref: default.as_ref(),
        branch: &branch,
    };
    let found = wanted.find(refs)?;
    assert_eq!(found.own_branch, Some(id('d')));
    Ok((found.base.name, found.base.commit, found.default_branch.map(|name| name.to_string())))
}

/// CODE-02
#[rstest]
#[case::head(None, None, "main", 'a', "main")]
#[case::default(None, Some("release"), "release", 'b', "release")]
#[case::base_wins(Some("main"), Some("release"), "main", 'a', "release")]
#[case::tag(Some("v1"), None, "v1", 'f', "main")]
#[case::branch_before_tag(Some("release"), None, "release", 'b', "main")]
#[case::whole_tag(Some("refs/tags/release"), None, "release", 'e', "main")]
#[case::whole_branch(Some("refs/heads/release/old"), None, "release/old", 'c', "main")]
#[case::named_head(Some("HEAD"), None, "HEAD", 'a', "main")]
fn base_comes_before_default_and_default_before_head(
    #[case] base: Option<&str>,
    #[case] default: Option<&str>,
    #[case] name: &str,
    #[case] commit: char,
    #[case] target: &str,
) {
    let found = find(&parse(&listed()), base, default).unwrap();
    assert_eq!(found, (name.to_owned(), id(commit), Some(target.to_owned())));
}

/// CODE-02
#[rstest]
#[case::base(Some("gone"), None, "gone")]
#[case::default(None, Some("gone"), "gone")]
#[case::default_is_a_tag(Some("main"), Some("v1"), "v1")]
fn a_missing_ref_is_named(
    #[case] base: Option<&str>,
    #[case] default: Option<&str>,
    #[case] missing: &str,
) {
    let error = find(&parse(&listed()), base, default).unwrap_err();
    assert_eq!(error.category(), "RefNotFound");
    let words = error.to_string();
    assert!(words.starts_with(&format!("git@host:x has no branch or tag {missing}: ")), "{words}");
}

/// CODE-02
#[test]
fn an_empty_remote_has_no_head() {
    let error = find(&[], None, None).unwrap_err();
    assert!(error.to_string().contains("push a first commit"), "{error}");
}

/// CODE-02
#[test]
fn a_remote_whose_head_is_on_no_branch_needs_a_name() {
    let listed = format!("refs/remotes/origin/HEAD\0{}\0\0\n", id('a'));
    assert_eq!(find(&parse(listed.as_bytes()), None, None).unwrap_err().category(), "RefNotFound");
}

proptest! {
    #[test]
    fn no_bytes_make_the_parser_fail(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _parsed = parse(&bytes);
    }
}
