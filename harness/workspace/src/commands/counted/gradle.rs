//! Tasks of Gradle, and `ktlint` (CODE-22).

use super::{Judgement, counts, hollow, hollow_option, is_local, with_option};

/// Tasks that are checks.
const TASKS: &[&str] = &["test", "lint", "check", "build", "ktlint"];

const VALUED: &[&str] = &[
    "--tests",
    "--task",
    "-g",
    "--gradle-user-home",
    "--console",
    "--max-workers",
    "-D",
    "-P",
    "--warning-mode",
    "-F",
    "--dependency-verification",
    "--priority",
    "-M",
    "--write-verification-metadata",
    "--update-locks",
    "--project-prop",
    "--system-prop",
    "--include-build",
];
const FOLDERS: &[&str] = &["-p", "--project-dir", "-b", "--build-file", "-c", "--settings-file"];
const HOLLOW: &[&str] = &[
    "-m",
    "--dry-run",
    "--test-dry-run",
    "-h",
    "-?",
    "--help",
    "-v",
    "-V",
    "--version",
    "--show-version",
    "--status",
    "--stop",
    "-I",
    "--init-script",
    "--gui",
    "-t",
    "--continuous",
];

/// `gradlew …` or `gradle …`
pub fn judge(arguments: &[String]) -> Judgement {
    let mut tasks = Vec::new();
    let mut left_out = Vec::new();
    let mut flaw = None;
    let mut rest = arguments;
    while let Some((word, after)) = rest.split_first() {
        rest = after;
        if !word.starts_with('-') {
            tasks.push(word.as_str());
            continue;
        }
        let (name, glued) = match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value)),
            _ => (word.as_str(), None),
        };
        let is_valued = VALUED.contains(&name) || FOLDERS.contains(&name);
        let excludes = ["-x", "--exclude-task"].contains(&name);
        let value = glued.or_else(|| {
            let (value, left) = (is_valued || excludes).then(|| after.split_first())??;
            rest = left;
            Some(value.as_str())
        });
        if excludes {
            left_out.extend(value.map(last));
        } else if HOLLOW.contains(&name) {
            flaw = flaw.or(Some(name));
        } else if FOLDERS.contains(&name) && !value.is_some_and(is_local) {
            return hollow("it runs in another folder: give it as `path`");
        }
    }
    // `help --task test`, `tasks`: what they say is about tasks.
    if tasks.first().is_some_and(|task| ["help", "tasks", "init", "wrapper"].contains(task)) {
        return Judgement::NoCheck;
    }
    let named: Vec<&str> =
        tasks.iter().map(|task| last(task)).filter(|task| TASKS.contains(task)).collect();
    if named.is_empty() {
        return Judgement::NoCheck;
    }
    if let Some(option) = flaw {
        return with_option("gradle", option);
    }
    let run: Vec<&str> = named.into_iter().filter(|task| !left_out.contains(task)).collect();
    if run.is_empty() {
        return hollow("the task it names is left out by -x");
    }
    counts(format!("gradle {}", run.join(" ")))
}

/// The task's own name: `:app:test` is a `test`.
fn last(task: &str) -> &str {
    task.rsplit(':').next().unwrap_or(task)
}

/// `ktlint`
pub fn ktlint(arguments: &[String]) -> Judgement {
    if let Some(option) = hollow_option(arguments, &["-V", "--stdin"]) {
        return with_option("ktlint", option);
    }
    let makes = ["installGitPreCommitHook", "installGitPrePushHook", "generateEditorConfig"];
    if arguments.iter().any(|word| makes.contains(&word.as_str())) {
        return Judgement::NoCheck;
    }
    counts("ktlint")
}
