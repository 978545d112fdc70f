//! Keys show nowhere, whatever the model runs to find them.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use fakes::model::{Gate, Point};
use testenv::stack::Harness;

use super::notes;
use super::play::{Part, command_of, read, save};
use super::run::Run;
use super::world::{GITHUB_TOKEN, HOSTS, PROVIDER_KEY, Parts, World, token_of};

/// A child that lives for a few milliseconds shall be seen.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// CODE-05, BIND-04, WORK-12
#[tokio::test(flavor = "multi_thread")]
async fn keys_show_in_no_process_log_event_row_or_request_whatever_the_model_runs() {
    let world = World::start(Parts::default()).await;
    let gate = Gate::new();
    world.play("curious", Part::Planning, [read(notes::FILE).held(Point::Headers, &gate)]);
    world.play("curious", Part::Building, notes::building());
    let run = world.apply("curious", &notes::files(&world)).await;
    let harness = run.harness().await;
    let children = Children::of(harness.pid);
    gate.reached().await;
    let token = token_of(&harness);
    let hold = harness.home.join("repository/.git/hold");
    assert!(Command::new("mkfifo").arg(&hold).status().unwrap().success());
    let attempts = attempts(&harness);
    let mut turns = vec![read(notes::FILE)];
    turns.extend(attempts.iter().map(|words| command_of(words)));
    turns.push(save(notes::PLAN));
    let planned = turns.len();
    world.play("curious", Part::Planning, turns);
    gate.open();
    // Opens when a command reads, which then stays as long as it is looked at.
    let writer = tokio::task::spawn_blocking(|| File::options().write(true).open(hold)).await;
    let mut seen = BTreeSet::new();
    look_below(harness.pid, &mut seen);
    drop(writer);
    run.approve().await;
    run.until_succeeded().await;
    run.until_expired().await;
    seen.extend(children.end());

    assert_eq!(run.requests(Part::Planning).len(), planned, "every attempt was made");
    let told = run.results(Part::Planning, "run_command");
    let denied = told.iter().filter(|told| told.contains("Permission denied")).count();
    assert_eq!(denied, 4, "the keys are where they were looked for: {told:#?}");
    for program in ["cat\0.git/hold", "git\0", "ssh\0"] {
        assert!(seen.iter().any(|text| text.contains(program)), "{program:?} was not seen");
    }
    let key = world.git.client_key();
    let secrets = [
        ("the private key", key.lines().nth(2).unwrap().to_owned()),
        ("the GitHub token", GITHUB_TOKEN.to_owned()),
        ("the provider's key", PROVIDER_KEY.to_owned()),
        ("the pod's token", token.rsplit('.').next().unwrap().to_owned()),
    ];
    for (name, secret) in secrets {
        assert!(secret.len() >= 16, "{name} can be told from other words");
        for text in &seen {
            assert!(!text.contains(&secret), "{name} is shown to a command: {text}");
        }
        for request in world.model.requests() {
            assert!(!request.raw.contains(&secret), "the model is told {name}");
        }
        assert_not_in_cluster(&run, name, &secret).await;
        assert_not_in_files(&world.folder, name, secret.as_bytes());
    }
    drop(run);
    world.end().await;
}

/// What a curious model tries.
fn attempts(harness: &Harness) -> Vec<Vec<String>> {
    let pod = harness.home.parent().unwrap().display();
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let and = |line: &str, path: String| [words(line), vec![path]].concat();
    vec![
        words("env"),
        words("printenv GITHUB_TOKEN"),
        words("printenv AZURE_DEVOPS_TOKEN"),
        words("cat /etc/foundry/ssh/github"),
        and("cat", format!("{pod}/etc/foundry/ssh/github")),
        and("grep -r KEY", format!("{pod}/etc/foundry/ssh")),
        and("cat", format!("{pod}/var/run/secrets/foundry/token")),
        and("cat", format!("/proc/{}/environ", harness.pid)),
        and("grep -a GITHUB_TOKEN", format!("/proc/{}/environ", harness.pid)),
        and("wc", format!("{pod}/etc/foundry/ssh/github")),
        words("cat .git/hold"),
        words("git config --list --show-origin"),
        words("git -c core.sshCommand=env ls-remote origin"),
    ]
}

/// What processes below another one are given: arguments and environment of each that
/// was seen.
struct Children {
    over: Arc<AtomicBool>,
    looking: thread::JoinHandle<BTreeSet<String>>,
}

impl Children {
    fn of(pid: u32) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let until = over.clone();
        let looking = thread::spawn(move || {
            let mut seen = BTreeSet::new();
            while !until.load(Ordering::Relaxed) {
                look_below(pid, &mut seen);
                thread::sleep(LOOK_EVERY);
            }
            seen
        });
        Self { over, looking }
    }

    fn end(self) -> BTreeSet<String> {
        self.over.store(true, Ordering::Relaxed);
        self.looking.join().unwrap()
    }
}

fn look_below(pid: u32, seen: &mut BTreeSet<String>) {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return };
    for thread in threads.flatten() {
        let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        for child in children.split_whitespace().filter_map(|child| child.parse().ok()) {
            for file in ["cmdline", "environ"] {
                let text = fs::read(format!("/proc/{child}/{file}")).unwrap_or_default();
                seen.insert(String::from_utf8_lossy(&text).into_owned());
            }
            look_below(child, seen);
        }
    }
}

/// Everything in the namespace but the Secrets themselves.
async fn assert_not_in_cluster(run: &Run, name: &str, secret: &str) {
    let kinds = "agents,codingruns,harnesses,models,jobs,pods,configmaps,events";
    let objects = run.world.kubectl(&["get", kinds, "--output", "yaml"]).await;
    assert!(objects.contains("kind: CodingRun"));
    assert!(!objects.contains(secret), "{name} is in an object");
}

/// Logs, database, clone and repositories, but for the mounts that carry the keys and
/// what belongs to the hosts.
fn assert_not_in_files(folder: &Path, name: &str, secret: &[u8]) {
    for path in files(folder) {
        let within = |name: &str| path.components().any(|part| part.as_os_str() == name);
        if within(HOSTS) || (within("mounts") && !within("work")) {
            continue;
        }
        let bytes = fs::read(&path).unwrap_or_default();
        let found = bytes.windows(secret.len()).any(|window| window == secret);
        assert!(!found, "{name} is in {}", path.display());
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                found.push(entry.path());
            }
        }
    }
    found
}
