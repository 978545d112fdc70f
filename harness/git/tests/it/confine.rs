//! Commands of a model are kept out of the folders of keys and tokens (CODE-05).

use foundry_git::{Command, Confinement, Finished, Runner, RunnerSettings};
use pretty_assertions::assert_eq;
use tempfile::TempDir;

use super::site::{folder, settings};

struct Place {
    folder: TempDir,
    runner: Runner,
}

impl Place {
    /// `None` where the kernel cannot confine; that is said, and that is all to test then.
    fn new() -> Option<Self> {
        let folder = folder();
        let path = folder.path();
        std::fs::create_dir_all(path.join("run/token/deep")).unwrap();
        for name in ["ssh/github", "run/token/deep/token", "home/open"] {
            std::fs::write(path.join(name), "content\n").unwrap();
        }
        std::os::unix::fs::symlink(path.join("ssh"), path.join("home/link")).unwrap();
        std::os::unix::fs::symlink("ssh", path.join("beside")).unwrap();
        let denied = vec![path.join("beside"), path.join("run/token")];
        let runner = Runner::new(RunnerSettings { denied, ..settings(path) }).unwrap();
        match runner.confinement() {
            Confinement::Enforced => Some(Self { folder, runner }),
            Confinement::Unavailable { reason } => {
                assert!(!reason.is_empty());
                None
            }
            Confinement::NotAsked => panic!("two folders are denied"),
        }
    }

    async fn run(&self, program: &str, arguments: &[&str]) -> Finished {
        let command = Command::new(program, self.folder.path()).args(arguments.iter().copied());
        self.runner.run(&command).await.unwrap()
    }
}

/// CODE-05
#[tokio::test]
async fn a_denied_folder_cannot_be_read_by_any_way_to_it() {
    let Some(place) = Place::new() else { return };
    let root = place.folder.path().to_str().unwrap();
    for path in [
        "ssh/github".to_owned(),
        "beside/github".to_owned(),
        "home/link/github".to_owned(),
        "home/../ssh/github".to_owned(),
        "run/token/deep/token".to_owned(),
        format!("/proc/self/root{root}/ssh/github"),
        "/proc/self/cwd/ssh/github".to_owned(),
        format!("/proc/{}/root{root}/ssh/github", std::process::id()),
    ] {
        let read = place.run("cat", &[&path]).await;
        assert!(!read.exit.passed(), "{path}: {}", read.output);
        assert!(!read.output.to_string().contains("content"), "{path}");
    }
    for script in [
        "ln ssh/github home/stolen && cat home/stolen",
        "mv ssh/github home/stolen && cat home/stolen",
        "mv ssh renamed; cat renamed/github; mv renamed ssh; false",
        "sh -c 'setsid cat ssh/github'",
    ] {
        let read = place.run("sh", &["-c", script]).await;
        assert!(!read.exit.passed(), "{script}: {}", read.output);
        assert!(!read.output.to_string().contains("content"), "{script}");
    }
    // Root may read any process's memory map, whatever Landlock says.
    if !rustix::process::geteuid().is_root() {
        let ours = format!("/proc/{}/environ", std::process::id());
        assert!(!place.run("cat", &[&ours]).await.exit.passed());
    }
    // We ourselves still can.
    assert_eq!(std::fs::read(place.folder.path().join("ssh/github")).unwrap(), b"content\n");
}

/// CODE-05
#[tokio::test]
async fn a_denied_folder_is_not_allowed_to_later_commands_by_another_name() {
    for (there, back) in [
        ("mv ssh other", "mv other ssh"),
        ("mv ssh other && mkdir ssh", "rmdir ssh && mv other ssh"),
        ("mv run other && ln -s other run", "rm run && mv other run"),
    ] {
        let Some(place) = Place::new() else { return };
        assert!(place.run("sh", &["-c", there]).await.exit.passed(), "{there}");
        let read = Command::new("cat", place.folder.path())
            .args(["other/github", "other/token/deep/token"]);
        match place.runner.run(&read).await {
            Err(error) => assert_eq!(error.category(), "ConfineFailed", "{there}: {error}"),
            Ok(read) => panic!("{there}: {}", read.output),
        }
        let moved = std::process::Command::new("sh")
            .args(["-c", back])
            .current_dir(place.folder.path())
            .status();
        assert!(moved.unwrap().success());
        assert!(place.run("cat", &["home/open"]).await.exit.passed(), "{back}");
    }
}

/// CODE-05
#[tokio::test]
async fn everything_else_is_as_it_was() {
    let Some(place) = Place::new() else { return };
    assert_eq!(place.run("cat", &["home/open"]).await.output.to_string(), "content\n");
    let script = "set -e\n\
                  echo made > home/made; cat home/made\n\
                  mkdir -p tmp/deep; mv home/made tmp/deep/moved; cat tmp/deep/moved\n\
                  ls / > /dev/null; ls home ssh > /dev/null\n\
                  cat /proc/self/stat > /dev/null; cat /etc/passwd > /dev/null\n\
                  dd if=/dev/zero of=/dev/null count=1 2> /dev/null\n";
    let finished = place.run("sh", &["-c", script]).await;
    assert!(finished.exit.passed(), "{}", finished.output);
    assert_eq!(finished.output.to_string(), "made\nmade\n");
}

/// CODE-05
#[tokio::test]
async fn a_command_cannot_signal_what_is_not_its_own() {
    let Some(place) = Place::new() else { return };
    let mut other = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    let killed = place.run("sh", &["-c", &format!("kill -9 {}", other.id())]).await;
    let lives = other.try_wait().unwrap().is_none();
    other.kill().unwrap();
    other.wait().unwrap();
    // Kernels before 6.12 cannot keep it from that.
    assert!(lives != killed.exit.passed());
}

#[tokio::test]
async fn without_denied_folders_nothing_is_asked_of_the_kernel() {
    let folder = folder();
    let settings = RunnerSettings { denied: Vec::new(), ..settings(folder.path()) };
    assert_eq!(*Runner::new(settings).unwrap().confinement(), Confinement::NotAsked);
}
