//! Pull requests at the stand-in for GitHub's API (CODE-06, CODE-07).

use fakes::git::BareRepository;
use fakes::github::{GitHub, Refusal};
use foundry_git::{
    Class, FieldError, HostingSettings, Identity, NewPullRequest, Opened, PullRequestError,
    PullRequests, PullRequestsSettings, Remote, describe, pull_requests_of,
};
use pretty_assertions::assert_eq;
use secrecy::SecretString;
use tempfile::TempDir;
use url::Url;

use super::site::{MAILBOX, folder};

const TOKEN: &str = "ghp_0123456789";

struct Place {
    _folder: TempDir,
    api: GitHub,
}

impl Place {
    async fn new() -> Self {
        let _installed = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let folder = folder();
        std::fs::write(folder.path().join("files/a"), "a").unwrap();
        let repositories = folder.path().join("repositories");
        let path = repositories.join("acme/greeting.git");
        let bare = BareRepository::make(path, &folder.path().join("files")).unwrap();
        bare.commit("flow/fix", "Fix", &[("a", Some(b"b"))]).unwrap();
        let api = GitHub::start(&repositories, TOKEN).await.unwrap();
        Self { _folder: folder, api }
    }

    fn client(&self, token: &str) -> Box<dyn PullRequests> {
        let remote = Remote::parse("git@github.com:acme/greeting.git").unwrap();
        pull_requests_of(&remote, &self.settings(Some(token))).unwrap()
    }

    fn settings(&self, token: Option<&str>) -> PullRequestsSettings {
        PullRequestsSettings {
            hosting: HostingSettings::default(),
            github_api: Url::parse(&self.api.api_url()).unwrap(),
            github_token: token.map(SecretString::from),
        }
    }
}

fn new(title: &str) -> NewPullRequest {
    NewPullRequest {
        title: title.to_owned(),
        body: describe(&Identity::of_mailbox(MAILBOX).unwrap(), "Greets in full."),
        head: "flow/fix".to_owned(),
        base: "main".to_owned(),
    }
}

fn without_token(error: &PullRequestError) {
    for words in [error.to_string(), format!("{error:?}")] {
        assert!(!words.contains("ghp_"), "{words}");
    }
}

/// CODE-06, CODE-07
#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_is_opened_once_and_brought_up_to_date_after_that() {
    let place = Place::new().await;
    let client = place.client(TOKEN);
    let opened = client.open(&new("Greet in full")).await.unwrap();
    let Opened::Created(created) = &opened else { panic!("{opened:?}") };
    assert_eq!((created.number, created.open), (1, true));
    assert!(created.url.ends_with("/acme/greeting/pull/1"), "{}", created.url);
    let opening = format!("## Agent\n\n{MAILBOX}\n\nGreets in full.\n");
    assert_eq!(created.body, opening);
    assert_eq!((created.head.as_str(), created.base.as_str()), ("flow/fix", "main"));

    let opened = client.open(&new("Greet everybody\n in full")).await.unwrap();
    let Opened::Updated(updated) = &opened else { panic!("{opened:?}") };
    assert_eq!((updated.number, updated.title.as_str()), (1, "Greet everybody in full"));
    assert_eq!(client.get(1).await.unwrap(), *updated);
    assert_eq!(place.api.pull_requests("acme/greeting").len(), 1);
    assert!(place.api.requests().iter().all(|request| request.authorised));
}

/// CODE-06
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_carries_githubs_own_words() {
    let place = Place::new().await;
    let client = place.client(TOKEN);
    let unknown = NewPullRequest { head: "flow/gone".to_owned(), ..new("Greet in full") };
    let error = client.open(&unknown).await.unwrap_err();
    let PullRequestError::Refused { status: 422, message, fields, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(message, "Validation Failed");
    let expected = FieldError { field: "head".to_owned(), message: "invalid".to_owned() };
    assert_eq!(*fields, [expected]);
    let missing = client.get(9).await.unwrap_err();
    assert_eq!(missing.class(), Class::Refused);
    assert!(missing.to_string().contains("Not Found"), "{missing}");
}

/// CODE-06
#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_token_is_refused_and_never_told() {
    let place = Place::new().await;
    let error = place.client("ghp_wrong").open(&new("Greet")).await.unwrap_err();
    assert_eq!((error.category(), error.class()), ("TokenRefused", Class::Refused));
    assert!(error.to_string().contains("Bad credentials"), "{error}");
    without_token(&error);
    let settings = place.settings(Some(TOKEN));
    assert!(!format!("{settings:?}").contains("ghp_"));
    let remote = Remote::parse("git@github.com:acme/greeting.git").unwrap();
    let error = pull_requests_of(&remote, &place.settings(None)).err().unwrap();
    assert_eq!(error.category(), "NoToken");
    let broken = place.settings(Some("ghp_\n"));
    let error = pull_requests_of(&remote, &broken).unwrap().open(&new("Greet")).await.unwrap_err();
    assert_eq!(error.category(), "ClientFailed");
    without_token(&error);
}

/// CODE-06
#[tokio::test(flavor = "multi_thread")]
async fn a_limit_is_transient_and_says_for_how_long() {
    let place = Place::new().await;
    let client = place.client(TOKEN);
    let refusal =
        Refusal { status: 403, retry_after: Some(7), times: Some(1), ..Refusal::default() };
    place.api.refuse(refusal);
    let error = client.open(&new("Greet")).await.unwrap_err();
    assert_eq!((error.category(), error.class()), ("Limited", Class::Transient));
    assert_eq!(error.retry_after(), Some(std::time::Duration::from_secs(7)));
    client.open(&new("Greet")).await.unwrap();
    place.api.refuse(Refusal { status: 503, ..Refusal::default() });
    let error = client.get(1).await.unwrap_err();
    assert_eq!((error.category(), error.class()), ("Unreachable", Class::Transient));
    place.api.accept();
    place.api.stop().await;
    let error = client.get(1).await.unwrap_err();
    assert_eq!((error.category(), error.class()), ("Unreachable", Class::Transient));
    without_token(&error);
}

/// CODE-06
#[tokio::test]
async fn azure_devops_is_recognised_and_not_supported_yet() {
    let settings = PullRequestsSettings {
        hosting: HostingSettings::default(),
        github_api: Url::parse("http://127.0.0.1:9").unwrap(),
        github_token: None,
    };
    for (remote, host) in [
        ("git@ssh.dev.azure.com:v3/o/p/r", "Azure DevOps"),
        ("git@git.acme.net:a/b", "git.acme.net"),
    ] {
        let error = pull_requests_of(&Remote::parse(remote).unwrap(), &settings).err().unwrap();
        assert_eq!(error, PullRequestError::NotSupported { host: host.to_owned() });
        assert!(error.to_string().contains("not supported yet"), "{error}");
    }
}
