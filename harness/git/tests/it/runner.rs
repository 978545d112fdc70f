//! Commands: how they end, what they see, what they leave (CODE-13, CODE-15).

use std::path::{Path, PathBuf};
use std::time::Duration;

use foundry_git::{Command, Exit, Finished, OutputLimits, RunError, Runner};
use pretty_assertions::assert_eq;
use tempfile::TempDir;
use tokio::time::{Instant, sleep, timeout};

use super::site::{folder, settings};

const DEADLINE: Duration = Duration::from_secs(20);

struct Place {
    folder: TempDir,
    runner: Runner,
}

impl Place {
    fn new() -> Self {
        let folder = folder();
        let runner = Runner::new(settings(folder.path())).unwrap();
        Self { folder, runner }
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        Command::new(program, self.home()).args(arguments.iter().copied())
    }

    fn script(&self, script: &str) -> Command {
        self.command("sh", &["-c", script])
    }

    async fn run(&self, command: &Command) -> Finished {
        timeout(DEADLINE, self.runner.run(command)).await.unwrap().unwrap()
    }

    /// The process id that a command wrote, once it is there.
    async fn written_id(&self, name: &str) -> i32 {
        let path = self.home().join(name);
        let read = async {
            loop {
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                if let Some(id) = text.strip_suffix('\n') {
                    break id.parse().unwrap();
                }
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(DEADLINE, read).await.expect("the command wrote no process id")
    }
}

/// Waits until a process is no more, or only waits to be buried.
async fn gone(id: i32) {
    let stat = format!("/proc/{id}/stat");
    let ended = async {
        while let Ok(stat) = std::fs::read_to_string(&stat) {
            if stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')) {
                break;
            }
            sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(timeout(DEADLINE, ended).await.is_ok(), "process {id} lives on");
}

/// CODE-15
#[tokio::test]
async fn a_command_ends_with_its_status_or_its_signal() {
    let place = Place::new();
    let finished = place.run(&place.script("echo out; echo err >&2; echo out; exit 3")).await;
    assert_eq!(finished.exit, Exit::Status(3));
    assert!(!finished.exit.passed());
    assert_eq!(finished.output.to_string(), "out\nerr\nout\n", "in the order in which it came");
    assert_eq!(place.run(&place.script("kill -9 $$")).await.exit, Exit::Signal(9));
    assert!(place.run(&place.command("true", &[])).await.exit.passed());
}

/// CODE-13
#[tokio::test]
async fn arguments_reach_the_program_as_they_are() {
    let place = Place::new();
    let arguments = ["$HOME", "a  b", "*", "; rm -rf x", "`id`", "--", ""];
    let finished = place.run(&place.command("printf", &[&["%s|"], &arguments[..]].concat())).await;
    assert_eq!(finished.output.to_string(), "$HOME|a  b|*|; rm -rf x|`id`|--||");
    for builtin in ["cd", "alias", "history", "help"] {
        let error = place.runner.run(&place.command(builtin, &[])).await.unwrap_err();
        assert!(matches!(error, RunError::NotFound { .. }), "{builtin}: {error}");
    }
}

/// CODE-15
#[tokio::test]
async fn a_command_that_takes_too_long_is_stopped_with_all_it_started() {
    let place = Place::new();
    let script = "sh -c 'echo $$ > child; exec sleep 1000' & echo said; sleep 1000";
    let command = place.script(script).limit(Duration::from_secs(2));
    let finished = place.run(&command).await;
    assert_eq!(finished.exit, Exit::TimedOut);
    // On a very slow machine it may have been stopped before it came to anything.
    let id = std::fs::read_to_string(place.home().join("child")).unwrap_or_default();
    if id.ends_with('\n') {
        assert_eq!(finished.output.to_string(), "said\n");
        gone(id.trim().parse().unwrap()).await;
    }
}

/// CODE-15
#[tokio::test]
async fn the_usual_limit_is_ten_minutes() {
    assert_eq!(foundry_git::FOREGROUND_LIMIT, Duration::from_mins(10));
}

#[tokio::test]
async fn a_dropped_command_is_stopped_with_all_it_started() {
    let place = Place::new();
    let script = "sh -c 'echo $$ > child; exec sleep 1000' & echo $$ > parent; sleep 1000";
    let command = place.script(script);
    let running = place.runner.run(&command);
    let ids = async { (place.written_id("child").await, place.written_id("parent").await) };
    let (child, parent) = tokio::select! {
        finished = running => panic!("{finished:?}"),
        ids = ids => ids,
    };
    gone(child).await;
    gone(parent).await;
}

#[tokio::test]
async fn what_runs_on_in_the_background_holds_no_result_up() {
    let place = Place::new();
    let started = Instant::now();
    let finished = place.run(&place.script("sleep 1000 & echo $! > child; echo said")).await;
    assert_eq!(finished.exit, Exit::Status(0));
    assert_eq!(finished.output.to_string(), "said\n");
    assert!(started.elapsed() < DEADLINE);
    gone(place.written_id("child").await).await;
}

#[tokio::test]
async fn a_background_group_of_the_session_is_ended_too() {
    let place = Place::new();
    let script = "import os, time\n\
                  if os.fork() == 0:\n\
                  \x20   os.setpgid(0, 0)\n\
                  \x20   open('child', 'w').write(f'{os.getpid()}\\n')\n\
                  \x20   time.sleep(1000)\n\
                  while not os.path.exists('child') or not open('child').read(): time.sleep(0.005)\n";
    let finished = place.run(&place.command("python3", &["-c", script])).await;
    assert_eq!(finished.exit, Exit::Status(0), "{}", finished.output);
    gone(place.written_id("child").await).await;
}

#[tokio::test]
async fn a_command_leads_a_session_and_has_no_input() {
    let place = Place::new();
    let script = "import os, sys; print(os.getsid(0) == os.getpid(), repr(sys.stdin.read()))";
    let finished = place.run(&place.command("python3", &["-c", script])).await;
    assert_eq!(finished.output.to_string(), "True ''\n");
}

/// KERN-10
#[tokio::test]
async fn a_long_output_keeps_both_ends_and_the_whole_in_a_file() {
    let folder = folder();
    let limits = OutputLimits { head: 100, tail: 100, file: 1 << 30 };
    let settings = foundry_git::RunnerSettings { limits, ..settings(folder.path()) };
    let runner = Runner::new(settings).unwrap();
    let script = "i = 0\nwhile i < 100000: print(f'line {i}'); i += 1\n";
    let command = Command::new("python3", folder.path()).args(["-c", script]);
    let finished = runner.run(&command).await.unwrap();
    let output = &finished.output;
    assert!(output.head.starts_with("line 0\nline 1\n"));
    assert!(output.tail.ends_with("line 99999\n"));
    assert_eq!(output.total_bytes, output.omitted_bytes + 200);
    let full = output.full_text.as_ref().unwrap();
    let text = std::fs::read_to_string(&full.path).unwrap();
    assert_eq!(text.len() as u64, output.total_bytes);
    assert_eq!(text.lines().count(), 100_000);
    // A command can read it: that is what it is kept for.
    let path = full.path.to_str().unwrap();
    let command = Command::new("tail", folder.path()).args(["-n", "1", path]);
    assert_eq!(runner.run(&command).await.unwrap().output.to_string(), "line 99999\n");
}

/// CODE-05
#[tokio::test]
async fn a_command_sees_what_it_needs_and_no_secret() {
    let folder = folder();
    let variables = [
        ("PATH", std::env::var_os("PATH").unwrap()),
        ("GOCACHE", "/cache".into()),
        ("GITHUB_TOKEN", "ghp_secret".into()),
        ("AZURE_DEVOPS_TOKEN", "secret".into()),
        ("FOUNDRY_TOKEN_FILE", "/run/token".into()),
        ("SSH_AUTH_SOCK", "/run/agent".into()),
        ("NODE_AUTH_TOKEN", "secret".into()),
    ];
    let mut settings = settings(folder.path());
    let variables = variables.map(|(name, value)| (name.into(), value));
    settings.environment = foundry_git::Environment::allowed(variables);
    let runner = Runner::new(settings).unwrap();
    let command = Command::new("env", folder.path())
        .env("EXTRA", "given")
        .env("OTHER_TOKEN", "secret")
        .env("FOUNDRY_API_URL", "http://x");
    let seen = runner.run(&command).await.unwrap().output.to_string();
    assert!(!seen.contains("secret") && !seen.contains("FOUNDRY_"), "{seen}");
    assert!(!seen.contains("SSH_AUTH_SOCK"), "{seen}");
    for expected in ["GOCACHE=/cache", "EXTRA=given", "GIT_TERMINAL_PROMPT=0"] {
        assert!(seen.lines().any(|line| line == expected), "{expected}: {seen}");
    }
}

#[tokio::test]
async fn what_cannot_be_started_says_why() {
    let place = Place::new();
    let error = place.runner.run(&place.command("no-such-program", &[])).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "failed to find program no-such-program: it is in no folder of PATH"
    );
    let local = place.home().join("tool");
    std::fs::write(&local, "#!/bin/sh\n").unwrap();
    let error = place.runner.run(&place.command("./tool", &[])).await.unwrap_err();
    assert!(matches!(error, RunError::NotFound { .. }), "{error}");
    let error = place.runner.run(&Command::new("true", "/nonexistent")).await.unwrap_err();
    assert!(matches!(error, RunError::NoFolder { .. }), "{error}");
    let mut settings = settings(place.folder.path());
    settings.denied = vec![Path::new("/nonexistent/ssh").to_owned()];
    let error = Runner::new(settings).unwrap_err();
    assert_eq!(error.to_string(), "failed to deny folder /nonexistent/ssh: it must exist");
}

#[tokio::test]
async fn commands_run_beside_each_other() {
    let place = Place::new();
    // Each waits for the other.
    let one = place.script("touch one; until [ -e two ]; do sleep 0.01; done; echo one");
    let two = place.script("touch two; until [ -e one ]; do sleep 0.01; done; echo two");
    let (one, two) = tokio::join!(place.run(&one), place.run(&two));
    assert_eq!((one.output.to_string(), two.output.to_string()), ("one\n".into(), "two\n".into()));
}

/// A repository's own tests may make repositories, hook into them and clone them.
#[tokio::test]
async fn other_programs_use_git_with_hooks_and_local_clones_and_git_itself_does_not() {
    let place = Place::new();
    let script = "set -e; git init --quiet -b main one; mkdir hooks\n\
                  printf '#!/bin/sh\\ntouch \"$OLDPWD/hooked\"\\n' > hooks/post-checkout\n\
                  chmod +x hooks/post-checkout\n\
                  git -C one config core.hooksPath \"$PWD/hooks\"\n\
                  git -C one -c user.name=a -c user.email=a commit --quiet --allow-empty -m one\n\
                  git clone --quiet one two\n\
                  cd one; git switch --quiet -c other; ls ..";
    let finished = place.run(&place.script(script)).await;
    assert_eq!(finished.output.to_string(), "hooked\nhooks\none\ntwo\n");
    std::fs::remove_file(place.home().join("hooked")).unwrap();
    let one = place.home().join("one");
    let switched = Command::new("git", &one).args(["switch", "--quiet", "-c", "third"]);
    let switched = place.run(&switched.env("OLDPWD", place.home())).await;
    assert!(switched.exit.passed(), "{}", switched.output);
    assert!(!place.home().join("hooked").exists());
    let cloned = place.run(&place.command("git", &["clone", "one", "three"])).await;
    assert!(cloned.output.to_string().contains("not allowed"), "{}", cloned.output);
}
