//! What leaves its session falls to the process that adopts orphans, and is ended there.
//! That process ends every child it does not know, so it is one of its own: this test
//! program once more, with one test.

use std::path::Path;
use std::process::{Command as Program, Stdio};
use std::time::Duration;

use foundry_git::{Command, Minded, Runner, adopt_orphans};
use pretty_assertions::assert_eq;

use super::site::{folder, settings};

/// Names the folder to work in, and thereby that this process is the one of its own.
const ALONE: &str = "GIT_TEST_ALONE";

#[test]
fn what_leaves_its_session_is_ended_too() {
    let folder = folder();
    let output = Program::new(std::env::current_exe().unwrap())
        .args(["--exact", "sweep::alone_what_leaves_its_session_is_ended_too", "--nocapture"])
        .env(ALONE, folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{words}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(words.contains("1 passed"), "{words}");
    assert_eq!(std::fs::read_to_string(folder.path().join("done")).unwrap(), "done");
}

/// Does nothing but in a process of its own.
#[test]
fn alone_what_leaves_its_session_is_ended_too() {
    let Some(folder) = std::env::var_os(ALONE) else { return };
    let folder = Path::new(&folder);
    adopt_orphans().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(leave_and_be_swept(folder));
    std::fs::write(folder.join("done"), "done").unwrap();
}

async fn leave_and_be_swept(folder: &Path) {
    let runner = Runner::new(settings(folder)).unwrap();
    // Twice forked, in a session of its own, with no pipe of ours.
    let script = "import os, sys, time\n\
                  if os.fork() == 0:\n\
                  \x20   os.setsid()\n\
                  \x20   if os.fork() == 0:\n\
                  \x20       for fd in range(3): os.close(fd)\n\
                  \x20       open(sys.argv[1], 'w').write(f'{os.getpid()}\\n')\n\
                  \x20       time.sleep(1000)\n\
                  \x20   os._exit(0)\n\
                  os.wait()\n\
                  while not os.path.exists(sys.argv[1]) or not open(sys.argv[1]).read():\n\
                  \x20   time.sleep(0.005)\n\
                  if len(sys.argv) > 2: time.sleep(1000)\n";
    let home = &folder.join("home");
    let daemon = Command::new("python3", home).args(["-c", script]);

    let finished = runner.run(&daemon.clone().args(["ended"])).await.unwrap();
    assert!(finished.exit.passed(), "{}", finished.output);
    assert!(!exists(home, "ended"), "buried before the result is given");

    let stopped = daemon.clone().args(["stopped", "stay"]).limit(Duration::from_secs(2));
    runner.run(&stopped).await.unwrap();
    assert!(!exists(home, "stopped"));

    let dropped = daemon.args(["dropped", "stay"]);
    let there = async {
        while std::fs::read_to_string(home.join("dropped")).unwrap_or_default().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        finished = runner.run(&dropped) => panic!("{finished:?}"),
        () = there => {}
    }
    let gone = async {
        while exists(home, "dropped") {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone).await.expect("it lives on");

    // What runs is left alone while another's descendants are ended.
    let long = Command::new("sleep", home).args(["1"]);
    let short = Command::new("true", home);
    let (long, short) = tokio::join!(runner.run(&long), runner.run(&short));
    assert!(long.unwrap().exit.passed() && short.unwrap().exit.passed());

    // So is a child of another crate, for as long as it is minded.
    let mut other = None;
    let minded = Minded::start(&mut || {
        let child = other.insert(Program::new("sleep").arg("1000").spawn()?);
        Ok(child.id())
    });
    let (minded, mut other) = (minded.unwrap(), other.unwrap());
    runner.run(&Command::new("true", home)).await.unwrap();
    assert_eq!(other.try_wait().unwrap(), None, "it is left alone");
    drop(minded);
    runner.run(&Command::new("true", home)).await.unwrap();
    assert!(!Path::new("/proc").join(other.id().to_string()).exists(), "and no longer");
}

fn exists(folder: &Path, name: &str) -> bool {
    // A process that was stopped before it wrote its id is none that could be left.
    let id = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
    !id.is_empty() && Path::new("/proc").join(id.trim()).exists()
}
