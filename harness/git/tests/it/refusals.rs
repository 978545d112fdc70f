//! What a host refuses, and what is only the network (CODE-01, CODE-05).

use std::time::Duration;

use fakes::git::{Faults, Hang};
use foundry_git::{Class, GitError, PushRefusal};
use pretty_assertions::assert_eq;
use rstest::rstest;

use super::site::{Server, Site, commit, name};

/// CODE-01
#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_host_key_ends_the_clone_with_host_and_remedy(
    #[values(Server::Embedded, Server::OpenSsh)] server: Server,
) {
    let Some(site) = Site::on(server).await else { return };
    std::fs::write(site.path("ssh/known_hosts"), "").unwrap();
    let error = site.failed_clone().await;
    assert_eq!((error.category(), error.class()), ("HostKeyUnknown", Class::Refused));
    let (host, file) = (site.server.host(), site.path("ssh/known_hosts"));
    assert_eq!(
        error.to_string(),
        format!(
            "host key of {host} is unknown: add the line that {host} publishes to {} (key \
             known_hosts of Secret foundry-harness-ssh)",
            file.display()
        )
    );
    assert_eq!(std::fs::read(file).unwrap(), b"", "nothing is ever added");
}

/// CODE-01
#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_host_key_ends_the_clone(
    #[values(Server::Embedded, Server::OpenSsh)] server: Server,
) {
    let Some(site) = Site::on(server).await else { return };
    site.server.change_host_key(true);
    let error = site.failed_clone().await;
    assert_eq!((error.category(), error.class()), ("HostKeyChanged", Class::Refused));
    assert!(error.to_string().contains(&site.server.host()), "{error}");
    assert_eq!(site.server.sessions(), []);
}

/// CODE-01
#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_key_says_so(#[values(Server::Embedded, Server::OpenSsh)] server: Server) {
    let Some(site) = Site::on(server).await else { return };
    site.server.refuse_auth(true);
    let error = site.failed_clone().await;
    assert_eq!((error.category(), error.class()), ("AuthRefused", Class::Refused));
    let words = error.to_string();
    assert!(words.contains("refused key github") && words.contains("Permission denied"), "{words}");
}

/// CODE-01
#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_is_not_there_is_named(
    #[values(Server::Embedded, Server::OpenSsh)] server: Server,
) {
    let Some(site) = Site::on(server).await else { return };
    let mut request = site.request();
    request.remote = foundry_git::Remote::parse(&site.server.remote("acme/gone")).unwrap();
    let error = site.git().clone_repository(&request).await.unwrap_err();
    assert_eq!(
        (error.category(), error.class()),
        ("RepositoryNotFound", Class::Refused),
        "{error}"
    );
    assert!(error.to_string().contains("acme/gone.git"), "{error}");
    assert!(!request.folder.exists(), "nothing half is left");
}

/// CODE-01
#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_down_or_goes_away_is_transient(
    #[values(Server::Embedded, Server::OpenSsh)] server: Server,
) {
    let Some(site) = Site::on(server).await else { return };
    let cut = Faults { cut_after_sent: Some(1000), connections: Some(1), ..Faults::default() };
    site.server.set_faults(cut);
    let error = site.failed_clone().await;
    assert_eq!((error.category(), error.class()), ("Unreachable", Class::Transient), "{error}");
    site.clone().await;
    site.server.stop().await;
    let error = site.failed_clone().await;
    assert_eq!((error.category(), error.class()), ("Unreachable", Class::Transient), "{error}");
    assert!(error.to_string().contains(&site.server.host()), "{error}");
}

/// CODE-01
#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn a_silent_host_is_given_up(#[values(Server::Embedded, Server::OpenSsh)] server: Server) {
    let Some(site) = Site::on(server).await else { return };
    for hang in [Hang::Connection, Hang::Command] {
        site.server.set_faults(Faults { hang: Some(hang), ..Faults::default() });
        let mut request = site.request();
        request.limit = Duration::from_millis(500);
        let error = site.git().clone_repository(&request).await.unwrap_err();
        assert_eq!((error.category(), error.class()), ("TimedOut", Class::Transient), "{error}");
    }
}

/// CODE-05
#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_push_is_told_in_the_hosts_words(
    #[values(Server::Embedded, Server::OpenSsh)] server: Server,
) {
    let Some(site) = Site::on(server).await else { return };
    let repository = site.clone().await;
    commit(&repository, "greeting.txt", "hello, world\n").await;
    site.server.refuse_pushes(None, Some("flow/fix-greeting"), Some("closed until Monday"));
    let error = repository.push("flow/fix-greeting", &name("main")).await.unwrap_err();
    assert_eq!(error.class(), Class::Refused);
    let GitError::PushRefused { reason: PushRefusal::Host { words }, .. } = &error else {
        panic!("{error}")
    };
    assert!(words.contains("closed until Monday"), "{words}");
    site.server.refuse_pushes(None, Some("flow/fix-greeting"), None);
    repository.push("flow/fix-greeting", &name("main")).await.unwrap();
}

/// CODE-05
#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn a_key_for_reading_only_cannot_push(
    #[values(Server::Embedded, Server::OpenSsh)] server: Server,
) {
    let Some(site) = Site::on(server).await else { return };
    let repository = site.clone().await;
    commit(&repository, "greeting.txt", "hello, world\n").await;
    site.server.set_faults(Faults { read_only: true, ..Faults::default() });
    let error = repository.push("flow/fix-greeting", &name("main")).await.unwrap_err();
    assert_eq!((error.category(), error.class()), ("AuthRefused", Class::Refused), "{error}");
}
