use pretty_assertions::assert_eq;
use proptest::prelude::*;
use rstest::rstest;

use super::*;

/// CODE-01
#[rstest]
#[case("ssh://git@github.com/acme/greeting.git", "github.com", None, "acme/greeting.git")]
#[case("SSH://git@GitHub.com/acme/greeting", "github.com", None, "acme/greeting")]
#[case("ssh://git@127.0.0.1:2222/acme/greeting.git", "127.0.0.1", Some(2222), "acme/greeting.git")]
#[case("ssh://host/~me/x/", "host", None, "~me/x")]
#[case("ssh://git@[::1]:22/x", "[::1]", Some(22), "x")]
#[case("git@github.com:acme/greeting.git", "github.com", None, "acme/greeting.git")]
#[case("git@host:/srv/x", "host", None, "srv/x")]
#[case(
    "git@ssh.dev.azure.com:v3/org/my%20project/repo",
    "ssh.dev.azure.com",
    None,
    "v3/org/my%20project/repo"
)]
fn a_remote_over_ssh_is_read(
    #[case] text: &str,
    #[case] host: &str,
    #[case] port: Option<u16>,
    #[case] path: &str,
) {
    let remote = Remote::parse(text).unwrap();
    assert_eq!((remote.host(), remote.port(), remote.path()), (host, port, path));
    assert_eq!(remote.url(), text);
    assert_eq!(remote.scheme(), Scheme::Ssh);
}

/// CODE-01
#[rstest]
#[case("https://github.com/acme/greeting", RemoteError::NotSsh)]
#[case("git://github.com/acme/greeting", RemoteError::NotSsh)]
#[case("file:///srv/x", RemoteError::NotSsh)]
#[case("ext::sh -c touch% /tmp/x", RemoteError::NotSsh)]
#[case("/srv/x", RemoteError::NotSsh)]
#[case("./git@host:x", RemoteError::NotSsh)]
#[case("host:path", RemoteError::NotSsh)]
#[case("git@host", RemoteError::NotSsh)]
#[case("", RemoteError::NotSsh)]
#[case("ssh://git:word@host/x", RemoteError::Password)]
#[case("git:word@host:x", RemoteError::Password)]
#[case("ssh://-oProxyCommand=x@host/x", RemoteError::Part("the user"))]
#[case("ssh://@host/x", RemoteError::Part("the user"))]
#[case("ssh://git@-oProxyCommand=x/x", RemoteError::Part("the host"))]
#[case("ssh:///x", RemoteError::Part("the host"))]
#[case("git@ho st:x", RemoteError::Part("the host"))]
#[case("git@[host:22]:x", RemoteError::Part("the host"))]
#[case("ssh://git@[::1/x", RemoteError::Part("the host"))]
#[case("ssh://host:0/x", RemoteError::Part("the port"))]
#[case("ssh://host:+22/x", RemoteError::Part("the port"))]
#[case("ssh://host:70000/x", RemoteError::Part("the port"))]
#[case("ssh://host:/x", RemoteError::Part("the port"))]
#[case("ssh://host", RemoteError::Part("the path"))]
#[case("ssh://host/", RemoteError::Part("the path"))]
#[case("ssh://host/a\nb", RemoteError::Part("the path"))]
#[case("ssh://host/a b", RemoteError::Part("the path"))]
#[case("git@host:-x", RemoteError::Part("the path"))]
fn what_is_no_remote_over_ssh_is_refused(#[case] text: &str, #[case] error: RemoteError) {
    assert_eq!(Remote::parse(text), Err(error));
}

/// CODE-45
#[test]
fn a_persons_remote_may_be_https_and_never_shows_its_password() {
    let remote = Remote::parse_persons("https://me:word@github.com/acme/greeting.git").unwrap();
    assert_eq!(remote.url(), "https://github.com/acme/greeting.git");
    assert_eq!(remote.scheme(), Scheme::Https);
    assert_eq!(remote.owner_and_name(), Some(("acme", "greeting")));
    assert!(Remote::parse_persons("git@github.com:acme/greeting.git").is_ok());
    assert_eq!(Remote::parse_persons("/srv/x"), Err(RemoteError::NotSsh));
}

/// CODE-06
#[rstest]
#[case("git@github.com:acme/greeting.git", Some(("acme", "greeting")))]
#[case("ssh://git@github.com/acme/greeting/", Some(("acme", "greeting")))]
#[case("git@github.com:acme/greeting.git.git", Some(("acme", "greeting.git")))]
#[case("git@github.com:greeting.git", None)]
#[case("git@github.com:a/b/c.git", None)]
#[case("git@github.com:acme/.git", None)]
#[case("git@github.com:ac~me/x.git", None)]
fn owner_and_name_are_the_path(#[case] text: &str, #[case] expected: Option<(&str, &str)>) {
    assert_eq!(Remote::parse(text).unwrap().owner_and_name(), expected);
}

/// CODE-01, CODE-06
#[rstest]
#[case("git@github.com:a/b", "github.com", Hosting::GitHub)]
#[case("ssh://git@github.com:22/a/b", "github.com", Hosting::GitHub)]
#[case("ssh://git@ssh.github.com:443/a/b", "github.com", Hosting::GitHub)]
#[case("git@notgithub.com:a/b", "github.com", Hosting::Other)]
#[case("git@github.com.evil.net:a/b", "github.com", Hosting::Other)]
#[case("git@git.acme.net:a/b", "GIT.acme.net", Hosting::GitHub)]
#[case("git@github.com:a/b", "git.acme.net", Hosting::Other)]
#[case("ssh://git@127.0.0.1:2222/a/b", "127.0.0.1:2222", Hosting::GitHub)]
#[case("ssh://git@127.0.0.1:2223/a/b", "127.0.0.1:2222", Hosting::Other)]
#[case("ssh://git@127.0.0.1:2222/a/b", "127.0.0.1", Hosting::GitHub)]
#[case("git@ssh.dev.azure.com:v3/o/p/r", "github.com", Hosting::AzureDevOps)]
#[case("ssh://o@vs-ssh.visualstudio.com:22/v3/o/p/r", "github.com", Hosting::AzureDevOps)]
#[case("git@evildev.azure.com:v3/o/p/r", "github.com", Hosting::Other)]
fn the_host_tells_who_hosts_it(
    #[case] text: &str,
    #[case] github_host: &str,
    #[case] expected: Hosting,
) {
    let settings = HostingSettings { github_host: github_host.to_owned() };
    assert_eq!(Hosting::of(&Remote::parse(text).unwrap(), &settings), expected);
}

proptest! {
    /// Nothing that is read begins with an option, and all of it can be shown.
    #[test]
    fn no_text_becomes_an_option(text in "(ssh://)?[-a-z:@/\\[\\].%0-9 ]{0,30}") {
        if let Ok(remote) = Remote::parse(&text) {
            prop_assert!(!remote.url().starts_with('-'));
            prop_assert!(!remote.host().starts_with('-'));
            prop_assert!(!remote.path().is_empty());
            prop_assert!(remote.url().chars().all(|c| !c.is_whitespace() && !c.is_control()));
        }
    }

    /// What is put together is taken apart again.
    #[test]
    fn a_remote_is_read_as_it_was_written(
        user in "[a-z][a-z0-9-]{0,5}",
        host in "[a-z0-9]{1,8}(\\.[a-z]{2,3})?",
        port in prop::option::of(1_u16..),
        path in "[a-z]{1,5}(/[a-z.]{1,5}x){0,2}",
    ) {
        let suffix = port.map(|port| format!(":{port}")).unwrap_or_default();
        let remote = Remote::parse(&format!("ssh://{user}@{host}{suffix}/{path}")).unwrap();
        prop_assert_eq!(remote.host(), host.as_str());
        prop_assert_eq!(remote.port(), port);
        prop_assert_eq!(remote.path(), path.as_str());
        if port.is_none() {
            let short = Remote::parse(&format!("{user}@{host}:{path}")).unwrap();
            prop_assert_eq!((short.host(), short.path()), (host.as_str(), path.as_str()));
        }
    }
}
