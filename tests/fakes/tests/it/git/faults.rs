//! What goes wrong when it is told to, as git says it.

use std::process::Stdio;

use fakes::git::{Faults, Hang};
use pretty_assertions::assert_eq;

use super::cases::incompressible;
use super::site::{Site, eventually};

pub(crate) async fn a_refused_push_says_why_and_changes_nothing(site: &Site) {
    site.work("clone", "flow/greet").await;
    let refs = site.bare("acme/greeting").refs().unwrap();
    site.server.refuse_pushes(None, None, Some("Pushes are closed: \"freeze\" $(until) Monday."));
    let refused = site.run_in("clone", &["push", "origin", "HEAD"]).await;
    assert!(!refused.success, "{refused:?}");
    assert!(
        refused.words.contains("remote: Pushes are closed: \"freeze\" $(until) Monday.")
            && refused.words.contains("[remote rejected]")
            && refused.words.contains("(pre-receive hook declined)"),
        "{refused:?}"
    );
    assert_eq!(site.bare("acme/greeting").refs().unwrap(), refs);
    site.server.refuse_pushes(None, None, None);
    site.run_in("clone", &["push", "origin", "HEAD"]).await.succeeded();
    assert_eq!(site.server.pushes("acme/greeting"), 2);
}

pub(crate) async fn a_refused_branch_leaves_the_others(site: &Site) {
    site.work("clone", "flow/greet").await;
    site.server.refuse_pushes(Some("acme/greeting"), Some("main"), Some("main is protected"));
    site.server.refuse_pushes(Some("acme/other"), None, Some("the other repository is closed"));
    let to_main = ["push", "origin", "HEAD:main"];
    site.run_in("clone", &to_main).await.failed_with("remote: main is protected");
    site.run_in("clone", &["push", "origin", "HEAD"]).await.succeeded();
    assert!(site.bare("acme/greeting").head("flow/greet").unwrap().is_some());
}

pub(crate) async fn another_host_key_is_noticed_by_the_client(site: &Site) {
    site.server.change_host_key(true);
    let clone = || async { site.run(&["clone", "--quiet", &site.remote(), "clone"]).await };
    clone().await.failed_with("REMOTE HOST IDENTIFICATION HAS CHANGED");
    assert_eq!(site.server.sessions(), []);
    site.server.change_host_key(false);
    clone().await.succeeded();
}

pub(crate) async fn refused_authentication_ends_before_git(site: &Site) {
    site.server.refuse_auth(true);
    let clone = || async { site.run(&["clone", "--quiet", &site.remote(), "clone"]).await };
    clone().await.failed_with("Permission denied (publickey)");
    assert_eq!(site.server.sessions(), []);
    site.server.refuse_auth(false);
    clone().await.succeeded();
}

pub(crate) async fn a_key_may_be_for_reading_only(site: &Site) {
    site.server.set_faults(Faults { read_only: true, ..Faults::default() });
    site.work("clone", "flow/greet").await;
    let push = site.run_in("clone", &["push", "origin", "HEAD"]).await;
    push.failed_with("ERROR: The key you are authenticating with has been marked as read only.");
}

pub(crate) async fn a_connection_that_hangs_leaves_the_client_to_its_deadline(site: &Site) {
    let hang = Some(Hang::Connection);
    site.server.set_faults(Faults { hang, connections: Some(1), ..Faults::default() });
    let clone = || async { site.run(&["clone", "--quiet", &site.remote(), "clone"]).await };
    clone().await.failed_with("timed out");
    clone().await.succeeded();
}

pub(crate) async fn a_command_that_hangs_answers_nothing(site: &Site) {
    site.server.set_faults(Faults { hang: Some(Hang::Command), ..Faults::default() });
    let mut clone = site.git(&site.path(""), &["clone", "--quiet", &site.remote(), "clone"]);
    clone.stdin(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut clone = clone.spawn().unwrap();
    eventually("the command was asked for", || site.server.sessions().len() == 1).await;
    assert_eq!(clone.try_wait().unwrap(), None, "it waits");
    clone.kill().await.unwrap();
    // A server with nothing but a hanging command stops at once.
    site.server.stop().await;
}

pub(crate) async fn a_connection_is_cut_within_a_pack_and_the_next_one_is_whole(site: &Site) {
    let large = incompressible(2 * 1024 * 1024);
    site.bare("acme/greeting").commit("main", "Large", &[("l.bin", Some(&large))]).unwrap();
    let cut_after_sent = Some(1024 * 1024);
    site.server.set_faults(Faults { cut_after_sent, connections: Some(1), ..Faults::default() });
    let clone = || async { site.run(&["clone", "--quiet", &site.remote(), "clone"]).await };
    clone().await.failed_with("early EOF");
    clone().await.succeeded();
}

pub(crate) async fn a_push_is_cut_within_its_pack_and_changes_nothing(site: &Site) {
    site.work("clone", "flow/large").await;
    std::fs::write(site.path("clone/l.bin"), incompressible(2 * 1024 * 1024)).unwrap();
    site.run_in("clone", &["add", "l.bin"]).await.succeeded();
    site.run_in("clone", &["commit", "--quiet", "--message", "Large"]).await.succeeded();
    let cut_after_received = Some(1024 * 1024);
    let faults = Faults { cut_after_received, connections: Some(1), ..Faults::default() };
    site.server.set_faults(faults);
    let push = || async { site.run_in("clone", &["push", "--quiet", "origin", "HEAD"]).await };
    let refused = push().await;
    assert!(!refused.success, "{refused:?}");
    assert_eq!(site.bare("acme/greeting").head("flow/large").unwrap(), None);
    push().await.succeeded();
}
