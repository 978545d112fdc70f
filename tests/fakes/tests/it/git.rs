//! The git server, driven by the real `git` and `ssh`.

#[path = "git/cases.rs"]
mod cases;
#[path = "git/faults.rs"]
mod faults;
#[path = "git/site.rs"]
mod site;

use std::path::PathBuf;

use fakes::git::openssh::sshd;

use site::Site;

/// Gives every case to another macro.
macro_rules! every_case {
    ($given_to:ident) => {
        $given_to! {
            cases::a_clone_a_push_and_what_the_bare_repository_holds_then,
            cases::a_shallow_clone_and_one_without_blobs_by_protocol_version_two,
            cases::a_push_of_twenty_megabytes_and_a_clone_of_them,
            cases::many_clones_at_once,
            cases::only_git_on_repositories_of_the_folder_is_run,
            cases::a_stranger_is_not_let_in,
            cases::both_forms_of_a_remote_lead_to_the_repository,
            faults::a_refused_push_says_why_and_changes_nothing,
            faults::a_refused_branch_leaves_the_others,
            faults::another_host_key_is_noticed_by_the_client,
            faults::refused_authentication_ends_before_git,
            faults::a_key_may_be_for_reading_only,
            faults::a_connection_that_hangs_leaves_the_client_to_its_deadline,
            faults::a_command_that_hangs_answers_nothing,
            faults::a_connection_is_cut_within_a_pack_and_the_next_one_is_whole,
            faults::a_push_is_cut_within_its_pack_and_changes_nothing,
        }
    };
}

macro_rules! a_test_for_each {
    ($($module:ident::$case:ident),* $(,)?) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $case() {
            $module::$case(&Site::start(None).await).await;
        }
    )*};
}

every_case!(a_test_for_each);

/// Every case again.
#[tokio::test(flavor = "multi_thread")]
async fn the_same_holds_for_a_real_sshd() {
    let Some(sshd) = sshd(&cache()) else { return };
    macro_rules! all_at_once {
        ($($module:ident::$case:ident),* $(,)?) => {
            tokio::join!($(async {
                $module::$case(&Site::start(Some(sshd.clone())).await).await;
            }),*)
        };
    }
    every_case!(all_at_once);
}

/// Where packages that are not installed are kept between runs.
fn cache() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let cache = set("XDG_CACHE_HOME").map(PathBuf::from);
    let home = set("HOME").map(|home| PathBuf::from(home).join(".cache"));
    cache.or(home).unwrap().join("foundry")
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_outlive_a_restart_and_known_hosts_names_the_port() {
    use fakes::git::{GitServer, Options};
    use pretty_assertions::assert_eq;
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().unwrap();
    let keys = folder.path().join("keys");
    let options = || Options { keys: Some(keys.clone()), ..Options::new(folder.path()) };
    let read = |name: &str| std::fs::read_to_string(keys.join(name)).unwrap();
    let first = GitServer::listen(options()).await.unwrap();
    let before = (read("host_key"), read("other_host_key"), read("client_key"));
    assert_eq!(read("known_hosts"), format!("{}\n", first.host_key_line()));
    first.stop().await;
    let second = GitServer::listen(options()).await.unwrap();
    let after = (read("host_key"), read("other_host_key"), read("client_key"));
    assert_eq!(after, before);
    assert_eq!(after.2, second.client_key());
    assert!(second.host_key_line().starts_with(&format!("[127.0.0.1]:{} ", second.port())));
    assert_eq!(read("known_hosts"), format!("{}\n", second.host_key_line()));
    for name in ["host_key", "other_host_key", "client_key"] {
        let mode = std::fs::metadata(keys.join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    std::fs::write(keys.join("host_key"), "no key").unwrap();
    let error = format!("{:#}", GitServer::listen(options()).await.unwrap_err());
    assert!(error.contains("host_key holds no key; remove it"), "{error}");
}
