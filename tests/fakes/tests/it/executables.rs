//! The executables: a port out, a line, a clean end, one clear line on bad input.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const DEADLINE: Duration = Duration::from_secs(20);

/// Ends the process, whatever becomes of the test.
struct Running(Option<Child>);

impl Running {
    fn start(program: &str, args: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(Some(command.spawn().unwrap()))
    }

    /// Asks the process to end and waits for it.
    fn terminate(mut self) -> Output {
        let child = self.0.take().unwrap();
        let id = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
        child.wait_with_output().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

async fn port(file: &Path) -> u16 {
    let start = Instant::now();
    loop {
        if let Ok(text) = std::fs::read_to_string(file) {
            return text.parse().unwrap();
        }
        assert!(start.elapsed() < DEADLINE, "no port in {}", file.display());
        tokio::task::yield_now().await;
    }
}

async fn post(url: String, body: &Value) -> Value {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    client.post(url).json(body).send().await.unwrap().json().await.unwrap()
}

#[tokio::test]
async fn the_scripted_model_plays_the_quickstart_and_ends_on_sigterm() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/quickstart.yaml");
    let (port_file, capture) = (path("port"), path("captured.jsonl"));
    // What the first script says comes before what the second says.
    let last = path("last.yaml");
    std::fs::write(&last, "rules: [{reply: {text: never}}]").unwrap();
    let scripts = ["--script", script, "--script", &last];
    let files = ["--port-file", &port_file, "--capture", &capture];
    let args = [scripts, files].concat();
    let model = Running::start(env!("CARGO_BIN_EXE_scripted-model"), &args);
    let port = port(Path::new(&port_file)).await;
    let url = || format!("http://127.0.0.1:{port}/v1/chat/completions");
    let tool = |name: &str| json!({"type": "function", "function": {"name": name, "parameters": {"type": "object"}}});
    let mut asked = json!({
        "model": "gpt-5-mini", "tools": [tool("list_agents"), tool("remember"), tool("recall")],
        "messages": [
            {"role": "system", "content": "# Instructions\n\nWatch over this.\n\n# Thoughts\n\nnone"},
            {"role": "user", "content": "Time now: noon"},
        ],
    });
    let mut called = Vec::new();
    let last = loop {
        let answer = post(url(), &asked).await;
        let message = answer["choices"][0]["message"].clone();
        let Some(call) = message.get("tool_calls").map(|calls| calls[0].clone()) else {
            break message["content"].as_str().unwrap().to_owned();
        };
        called.push(call["function"]["name"].as_str().unwrap().to_owned());
        let messages = asked["messages"].as_array_mut().unwrap();
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
        messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": "{}"}));
    };
    assert_eq!(called, ["list_agents", "remember"]);
    assert_eq!(
        last,
        "Done: I remembered what I saw. I work by these instructions: Watch over this."
    );
    let ended = model.terminate();
    assert!(ended.status.success(), "{ended:?}");
    let lines = std::fs::read_to_string(&capture).unwrap();
    assert_eq!(lines.lines().count(), 3);
    let said = String::from_utf8(ended.stdout).unwrap();
    assert_eq!(said, format!("scripted-model listens on http://127.0.0.1:{port}/v1\n"));
}

#[tokio::test]
async fn the_issuer_signs_for_whoever_asks_and_ends_on_sigterm() {
    let folder = tempfile::tempdir().unwrap();
    let port_file = folder.path().join("port").display().to_string();
    let keys = folder.path().display().to_string();
    let args = ["--key-dir", &keys, "--port-file", &port_file];
    let issuer = Running::start(env!("CARGO_BIN_EXE_dev-issuer"), &args);
    let port = port(Path::new(&port_file)).await;
    let request =
        json!({"sub": "ann", "workspaces": ["foundry-agents"], "roles": [], "ttl_seconds": 60});
    let answer = post(format!("http://127.0.0.1:{port}/token"), &request).await;
    assert_eq!(answer["access_token"].as_str().unwrap().split('.').count(), 3);
    let wrong = post(format!("http://127.0.0.1:{port}/token"), &json!({"who": "ann"})).await;
    assert!(wrong["error"].as_str().unwrap().contains("unknown field `who`"), "{wrong}");
    assert!(issuer.terminate().status.success());
}

#[tokio::test]
async fn an_executable_ends_with_the_process_that_started_it() {
    let folder = tempfile::tempdir().unwrap();
    let port_file = folder.path().join("port");
    let keys = folder.path().display().to_string();
    let mut shell = Command::new("sh");
    shell
        .args(["-c", r#""$0" --key-dir "$1" --port-file "$1/port" & wait"#])
        .args([env!("CARGO_BIN_EXE_dev-issuer"), &keys])
        .env("FOUNDRY_PDEATHSIG", "1")
        .stdout(Stdio::null());
    let mut shell = shell.spawn().unwrap();
    let port = port(&port_file).await;
    shell.kill().unwrap(); // not even a signal that could be handled
    shell.wait().unwrap();
    let start = Instant::now();
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
        assert!(start.elapsed() < DEADLINE, "it still listens on port {port}");
    }
}

#[test]
fn bad_input_is_one_clear_line_and_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.yaml").display().to_string();
    std::fs::write(&script, "rules: [{reply: {txt: hello}}]").unwrap();
    let program = env!("CARGO_BIN_EXE_scripted-model");
    let run = |args: &[&str]| Command::new(program).args(args).output().unwrap();
    let ended = run(&["--script", &script]);
    let words = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1));
    assert!(words.contains(&script) && words.contains("unknown field `txt`"), "{words}");
    assert_eq!(words.lines().count(), 1, "{words}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let good = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/quickstart.yaml");
    let ended = run(&["--script", good, "--listen", &address]);
    let words = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1));
    assert!(words.contains(&address) && words.contains("in use"), "{words}");
}

fn git(folder: &Path, key_dir: &Path, arguments: &[&str]) -> Output {
    let ssh = format!(
        "ssh -F none -o BatchMode=yes -o IdentitiesOnly=yes -i '{0}/client_key' \
         -o StrictHostKeyChecking=yes -o 'UserKnownHostsFile=\"{0}/known_hosts\"'",
        key_dir.display()
    );
    let mut git = Command::new("git");
    git.args(["-c", "user.name=Bea", "-c", "user.email=bea@example.com"]).args(arguments);
    git.current_dir(folder).env("GIT_SSH_COMMAND", ssh).output().unwrap()
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// A push to the one and a pull request at the other, with faults by file and a restart.
#[tokio::test]
async fn the_git_server_and_the_stand_in_for_github_serve_one_folder() {
    let folder = tempfile::Builder::new().prefix("both of them ").tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::create_dir(path("files")).unwrap();
    std::fs::write(path("files/greeting.txt"), "hello\n").unwrap();
    let (repositories, keys, git_faults) = (path("bare ones"), path("keys"), path("git.json"));
    let init = format!("acme/greeting={}", path("files"));
    let start = async |listen: &str| {
        let port_file = path("git port");
        let args = ["--listen", listen, "--repositories", &repositories, "--key-dir", &keys];
        let more = ["--faults", &git_faults, "--init-from", &init, "--port-file", &port_file];
        let program = env!("CARGO_BIN_EXE_git-ssh-server");
        let server = Running::start(program, &[args.as_slice(), &more].concat());
        let port = port(Path::new(&port_file)).await;
        std::fs::remove_file(port_file).unwrap();
        (server, port)
    };
    let (server, git_port) = start("127.0.0.1:0").await;

    let (token, record) = (path("token"), path("record.jsonl"));
    std::fs::write(&token, "ghp_demo\n").unwrap();
    let port_file = path("github port");
    let args = ["--repositories", &repositories, "--token-file", &token, "--record", &record];
    let more = ["--port-file", port_file.as_str()];
    let program = env!("CARGO_BIN_EXE_github-stand-in");
    let github = Running::start(program, &[args.as_slice(), &more].concat());
    let github_port = port(Path::new(&port_file)).await;

    let key_dir = folder.path().join("keys");
    let run = |arguments: &[&str]| git(folder.path(), &key_dir, arguments);
    let remote = format!("ssh://git@127.0.0.1:{git_port}/acme/greeting.git");
    let cloned = run(&["clone", "--quiet", &remote, "clone"]);
    assert!(cloned.status.success(), "{}", words(&cloned));
    let commit = ["-C", "clone", "commit", "--quiet", "--allow-empty", "--message", "Work"];
    assert!(run(&commit).status.success());
    std::fs::write(&git_faults, r#"{"refuse_pushes": [{"message": "not today"}]}"#).unwrap();
    let push = ["-C", "clone", "push", "--quiet", "origin", "HEAD:flow/work"];
    let refused = run(&push);
    assert!(!refused.status.success() && words(&refused).contains("remote: not today"));
    std::fs::write(&git_faults, "").unwrap();
    let pushed = run(&push);
    assert!(pushed.status.success(), "{}", words(&pushed));

    let client = reqwest::Client::builder().no_proxy().user_agent("test").build().unwrap();
    let url = format!("http://127.0.0.1:{github_port}/repos/acme/greeting/pulls");
    let body = json!({"title": "Work", "head": "flow/work", "base": "main"});
    let made = client.post(url).bearer_auth("ghp_demo").json(&body).send().await.unwrap();
    assert_eq!(made.status(), 201);
    let line = std::fs::read_to_string(&record).unwrap();
    let line: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&line["kind"], &line["number"]), (&json!("created"), &json!(1)));

    let ended = server.terminate();
    assert!(ended.status.success(), "{ended:?}");
    let said = String::from_utf8(ended.stdout).unwrap();
    assert_eq!(said, format!("git-ssh-server listens on ssh://127.0.0.1:{git_port}\n"));
    // Started again on its port, it has the key that clients know, and what was pushed.
    let (server, again) = start(&format!("127.0.0.1:{git_port}")).await;
    assert_eq!(again, git_port);
    let listed = run(&["ls-remote", &remote, "flow/work"]);
    assert!(words(&listed).contains("refs/heads/flow/work"), "{}", words(&listed));
    std::fs::write(&git_faults, r#"{"hangs": true}"#).unwrap();
    assert!(!run(&["ls-remote", &remote]).status.success());
    let complained = server.terminate();
    assert_eq!(complained.status.code(), Some(1));
    assert!(words(&complained).contains("unknown field `hangs`"), "{complained:?}");
    assert!(github.terminate().status.success());
}
