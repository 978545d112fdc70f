//! The rules for git, held against git itself.

use std::process::Command;

use foundry_workspace::commands::Policy;
use pretty_assertions::assert_eq;

fn git(folder: &std::path::Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn may_run(words: &[&str]) -> bool {
    let argv: Vec<String> = words.iter().map(ToString::to_string).collect();
    Policy::default().check(&argv).is_ok()
}

/// CODE-05
#[test]
fn no_alias_of_the_clone_can_run() {
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &["init", "--quiet"]);
    // What git knows itself it runs whatever an alias says; any other word may be one.
    let own = git(folder.path(), &["--list-cmds=main"]);
    let own: Vec<&str> = own.lines().collect();
    let words = "add annotate apply archive bisect blame branch bundle cat-file checkout cherry-pick \
                 clean clone commit config describe diff fetch gc grep log merge mv notes pull push \
                 rebase reflog remote reset restore revert rm show stash status submodule switch tag \
                 worktree ship publish up pushf p";
    for word in words.split(' ') {
        if may_run(&["git", word]) {
            assert!(own.contains(&word), "git {word} may run, and could be an alias");
        }
        // An alias of that name is not looked at.
        let setting = format!("alias.{word}=push");
        assert!(!may_run(&["git", "-c", &setting, word]), "{setting}");
    }
    assert!(!may_run(&["git", "ship"]) && may_run(&["git", "status"]));
}

/// CODE-05
#[test]
fn a_setting_that_is_refused_would_have_been_set() {
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &["init", "--quiet"]);
    let cases = [
        (["config", "alias.a", "push"], "alias.a", "push"),
        (["config", "alias.b", "--get"], "alias.b", "--get"),
        (["config", "core.hooksPath", "x"], "core.hookspath", "x"),
    ];
    for (arguments, key, value) in cases {
        let words = [&["git"], &arguments[..]].concat();
        assert!(!may_run(&words), "{words:?}");
        git(folder.path(), &arguments);
        assert_eq!(git(folder.path(), &["config", "--get", key]).trim(), value);
    }
}
