//! What a clone is: by which key, of which ref, on which branch, as whom.

use foundry_git::{FlowBranch, Warning};
use pretty_assertions::assert_eq;
use rstest::rstest;

use super::site::{MAILBOX, Server, Site, commit, name, passes, plain_git};

/// CODE-01
#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn the_key_is_that_of_the_remotes_host(
    #[values(Server::Embedded, Server::OpenSsh)] server: Server,
) {
    let Some(site) = Site::on(server).await else { return };
    // The general key is a wrong one: the clone shows that GitHub's own was taken.
    site.key("ssh-privatekey", &site.strange_key());
    site.key("azure-devops", &site.strange_key());
    let repository = site.clone().await;
    let greeting = std::fs::read_to_string(repository.root().join("greeting.txt")).unwrap();
    assert_eq!(greeting, "hello\n");

    site.key("github", &site.strange_key());
    site.key("ssh-privatekey", site.server.client_key());
    assert_eq!(site.failed_clone().await.category(), "AuthRefused");
    // A host without a key of its own.
    std::fs::remove_file(site.path("ssh/github")).unwrap();
    site.clone().await;
}

/// CODE-02
#[tokio::test(flavor = "multi_thread")]
async fn the_base_is_what_was_asked_for_else_the_default_else_head() {
    let site = Site::embedded().await;
    let main = site.bare.head("main").unwrap().unwrap();
    let release = site.bare.commit("release", "Release", &[("a", Some(b"a"))]).unwrap();
    let trunk = site.bare.commit("trunk", "Trunk", &[("b", Some(b"b"))]).unwrap();
    site.at_remote(&["tag", "-a", "-m", "one", "v1", &release]);
    site.bare.set_head("trunk").unwrap();
    let cases = [
        (None, None, "trunk", &trunk, "trunk"),
        (None, Some("main"), "main", &main, "main"),
        (Some("release"), Some("main"), "release", &release, "main"),
        (Some("v1"), None, "v1", &release, "trunk"),
    ];
    for (base, default, base_name, commit, target) in cases {
        let mut request = site.request();
        request.base_ref = base.map(name);
        request.default_ref = default.map(name);
        let repository = site.git().clone_repository(&request).await.unwrap();
        assert_eq!(repository.base().name, base_name);
        assert_eq!(repository.base().commit.as_str(), commit);
        assert_eq!(repository.head().await.unwrap().as_str(), commit);
        assert_eq!(repository.default_branch().await.unwrap().as_str(), target);
        assert_eq!(repository.commits_since_base().await.unwrap(), 0);
        assert!(repository.status().await.unwrap().is_clean());
    }
}

/// CODE-03
#[tokio::test(flavor = "multi_thread")]
async fn the_branch_is_checked_out_and_follows_no_other() {
    let site = Site::embedded().await;
    let repository = site.clone().await;
    let status = repository.status().await.unwrap();
    assert_eq!(status.branch.as_deref(), Some("flow/fix-greeting"));
    assert_eq!(repository.branch(), Some(&FlowBranch::new("fix-greeting").unwrap()));
    let settings = plain_git(repository.root(), &["config", "--list", "--local"]);
    assert!(!settings.contains("branch.flow/fix-greeting"), "{settings}");
}

/// CODE-04
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_is_by_the_mailbox_of_the_agent() {
    let site = Site::embedded().await;
    let repository = site.clone().await;
    let local = |name: &str| plain_git(repository.root(), &["config", "--local", name]);
    assert_eq!((local("user.name"), local("user.email")), (MAILBOX.into(), MAILBOX.into()));
    // Another author in the configuration changes nothing.
    plain_git(repository.root(), &["config", "user.email", "eve@acme.net"]);
    commit(&repository, "greeting.txt", "hello, world\n").await;
    let people = passes(&repository, "git", &["log", "-1", "--format=%an %ae %cn %ce"]).await;
    assert_eq!(people, [MAILBOX; 4].join(" "));
    assert_eq!(repository.commits_since_base().await.unwrap(), 1);
    assert_eq!(repository.head().await.unwrap(), repository.branch_head().await.unwrap());
}

/// CODE-01
#[tokio::test(flavor = "multi_thread")]
async fn a_clone_is_whole_takes_one_connection_and_replaces_what_was_there() {
    let site = Site::embedded().await;
    site.bare.commit("release", "Release", &[("a", Some(b"a"))]).unwrap();
    site.at_remote(&["tag", "v1", "release"]);
    let left = site.path("home/repository");
    std::fs::create_dir_all(left.join(".git")).unwrap();
    std::fs::write(left.join("half"), "half").unwrap();
    let repository = site.clone().await;
    assert_eq!(site.server.connections(), 1);
    assert!(!repository.root().join("half").exists());
    let refs = passes(&repository, "git", &["for-each-ref", "--format=%(refname)"]).await;
    for expected in ["refs/remotes/origin/release", "refs/tags/v1", "refs/remotes/origin/main"] {
        assert!(refs.lines().any(|one| one == expected), "{refs}");
    }
    let shallow = passes(&repository, "git", &["rev-parse", "--is-shallow-repository"]).await;
    assert_eq!(shallow, "false");
    assert_eq!(repository.warnings(), []);
}

/// CODE-02
#[tokio::test(flavor = "multi_thread")]
async fn a_missing_ref_is_named_and_an_empty_repository_too() {
    let site = Site::embedded().await;
    let mut request = site.request();
    request.base_ref = Some(name("gone"));
    let error = site.git().clone_repository(&request).await.unwrap_err();
    assert_eq!(error.category(), "RefNotFound");
    let words = format!("{} has no branch or tag gone: ", request.remote);
    assert!(error.to_string().starts_with(&words), "{error}");

    let empty = site.path("repositories/acme/empty.git");
    plain_git(&site.path("repositories"), &["init", "--quiet", "--bare", empty.to_str().unwrap()]);
    let mut request = site.request();
    request.remote = foundry_git::Remote::parse(&site.server.remote("acme/empty")).unwrap();
    let error = site.git().clone_repository(&request).await.unwrap_err();
    assert_eq!(error.category(), "RefNotFound");
    assert!(error.to_string().contains("push a first commit"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pointers_of_lfs_and_submodules_are_told() {
    let site = Site::embedded().await;
    let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";
    let modules = b"[submodule \"lib\"]\n\tpath = libs/lib\n\turl = git@host:lib\n";
    let files: [(&str, Option<&[u8]>); 5] = [
        (".gitattributes", Some(b"*.bin filter=lfs diff=lfs merge=lfs -text\n")),
        ("a.bin", Some(pointer)),
        ("b.bin", Some(b"contents")),
        ("deep/c.bin", Some(pointer)),
        (".gitmodules", Some(modules)),
    ];
    site.bare.commit("main", "Large files", &files).unwrap();
    let repository = site.clone().await;
    let expected = [
        Warning::LfsPointers { count: 2, first: "a.bin".into() },
        Warning::Submodules { paths: vec!["libs/lib".into()] },
    ];
    assert_eq!(repository.warnings(), expected);
}
