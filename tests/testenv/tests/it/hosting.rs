//! The Git server and the stand-in for GitHub, with what a coding pod is given.

use std::process::{Command, Output};

use serde_json::json;
use testenv::stack::{GitAccess, Runtime, Stack, StackOptions};

const NAME: &str = "acme/greeting";

async fn stack() -> Stack {
    let folder = testenv::scratch("a stack's").unwrap();
    let mut stack = Stack::new(StackOptions {
        operator_kubeconfig: folder.join("none"),
        api_kubeconfig: folder.join("none"),
        folder,
        executables: testenv::bin_folder().unwrap(),
        namespaces: Vec::new(),
        scripts: Vec::new(),
        database: None,
        evaluate_seconds: None,
        runtime: Runtime::Local,
    })
    .await
    .unwrap();
    stack.start_git().await.unwrap();
    stack.start_github().await.unwrap();
    stack
}

/// Asks the remote for its refs.
fn ls_remote(stack: &Stack, GitAccess { private_key, known_hosts, .. }: &GitAccess) -> Output {
    // A shell takes the words apart, and ssh the file's name.
    let quoted = |word: String| format!("'{}'", word.replace('\'', r"'\''"));
    let ssh = format!(
        "ssh -F none -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=yes \
         -i {} -o {}",
        quoted(private_key.display().to_string()),
        quoted(format!("UserKnownHostsFile=\"{}\"", known_hosts.display()))
    );
    let mut git = Command::new("git");
    git.args(["ls-remote", &stack.remote(NAME)]).env("GIT_SSH_COMMAND", ssh);
    git.output().unwrap()
}

#[tokio::test]
async fn the_git_server_lets_its_key_in_keeps_it_over_a_restart_and_does_wrong_when_told() {
    let mut stack = stack().await;
    let bare = stack.bare_repository(NAME);
    let made = Command::new("git").args(["init", "--quiet", "--bare"]).arg(&bare).status();
    assert!(made.unwrap().success());
    let access = stack.git_access();
    let listed = ls_remote(&stack, &access);
    assert!(listed.status.success(), "{listed:?}");

    stack.git.take().unwrap().kill().unwrap();
    assert!(!ls_remote(&stack, &access).status.success());
    stack.start_git().await.unwrap();
    let listed = ls_remote(&stack, &access);
    assert!(listed.status.success(), "{listed:?}");

    stack.set_git_faults(&json!({"other_host_key": true})).unwrap();
    let refused = ls_remote(&stack, &access);
    let words = String::from_utf8_lossy(&refused.stderr);
    assert!(words.contains("REMOTE HOST IDENTIFICATION HAS CHANGED"), "{words}");
    stack.set_git_faults(&json!(null)).unwrap();
    assert!(ls_remote(&stack, &access).status.success());
    stack.stop().await.unwrap();
}

#[tokio::test]
async fn secrets_hold_what_the_servers_take() {
    let stack = stack().await;
    let access = stack.git_access();
    let [ssh, git] = access.secrets().unwrap();
    let ssh = &ssh["stringData"];
    assert!(ssh["ssh-privatekey"].as_str().unwrap().contains("OPENSSH PRIVATE KEY"), "{ssh}");
    let host = format!("[127.0.0.1]:{}", access.host.split(':').nth(1).unwrap());
    assert!(ssh["known_hosts"].as_str().unwrap().contains(&host), "{ssh}");

    testenv::install_tls_provider();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let pulls = format!("{}/repos/{NAME}/pulls", access.api_url);
    let ask = async |token: &str| {
        let request = http.get(&pulls).bearer_auth(token).header("user-agent", "testenv");
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(ask("another").await, 401);
    assert_eq!(ask(git["stringData"]["GITHUB_TOKEN"].as_str().unwrap()).await, 404);
    stack.stop().await.unwrap();
}
