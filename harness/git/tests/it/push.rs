//! What gets to the remote, and what does not (CODE-05).

use foundry_git::{Access, Confinement, FlowBranch, GitError, PushRefusal};
use pretty_assertions::assert_eq;
use rstest::rstest;

use super::site::{Server, Site, commit, name, plain_git, run};

/// CODE-05
#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn the_own_branch_arrives_and_nothing_else(
    #[values(Server::Embedded, Server::OpenSsh)] server: Server,
) {
    let Some(site) = Site::on(server).await else { return };
    let before = site.bare.refs().unwrap();
    let repository = site.clone().await;
    let head = commit(&repository, "greeting.txt", "hello, world\n").await;
    plain_git(repository.root(), &["branch", "other"]);
    plain_git(repository.root(), &["tag", "-a", "-m", "mine", "mine"]);
    let pushed = repository.push("flow/fix-greeting", &name("main")).await.unwrap();
    assert_eq!((pushed.commit.as_str(), pushed.was_there), (head.as_str(), false));
    let mut expected = before.clone();
    expected.insert("refs/heads/flow/fix-greeting".to_owned(), head.clone());
    assert_eq!(site.bare.refs().unwrap(), expected);

    let again = repository.push("refs/heads/flow/fix-greeting", &name("main")).await.unwrap();
    assert!(again.was_there);
    // More commits, and ones that replace them, go through too: they are all our own.
    commit(&repository, "greeting.txt", "hello, all\n").await;
    repository.push("flow/fix-greeting", &name("main")).await.unwrap();
    super::site::passes(&repository, "git", &["reset", "--quiet", "--hard", &head]).await;
    let last = commit(&repository, "greeting.txt", "hello, you\n").await;
    repository.push("flow/fix-greeting", &name("main")).await.unwrap();
    assert_eq!(site.bare.head("flow/fix-greeting").unwrap(), Some(last));
}

/// CODE-05
#[tokio::test(flavor = "multi_thread")]
async fn the_target_and_every_other_branch_are_refused_before_any_connection() {
    let site = Site::embedded().await;
    let repository = site.clone().await;
    commit(&repository, "greeting.txt", "hello, world\n").await;
    let refs = site.bare.refs().unwrap();
    for asked in ["main", "refs/heads/main", "HEAD:main", "+flow/fix-greeting:main", "origin/main"]
    {
        let error = repository.push(asked, &name("main")).await.unwrap_err();
        let GitError::PushRefused { reason, branch } = &error else { panic!("{error}") };
        assert_eq!(branch, asked);
        assert_eq!(
            *reason,
            PushRefusal::TargetBranch { own: "flow/fix-greeting".to_owned() },
            "{asked}"
        );
    }
    for asked in ["other", "--mirror", "", "flow/fix-greeting:other"] {
        let error = repository.push(asked, &name("main")).await.unwrap_err();
        assert_eq!(error.category(), "PushRefused", "{asked}");
    }
    assert_eq!(site.server.pushes("acme/greeting"), 0);
    assert_eq!(site.server.connections(), 1, "that of the clone");
    assert_eq!(site.bare.refs().unwrap(), refs);
}

/// CODE-05
#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn an_earlier_start_is_replaced_and_anybody_elses_commits_are_not(
    #[values(Server::Embedded, Server::OpenSsh)] server: Server,
) {
    let Some(site) = Site::on(server).await else { return };
    let first = site.clone().await;
    commit(&first, "greeting.txt", "first start\n").await;
    first.push("flow/fix-greeting", &name("main")).await.unwrap();

    // The next start of the same run begins at the base again.
    let second = site.clone().await;
    let head = commit(&second, "greeting.txt", "second start\n").await;
    second.push("flow/fix-greeting", &name("main")).await.unwrap();
    assert_eq!(site.bare.head("flow/fix-greeting").unwrap(), Some(head));

    let persons =
        site.bare.commit("flow/fix-greeting", "By a person", &[("a", Some(b"a"))]).unwrap();
    commit(&second, "greeting.txt", "second start, on\n").await;
    let error = second.push("flow/fix-greeting", &name("main")).await.unwrap_err();
    let GitError::PushRefused { reason: PushRefusal::Moved, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(site.bare.head("flow/fix-greeting").unwrap(), Some(persons));
}

/// CODE-05
#[tokio::test(flavor = "multi_thread")]
async fn a_push_whose_answer_was_lost_is_taken_up() {
    let site = Site::embedded().await;
    let repository = site.clone().await;
    commit(&repository, "greeting.txt", "hello, world\n").await;
    site.server.set_faults(fakes::git::Faults {
        cut_after_received: Some(0),
        connections: Some(1),
        ..Default::default()
    });
    let error = repository.push("flow/fix-greeting", &name("main")).await.unwrap_err();
    assert_eq!(error.category(), "Unreachable", "{error}");
    // The commit arrived all the same, as far as the clone can know.
    let clone = repository.root().to_str().unwrap();
    site.at_remote(&["fetch", "--quiet", clone, "flow/fix-greeting:flow/fix-greeting"]);
    let head = commit(&repository, "greeting.txt", "hello, all\n").await;
    repository.push("flow/fix-greeting", &name("main")).await.unwrap();
    assert_eq!(site.bare.head("flow/fix-greeting").unwrap(), Some(head));
}

/// CODE-05
#[tokio::test(flavor = "multi_thread")]
async fn configuration_in_the_clone_has_no_say() {
    let site = Site::embedded().await;
    let repository = site.clone().await;
    let head = commit(&repository, "greeting.txt", "hello, world\n").await;
    let marker = site.path("home/ran");
    let run = format!("touch {} #", marker.display());
    for (setting, value) in [
        ("core.sshCommand", run.as_str()),
        ("core.hooksPath", "hooks"),
        ("core.fsmonitor", &run),
        ("credential.helper", &format!("!{run}")),
        ("gpg.program", &run),
        ("push.gpgSign", "true"),
        ("remote.origin.receivepack", &run),
        ("remote.origin.url", "ssh://git@127.0.0.1:9/elsewhere"),
        ("url.ssh://git@127.0.0.1:9/.insteadOf", "ssh://git@127.0.0.1"),
        ("diff.external", &run),
        ("core.editor", &run),
    ] {
        plain_git(repository.root(), &["config", setting, value]);
    }
    let hooks = repository.root().join("hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    for hook in ["pre-push", "pre-commit", "post-checkout"] {
        let path = hooks.join(hook);
        std::fs::write(&path, format!("#!/bin/sh\n{run}\n")).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(path, mode).unwrap();
    }
    repository.push("flow/fix-greeting", &name("main")).await.unwrap();
    assert_eq!(site.bare.head("flow/fix-greeting").unwrap(), Some(head));
    repository.snapshot().await.unwrap().diff(1000).await.unwrap();
    repository.status().await.unwrap();
    assert!(!marker.exists());
}

/// CODE-05
#[tokio::test(flavor = "multi_thread")]
async fn commands_have_neither_key_nor_token() {
    let site = Site::embedded().await;
    let repository = site.clone().await;
    commit(&repository, "greeting.txt", "hello, world\n").await;
    let seen = super::site::passes(&repository, "env", &[]).await;
    assert!(!seen.contains("GIT_SSH") && !seen.contains("FOUNDRY_"), "{seen}");
    // By these, what outlives a harness that was killed is found (OPS-01).
    for (name, folder) in [("HOME", "home"), ("TMPDIR", "tmp")] {
        let variable = format!("{name}={}", site.path(folder).display());
        assert!(seen.lines().any(|line| line == variable), "{seen}");
    }
    let pushed = run(&repository, "git", &["push", "origin", "HEAD:refs/heads/sneaky"]).await;
    assert!(!pushed.exit.passed());
    assert_eq!(site.bare.head("sneaky").unwrap(), None);

    let key = site.path("ssh/github");
    let read = run(&repository, "cat", &[key.to_str().unwrap()]).await;
    match repository.git().runner().confinement() {
        Confinement::Enforced => {
            assert!(!read.exit.passed());
            assert!(read.output.head.contains("Permission denied"), "{}", read.output);
            let ssh = format!("ssh -i {} -o StrictHostKeyChecking=no", key.display());
            let setting = format!("core.sshCommand={ssh}");
            let push = ["-c", &setting, "push", "origin", "HEAD:refs/heads/sneaky"];
            assert!(!run(&repository, "git", &push).await.exit.passed());
            assert_eq!(site.bare.head("sneaky").unwrap(), None);
        }
        Confinement::Unavailable { reason } => assert!(!reason.is_empty()),
        Confinement::NotAsked => panic!("the folder of keys is denied"),
    }
}

/// CODE-05
#[rstest]
#[case("info/alternates")]
#[case("info/commit-graphs/commit-graph-chain")]
#[tokio::test(flavor = "multi_thread")]
async fn a_link_among_the_objects_brings_no_key_into_any_words(#[case] place: &str) {
    let site = Site::embedded().await;
    let repository = site.clone().await;
    commit(&repository, "greeting.txt", "hello, world\n").await;
    let link = repository.root().join(".git/objects").join(place);
    std::fs::create_dir_all(link.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(site.path("ssh/github"), &link).unwrap();
    // Git says of each line of the key that it makes no sense, and a refused push tells why.
    site.server.refuse_auth(true);
    let error = repository.push("flow/fix-greeting", &name("main")).await.unwrap_err();
    let words = foundry_git::chain(&error);
    let key = std::fs::read_to_string(site.path("ssh/github")).unwrap();
    for line in key.lines().filter(|line| !line.is_empty()) {
        assert!(!words.contains(line), "{words}");
    }
    assert!(words.contains(place) && words.contains("remove it"), "{words}");

    site.server.refuse_auth(false);
    std::fs::remove_file(link).unwrap();
    repository.push("flow/fix-greeting", &name("main")).await.unwrap();
}

/// CODE-04, CODE-05
#[tokio::test(flavor = "multi_thread")]
async fn commits_that_were_there_before_are_not_pushed_under_another_form() {
    let site = Site::embedded().await;
    let repository = site.clone().await;
    super::site::passes(&repository, "git", &["commit", "--amend", "-m", "Mine now"]).await;
    let error = repository.push("flow/fix-greeting", &name("main")).await.unwrap_err();
    let GitError::PushRefused { reason: PushRefusal::Rewritten { base }, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(base, repository.base().commit.as_str());
    // Nor does it help to tell the clone that it was always so.
    super::site::passes(&repository, "git", &["replace", base, "HEAD"]).await;
    let error = repository.push("flow/fix-greeting", &name("main")).await.unwrap_err();
    assert!(matches!(&error, GitError::PushRefused { .. }), "{error}");
    assert_eq!(site.server.pushes("acme/greeting"), 0);
}

/// CODE-05
#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_added_to_the_branch_of_an_earlier_start_is_not_replaced() {
    let site = Site::embedded().await;
    let first = site.clone().await;
    commit(&first, "greeting.txt", "first start\n").await;
    first.push("flow/fix-greeting", &name("main")).await.unwrap();
    // The target moved on and was merged into the branch, as hosts offer it.
    site.bare.commit("main", "By a person", &[("b", Some(b"b"))]).unwrap();
    site.at_remote(&["update-ref", "refs/heads/old", "flow/fix-greeting"]);
    site.clone().await;
    let persons =
        site.bare.commit("flow/fix-greeting", "By a person", &[("a", Some(b"a"))]).unwrap();
    let error = site.failed_clone().await;
    let GitError::BranchExists { branch } = &error else { panic!("{error}") };
    assert!(branch.starts_with("flow/fix-greeting of the remote, with commits by "), "{branch}");
    assert_eq!(site.bare.head("flow/fix-greeting").unwrap(), Some(persons));
}

/// CODE-05, CODE-45
#[tokio::test(flavor = "multi_thread")]
async fn a_branch_made_in_a_persons_clone_replaces_nobody_elses_at_the_remote() {
    let site = Site::embedded().await;
    site.at_remote(&["branch", "flow/fix-greeting", "main"]);
    let theirs =
        site.bare.commit("flow/fix-greeting", "By a person", &[("a", Some(b"a"))]).unwrap();
    let ssh = site.git().access().clone();
    let Access::Keys(keys) = ssh else { panic!("a pod has keys") };
    let cloned = site.path("home/persons");
    std::process::Command::new("git")
        .args(["clone", "--quiet", site.remote().url()])
        .arg(&cloned)
        .env("GIT_SSH_COMMAND", keys.ssh_command(&site.remote()).unwrap())
        .status()
        .unwrap();
    let (mut repository, _) = site.git().open(&cloned).await.unwrap();
    let branch = FlowBranch::new("fix-greeting").unwrap();
    assert!(repository.is_taken(&branch).await.unwrap());
    repository.create_branch(branch).await.unwrap();
    commit(&repository, "greeting.txt", "hello, world\n").await;
    let error = repository.push("flow/fix-greeting", &name("main")).await.unwrap_err();
    let GitError::PushRefused { reason: PushRefusal::Moved, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(site.bare.head("flow/fix-greeting").unwrap(), Some(theirs));
}
