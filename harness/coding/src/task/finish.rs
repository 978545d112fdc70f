//! Whether a task may be called completed (CODE-18, CODE-19, CODE-32).

/// How the clone and its branch stand when the model wants to finish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Files outside the permitted paths that differ from the commit the branch started
    /// from, committed or not.
    pub forbidden: Vec<String>,
    /// Files that are not committed.
    pub uncommitted: Vec<String>,
    /// What the gate of checks says: nothing, or why not.
    pub gate: Option<String>,
    /// The working branch, when the commit that is checked out is not its newest.
    pub astray: Option<String>,
    /// Whether the branch at the remote is the newest commit.
    pub pushed: Need,
    /// Whether a pull request is open.
    pub pull_request: Need,
}

/// Something that a finish may need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Not in this run.
    NotNeeded,
    /// It is there.
    Met,
    /// It is missing.
    Missing,
}

/// What is missing to `completed`, each in words for the model; nothing when all is there.
/// A task that changed no file delivers nothing, but a check must show that nothing had to
/// be done.
pub fn missing(standing: &Standing) -> Vec<String> {
    let Standing { forbidden, uncommitted, gate, astray, pushed, pull_request } = standing;
    let paths = (!forbidden.is_empty()).then(|| {
        format!(
            "files outside the permitted paths have changed; put them back: {}",
            list(forbidden)
        )
    });
    let commit = (!uncommitted.is_empty()).then(|| {
        format!(
            "changes are not committed; add and commit them with run_command: {}",
            list(uncommitted)
        )
    });
    let astray = astray.as_ref().map(|branch| {
        format!(
            "the commit that is checked out is not the newest of {branch}: git switch {branch}, \
             and bring the work there (git merge, git cherry-pick)"
        )
    });
    let push = (*pushed == Need::Missing)
        .then(|| "the newest commit is not pushed; call git_push".to_owned());
    let pull_request = (*pull_request == Need::Missing)
        .then(|| "no pull request is open; call open_pull_request".to_owned());
    [paths, gate.clone(), commit, astray, push, pull_request].into_iter().flatten().collect()
}

/// Files named in a sentence.
const NAMED: usize = 10;

/// Paths in a sentence, the first of them by name.
pub fn list(paths: &[String]) -> String {
    let named = paths.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match paths.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use rstest::rstest;

    use super::*;

    fn all_well() -> Standing {
        Standing {
            forbidden: Vec::new(),
            uncommitted: Vec::new(),
            gate: None,
            astray: None,
            pushed: Need::Met,
            pull_request: Need::Met,
        }
    }

    /// CODE-18, CODE-32
    #[rstest]
    #[case(all_well(), &[])]
    #[case(Standing { pushed: Need::NotNeeded, pull_request: Need::NotNeeded, ..all_well() }, &[])]
    #[case(Standing { gate: Some("no check passed after the last edit".to_owned()), ..all_well() }, &["no check passed"])]
    #[case(Standing { uncommitted: vec!["greet.go".to_owned()], ..all_well() }, &["not committed"])]
    #[case(Standing { astray: Some("flow/greet".to_owned()), ..all_well() }, &["git switch flow/greet"])]
    #[case(Standing { pushed: Need::Missing, ..all_well() }, &["git_push"])]
    #[case(Standing { pull_request: Need::Missing, ..all_well() }, &["open_pull_request"])]
    #[case(Standing { forbidden: vec!["x".to_owned()], ..all_well() }, &["outside the permitted paths"])]
    #[case(
        Standing { gate: Some("gate".to_owned()), uncommitted: vec!["a".to_owned()], pushed: Need::Missing, pull_request: Need::Missing, ..all_well() },
        &["gate", "not committed", "git_push", "open_pull_request"]
    )]
    fn completed_needs_check_commit_push_and_pull_request(
        #[case] standing: Standing,
        #[case] expected: &[&str],
    ) {
        let missing = missing(&standing);
        assert_eq!(missing.len(), expected.len(), "{missing:?}");
        for (words, part) in missing.iter().zip(expected) {
            assert!(words.contains(part), "{words} does not contain {part}");
        }
    }

    #[test]
    fn many_files_are_named_in_part() {
        let many = (0..25).map(|number| number.to_string()).collect();
        let words = missing(&Standing { uncommitted: many, ..all_well() }).join("");
        assert!(words.ends_with("0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 15 more"), "{words}");
    }
}
