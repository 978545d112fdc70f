use pretty_assertions::assert_eq;
use proptest::prelude::*;
use rstest::rstest;

use super::*;

fn argv(command: &str) -> Vec<String> {
    command.split(' ').map(str::to_owned).collect()
}

/// A command in the root that leaves the tree as it is.
fn ran(command: &str, exit: i32, tree: &str) -> Event {
    ran_over(command, exit, Some(tree), Some(tree))
}

fn ran_over(command: &str, exit: i32, before: Option<&str>, after: Option<&str>) -> Event {
    Event::Command(Ran {
        argv: argv(command),
        folder: ".".to_owned(),
        exit: Some(exit),
        quiet: false,
        before: before.map(str::to_owned),
        after: after.map(str::to_owned),
    })
}

fn edited(path: &str) -> Event {
    Event::Edited(PathBuf::from(path))
}

fn gate(events: impl IntoIterator<Item = Event>) -> Gate {
    let mut gate = Gate::new(Some("start".to_owned()));
    for event in events {
        gate.take(event);
    }
    gate
}

fn verdict(events: impl IntoIterator<Item = Event>) -> Result<Pass, Closed> {
    gate(events).verdict(["main.go"])
}

fn checked(name: &str) -> Pass {
    Pass::Checked(name.to_owned())
}

/// CODE-18
#[test]
fn a_check_that_passes_after_the_last_edit_opens_the_gate() {
    let events = [edited("main.go"), ran("go test ./...", 0, "b")];
    assert_eq!(verdict(events), Ok(checked("go test ./...")));
}

/// CODE-18
#[test]
fn an_uncounted_command_does_not_open_the_gate() {
    for command in ["ls", "git status", "go run .", "make -n test", "go env", "npm install"] {
        assert!(verdict([edited("main.go"), ran(command, 0, "b")]).is_err(), "{command}");
    }
}

/// CODE-18
#[test]
fn a_failing_check_does_not_open_the_gate() {
    assert!(verdict([edited("main.go"), ran("go test ./...", 1, "b")]).is_err());
    let stopped = Event::Command(Ran {
        argv: argv("go test ./..."),
        folder: ".".to_owned(),
        exit: None,
        quiet: true,
        before: Some("b".to_owned()),
        after: Some("b".to_owned()),
    });
    assert!(verdict([edited("main.go"), stopped]).is_err());
}

/// CODE-18
#[test]
fn an_earlier_pass_does_not_open_the_gate() {
    let closed = verdict([ran("go test", 0, "start"), edited("main.go")]).unwrap_err();
    let said = "completed needs a check that passed after the last edit, and there is none. \
                `go test` passed, but main.go was edited: run it again. Checks are go test";
    assert!(closed.to_string().starts_with(said), "{closed}");
}

/// CODE-18
#[test]
fn a_later_failure_of_a_check_closes_the_gate_again() {
    let failure =
        |command| vec![edited("main.go"), ran("go test ./...", 0, "b"), ran(command, 1, "b")];
    for command in ["go test ./...", "go test -count=1 ./...", "npm test"] {
        let closed = verdict(failure(command)).unwrap_err().to_string();
        assert!(closed.contains(&format!("The newest, `{command}`, did not pass")), "{closed}");
        let mut again = failure(command);
        again.push(ran("go test ./...", 0, "b"));
        assert_eq!(verdict(again), Ok(checked("go test ./...")));
    }
}

/// CODE-18
#[test]
fn a_build_that_passes_does_not_cover_for_a_test_that_fails_after_it() {
    let events = [edited("main.go"), ran("go build ./...", 0, "b"), ran("go test ./...", 1, "b")];
    assert!(verdict(events).is_err());
}

/// CODE-18
#[test]
fn a_check_that_does_not_exist_does_not_close_the_gate_for_ever() {
    let gate = gate([edited("a.ts"), ran("npm test", 1, "b"), ran("npx tsc --noEmit", 0, "b")]);
    assert_eq!(gate.verdict(["a.ts"]), Ok(checked("npx tsc --noEmit")));
    // It stays in the report.
    let failed: Vec<String> = gate.failed().into_iter().map(|outcome| outcome.name).collect();
    assert_eq!(failed, ["npm test"]);
}

#[test]
fn the_same_check_in_another_folder_is_another_check() {
    let elsewhere = Event::Command(Ran {
        argv: argv("go test ./..."),
        folder: "tools".to_owned(),
        exit: Some(1),
        quiet: false,
        before: Some("b".to_owned()),
        after: Some("b".to_owned()),
    });
    let gate = gate([edited("main.go"), elsewhere, ran("go test ./...", 0, "b")]);
    let names: Vec<String> = gate.results().into_iter().map(|outcome| outcome.name).collect();
    assert_eq!(names, ["go test ./... (in tools)", "go test ./..."]);
}

/// CODE-18
#[test]
fn a_change_that_no_edit_tool_made_closes_the_gate() {
    // Between two commands, by a command, and found only when the task is finished.
    let between = [ran("go test", 0, "start"), ran("ls", 0, "b")];
    let by_command = [ran("go test", 0, "start"), ran_over("go fmt", 0, Some("start"), Some("b"))];
    let at_the_end = [ran("go test", 0, "start"), Event::TreeNow(Some("b".to_owned()))];
    for events in [between, by_command, at_the_end] {
        assert!(verdict(events.clone()).is_err(), "{events:?}");
    }
    let unchanged = [ran("go test", 0, "start"), Event::TreeNow(Some("start".to_owned()))];
    assert_eq!(verdict(unchanged), Ok(checked("go test")));
}

/// CODE-18
#[test]
fn a_check_that_changes_files_itself_must_run_again() {
    let first = ran_over("npm run lint", 0, Some("b"), Some("c"));
    let closed = verdict([edited("a.js"), first.clone()]).unwrap_err().to_string();
    assert!(closed.contains("`npm run lint` passed, but `npm run lint` changed files"), "{closed}");
    assert_eq!(
        verdict([edited("a.js"), first, ran("npm run lint", 0, "c")]),
        Ok(checked("npm run lint"))
    );
}

/// CODE-18
#[test]
fn a_tree_that_cannot_be_read_counts_as_changed() {
    for (before, after) in [(None, Some("b")), (Some("b"), None), (None, None)] {
        assert!(verdict([edited("a.go"), ran_over("go test", 0, before, after)]).is_err());
    }
    assert!(verdict([ran("go test", 0, "start"), Event::TreeNow(None)]).is_err());
    // Readable again, a check opens as ever, also when it was not at the start.
    let mut gate = Gate::new(None);
    gate.take(ran("go test", 0, "b"));
    assert_eq!(gate.verdict(["a.go"]), Ok(checked("go test")));
}

/// CODE-20
#[test]
fn gofmt_passes_only_when_it_has_nothing_to_say() {
    let format = |quiet| {
        Event::Command(Ran {
            argv: argv("gofmt -l ."),
            folder: ".".to_owned(),
            exit: Some(0),
            quiet,
            before: Some("b".to_owned()),
            after: Some("b".to_owned()),
        })
    };
    assert!(verdict([edited("a.go"), format(false)]).is_err());
    assert_eq!(verdict([edited("a.go"), format(true)]), Ok(checked("gofmt -l .")));
}

/// CODE-19
#[rstest]
#[case::documents(&["README.md", "docs/a.mdx", "notes.txt"], true)]
#[case::in_any_case(&["README.MD"], true)]
#[case::one_source(&["README.md", "main.go"], false)]
#[case::no_extension(&["LICENSE"], false)]
#[case::only_the_name(&[".md"], false)]
#[case::deleted_source(&["docs/a.md", "old.py"], false)]
#[case::renamed_from_source(&["notes.txt", "notes.sh"], false)]
#[case::alike(&["a.md.go"], false)]
fn documents_alone_need_no_check(#[case] changed: &[&str], #[case] waived: bool) {
    let verdict = gate([edited("a")]).verdict(changed);
    assert_eq!(verdict.ok(), waived.then_some(Pass::OnlyDocuments));
}

/// CODE-18, CODE-19
#[test]
fn where_nothing_was_changed_a_check_shows_that_nothing_had_to_be() {
    let closed = gate([]).verdict([""; 0]).unwrap_err().to_string();
    assert!(closed.starts_with("nothing was changed. completed needs a check"), "{closed}");
    let gate = gate([ran("go test", 0, "start")]);
    assert_eq!(gate.verdict([""; 0]), Ok(checked("go test")));
}

#[test]
fn a_hollow_check_is_told_why_it_does_not_count() {
    let closed = verdict([edited("a.go"), ran("make -n test", 0, "b")]).unwrap_err().to_string();
    assert!(
        closed.contains("`make -n test` does not count: -n may keep it from failing"),
        "{closed}"
    );
}

#[test]
fn the_newest_result_of_each_check_is_reported() {
    let gate = gate([
        ran("go test", 0, "start"),
        ran("go vet", 1, "start"),
        edited("a.go"),
        ran("go test", 1, "b"),
        ran("ls", 0, "b"),
    ]);
    let outcome = |name: &str, since_last_edit| Outcome {
        name: name.to_owned(),
        kind: name.to_owned(),
        passed: false,
        since_last_edit,
    };
    assert_eq!(gate.results(), [outcome("go vet", false), outcome("go test", true)]);
    assert_eq!(gate.failed(), gate.results());
}

#[test]
fn names_and_number_of_results_are_bounded() {
    let mut gate = Gate::new(None);
    for number in 0..150 {
        let filter = format!("{}{number}", "ü".repeat(300));
        gate.take(ran(&format!("go test -run {filter}"), 0, "a"));
    }
    assert!(gate.results().len() <= MOST_OUTCOMES);
    assert!(gate.results().iter().all(|outcome| outcome.name.len() <= LONGEST_NAME));
}

#[test]
fn edits_of_the_tools_are_taken_once() {
    let log = EditLog::default();
    let mut gate = Gate::new(Some("start".to_owned()));
    log.record(Path::new("a.go"), crate::Change::Changed);
    gate.catch_up(&log);
    gate.take(ran("go test", 0, "b"));
    gate.catch_up(&log);
    assert_eq!(gate.verdict(["a.go"]), Ok(checked("go test")));
    log.record(Path::new("a.go"), crate::Change::Deleted);
    gate.catch_up(&log);
    assert!(gate.verdict(["a.go"]).is_err());
}

fn tree() -> impl Strategy<Value = Option<String>> {
    proptest::option::weighted(0.9, "[ab]")
}

fn event() -> impl Strategy<Value = Event> {
    let command = prop_oneof![
        Just("go test"),
        Just("go vet"),
        Just("go test -short"),
        Just("ls"),
        Just("gofmt -l .")
    ];
    let ran = (command, 0..2, any::<bool>(), tree(), tree(), any::<bool>()).prop_map(
        |(command, exit, quiet, before, after, same)| {
            let after = if same { before.clone() } else { after };
            let folder = ".".to_owned();
            Event::Command(Ran {
                argv: argv(command),
                folder,
                exit: Some(exit),
                quiet,
                before,
                after,
            })
        },
    );
    prop_oneof![
        1 => Just(edited("a.go")),
        6 => ran,
        1 => tree().prop_map(Event::TreeNow),
    ]
}

/// The rule, said once more without state: the newest check passed, on a tree that it
/// left as it was, and neither an edit nor another tree has come after it.
fn is_open(events: &[Event]) -> bool {
    let check = |event: &Event| match event {
        Event::Command(ran) => commands::counted(&ran.argv),
        Event::Edited(_) | Event::TreeNow(_) => None,
    };
    let Some(at) = events.iter().rposition(|event| check(event).is_some()) else { return false };
    let (Event::Command(ran), Some(check)) = (&events[at], check(&events[at])) else {
        return false;
    };
    let Some(tree) = ran.before.as_ref().filter(|_| ran.before == ran.after) else { return false };
    ran.exit == Some(0)
        && (ran.quiet || !check.quiet)
        && events[at + 1..].iter().all(|later| match later {
            Event::Edited(_) => false,
            Event::TreeNow(now) => now.as_ref() == Some(tree),
            Event::Command(later) => {
                later.before.as_ref() == Some(tree) && later.after.as_ref() == Some(tree)
            }
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// CODE-18
    #[test]
    fn the_gate_is_open_exactly_when_the_rule_says_so(
        events in proptest::collection::vec(event(), 0..12)
    ) {
        let open = verdict(events.clone()).is_ok();
        prop_assert_eq!(open, is_open(&events), "{:?}", events);
    }

    /// CODE-18
    #[test]
    fn an_edit_at_the_end_always_closes_the_gate(
        mut events in proptest::collection::vec(event(), 0..12)
    ) {
        events.push(edited("a.go"));
        prop_assert!(verdict(events).is_err());
    }

    #[test]
    fn a_stored_gate_goes_on_as_it_was(events in proptest::collection::vec(event(), 0..12), then in event()) {
        let mut gate = gate(events);
        let stored = serde_json::to_string(&gate).unwrap();
        let mut restored: Gate = serde_json::from_str(&stored).unwrap();
        gate.take(then.clone());
        restored.take(then);
        prop_assert_eq!(gate, restored);
    }
}
