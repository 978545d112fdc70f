//! `cargo xtask generate`: every checked-in file that is made from code.

use std::io::Write as _;

use anyhow::{Context as _, bail};

use crate::{chart, repository};

/// Options of `cargo xtask generate`.
#[derive(clap::Args)]
pub struct Args {
    /// Write nothing; fail when a file differs from what would be written.
    #[arg(long)]
    check: bool,
}

/// Writes the generated files, or compares them.
///
/// # Errors
/// With `--check`, when a file differs; else when one cannot be made or written.
pub fn run(args: &Args) -> anyhow::Result<()> {
    if args.check { check() } else { write() }
}

fn write() -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    for (name, text) in files()? {
        let path = repository::root().join(&name);
        if std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
            continue;
        }
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("failed to make {}", folder.display()))?;
        }
        std::fs::write(&path, text).with_context(|| format!("failed to write {name}"))?;
        writeln!(out, "wrote {name}")?;
    }
    Ok(())
}

/// Fails when a generated file differs from what the code says.
pub fn check() -> anyhow::Result<()> {
    let stale: Vec<String> = files()?
        .into_iter()
        .filter(|(name, text)| {
            !std::fs::read_to_string(repository::root().join(name)).is_ok_and(|old| old == *text)
        })
        .map(|(name, _)| name)
        .collect();
    if stale.is_empty() {
        return Ok(());
    }
    bail!("out of date, run cargo xtask generate: {}", stale.join(", "))
}

fn files() -> anyhow::Result<Vec<(String, String)>> {
    let mut files: Vec<(String, String)> = foundry_crds::generate::files()
        .into_iter()
        .map(|(name, text)| (name.to_owned(), text))
        .collect();
    files.extend(chart::files()?);
    // All targets, as the suites are built: one set of features, nothing built twice.
    repository::run("cargo", &["build", "--quiet", "--workspace", "--all-targets"])?;
    let api = testenv::bin_folder()?.join("foundry-api");
    let openapi = repository::capture(&api.to_string_lossy(), &["openapi"])?;
    files.push(("api-shim/openapi.json".to_owned(), openapi));
    Ok(files)
}
