use pretty_assertions::assert_eq;
use rstest::rstest;

use super::*;

fn check(words: &[&str]) -> Result<(), String> {
    check_with(&[], words)
}

fn check_with(extra: &[&str], words: &[&str]) -> Result<(), String> {
    let owned = |words: &[&str]| -> Vec<String> { words.iter().map(ToString::to_string).collect() };
    Policy::new(&owned(extra)).check(&owned(words)).map_err(|refused| refused.to_string())
}

/// CODE-12, CODE-14
#[test]
fn exactly_these_programs_may_run() {
    let list = "git, rg, jq, go, gofmt, golangci-lint, gopls, node, npm, npx, corepack, pnpm, \
                python, python3, make, gcc, java, ls, cat, grep, pwd, echo, head, tail, less, \
                more, wc, which, whereis, dir, env, printenv, whoami, date, time, uptime, uname, \
                df, du, ps, top, htop, man, info";
    let mut wanted: Vec<&str> = list.split(", ").collect();
    for program in &wanted {
        assert_eq!(check(&[program]), Ok(()), "{program}");
    }
    wanted.push("gradlew"); // the clone's own, CODE-14
    assert_eq!(Policy::default().programs(), wanted);
}

/// CODE-12
#[rstest]
#[case("bash")]
#[case("sh")]
#[case("cargo")]
#[case("yarn")]
#[case("gradle")]
#[case("ssh")]
#[case("curl")]
#[case("sudo")]
#[case("xargs")]
#[case("git-push")]
#[case("Git")]
#[case("")]
#[case("/usr/bin/git")]
#[case("./gradlew")]
#[case("deepsky/gradlew")]
fn every_other_program_is_refused(#[case] program: &str) {
    assert!(check(&[program, "x"]).is_err());
}

/// CODE-09
#[test]
fn an_extra_command_runs_for_its_agent_only() {
    assert_eq!(check_with(&["cargo"], &["cargo", "test"]), Ok(()));
    assert_eq!(check_with(&["cargo"], &["env", "A=b", "cargo", "test"]), Ok(()));
    let refused = check(&["cargo", "test"]).unwrap_err();
    assert!(refused.starts_with("\"cargo\" is not among the programs that may run: git, rg"));
    assert!(check(&["env", "cargo"]).is_err());
    assert!(check_with(&["cargo"], &["cargo2"]).is_err());
}

/// CODE-13
#[rstest]
#[case("cd", "give the folder as `path`")]
#[case("type", "use which")]
#[case("alias", "write the command out")]
#[case("history", "in this conversation")]
#[case("help", "use man")]
#[case("export", "use env")]
fn a_builtin_of_a_shell_is_no_command(#[case] program: &str, #[case] instead: &str) {
    for extra in [&[][..], &[program]] {
        let refused = check_with(extra, &[program, "x"]).unwrap_err();
        assert!(
            refused.contains("there is no shell here") && refused.contains(instead),
            "{refused}"
        );
    }
}

/// CODE-13
#[rstest]
#[case(&["go", "test", "./...", "&&", "go", "vet"], true)]
#[case(&["ls", "src", "|", "wc", "-l"], true)]
#[case(&["echo", "x", ">", "file"], true)]
#[case(&["go test ./..."], true)]
#[case(&["grep", "-e", "|", "file"], false)]
#[case(&["grep", "|", "file"], false)]
#[case(&["jq", ".a | .b", "x.json"], false)]
#[case(&["git", "commit", "-m", "a && b > c"], false)]
fn what_only_a_shell_understands_is_told(#[case] words: &[&str], #[case] refused: bool) {
    assert_eq!(check(words).is_err(), refused);
}

/// CODE-12
#[rstest]
#[case(&["env"], true)]
#[case(&["env", "A=b", "go", "test"], true)]
#[case(&["env", "-u", "A", "-C", "sub", "go", "test"], true)]
#[case(&["env", "-uA", "-v", "go", "test"], true)]
#[case(&["env", "-i", "go", "test"], false)]
#[case(&["env", "-", "go", "test"], false)]
#[case(&["env", "-vi", "go", "test"], false)]
#[case(&["env", "-u", "HOME", "go", "test"], false)]
#[case(&["env", "-uTMPDIR", "go", "test"], false)]
#[case(&["env", "--unset=HOME", "go", "test"], false)]
#[case(&["env", "TMPDIR=/var", "go", "test"], false)]
#[case(&["env", "--unset=A", "--chdir=sub", "--", "A=b", "go"], true)]
#[case(&["env", "bash", "-c", "x"], false)]
#[case(&["env", "-S", "git status"], false)]
#[case(&["env", "-iS", "git status"], false)]
#[case(&["env", "--split-string=git push"], false)]
#[case(&["env", "--spl", "git push"], false)]
#[case(&["env", "A=b", "env", "C=d", "sh"], false)]
#[case(&["env", "PATH=/tmp", "go", "test"], false)]
#[case(&["env", "GIT_SSH_COMMAND=x", "git", "fetch"], false)]
#[case(&["env", "GIT_CONFIG_COUNT=1", "git", "x"], false)]
#[case(&["env", "GIT_AUTHOR_NAME=x", "git", "commit"], false)]
#[case(&["env", "HOME=/tmp", "git", "x"], false)]
#[case(&["env", "LD_PRELOAD=x", "ls"], false)]
#[case(&["env", "PAGER=sh", "git", "log"], false)]
#[case(&["env", "PAGER=cat", "git", "log"], true)]
#[case(&["env", "GIT_TRACE=1", "git", "status"], true)]
#[case(&["env", "npm_config_script_shell=x", "npm", "test"], false)]
#[case(&["env", "NPM_CONFIG_CALL=git push", "npx"], false)]
#[case(&["time", "go", "test"], true)]
#[case(&["time", "-f", "%e", "--output=x", "go", "test"], true)]
#[case(&["time", "bash"], false)]
#[case(&["time", "--unknown", "go"], false)]
#[case(&["npx", "tsc", "--noEmit"], true)]
#[case(&["npx", "-y", "--package=typescript", "tsc"], true)]
#[case(&["npx", "-c", "tsc"], false)]
#[case(&["npx", "--call=tsc"], false)]
#[case(&["npx", "bash"], false)]
#[case(&["npx", "--", "sh", "-c", "x"], false)]
#[case(&["npm", "exec", "--", "tsc"], true)]
#[case(&["npm", "exec", "tsc", "--call", "x"], false)]
#[case(&["npm", "exec", "-c", "x"], false)]
#[case(&["npm", "explore", "left-pad"], false)]
#[case(&["npm", "explore", "left-pad", "--", "ls"], true)]
#[case(&["npm", "test", "--", "-c", "x"], true)]
#[case(&["pnpm", "exec", "tsc"], true)]
#[case(&["pnpm", "-c", "exec", "tsc"], false)]
#[case(&["pnpm", "exec", "zsh"], false)]
#[case(&["pnpm", "dlx", "create-x"], true)]
#[case(&["corepack", "enable"], true)]
#[case(&["corepack", "yarn", "test"], true)]
#[case(&["corepack", "yarn", "exec", "bash"], false)]
#[case(&["corepack", "pnpm@9", "exec", "fish"], false)]
#[case(&["go", "tool", "gotestsum", "./..."], true)]
#[case(&["go", "tool", "sh"], false)]
#[case(&["go", "-C", "sub", "tool", "bash"], false)]
#[case(&["rg", "--pre", "sh", "x"], false)]
#[case(&["rg", "--", "--pre"], true)]
#[case(&["man", "-P", "sh", "ls"], false)]
#[case(&["man", "--pager=sh", "ls"], false)]
#[case(&["man", "ls"], true)]
#[case(&["python", "-c", "print(1)"], true)]
#[case(&["node", "-e", "1"], true)]
fn programs_that_run_others_are_looked_through(#[case] words: &[&str], #[case] may_run: bool) {
    let checked = check(words);
    assert_eq!(checked.is_ok(), may_run, "{checked:?}");
}

/// CODE-05
#[rstest]
#[case(&["git", "push"])]
#[case(&["git", "push", "origin", "main"])]
#[case(&["git", "-C", "sub", "push"])]
#[case(&["git", "-c", "alias.x=push", "x"])]
#[case(&["git", "-c", "alias.x=!git push", "x"])]
#[case(&["git", "--config-env=alias.x=HOME", "x"])]
#[case(&["git", "--exec-path=/tmp", "status"])]
#[case(&["git", "send-pack", "x"])]
#[case(&["git", "http-push", "x"])]
#[case(&["git", "subtree", "push", "--prefix=x", "origin", "y"])]
#[case(&["git", "submodule", "foreach", "git push"])]
#[case(&["git", "rebase", "-x", "git push", "main"])]
#[case(&["git", "bisect", "run", "git", "push"])]
#[case(&["git", "config", "alias.x", "push"])]
#[case(&["env", "A=b", "git", "push"])]
#[case(&["env", "-i", "env", "git", "-C", ".", "push"])]
#[case(&["time", "git", "push"])]
#[case(&["npx", "git", "push"])]
#[case(&["npx", "--yes", "--", "git", "push"])]
#[case(&["npx", "/usr/bin/git", "push"])]
#[case(&["npx", "-c", "git push"])]
#[case(&["npm", "exec", "git", "push"])]
#[case(&["npm", "x", "--", "git", "push"])]
#[case(&["npm", "explore", "x", "--", "git", "push"])]
#[case(&["pnpm", "exec", "git", "push"])]
#[case(&["pnpm", "-w", "exec", "git", "push"])]
#[case(&["pnpm", "--unknown", "x", "exec", "git", "push"])]
#[case(&["pnpm", "dlx", "env", "git", "push"])]
#[case(&["corepack", "pnpm", "exec", "git", "push"])]
#[case(&["corepack", "npx", "git", "push"])]
#[case(&["corepack", "yarn", "exec", "git", "push"])]
#[case(&["go", "tool", "env", "git", "push"])]
#[case(&["python", "-c", "import subprocess; subprocess.run(['git', 'push'])"])]
#[case(&["python3", "-c", "import os; os.system('git -C . push origin main')"])]
#[case(&["node", "-e", "require('child_process').execSync('git push')"])]
#[case(&["node", "-e", "spawn('/usr/bin/git', ['push'])"])]
#[case(&["make", "test", "SHELL=git push"])]
#[case(&["go", "test", "-exec", "git push"])]
fn git_push_is_refused_however_it_is_spelt(#[case] words: &[&str]) {
    assert!(check(words).is_err());
}

/// CODE-05, CODE-09
#[rstest]
#[case(&["bash", "-c", "git push"])]
#[case(&["bash", "-c", "cd x && git -C y push -f"])]
#[case(&["xargs", "git", "push"])]
#[case(&["timeout", "60", "git", "push"])]
#[case(&["nice", "-n", "5", "/usr/bin/git", "push"])]
fn an_extra_command_does_not_push_either(#[case] words: &[&str]) {
    assert!(check_with(&[words[0]], words).is_err());
}

/// CODE-05
#[rstest]
#[case(&["echo", "git push"])]
#[case(&["grep", "-rn", "git push", "docs"])]
#[case(&["rg", "git push"])]
#[case(&["git", "commit", "-m", "docs: say when to git push"])]
#[case(&["git", "log", "--grep", "push"])]
#[case(&["git", "stash", "push", "-m", "x"])]
#[case(&["git", "diff", "--", "push"])]
#[case(&["npm", "run", "push-docs"])]
#[case(&["node", "-e", "const digits = []; digits.push(1)"])]
#[case(&["python", "-m", "pytest", "-k", "git_push"])]
fn what_only_speaks_of_pushing_may_run(#[case] words: &[&str]) {
    assert_eq!(check(words), Ok(()));
}

#[test]
fn the_words_say_what_to_do() {
    let refused = check(&["git", "push"]).unwrap_err();
    assert_eq!(refused, "git push is not allowed here: use the tool git_push");
    let refused = check(&["go test ./..."]).unwrap_err();
    assert!(refused.contains(r#"as ["go", "test", "./..."]"#), "{refused}");
    assert!(check(&[]).unwrap_err().starts_with("the command is empty"));
    assert!(check(&["ls", "a\0b"]).is_err());
}
