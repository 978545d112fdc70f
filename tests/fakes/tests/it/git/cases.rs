//! What works.

use fakes::git::{BareRepository, Program, Session};
use pretty_assertions::assert_eq;
use tokio::process::Command;

use super::site::{Site, said};

pub(crate) async fn a_clone_a_push_and_what_the_bare_repository_holds_then(site: &Site) {
    site.work("clone", "flow/greet").await;
    let pushed = site.run_in("clone", &["push", "origin", "HEAD:refs/heads/flow/greet"]).await;
    assert!(pushed.succeeded().contains("[new branch]"));
    let bare = site.bare("acme/greeting");
    assert_eq!(bare.file("flow/greet", "greeting.txt").unwrap(), b"hello flow/greet\n");
    let commits = bare.log("flow/greet").unwrap();
    assert_eq!(commits[0].author_email, "bea@example.com");
    assert_eq!(commits.len(), 2);
    let session =
        |connection, program| Session { connection, program, repository: "acme/greeting".into() };
    let expected = [session(1, Program::UploadPack), session(2, Program::ReceivePack)];
    assert_eq!(site.server.sessions(), expected);
    assert_eq!((site.server.connections(), site.server.pushes("acme/greeting")), (2, 1));
    assert_eq!(site.server.complaints(), [""; 0]);
    // A push with a lease, of a branch that was amended.
    let amend = ["commit", "--quiet", "--amend", "--message", "Greet again"];
    site.run_in("clone", &amend).await.succeeded();
    let lease = format!("--force-with-lease=flow/greet:{}", commits[0].id);
    site.run_in("clone", &["push", &lease, "origin", "HEAD:flow/greet"]).await.succeeded();
    assert_eq!(bare.log("flow/greet").unwrap()[0].message, "Greet again");
    // The lease is stale now.
    site.run_in("clone", &["push", &lease, "origin", "main:flow/greet"])
        .await
        .failed_with("stale info");
}

pub(crate) async fn a_shallow_clone_and_one_without_blobs_by_protocol_version_two(site: &Site) {
    site.bare("acme/greeting").commit("main", "Second", &[("b.txt", Some(b"b\n"))]).unwrap();
    let shallow = ["clone", "--quiet", "--depth=1", &site.remote(), "shallow"];
    let mut clone = site.git(&site.path(""), &shallow);
    clone.env("GIT_TRACE_PACKET", "1");
    let trace = said(clone).await.succeeded();
    assert!(trace.contains("clone< version 2"), "{trace}");
    assert_eq!(site.run_in("shallow", &["rev-list", "--count", "HEAD"]).await.succeeded(), "1\n");
    let partial = ["clone", "--quiet", "--filter=blob:none", &site.remote(), "partial"];
    site.run(&partial).await.succeeded();
    let missing = ["rev-list", "--objects", "--missing=print", "HEAD~1"];
    let listed = site.run_in("partial", &missing).await.succeeded();
    assert!(!listed.is_empty());
    let mut old = site.git(&site.path(""), &["ls-remote", "--symref", &site.remote(), "HEAD"]);
    old.env("GIT_PROTOCOL", "version=0");
    assert!(said(old).await.succeeded().contains("ref: refs/heads/main\tHEAD"));
}

pub(crate) async fn a_push_of_twenty_megabytes_and_a_clone_of_them(site: &Site) {
    site.work("clone", "flow/large").await;
    let bytes = incompressible(20 * 1024 * 1024);
    std::fs::write(site.path("clone/large.bin"), &bytes).unwrap();
    site.run_in("clone", &["add", "large.bin"]).await.succeeded();
    site.run_in("clone", &["commit", "--quiet", "--message", "Large"]).await.succeeded();
    site.run_in("clone", &["push", "--quiet", "origin", "HEAD"]).await.succeeded();
    let back = ["clone", "--quiet", "--branch=flow/large", &site.remote(), "back"];
    site.run(&back).await.succeeded();
    assert!(std::fs::read(site.path("back/large.bin")).unwrap() == bytes);
}

pub(crate) async fn many_clones_at_once(site: &Site) {
    let large = incompressible(1024 * 1024);
    site.bare("acme/greeting").commit("main", "Large", &[("l.bin", Some(&large))]).unwrap();
    let remote = site.remote();
    let clones = (0..8).map(|number| {
        let (remote, name) = (remote.clone(), format!("clone {number}"));
        async move { site.run(&["clone", "--quiet", &remote, &name]).await.succeeded() }
    });
    futures::future::join_all(clones).await;
    for number in 0..8 {
        let content = std::fs::read(site.path(&format!("clone {number}/l.bin"))).unwrap();
        assert!(content == large, "clone {number} differs");
    }
    assert_eq!(site.server.connections(), 8);
}

pub(crate) async fn only_git_on_repositories_of_the_folder_is_run(site: &Site) {
    let outside = site.path("outside.git");
    BareRepository::make(&outside, &site.path("files")).unwrap();
    let user = site.remote().split(['/', '@']).nth(2).unwrap().to_owned();
    let ssh = |command: String| {
        let mut ssh = Command::new("ssh");
        ssh.args(site.ssh_options(&site.client_key()))
            .args(["-p", &site.server.port().to_string(), &format!("{user}@127.0.0.1")])
            .args((!command.is_empty()).then_some(command));
        said(ssh)
    };
    let refused = [
        "id".to_owned(),
        "git-upload-pack 'acme/greeting.git'; id".to_owned(),
        "git-upload-archive 'acme/greeting.git'".to_owned(),
    ];
    for command in refused {
        let words = "only git-upload-pack and git-receive-pack";
        ssh(command).await.failed_with(words);
    }
    let paths = ["../outside.git", "/acme/../../outside.git", "acme/none.git", ""];
    let absolute = outside.display().to_string();
    for path in paths.into_iter().chain([absolute.as_str()]) {
        ssh(format!("git-upload-pack '{path}'")).await.failed_with("Repository not found");
    }
    assert!(!ssh(String::new()).await.success, "there is no shell");
    assert_eq!(site.server.sessions(), []);
    let missing = site.server.remote("acme/missing");
    site.run(&["clone", &missing, "missing"]).await.failed_with("ERROR: Repository not found.");
}

pub(crate) async fn a_stranger_is_not_let_in(site: &Site) {
    let key = site.path("stranger");
    let mut keygen = Command::new("ssh-keygen");
    keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key);
    said(keygen).await.succeeded();
    let clone = site.git_with(&key, &site.path(""), &["clone", &site.remote(), "clone"]);
    said(clone).await.failed_with("Permission denied (publickey)");
    let other = site.remote().replacen("git@", "admin@", 1);
    if other != site.remote() {
        site.run(&["clone", &other, "clone"]).await.failed_with("Permission denied (publickey)");
    }
    assert_eq!(site.server.sessions(), []);
}

pub(crate) async fn both_forms_of_a_remote_lead_to_the_repository(site: &Site) {
    let remote = site.remote();
    site.run(&["ls-remote", remote.strip_suffix(".git").unwrap()]).await.succeeded();
    // The form with a colon has no place for a port.
    let user = remote.split(['/', '@']).nth(2).unwrap();
    let short = format!("{user}@127.0.0.1:acme/greeting.git");
    let mut command = site.git(&site.path(""), &["ls-remote", &short]);
    let options = site.ssh_options(&site.client_key());
    let quoted: Vec<String> = options.iter().map(|word| format!("'{word}'")).collect();
    let port = site.server.port();
    command.env("GIT_SSH_COMMAND", format!("ssh -p {port} {}", quoted.join(" ")));
    said(command).await.succeeded();
}

/// Bytes that no pack makes smaller.
pub(crate) fn incompressible(count: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = Vec::with_capacity(count + 8);
    while bytes.len() < count {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend(state.to_le_bytes());
    }
    bytes.truncate(count);
    bytes
}
