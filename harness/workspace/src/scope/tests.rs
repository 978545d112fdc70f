use pretty_assertions::assert_eq;
use rstest::rstest;

use super::*;

fn scope(prefixes: &[&str]) -> Scope {
    let prefixes: Vec<String> = prefixes.iter().map(ToString::to_string).collect();
    Scope::new(&prefixes).unwrap()
}

/// CODE-10
#[rstest]
#[case::root("", Standing::Above)]
#[case::on_the_way("services", Standing::Above)]
#[case::the_prefix("services/api", Standing::Inside)]
#[case::beneath("services/api/main.go", Standing::Inside)]
#[case::name_that_only_begins_alike("services/apidocs/x", Standing::Outside)]
#[case::beside("services/web", Standing::Outside)]
#[case::a_file("README.md", Standing::Inside)]
#[case::elsewhere("x", Standing::Outside)]
fn a_prefix_permits_itself_and_what_is_beneath(#[case] path: &str, #[case] wanted: Standing) {
    assert_eq!(scope(&["services/api/", "./README.md"]).standing(Path::new(path)), wanted);
}

#[test]
fn without_prefixes_or_with_the_root_all_is_permitted() {
    for scope in [scope(&[]), scope(&["src", "."])] {
        assert_eq!(scope.standing(Path::new("any/where")), Standing::Inside);
    }
}

#[rstest]
#[case("")]
#[case("/etc")]
#[case("a/../../b")]
#[case(".git")]
#[case("sub/.Git/hooks")]
fn a_prefix_that_leads_out_is_refused(#[case] prefix: &str) {
    assert!(Scope::new(&[prefix.to_owned()]).is_err());
}
