//! Real source: published Go modules with a defect that a later release mended. The
//! model finds and mends it by a script of ours, and the module's own tests judge.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use fakes::model::file::ScriptFile;
use foundry_crds::coding_run::Phase;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::play::Part;
use super::run::{Run, complete, reported};
use super::world::World;

/// A module as its registry serves it.
#[derive(Clone, Copy)]
struct Release {
    module: &'static str,
    version: &'static str,
    sum: &'static str,
}

/// With `ParseEnv`, an argument in single quotes is split at its spaces.
const SHELLWORDS: Release = Release {
    module: "github.com/mattn/go-shellwords",
    version: "v1.0.11",
    sum: "h1:vCoR9VPpsk/TZFW2JwK5I9S0xdrtUq2bph6/YjEPnaw=",
};
/// Mends it, with the test `TestSubShellEnv`.
const SHELLWORDS_MENDED: Release = Release {
    version: "v1.0.12",
    sum: "h1:M2zGm7EW6UQJvDeQxo4T51eKPurbeFbe8WtebGE2xrk=",
    ..SHELLWORDS
};
/// Takes versions that are none, such as `1.1.2+.123` and `01.1.1`.
const SEMVER: Release = Release {
    module: "github.com/Masterminds/semver/v3",
    version: "v3.3.0",
    sum: "h1:B8LGeaivUe71a5qox1ICM/JLl0NqZSW5CHyL+hmvYS0=",
};
/// Refuses them, with cases in `TestStrictNewVersion` and `TestNewVersion`.
const SEMVER_MENDED: Release =
    Release { version: "v3.3.1", sum: "h1:QtNSWtVZ3nBfk8mAOu/B6v7FMJ+NHTIgUPi7rj+4nv4=", ..SEMVER };

impl Release {
    /// Its files, which the Go client fetches and keeps; none when they cannot be had on
    /// this machine, which is then said on the terminal.
    fn files(self) -> Option<PathBuf> {
        let found = self.download().and_then(|download| {
            let text = |field: &str| download[field].as_str().map(str::to_owned);
            let error = text("Error");
            ensure!(error.is_none(), "{}", error.unwrap_or_default());
            let sum = text("Sum");
            Ok((text("Dir").context("no folder")?, sum.context("no sum")?))
        });
        let Self { module, version, sum } = self;
        match found {
            Ok((folder, found)) => {
                assert_eq!(found, sum, "{module}@{version} is not what it was");
                Some(folder.into())
            }
            Err(error) => {
                let mut terminal = std::io::stderr();
                writeln!(terminal, "published source: not run, it cannot be had: {error:#}").ok();
                None
            }
        }
    }

    fn download(self) -> Result<Value> {
        let here = tempfile::tempdir()?;
        let mut go = Command::new("go");
        go.args(["mod", "download", "-json", &format!("{}@{}", self.module, self.version)]);
        let output = go.current_dir(here.path()).output().context("failed to run go")?;
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        serde_json::from_slice(&output.stdout).with_context(|| words)
    }
}

/// Applies a run on this release, and says yes to its plan.
async fn begin(world: &World, name: &str, files: &Path) -> Run {
    let script = format!("tests/fakes/scripts/e2e-{name}.yaml");
    ScriptFile::read(&testenv::workspace_root().join(script)).unwrap().play_on(&world.model);
    let run = world.apply_with(name, files, &json!({"limits": {"turnsPerAttempt": 20}})).await;
    run.approve().await;
    run
}

impl Run {
    /// The tests of the branch pass, and those of the release that mended the defect.
    fn assert_mended(&self, later: &Path) {
        let place = self.assert_go_tests_pass();
        for entry in fs::read_dir(later).unwrap() {
            let path = entry.unwrap().path();
            if path.to_string_lossy().ends_with("_test.go") {
                fs::write(place.join(path.file_name().unwrap()), fs::read(&path).unwrap()).unwrap();
            }
        }
        Run::go_test(&place);
    }
}

/// CODE-12, CODE-18, CODE-20
#[tokio::test(flavor = "multi_thread")]
async fn a_defect_of_go_shellwords_is_mended_as_its_later_release_did() {
    let releases = (SHELLWORDS.files(), SHELLWORDS_MENDED.files());
    let (Some(files), Some(later)) = releases else { return };
    let world = World::shared().await;
    let run = begin(&world, "shellwords", &files).await;
    let done = run.until_succeeded().await;
    assert_eq!(reported(&done).check_summary.as_deref(), Some("1/1"));
    let told = run.results(Part::Building, "run_command");
    assert!(told.iter().any(|told| told.contains("--- FAIL: TestSingleQuotesWithEnv")), "{told:?}");
    run.assert_mended(&later);
}

/// CODE-11, CODE-18, CODE-20
#[tokio::test(flavor = "multi_thread")]
async fn a_defect_of_semver_is_mended_when_the_tests_have_told_what_was_forgotten() {
    let (Some(files), Some(later)) = (SEMVER.files(), SEMVER_MENDED.files()) else { return };
    let world = World::shared().await;
    let run = begin(&world, "semver", &files).await;
    let done = run.until_succeeded().await;
    assert_eq!(reported(&done).check_summary.as_deref(), Some("2/2"));
    let refused = run.results(Part::Building, "finish");
    assert_eq!(refused.len(), 1, "{refused:?}");
    run.assert_mended(&later);
}

/// CODE-18
#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_fix_of_go_shellwords_is_not_let_through() {
    let Some(files) = SHELLWORDS.files() else { return };
    let world = World::shared().await;
    let run = begin(&world, "shellwords-wrong", &files).await;
    let ended = run.until_ended(Phase::Failed, "RunFailed").await;
    assert!(complete(&ended).2.contains("no longer split"), "{:?}", complete(&ended));
    // A test of its own passed, the package's did not.
    assert_eq!(reported(&ended).check_summary.as_deref(), Some("1/2"));
    assert_eq!(run.results(Part::Building, "finish").len(), 1);
    assert_eq!((run.head(), run.pull_requests()), (None, Vec::new()));
}
