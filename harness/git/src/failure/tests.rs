use pretty_assertions::assert_eq;
use rstest::rstest;

use super::*;
use crate::error::Class;

fn failure(stderr: &str) -> GitError {
    let remote = Remote::parse("ssh://git@127.0.0.1:2222/acme/greeting.git").unwrap();
    let tried = Tried {
        action: "clone",
        remote: &remote,
        known_hosts: "/etc/foundry/ssh/known_hosts",
        key: "key github",
    };
    super::remote(&tried, Exit::Status(128), stderr)
}

const HUNG_UP: &str = "fatal: Could not read from remote repository.\n\n\
    Please make sure you have the correct access rights\nand the repository exists.\n";

/// CODE-01
#[rstest]
#[case::unknown(
    "No ED25519 host key is known for [127.0.0.1]:2222 and you have requested strict checking.\r\n\
     Host key verification failed.\r\n",
    "HostKeyUnknown",
    Class::Refused
)]
#[case::changed(
    "@@@@@@@@@@@@@@@@@@@@@@@@@@\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n\
     Host key for [127.0.0.1]:2222 has changed and you have requested strict checking.\n\
     Host key verification failed.\n",
    "HostKeyChanged",
    Class::Refused
)]
#[case::key_refused(
    "git@127.0.0.1: Permission denied (publickey).\n",
    "AuthRefused",
    Class::Refused
)]
#[case::key_unreadable(
    "Load key \"/etc/foundry/ssh/github\": error in libcrypto\n\
     git@127.0.0.1: Permission denied (publickey).\n",
    "AuthRefused",
    Class::Refused
)]
#[case::read_only_key(
    "ERROR: The key you are authenticating with has been marked as read only.\n",
    "AuthRefused",
    Class::Refused
)]
#[case::no_repository("ERROR: Repository not found.\n", "RepositoryNotFound", Class::Refused)]
#[case::no_repository_at_azure(
    "remote: TF401019: The Git repository with name or identifier x does not exist\n",
    "RepositoryNotFound",
    Class::Refused
)]
#[case::refused(
    "ssh: connect to host 127.0.0.1 port 2222: Connection refused\n",
    "Unreachable",
    Class::Transient
)]
#[case::resolve(
    "ssh: Could not resolve hostname git.acme.net: Temporary failure in name resolution\n",
    "Unreachable",
    Class::Transient
)]
#[case::timeout(
    "ssh: connect to host 127.0.0.1 port 2222: Connection timed out\n",
    "Unreachable",
    Class::Transient
)]
#[case::closed(
    "kex_exchange_identification: Connection closed by remote host\n",
    "Unreachable",
    Class::Transient
)]
#[case::cut(
    "fetch-pack: unexpected disconnect while reading sideband packet\nfatal: early EOF\n",
    "Unreachable",
    Class::Transient
)]
#[case::silent("Timeout, server 127.0.0.1 not responding.\n", "Unreachable", Class::Transient)]
#[case::closed_without_a_word("", "Unreachable", Class::Transient)]
#[case::other("fatal: protocol error: bad line length character\n", "GitFailed", Class::Refused)]
fn a_message_has_one_meaning(#[case] stderr: &str, #[case] category: &str, #[case] class: Class) {
    let error = failure(&format!("{stderr}{HUNG_UP}"));
    assert_eq!((error.category(), error.class()), (category, class), "{error}");
}

/// CODE-01
#[test]
fn an_unknown_host_key_names_host_and_remedy() {
    let error = failure("Host key verification failed.\n");
    assert_eq!(
        error.to_string(),
        "host key of 127.0.0.1:2222 is unknown: add the line that 127.0.0.1:2222 publishes to \
         /etc/foundry/ssh/known_hosts"
    );
}

#[test]
fn the_words_are_those_that_tell() {
    let error = failure(&format!("git@127.0.0.1: Permission denied (publickey).\r\n{HUNG_UP}"));
    assert_eq!(
        error.to_string(),
        "127.0.0.1:2222 refused key github: git@127.0.0.1: Permission denied (publickey).; add \
         its public half to an account or repository there that may read and push"
    );
    assert_eq!(
        telling(HUNG_UP.lines().next().unwrap()),
        "fatal: Could not read from remote repository."
    );
    assert_eq!(telling(""), "nothing");
}

#[test]
fn what_a_hook_said_stands_behind_remote() {
    let stderr = "remote: main is closed        \nremote: \nremote: ask ops\nTo ssh://x\n";
    assert_eq!(remote_words(stderr).as_deref(), Some("main is closed; ask ops"));
    assert_eq!(remote_words("To ssh://x\n"), None);
}

#[test]
fn words_hold_no_control_characters_and_have_an_end() {
    let error = failure(&format!("fatal: \u{1b}[31m{}\n", "x".repeat(50_000)));
    let words = error.to_string();
    assert!(words.len() < 1200 && !words.chars().any(char::is_control), "{words}");
}
