//! `cargo xtask check`: what the compiler does not hold the repository to.

use std::collections::BTreeMap;
use std::io::Write as _;

use anyhow::{Context as _, bail};
use serde_json::Value;

use crate::{docs, generate, repository, requirements};

/// Options of `cargo xtask check`.
#[derive(clap::Args)]
pub struct Args {
    /// Also run cargo-deny, cargo-machete, cargo-hack (each crate alone) and typos;
    /// they must be installed.
    #[arg(long)]
    deep: bool,
}

/// Runs every check and stops at the first that fails.
///
/// # Errors
/// The first failed check, with what to do about it.
pub fn run(args: &Args) -> anyhow::Result<()> {
    for (name, check) in CHECKS {
        writeln!(std::io::stderr(), "check: {name}")?;
        check().with_context(|| format!("check failed: {name}"))?;
    }
    if args.deep {
        deep()?;
    }
    Ok(())
}

type Check = fn() -> anyhow::Result<()>;

/// Every check by name, cheapest first.
pub const CHECKS: &[(&str, Check)] = &[
    ("formatting", formatting),
    ("requirement ids", requirements::check),
    ("documents", docs::links),
    ("floors of the house", floors),
    ("one copy of kube, k8s-openapi and schemars, and no ring", dependencies),
    ("clippy", clippy),
    ("generated files", generate::check),
];

fn formatting() -> anyhow::Result<()> {
    repository::run("cargo", &["fmt", "--all", "--check"])
}

fn clippy() -> anyhow::Result<()> {
    repository::run(
        "cargo",
        &["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"],
    )
}

/// Floors of ARCHITECTURE.md; a crate uses only crates on lower floors.
const FLOORS: &[(&str, u8)] = &[
    ("foundry-crds", 0),
    ("foundry-llm", 0),
    ("foundry-store", 1),
    ("foundry-client", 1),
    ("foundry-kernel", 1),
    ("foundry-relay", 2),
    ("foundry-platform", 2),
    ("foundry-mcp", 2),
    ("foundry-git", 1),
    ("foundry-workspace", 2),
    ("foundry-operator", 3),
    ("foundry-api", 3),
    ("foundry-harness", 3),
    ("foundry-coding", 3),
    ("foundry-e2e", 4),
    ("xtask", 4),
];

/// Crates for tests, which any crate may have as a dev-dependency and which use no
/// crate of ours, so that they share no bug with what they test.
const TEST_CRATES: &[&str] = &["testenv", "fakes"];

fn floors() -> anyhow::Result<()> {
    let text = repository::capture(
        "cargo",
        &["metadata", "--format-version=1", "--no-deps", "--offline"],
    )?;
    let metadata: Value = serde_json::from_str(&text).context("failed to read cargo metadata")?;
    let faults = floor_faults(&metadata);
    if faults.is_empty() {
        return Ok(());
    }
    bail!("{}", faults.join("\n"))
}

fn floor_faults(metadata: &Value) -> Vec<String> {
    let floors: BTreeMap<&str, u8> = FLOORS.iter().copied().collect();
    let mut faults = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let is_test_crate = TEST_CRATES.contains(&name);
        if !is_test_crate && !floors.contains_key(name) {
            faults.push(format!("{name} stands on no floor: add it to ARCHITECTURE.md and FLOORS"));
        }
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let used = dependency["name"].as_str().unwrap_or_default();
            let is_dev = dependency["kind"] == "dev";
            if TEST_CRATES.contains(&used) {
                if !is_dev && name != "xtask" {
                    faults.push(format!("{name} uses {used} outside its tests"));
                }
            } else if let Some(below) = floors.get(used) {
                match floors.get(name) {
                    Some(floor) if below < floor => {}
                    Some(_) => faults.push(format!("{name} uses {used}, which is not below it")),
                    None => {
                        faults.push(format!("{name} uses {used}: test crates use none of ours"));
                    }
                }
            }
        }
    }
    faults
}

fn dependencies() -> anyhow::Result<()> {
    let tree = repository::capture(
        "cargo",
        &["tree", "--workspace", "--edges", "normal,build,dev", "--prefix", "none"],
    )?;
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in tree.lines() {
        let mut words = line.split_whitespace();
        if let (Some(name), Some(version)) = (words.next(), words.next()) {
            let seen = versions.entry(name).or_default();
            if !seen.contains(&version) {
                seen.push(version);
            }
        }
    }
    for name in ["kube", "k8s-openapi", "schemars", "jiff"] {
        let seen = versions.get(name).map(Vec::as_slice).unwrap_or_default();
        if seen.len() != 1 {
            bail!("{name} must be built exactly once; found {seen:?} (cargo tree -i {name})");
        }
    }
    for name in ["ring", "openssl"] {
        if versions.contains_key(name) {
            bail!("{name} is in the build, but TLS is aws-lc-rs alone (cargo tree -i {name})");
        }
    }
    Ok(())
}

/// The deep checks: program, arguments, and what they look for.
const DEEP: &[(&str, &[&str])] = &[
    ("cargo", &["deny", "check", "bans", "licenses", "sources"]),
    ("cargo", &["machete"]),
    ("cargo", &["hack", "check", "--workspace", "--each-feature", "--no-dev-deps"]),
    ("typos", &[]),
];

fn deep() -> anyhow::Result<()> {
    let mut failed = Vec::new();
    for (program, args) in DEEP {
        let name = format!("{program} {}", args.join(" "));
        writeln!(std::io::stderr(), "check: {name}")?;
        if let Err(error) = repository::run(program, args) {
            failed.push(format!("{name}: {error:#}"));
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    bail!("{}", failed.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(name: &str, used: &str, kind: Option<&str>) -> Value {
        serde_json::json!({"packages": [
            {"name": name, "dependencies": [{"name": used, "kind": kind}]}
        ]})
    }

    #[test]
    fn a_crate_may_use_only_lower_floors() {
        assert_eq!(floor_faults(&metadata("foundry-operator", "foundry-crds", None)), [""; 0]);
        assert_eq!(
            floor_faults(&metadata("foundry-store", "foundry-client", None)),
            ["foundry-store uses foundry-client, which is not below it"]
        );
    }

    #[test]
    fn test_crates_serve_tests_only_and_use_none_of_ours() {
        assert_eq!(floor_faults(&metadata("foundry-llm", "fakes", Some("dev"))), [""; 0]);
        assert_eq!(
            floor_faults(&metadata("foundry-llm", "fakes", None)),
            ["foundry-llm uses fakes outside its tests"]
        );
        assert_eq!(
            floor_faults(&metadata("fakes", "foundry-llm", None)),
            ["fakes uses foundry-llm: test crates use none of ours"]
        );
    }

    #[test]
    fn a_crate_without_a_floor_is_named() {
        assert_eq!(
            floor_faults(&metadata("foundry-new", "serde", None)),
            ["foundry-new stands on no floor: add it to ARCHITECTURE.md and FLOORS"]
        );
    }
}
