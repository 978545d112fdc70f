use pretty_assertions::assert_eq;
use rstest::rstest;
use tempfile::TempDir;

use super::*;

fn folder(names: &[&str]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for name in names {
        std::fs::write(folder.path().join(name), "a key\n").unwrap();
    }
    folder
}

fn open(folder: &TempDir) -> SshKeys {
    SshKeys::open(folder.path(), HostingSettings::default()).unwrap()
}

/// CODE-01
#[rstest]
#[case("git@github.com:a/b.git", "github")]
#[case("git@ssh.dev.azure.com:v3/o/p/r", "azure-devops")]
#[case("git@git.acme.net:a/b.git", "ssh-privatekey")]
fn the_remote_chooses_the_key(#[case] remote: &str, #[case] expected: &str) {
    let folder = folder(&["known_hosts", "github", "azure-devops", "ssh-privatekey"]);
    let remote = Remote::parse(remote).unwrap();
    let keys = open(&folder);
    assert_eq!(keys.key_for(&remote).unwrap(), folder.path().join(expected));
    let command = keys.ssh_command(&remote).unwrap();
    let option = format!("-o 'IdentityFile=\"{}/{expected}\"'", folder.path().display());
    assert!(command.contains(&option), "{command}");
}

/// CODE-01
#[test]
fn a_host_without_a_key_of_its_own_gets_the_general_one() {
    let folder = folder(&["known_hosts", "ssh-privatekey"]);
    let remote = Remote::parse("git@github.com:a/b.git").unwrap();
    assert_eq!(open(&folder).key_for(&remote).unwrap(), folder.path().join("ssh-privatekey"));
}

/// CODE-01
#[test]
fn a_missing_key_says_which_names_would_do() {
    let folder = folder(&["known_hosts", "github"]);
    let remote = Remote::parse("git@ssh.dev.azure.com:v3/o/p/r").unwrap();
    let error = open(&folder).key_for(&remote).unwrap_err();
    assert_eq!(error.category(), "NoKey");
    let expected = format!(
        "{} holds no key for ssh.dev.azure.com: add azure-devops or ssh-privatekey to Secret \
         foundry-harness-ssh",
        folder.path().display()
    );
    assert_eq!(error.to_string(), expected);
}

/// CODE-01
#[test]
fn without_known_hosts_there_are_no_keys() {
    let folder = folder(&["github"]);
    let error = SshKeys::open(folder.path(), HostingSettings::default()).unwrap_err();
    assert_eq!(error.category(), "KeyFolder");
    assert!(error.to_string().contains("known_hosts in it cannot be read"), "{error}");
}

#[rstest]
#[case("a \"quote\"")]
#[case("$HOME")]
#[case("back\\slash")]
#[case("two\nlines")]
fn a_path_that_ssh_cannot_be_given_is_refused(#[case] name: &str) {
    let folder = TempDir::with_prefix(name).unwrap();
    let error = SshKeys::open(folder.path(), HostingSettings::default()).unwrap_err();
    assert!(error.to_string().contains("its path must be absolute"), "{error}");
}

/// CODE-01
#[test]
fn any_other_path_is_one_word_to_shell_and_ssh() {
    let place = TempDir::new().unwrap();
    let folder = place.path().join("a demo's data; 100%d");
    std::fs::create_dir(&folder).unwrap();
    for name in ["known_hosts", "github"] {
        std::fs::write(folder.join(name), "").unwrap();
    }
    let keys = SshKeys::open(&folder, HostingSettings::default()).unwrap();
    let remote = Remote::parse("git@github.com:a/b.git").unwrap();
    let asked = keys.ssh_command(&remote).unwrap() + " -G github.com";
    // SSH itself says what it understood.
    let said = std::process::Command::new("sh").args(["-c", &asked]).output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    let path = folder.display();
    let escaped = path.to_string().replace('%', "%%");
    for line in [
        // Expanded only when it is used.
        format!("identityfile {escaped}/github"),
        format!("userknownhostsfile {path}/known_hosts"),
    ] {
        assert!(said.lines().any(|one| one == line), "{line}: {said}");
    }
    assert!(said.lines().any(|line| line == "stricthostkeychecking true"), "{said}");
}

/// CODE-01
#[test]
fn the_command_asks_nobody_and_accepts_no_unknown_host() {
    let folder = folder(&["known_hosts", "github"]);
    let remote = Remote::parse("git@github.com:a/b.git").unwrap();
    let command = open(&folder).ssh_command(&remote).unwrap();
    for option in [
        "-F none",
        "-o BatchMode=yes",
        "-o StrictHostKeyChecking=yes",
        "-o IdentitiesOnly=yes",
        "-o IdentityAgent=none",
        "-o GlobalKnownHostsFile=/dev/null",
        "-o ConnectTimeout=15",
    ] {
        assert!(command.contains(option), "{option}: {command}");
    }
    let known_hosts =
        format!("-o 'UserKnownHostsFile=\"{}/known_hosts\"'", folder.path().display());
    assert!(command.ends_with(&known_hosts), "{command}");
}
