//! `cargo xtask images`: the four images, by whichever builder is installed, and what they hold.

mod builder;
mod probes;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, bail, ensure};

use self::builder::Builder;
use crate::printer::{elapsed, say};
use crate::repository;

/// Every image: a target of `images/Dockerfile`.
const IMAGES: [&str; 4] =
    ["foundry-operator", "foundry-api", "foundry-harness", "foundry-harness-coding"];
/// What their executables are called.
const EXECUTABLES: [&str; 4] = ["foundry-operator", "foundry-api", "harness", "harness-coding"];

/// Options of `cargo xtask images`.
#[derive(clap::Args)]
pub struct Args {
    /// Only these images [default: all four].
    #[arg(value_name = "IMAGE", value_parser = clap::builder::PossibleValuesParser::new(IMAGES))]
    images: Vec<String>,
    /// Registry and folder that stand before the name, as the chart's `image.registry`.
    #[arg(long, value_name = "REGISTRY")]
    registry: Option<String>,
    /// Tag of the images.
    #[arg(long, default_value = env!("CARGO_PKG_VERSION"))]
    tag: String,
    /// Program that builds them [default: docker, podman or buildah, the first that answers].
    #[arg(long, value_name = "PROGRAM")]
    builder: Option<String>,
    /// Image of Debian 13 they stand on.
    #[arg(long, value_name = "IMAGE", default_value = "debian:trixie-slim")]
    debian: String,
    /// Folder of executables that are built already, instead of a build in a container.
    #[arg(long, value_name = "FOLDER")]
    executables: Option<PathBuf>,
    /// Look into each image afterwards: whether it holds what it must.
    #[arg(long)]
    check: bool,
}

/// Builds them, and looks into them.
pub fn run(args: &Args) -> Result<()> {
    let builder = Builder::find(args.builder.as_deref())?;
    if let Some(folder) = &args.executables {
        check_executables(folder)?;
    }
    let mut faults = Vec::new();
    for image in IMAGES.into_iter().filter(|image| is_wanted(args, image)) {
        let name = full_name(args.registry.as_deref(), image, &args.tag);
        let started = Instant::now();
        let order = builder::Order {
            target: image,
            name: &name,
            debian: &args.debian,
            executables: args.executables.as_deref(),
        };
        builder.build(&order)?;
        say(&format!("{name} is built, {}", elapsed(started)));
        if args.check {
            faults.extend(look_into(&builder, image, &name)?);
        }
    }
    if faults.is_empty() {
        return Ok(());
    }
    bail!("an image does not hold what it must:\n{}", faults.join("\n"))
}

fn is_wanted(args: &Args, image: &str) -> bool {
    args.images.is_empty() || args.images.iter().any(|wanted| wanted == image)
}

fn full_name(registry: Option<&str>, image: &str, tag: &str) -> String {
    match registry {
        Some(registry) => format!("{}/{image}:{tag}", registry.trim_end_matches('/')),
        None => format!("{image}:{tag}"),
    }
}

fn check_executables(folder: &Path) -> Result<()> {
    let missing: Vec<_> =
        EXECUTABLES.into_iter().filter(|name| !folder.join(name).is_file()).collect();
    ensure!(
        missing.is_empty(),
        "{} lacks {}; build them: cargo build --release",
        folder.display(),
        missing.join(", ")
    );
    Ok(())
}

/// Asks an image each of its questions, and says which answers are wrong.
fn look_into(builder: &Builder, image: &str, name: &str) -> Result<Vec<String>> {
    let versions = probes::Versions::parse(&std::fs::read_to_string(
        repository::root().join("images/coding/versions"),
    )?)?;
    let mut faults = Vec::new();
    for probe in probes::of(image, &versions) {
        let answer = builder.answer(name, &probe.command)?;
        match probe.fault(&answer) {
            None => say(&format!("ok    {image}: {}", probe.what)),
            Some(fault) => {
                say(&format!("FAIL  {image}: {}", probe.what));
                faults.push(format!("{image}: {}: {fault}", probe.what));
            }
        }
    }
    Ok(faults)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_the_chart_asks_for() {
        assert_eq!(full_name(None, "foundry-api", "0.1.0"), "foundry-api:0.1.0");
        let registry = Some("registry.example/team/");
        assert_eq!(
            full_name(registry, "foundry-api", "0.1.0"),
            "registry.example/team/foundry-api:0.1.0"
        );
    }

    #[test]
    fn a_folder_without_executables_is_refused_with_their_names() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("harness"), "").unwrap();
        let error = check_executables(folder.path()).unwrap_err().to_string();
        assert!(
            error.contains("lacks foundry-operator, foundry-api, harness-coding; build"),
            "{error}"
        );
    }

    #[test]
    fn every_image_is_a_target_of_the_dockerfile() {
        let file = repository::root().join("images/Dockerfile");
        let file = std::fs::read_to_string(file).unwrap();
        for image in IMAGES {
            assert!(file.lines().any(|line| line.ends_with(&format!(" AS {image}"))), "{image}");
        }
    }
}
