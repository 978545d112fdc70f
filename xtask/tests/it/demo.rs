//! The demo, told again and again in one data folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use testenv::{Process, eventually};

use crate::document;

/// The whole story, on a slow machine.
const STORY: Duration = Duration::from_mins(8);

/// How soon everything is gone that a demo started.
const GONE: Duration = Duration::from_secs(30);

/// A demo with a control plane of its own, whose agent thinks every second.
struct Demo {
    process: Process,
    output: PathBuf,
}

impl Demo {
    fn start(data: &Path, output: &str, arguments: &[&str]) -> Self {
        let output = data.with_file_name(output);
        let mut command = Command::new(testenv::bin("xtask"));
        command.args(["demo", "--evaluate-seconds", "1", "--data-dir"]).arg(data).args(arguments);
        command.env_remove("KUBECONFIG");
        // Built already, by whoever built this test.
        command.env("FOUNDRY_BIN_DIR", testenv::bin_folder().unwrap());
        let process = Process::spawn("demo", &command, &output).unwrap();
        Self { process, output }
    }

    fn said(&self) -> String {
        fs::read_to_string(&self.output).unwrap()
    }

    async fn until_it_says(&mut self, words: &str) {
        let output = self.output.clone();
        let said = || async {
            let said = fs::read_to_string(&output)?;
            anyhow::ensure!(said.contains(words), "it does not say {words:?}");
            Ok(())
        };
        self.process.wait_for(words, STORY, said).await.unwrap();
    }

    async fn ends_well(&mut self) {
        let status = self.process.finish(STORY).await.unwrap();
        assert!(status.success(), "{status}: {}", self.said());
    }
}

/// CODE-01, CODE-03, CODE-04, CODE-06, CODE-07, CODE-31, CODE-45, ROUTE-12, ROUTE-13
#[tokio::test(flavor = "multi_thread")]
async fn a_demo_that_was_killed_in_the_middle_is_told_again_and_again_in_its_folder() {
    let scratch = testenv::scratch("a demo's").unwrap();
    let data = scratch.join("data");

    let mut killed = Demo::start(&data, "killed.log", &["--exit"]);
    killed.until_it_says("has read it and says yes").await;
    killed.process.kill().unwrap();
    nothing_of_it_is_left(&data).await;

    let mut first = Demo::start(&data, "first.log", &["--exit"]);
    first.ends_well().await;
    assert!(first.said().contains("An earlier demo left its coding run"), "{}", first.said());
    nothing_of_it_is_left(&data).await;

    let mut second = Demo::start(&data, "second.log", &[]);
    second.until_it_says("Everything stays up").await;
    let said = second.said();
    assert!(said.contains("are the last demo's, letter by letter"), "{said}");
    document::its_commands_work_in_a_demo("docs/coding-runs.md", &said, &scratch);
    second.process.signal(Signal::TERM);
    second.ends_well().await;
    nothing_of_it_is_left(&data).await;
}

/// Whatever a demo starts has its folder in its arguments or its environment.
async fn nothing_of_it_is_left(data: &Path) {
    let mark = data.as_os_str().as_encoded_bytes();
    eventually("nothing is left of the demo", GONE, || async {
        let left: Vec<_> = fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| {
                let process = entry.ok()?.path();
                let told = [fs::read(process.join("cmdline")), fs::read(process.join("environ"))];
                let told = told.map(Result::unwrap_or_default).concat();
                let is_its = told.windows(mark.len()).any(|words| words == mark);
                is_its.then(|| fs::read_to_string(process.join("comm")).unwrap_or_default())
            })
            .collect();
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    })
    .await;
}
