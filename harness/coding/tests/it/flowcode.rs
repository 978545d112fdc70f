//! The executable `flowcode`, as a person starts it.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use fakes::git::{BareRepository, GitServer};
use fakes::github::GitHub;
use fakes::model::{Gate, ModelServer, Point, Reply, When};
use pretty_assertions::assert_eq;
use rstest::rstest;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::life::runs;
use crate::project::{self, RIGHT, add, check, commit_work, finish, git, mend, plan, run};
use crate::scene::DEADLINE;

const KEY: &str = "sk-the-persons-key";

pub struct Place {
    pub model: ModelServer,
    pub folder: TempDir,
}

impl Place {
    pub async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("project");
        std::fs::create_dir(&project).unwrap();
        project::lay(&project);
        project::commit(&project);
        Self { model: ModelServer::start().await, folder }
    }

    /// The project's files alone.
    fn files(&self) -> PathBuf {
        let files = self.folder.path().join("files");
        std::fs::create_dir(&files).unwrap();
        project::lay(&files);
        files
    }

    pub fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    pub fn command(&self, provider: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flowcode"));
        command
            .current_dir(self.project())
            .env_clear()
            .envs(std::env::vars_os().filter(|(name, _)| name == "PATH"))
            .env("HOME", self.folder.path())
            .env("TMPDIR", self.folder.path())
            .env("OPENAI_API_KEY", KEY)
            .env("ANTHROPIC_API_KEY", KEY)
            .args(["--base-url", &self.model.url(), "--model", &format!("{provider}/the-model")])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    #[track_caller]
    pub fn is_untouched(&self) {
        assert!(self.model.requests().is_empty());
        assert_eq!(git(&self.project(), &["branch", "--list"]), "* main");
    }

    /// Runs it while somebody types this, and then no more.
    pub async fn runs(&self, provider: &str, arguments: &[&str], typed: &str) -> Ran {
        let mut child = self.command(provider, arguments).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(typed.as_bytes()).await.unwrap();
        drop(stdin);
        ended(child).await
    }
}

pub struct Ran {
    pub status: Option<i32>,
    pub output: String,
    pub progress: String,
}

pub fn interrupt(child: &Child) {
    send(child, Signal::INT);
}

fn send(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id().unwrap()).unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

/// The same command by way of one that lets a hangup be heeded: whoever started the tests may
/// have asked for the opposite, and children inherit that.
fn heeding_hangups(command: &Command) -> Command {
    let command = command.as_std();
    let mut heeding = Command::new("env");
    heeding
        .arg("--default-signal=HUP")
        .arg(command.get_program())
        .args(command.get_args())
        .current_dir(command.get_current_dir().unwrap())
        .env_clear()
        .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    heeding
}

pub async fn ended(child: Child) -> Ran {
    let Output { status, stdout, stderr } =
        timeout(DEADLINE, child.wait_with_output()).await.expect("an end in time").unwrap();
    Ran {
        status: status.code(),
        output: String::from_utf8(stdout).unwrap(),
        progress: String::from_utf8(stderr).unwrap(),
    }
}

fn good() -> Vec<Reply> {
    vec![
        plan("# Plan\n\n1. Put the comma in."),
        mend(),
        check(),
        add(),
        commit_work(),
        finish("completed"),
    ]
}

/// CODE-45
#[rstest]
#[case("openai")]
#[case("anthropic")]
#[tokio::test]
async fn a_change_is_planned_approved_at_the_terminal_built_and_committed_as_the_person(
    #[case] provider: &str,
) {
    let place = Place::new().await;
    place.model.require_key(KEY);
    place.model.script(good());
    let ran = place.runs(provider, &["Fix the greeting, please"], "build\n").await;
    assert_eq!(ran.status, Some(0), "{}\n{}", ran.output, ran.progress);
    place.model.finish().unwrap();
    assert!(
        ran.output.starts_with("\n# Plan\n\n1. Put the comma in.\n\nType `build`"),
        "{}",
        ran.output
    );
    let end = "\nIt greets properly.\n\ncheck passed: node --test\n\
               branch: flow/fix-the-greeting-please\n";
    assert!(ran.output.ends_with(end), "{}", ran.output);
    assert!(ran.progress.contains("  step 2: run_command"), "{}", ran.progress);
    let project = place.project();
    assert!(std::fs::read_to_string(project.join("greet.js")).unwrap().contains(RIGHT));
    assert_eq!(git(&project, &["branch", "--show-current"]), "flow/fix-the-greeting-please");
    assert_eq!(git(&project, &["log", "-1", "--format=%an <%ae>"]), "Ann Owner <ann@example.com>");
    assert_eq!(git(&project, &["log", "--oneline", "main"]).lines().count(), 1);
}

/// CODE-45, CODE-31
#[tokio::test]
async fn words_at_the_terminal_change_the_plan() {
    let place = Place::new().await;
    place.model.script([plan("# First"), plan("# Second"), finish("failed")]);
    let ran = place.runs("openai", &["Fix it"], "in Korean\nbuild\n").await;
    assert_eq!(ran.status, Some(1), "{}", ran.progress);
    place.model.finish().unwrap();
    assert!(place.model.requests()[1].last_user_text().contains("in Korean"));
    assert!(ran.output.ends_with("branch: flow/fix-it, without commits\n"), "{}", ran.output);
}

/// CODE-45, CODE-32
#[tokio::test]
async fn a_run_that_approves_itself_needs_nobody() {
    let place = Place::new().await;
    place.model.script(good());
    let ran = place.runs("openai", &["--approve", "self", "Fix it"], "").await;
    assert_eq!(ran.status, Some(0), "{}", ran.progress);
}

/// CODE-45
#[tokio::test]
async fn without_anybody_to_answer_a_plan_is_not_built() {
    let place = Place::new().await;
    place.model.on((When::any(), plan("# Plan")));
    let ran = place.runs("openai", &["Fix it"], "").await;
    assert_eq!(ran.status, Some(3), "{}", ran.progress);
    assert!(ran.output.contains("nobody answers: the input has ended"), "{}", ran.output);
    assert_eq!(place.model.requests().len(), 1);
}

/// CODE-45
#[tokio::test]
async fn changes_that_are_not_committed_are_in_the_way_unless_they_are_allowed() {
    let place = Place::new().await;
    std::fs::write(place.project().join("new.txt"), "new").unwrap();
    let refused = place.runs("openai", &["Fix it"], "build\n").await;
    assert_eq!(refused.status, Some(2), "{}", refused.progress);
    assert!(refused.progress.contains("--allow-dirty") && refused.progress.contains("new.txt"));
    place.is_untouched();

    place.model.script([plan("# Plan"), finish("failed")]);
    let allowed = place.runs("openai", &["--allow-dirty", "Fix it"], "build\n").await;
    assert_eq!(allowed.status, Some(1), "{}", allowed.progress);
}

/// CODE-45
#[rstest]
#[case(&[], "TASK")]
#[case(&["Fix it", "--model", "gpt-5-mini"], "write the provider")]
#[case(&["Fix it", "-C", "/"], "repository")]
#[case(&["Fix it", "--pull-request"], "remote")]
#[tokio::test]
async fn what_cannot_be_begun_is_told_in_a_line(#[case] arguments: &[&str], #[case] part: &str) {
    let place = Place::new().await;
    let mut command = place.command("openai", &[]);
    if arguments.contains(&"--model") {
        command = Command::new(env!("CARGO_BIN_EXE_flowcode"));
        command.current_dir(place.project()).stdout(Stdio::piped()).stderr(Stdio::piped());
    }
    let ran = ended(command.args(arguments).spawn().unwrap()).await;
    assert_eq!(ran.status, Some(2), "{}\n{}", ran.output, ran.progress);
    assert!(ran.progress.contains(part), "{}", ran.progress);
    place.is_untouched();
}

/// CODE-45
#[tokio::test]
async fn what_is_in_the_way_is_said_once() {
    let place = Place::new().await;
    let ran = place.runs("openai", &["Fix it", "-C", "/"], "").await;
    let words = "flowcode: / is no git repository with a work tree: run git init and commit, or \
                 choose another folder\n";
    assert_eq!(ran.progress, words);
}

/// CODE-45
#[tokio::test]
async fn a_person_whom_git_does_not_know_is_told_before_any_work_is_done() {
    let place = Place::new().await;
    for name in ["user.name", "user.email"] {
        git(&place.project(), &["config", "--unset", name]);
    }
    git(&place.project(), &["config", "user.useConfigOnly", "true"]);
    let ran = place.runs("openai", &["Fix it"], "").await;
    assert_eq!(ran.status, Some(2), "{}", ran.progress);
    assert!(ran.progress.contains("set user.name and user.email"), "{}", ran.progress);
    place.is_untouched();
}

/// CODE-45
#[tokio::test]
async fn a_person_who_is_known_by_their_environment_commits_as_that() {
    let place = Place::new().await;
    for name in ["user.name", "user.email"] {
        git(&place.project(), &["config", "--unset", name]);
    }
    git(&place.project(), &["config", "user.useConfigOnly", "true"]);
    place.model.script(good());
    let mut command = place.command("openai", &["--approve", "self", "Fix it"]);
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "Bea").env(format!("GIT_{role}_EMAIL"), "b@c.net");
    }
    let ran = ended(command.spawn().unwrap()).await;
    assert_eq!(ran.status, Some(0), "{}", ran.progress);
    let names = git(&place.project(), &["log", "-1", "--format=%an <%ae>, %cn <%ce>"]);
    assert_eq!(names, "Bea <b@c.net>, Bea <b@c.net>");
}

#[tokio::test]
async fn a_second_run_of_the_same_task_takes_another_branch() {
    let place = Place::new().await;
    place.model.script([plan("# Plan"), finish("failed"), plan("# Plan"), finish("failed")]);
    for _ in 0..2 {
        place.runs("openai", &["--approve", "self", "Fix it"], "").await;
    }
    assert_eq!(git(&place.project(), &["branch", "--show-current"]), "flow/fix-it-2");
}

/// BIND-11, CODE-45
#[tokio::test]
async fn no_command_of_the_model_sees_a_key() {
    let place = Place::new().await;
    place.model.script([run(&["env"]), plan("# Plan"), finish("failed")]);
    place.runs("openai", &["--approve", "self", "Fix it"], "").await;
    let seen = &place.model.requests()[1].tool_results()[0].content;
    assert!(seen.contains("HOME=") && !seen.contains(KEY), "{seen}");
}

/// CODE-45
#[tokio::test]
async fn an_interrupted_run_ends_unfinished_and_leaves_its_branch() {
    let place = Place::new().await;
    let gate = Gate::new();
    place.model.script([plan("# Plan").held(Point::Headers, &gate)]);
    let child = place.command("openai", &["Fix it"]).spawn().unwrap();
    gate.reached().await;
    interrupt(&child);
    let ran = ended(child).await;
    assert_eq!(ran.status, Some(3), "{}", ran.progress);
    assert!(ran.output.contains("stopped: the process is stopping"), "{}", ran.output);
}

/// BIND-11, CODE-45
#[tokio::test]
async fn no_command_of_the_model_reads_a_key_out_of_the_process() {
    // Root may look into any process.
    if rustix::process::geteuid().is_root() {
        return;
    }
    let place = Place::new().await;
    let program =
        "console.log(String(require('fs').readFileSync(`/proc/${process.ppid}/environ`)))";
    place.model.script([run(&["node", "-e", program]), plan("# Plan"), finish("failed")]);
    place.runs("openai", &["--approve", "self", "Fix it"], "").await;
    let seen = &place.model.requests()[1].tool_results()[0].content;
    assert!(seen.contains("EACCES") && !seen.contains(KEY), "{seen}");
}

/// CODE-45
#[tokio::test]
async fn a_git_that_is_cut_off_leaves_no_lock_in_the_persons_way() {
    let place = Place::new().await;
    let project = place.project();
    let started = place.folder.path().join("started");
    // Hangs in the model's own git add, and not when the work tree is looked at.
    let clean = format!(
        "sh -c 'test -n \"$GIT_INDEX_FILE\" || {{ touch {}; sleep 1000; }}; cat'",
        started.display()
    );
    git(&project, &["config", "filter.slow.clean", &clean]);
    std::fs::write(project.join(".gitattributes"), "*.slow filter=slow\n").unwrap();
    git(&project, &["add", "--all"]);
    git(&project, &["commit", "--quiet", "--message", "Slow"]);
    let write = Reply::call("write_file", json!({ "path": "one.slow", "content": "1" }));
    place.model.script([plan("# Plan"), write, add()]);
    let child = place.command("openai", &["--approve", "self", "Fix it"]).spawn().unwrap();
    timeout(DEADLINE, async {
        while !started.exists() {
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap();
    let lock = project.join(".git/index.lock");
    assert!(lock.exists());
    interrupt(&child);
    let ran = ended(child).await;
    assert_eq!(ran.status, Some(3), "{}", ran.progress);
    assert!(!lock.exists());
}

/// CODE-45: who closes the terminal leaves no command behind.
#[tokio::test]
async fn a_hangup_ends_the_run_and_the_command_that_is_under_way() {
    let place = Place::new().await;
    let mark = format!("hangup-{}", std::process::id());
    let program = format!("'{mark}'; setInterval(() => {{}}, 1000)");
    place.model.script([run(&["node", "-e", &program])]);
    let mut command = heeding_hangups(&place.command("openai", &["--approve", "self", "Fix it"]));
    let child = command.spawn().unwrap();
    let becomes = async |running: bool| {
        while runs(&mark) != running {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(DEADLINE, becomes(true)).await.expect("a command that runs");
    send(&child, Signal::HUP);
    let ran = ended(child).await;
    assert_eq!(ran.status, Some(3), "{}", ran.progress);
    timeout(DEADLINE, becomes(false)).await.expect("the command outlived its run");
}

/// CODE-45
#[tokio::test]
async fn an_interrupt_is_heard_while_the_remote_does_not_answer() {
    let place = Place::new().await;
    let project = place.project();
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let remote = format!("ssh://git@{}/acme/greeting.git", silent.local_addr().unwrap());
    git(&project, &["remote", "add", "origin", &remote]);
    let mut command = place.command("openai", &["--pull-request", "Fix it"]);
    command
        .env("GITHUB_TOKEN", "ghp_mine")
        .env("FLOWCODE_GITHUB_HOST", silent.local_addr().unwrap().to_string());
    let child = command.spawn().unwrap();
    let connection = timeout(DEADLINE, silent.accept()).await.unwrap().unwrap();
    interrupt(&child);
    let ran = timeout(Duration::from_secs(10), ended(child)).await.unwrap();
    assert_eq!(ran.status, Some(2), "{}", ran.progress);
    assert!(ran.progress.contains("stopped before anything was begun"), "{}", ran.progress);
    drop(connection);
    place.is_untouched();
}

/// CODE-45, CODE-06
#[tokio::test]
async fn a_pull_request_is_opened_when_it_is_asked_for() {
    let place = Place::new().await;
    let folder = place.folder.path();
    let repositories = folder.join("repositories");
    std::fs::create_dir(&repositories).unwrap();
    let bare = repositories.join("acme/greeting.git");
    BareRepository::make(&bare, &place.files()).unwrap();
    let server = GitServer::start(&repositories).await.unwrap();
    let github = GitHub::start(&repositories, "ghp_mine").await.unwrap();
    let keys = server.keys().display();
    let ssh = format!(
        "ssh -F none -i {keys}/client_key -o UserKnownHostsFile={keys}/known_hosts \
         -o IdentitiesOnly=yes -o BatchMode=yes"
    );
    std::fs::remove_dir_all(place.project()).unwrap();
    let clone = tokio::process::Command::new("git")
        .args(["clone", "--quiet", &server.remote("acme/greeting"), "project"])
        .current_dir(folder)
        .env("GIT_SSH_COMMAND", &ssh)
        .status();
    assert!(timeout(DEADLINE, clone).await.unwrap().unwrap().success());
    git(&place.project(), &["config", "user.name", "Ann Owner"]);
    git(&place.project(), &["config", "user.email", "ann@example.com"]);
    // A colleague has given the same task: their branch stays theirs.
    git(&bare, &["branch", "flow/fix-it", "main"]);
    let remote = BareRepository::open(&bare).unwrap();
    let known =
        remote.commit("flow/fix-it", "Theirs", &[("theirs", Some(b"theirs".as_slice()))]).unwrap();
    git(&place.project(), &["update-ref", "refs/remotes/origin/flow/fix-it", "HEAD"]);

    let open = json!({ "title": "Greet politely", "description": "Adds the comma." });
    place.model.script([
        plan("# Plan"),
        mend(),
        check(),
        add(),
        commit_work(),
        Reply::call("git_push", json!({})),
        Reply::call("open_pull_request", open.clone()),
        Reply::call("open_pull_request", open),
        finish("completed"),
    ]);
    // Told to the model, and not slept through.
    github.refuse(fakes::github::Refusal {
        repository: None,
        method: Some("POST".to_owned()),
        status: 429,
        message: Some("secondary rate limit".to_owned()),
        retry_after: Some(3600),
        times: Some(1),
    });
    let mut command = place.command("openai", &["--approve", "self", "--pull-request", "Fix it"]);
    command
        .env("GIT_SSH_COMMAND", &ssh)
        .env("GITHUB_TOKEN", "ghp_mine")
        .env("FLOWCODE_GITHUB_HOST", server.host())
        .env("FLOWCODE_GITHUB_API_URL", github.api_url());
    let ran = ended(command.spawn().unwrap()).await;
    assert_eq!(ran.status, Some(0), "{}\n{}", ran.output, ran.progress);
    assert!(ran.progress.contains("again in 3600 s"), "{}", ran.progress);
    let [pull] = github.pull_requests("acme/greeting").try_into().unwrap();
    assert_eq!((pull.head.as_str(), pull.body.as_str()), ("flow/fix-it-2", "Adds the comma."));
    assert!(ran.output.ends_with(&format!("pull request: {}\n", pull.html_url)), "{}", ran.output);
    assert_eq!(remote.head("flow/fix-it").unwrap(), Some(known));
}

/// The bar: five processes of git at most before the model is asked.
#[tokio::test]
async fn the_first_request_waits_for_few_processes_of_git() {
    let place = Place::new().await;
    let programs = place.folder.path().join("programs");
    std::fs::create_dir(&programs).unwrap();
    let log = place.folder.path().join("calls");
    counting_git(&programs, &log);
    let gate = Gate::new();
    place.model.script([plan("# Plan").held(Point::Headers, &gate)]);
    let path = std::env::var_os("PATH").unwrap();
    let paths = std::iter::once(programs).chain(std::env::split_paths(&path));
    let mut command = place.command("openai", &["Fix it"]);
    let child = command.env("PATH", std::env::join_paths(paths).unwrap()).spawn().unwrap();
    timeout(Duration::from_secs(20), gate.reached()).await.unwrap();
    let calls = std::fs::read_to_string(&log).unwrap();
    assert!((1..=5).contains(&calls.lines().count()), "{calls}");
    drop(child);
}

/// A git that writes down each of its calls.
fn counting_git(folder: &Path, log: &Path) {
    use std::os::unix::fs::OpenOptionsExt as _;
    let script =
        format!("#!/bin/sh\necho \"$@\" >> {}\nPATH=${{PATH#*:}} exec git \"$@\"\n", log.display());
    let mut options = std::fs::OpenOptions::new();
    let mut file =
        options.create_new(true).write(true).mode(0o755).open(folder.join("git")).unwrap();
    std::io::Write::write_all(&mut file, script.as_bytes()).unwrap();
}
