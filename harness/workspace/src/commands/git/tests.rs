use rstest::rstest;

use super::*;

fn git(words: &[&str]) -> Result<(), String> {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    check(&words)
}

/// CODE-12
#[rstest]
#[case(&[])]
#[case(&["--version"])]
#[case(&["status", "--short"])]
#[case(&["-C", "sub", "--no-pager", "log", "-5", "--oneline"])]
#[case(&["add", "-A"])]
#[case(&["commit", "-am", "text"])]
#[case(&["commit", "-m", "--author=x is only text", "--no-verify"])]
#[case(&["commit", "--amend", "--no-edit"])]
#[case(&["commit", "--message", "--author", "--all"])]
#[case(&["checkout", "-b", "x"])]
#[case(&["diff", "main...HEAD", "--", "src"])]
#[case(&["fetch", "origin", "main:refs/remotes/origin/main"])]
#[case(&["rebase", "-i", "--autosquash", "main"])]
#[case(&["rebase", "--onto", "main", "a"])]
#[case(&["grep", "-n", "--or", "-e", "a"])]
#[case(&["stash", "pop"])]
#[case(&["remote", "-v"])]
#[case(&["remote", "get-url", "origin"])]
#[case(&["submodule", "update", "--init"])]
#[case(&["bisect", "start"])]
#[case(&["log", "-S", "a::b"])]
#[case(&["show", "HEAD:src/a.rs"])]
#[case(&["-c", "color.ui=always", "-c", "core.quotePath=false", "status"])]
#[case(&["-c", "core.pager=cat", "log"])]
#[case(&["config", "--get", "user.name"])]
#[case(&["config", "--list", "--show-origin"])]
#[case(&["config", "get", "remote.origin.url"])]
#[case(&["config", "user.email"])]
#[case(&["config", "pull.rebase", "true"])]
#[case(&["config", "set", "merge.conflictStyle", "zdiff3"])]
#[case(&["config", "--local", "--unset", "pull.rebase"])]
fn git_works_in_the_clone(#[case] words: &[&str]) {
    assert_eq!(git(words), Ok(()));
}

/// CODE-04
#[rstest]
#[case(&["commit", "--author=A <a@b>", "-m", "x"])]
#[case(&["commit", "--author", "A <a@b>", "-m", "x"])]
#[case(&["commit", "--auth", "A <a@b>"])]
#[case(&["commit", "-C", "HEAD~1"])]
#[case(&["commit", "-aC", "HEAD~1"])]
#[case(&["commit", "-c", "HEAD"])]
#[case(&["commit", "--reuse-message=HEAD"])]
#[case(&["-c", "user.name=x", "commit"])]
#[case(&["-c", "USER.email=x", "commit"])]
#[case(&["-c", "author.name=x", "commit"])]
#[case(&["config", "user.email", "x@y"])]
#[case(&["config", "set", "user.name", "x"])]
#[case(&["config", "--unset", "user.email"])]
#[case(&["am", "x.patch"])]
#[case(&["fast-import"])]
#[case(&["hash-object", "-t", "commit", "-w", "x"])]
fn nobody_elses_name_gets_into_a_commit(#[case] words: &[&str]) {
    assert!(git(words).is_err());
}

/// CODE-18: what is checked is what is pushed.
#[rstest]
#[case(&["replace", "HEAD~1", "HEAD"])]
#[case(&["update-index", "--assume-unchanged", "x.go"])]
#[case(&["update-index", "--skip-work", "x.go"])]
fn nothing_hides_a_change_from_git(#[case] words: &[&str]) {
    assert!(git(words).is_err());
}

#[rstest]
#[case(&["update-index", "--chmod=+x", "gradlew"])]
#[case(&["update-index", "--refresh"])]
fn the_index_may_be_kept(#[case] words: &[&str]) {
    assert_eq!(git(words), Ok(()));
}

/// CODE-05
#[rstest]
#[case::alias(&["x"])]
#[case::alias_of_an_alias(&["-c", "alias.y=x", "y"])]
#[case::setting_by_variable(&["--config-env=core.sshCommand=X", "fetch"])]
#[case::setting_by_variable_apart(&["--config-env", "alias.x=X", "x"])]
#[case::programs(&["--exec-path=/tmp", "status"])]
#[case::another_repository(&["--git-dir=/tmp/x/.git", "status"])]
#[case::another_repository_apart(&["--git-dir", "/tmp/x/.git", "status"])]
#[case::another_tree(&["--work-tree=/", "status"])]
#[case::unknown_option(&["--future", "status"])]
#[case::ssh(&["-c", "core.sshCommand=sh", "fetch"])]
#[case::hooks(&["-c", "core.hooksPath=x", "commit"])]
#[case::monitor(&["-c", "core.fsmonitor=x", "status"])]
#[case::pager(&["-c", "core.pager=sh", "log"])]
#[case::diff_program(&["-c", "diff.external=sh", "diff"])]
#[case::filter(&["-c", "filter.x.clean=sh", "add", "."])]
#[case::include(&["-c", "include.path=x", "status"])]
#[case::helper(&["-c", "credential.helper=!sh", "fetch"])]
#[case::address(&["-c", "url.ext::sh.insteadOf=x", "fetch"])]
#[case::config_alias(&["config", "alias.x", "!sh"])]
#[case::config_alias_new_form(&["config", "set", "alias.x", "push"])]
#[case::config_add(&["config", "--add", "core.hooksPath", "x"])]
#[case::config_ssh(&["config", "core.sshcommand", "sh"])]
#[case::config_monitor(&["config", "core.fsmonitor", "sh"])]
#[case::config_value_like_an_option(&["config", "alias.x", "--get"])]
#[case::config_rename(&["config", "--rename-section", "foo", "alias"])]
#[case::config_rename_begun(&["config", "--ren", "foo", "alias"])]
#[case::config_rename_new_form(&["config", "rename-section", "foo", "alias"])]
#[case::config_edit(&["config", "-e"])]
#[case::config_edit_new_form(&["config", "edit"])]
#[case::config_global(&["config", "--global", "pull.rebase", "true"])]
#[case::config_global_begun(&["config", "--glob", "pull.rebase", "true"])]
#[case::config_file(&["config", "-f", "/tmp/x", "pull.rebase", "true"])]
#[case::config_file_new_form(&["config", "set", "--file=/tmp/x", "pull.rebase", "true"])]
#[case::exec(&["rebase", "--exec=sh", "main"])]
#[case::exec_begun(&["rebase", "--ex", "sh", "main"])]
#[case::exec_letter(&["rebase", "-ix", "sh", "main"])]
#[case::grep_pager(&["grep", "-Osh", "x"])]
#[case::grep_pager_long(&["grep", "--open-files-in-pager=sh", "x"])]
#[case::upload_pack(&["fetch", "--upload-pack=sh", "origin"])]
#[case::upload_pack_begun(&["ls-remote", "--upload", "sh", "origin"])]
#[case::clone_config(&["clone", "-c", "core.sshCommand=sh", "x"])]
#[case::clone_upload_pack(&["clone", "-u", "sh", "x"])]
#[case::clone_template(&["clone", "--template=x", "y"])]
#[case::init_template(&["init", "--template", "x"])]
#[case::archive(&["archive", "--remote=x", "HEAD"])]
#[case::ext(&["fetch", "ext::sh -c x"])]
#[case::ext_in_clone(&["clone", "ext::sh"])]
#[case::fd(&["fetch", "fd::17"])]
#[case::file(&["fetch", "file:///tmp/x"])]
#[case::file_in_option(&["submodule", "add", "--reference=file:///x", "y"])]
#[case::remote_add(&["remote", "add", "x", "git@host:x"])]
#[case::remote_set(&["remote", "set-url", "origin", "git@host:x"])]
#[case::remote_set_push(&["remote", "set-url", "--push", "origin", "x"])]
#[case::foreach(&["submodule", "foreach", "--recursive", "sh"])]
#[case::bisect(&["bisect", "run", "sh"])]
#[case::difftool(&["difftool", "-x", "sh"])]
#[case::hook(&["hook", "run", "pre-commit"])]
#[case::receive(&["receive-pack", "."])]
#[case::mail(&["send-email", "x"])]
fn what_runs_a_program_or_leads_elsewhere_is_refused(#[case] words: &[&str]) {
    assert!(git(words).is_err());
}
