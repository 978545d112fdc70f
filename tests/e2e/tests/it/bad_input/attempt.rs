//! One attempt to run a program that should refuse, and the folder it happens in.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use testenv::eventually;
use tokio::process::Command;

/// A refusal that takes longer is none.
const DEADLINE: Duration = Duration::from_secs(30);

/// Marks every process of an attempt.
const MARK: &str = "FOUNDRY_BAD_INPUT_TEST";

/// Outputs of a program that stays.
pub const LOG: &str = "given/log";

/// Words of a message that was made for programmers.
const FOR_PROGRAMMERS: [&str; 7] =
    ["panicked", "RUST_BACKTRACE", "Caused by", "Os {", "Error {", "Some(", "'\""];

/// More than one glance.
const LONGEST_LINE: usize = 400;

/// Where an attempt happens. What the test gives lies in `given`; all else in it is
/// left by the program.
#[derive(Clone)]
pub struct Place(Arc<TempDir>);

impl Place {
    pub fn new() -> Self {
        let place = Self(Arc::new(tempfile::tempdir().unwrap()));
        fs::create_dir(place.path("given")).unwrap();
        place
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A file with this content.
    pub fn give(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path("given").join(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// A kubeconfig of a server that is not there.
    pub fn give_kubeconfig_of_no_server(&self) -> PathBuf {
        // Nothing listens on the first port.
        self.give(
            "no server",
            r#"{"apiVersion": "v1", "kind": "Config", "current-context": "it",
                "clusters": [{"name": "it", "cluster": {"server": "http://127.0.0.1:1"}}],
                "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
                "users": [{"name": "it", "user": {}}]}"#,
        )
    }

    /// Every file that was not given, by its path in here.
    pub fn left(&self) -> Vec<String> {
        let mut left = Vec::new();
        let mut folders = vec![self.0.path().to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(self.0.path()).unwrap();
                if path.is_dir() && name != Path::new("given") {
                    folders.push(path);
                } else if path.is_file() {
                    left.push(name.display().to_string());
                }
            }
        }
        left.sort();
        left
    }
}

/// How much a program can write.
#[derive(Clone, Copy)]
enum Room {
    Enough,
    /// No file may be longer than so many blocks of 512 or 1,024 bytes, as the shell
    /// counts.
    Blocks(u32),
    /// Each write to its outputs fails as on a full disk.
    NoneForOutputs,
}

/// A program with its arguments and its whole environment.
pub struct Attempt {
    place: Place,
    arguments: Vec<OsString>,
    environment: Vec<(String, OsString)>,
    program: PathBuf,
    room: Room,
}

impl Attempt {
    /// `foundry-api` with settings that are good, but for its cluster, which does not
    /// answer.
    pub fn api(place: &Place) -> Self {
        Self::of("foundry-api", place)
            .set("KUBECONFIG", place.give_kubeconfig_of_no_server())
            .set("FOUNDRY_API_LISTEN", "127.0.0.1:0")
            .set("FOUNDRY_DATA_DIR", place.path("data"))
    }

    /// `foundry-operator`, likewise.
    pub fn operator(place: &Place) -> Self {
        Self::of("foundry-operator", place)
            .set("KUBECONFIG", place.give_kubeconfig_of_no_server())
            .set("FOUNDRY_OPERATOR_LISTEN", "127.0.0.1:0")
            .set("FOUNDRY_RUNTIME", "cluster")
    }

    /// `harness` with settings that are good, but for its API, which does not answer.
    pub fn harness(place: &Place) -> Self {
        Self::of("harness", place)
            .set("FOUNDRY_API_URL", "http://127.0.0.1:1")
            .set("FOUNDRY_AGENT_ID", "scout")
            .set("FOUNDRY_AGENT_NAMESPACE", "foundry-agents")
            .set("FOUNDRY_TOKEN_FILE", place.give("token", "a-token"))
    }

    /// `scripted-model` with this script.
    pub fn scripted_model(place: &Place, script: &str) -> Self {
        let script = place.give("script.yaml", script);
        Self::of("scripted-model", place).argument("--script").argument(script)
    }

    /// A verb of `cargo xtask`. Its `PATH` is empty: no tool is there.
    pub fn xtask(place: &Place, verb: &str) -> Self {
        Self::of("xtask", place).argument(verb).set("XDG_CACHE_HOME", place.path("cache"))
    }

    fn of(program: &str, place: &Place) -> Self {
        let attempt = Self {
            place: place.clone(),
            arguments: Vec::new(),
            environment: Vec::new(),
            program: testenv::bin(program),
            room: Room::Enough,
        };
        attempt
            .set("HOME", place.path("home"))
            .set("PATH", place.path("tools"))
            .set(MARK, place.0.path())
    }

    pub fn argument(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Sets a variable, in place of an earlier value.
    pub fn set(mut self, variable: &str, value: impl Into<OsString>) -> Self {
        self.environment.retain(|(name, _)| name != variable);
        self.environment.push((variable.to_owned(), value.into()));
        self
    }

    /// Lets it write no file that is longer than so many blocks.
    pub fn limit_files(mut self, blocks: u32) -> Self {
        self.room = Room::Blocks(blocks);
        self
    }

    /// Lets it write nothing to its outputs.
    pub fn fill_outputs(mut self) -> Self {
        self.room = Room::NoneForOutputs;
        self
    }

    /// Runs it and gives the one line it refuses with. Nothing may be left: no process
    /// (and so no lock) and no file.
    pub async fn refusal(self) -> String {
        self.refusal_leaving(&[]).await
    }

    /// The same; these files may be left, which do no harm.
    pub async fn refusal_leaving(self, harmless: &[&str]) -> String {
        let output = self.run().await;
        let stdout = String::from_utf8_lossy(&output.stdout);
        let stderr = String::from_utf8_lossy(&output.stderr);
        let code = output.status.code();
        assert!(code.is_some_and(|code| code != 0), "{}: {stdout}{stderr}", output.status);
        assert_eq!(stdout, "", "it had begun something: {stderr}");
        let line = the_line(&stderr);
        assert_clear(&line);
        self.assert_no_process_left().await;
        let mut left = self.place.left();
        left.retain(|file| !harmless.contains(&file.as_str()));
        assert!(left.is_empty(), "{left:?} left by: {line}");
        line
    }

    /// The same program, to stay: it is ended with its test.
    pub fn start(&self) -> testenv::Process {
        let (program, arguments) = self.command_line();
        let mut command = std::process::Command::new(&program);
        // It is started by a tool that is found on the test's own `PATH`.
        let environment = self.environment.iter().filter(|(name, _)| name != "PATH");
        command.args(arguments).envs(environment.cloned());
        let log = self.place.path(LOG);
        testenv::Process::spawn(&self.program.display().to_string(), &command, &log).unwrap()
    }

    async fn run(&self) -> Output {
        let (program, arguments) = self.command_line();
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(self.environment.iter().cloned());
        command.stdin(Stdio::null()).kill_on_drop(true);
        let ended = tokio::time::timeout(DEADLINE, command.output()).await;
        ended.unwrap_or_else(|_| panic!("{} goes on", self.program.display())).unwrap()
    }

    fn command_line(&self) -> (PathBuf, Vec<OsString>) {
        let script = match self.room {
            Room::Enough => return (self.program.clone(), self.arguments.clone()),
            Room::Blocks(blocks) => format!(r#"ulimit -f {blocks} && exec "$0" "$@""#),
            Room::NoneForOutputs => r#"exec "$0" "$@" >/dev/full 2>&1"#.to_owned(),
        };
        let mut words: Vec<OsString> = vec!["-c".into(), script.into()];
        words.push(self.program.clone().into());
        words.extend(self.arguments.iter().cloned());
        ("/bin/sh".into(), words)
    }

    /// Whoever was started by it has its mark.
    async fn assert_no_process_left(&self) {
        let mark = [MARK.as_bytes(), b"=", self.place.0.path().as_os_str().as_bytes()].concat();
        eventually("no process is left", Duration::from_secs(5), || async {
            let left: Vec<_> = marked(&mark).collect();
            if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
        })
        .await;
    }
}

/// Processes with this in their environment.
fn marked(mark: &[u8]) -> impl Iterator<Item = PathBuf> {
    fs::read_dir("/proc").unwrap().filter_map(move |entry| {
        let path = entry.ok()?.path();
        // A process that has just ended has no environment.
        let environment = fs::read(path.join("environ")).ok()?;
        environment.split(|&byte| byte == 0).any(|variable| variable == mark).then_some(path)
    })
}

/// What a program says when it refuses: one line, or what the command line's parser
/// says before it explains the usage.
fn the_line(stderr: &str) -> String {
    let mut lines: Vec<_> = stderr.lines().filter(|line| !line.trim().is_empty()).collect();
    if lines.last() == Some(&"For more information, try '--help'.") {
        let usage = lines.iter().position(|line| line.starts_with("Usage: "));
        lines.truncate(usage.unwrap_or(lines.len() - 1));
    } else {
        assert_eq!(lines.len(), 1, "not one line: {stderr}");
    }
    lines.into_iter().map(str::trim).collect::<Vec<_>>().join(" ")
}

fn assert_clear(line: &str) {
    for word in FOR_PROGRAMMERS {
        assert!(!line.contains(word), "{word:?} in: {line}");
    }
    assert!(line.len() <= LONGEST_LINE, "too long: {line}");
    // A single word, as `error`, may well come twice.
    let mut clauses: Vec<_> = line.split(": ").filter(|clause| clause.contains(' ')).collect();
    clauses.sort_unstable();
    assert!(clauses.windows(2).all(|pair| pair[0] != pair[1]), "said twice: {line}");
}

/// Asserts that the line says all of this.
#[track_caller]
pub fn assert_says(line: &str, words: &[&str]) {
    for word in words {
        assert!(line.contains(word), "{word:?} is not in: {line}");
    }
}
