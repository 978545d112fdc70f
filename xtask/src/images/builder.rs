//! docker, podman or buildah: how each builds an image and runs a command in it.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, Result, bail, ensure};

use crate::repository;

/// A program that builds images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Docker,
    Podman,
    Buildah,
}

/// A builder that answers.
pub struct Builder {
    kind: Kind,
    program: String,
}

/// One image to build.
pub struct Order<'a> {
    /// Target of the Dockerfile.
    pub target: &'a str,
    /// Name and tag it gets.
    pub name: &'a str,
    /// Image of Debian it stands on.
    pub debian: &'a str,
    /// Folder of executables that are built already.
    pub executables: Option<&'a Path>,
}

/// What a command in an image came to.
pub struct Answer {
    /// Whether it exited with 0.
    pub success: bool,
    /// What it printed, on both streams.
    pub words: String,
}

impl Builder {
    /// The builder that is named, or the first that is installed and answers.
    pub fn find(named: Option<&str>) -> Result<Self> {
        let builders = match named {
            Some(program) => vec![Self { kind: kind_of(program)?, program: program.to_owned() }],
            None => ["docker", "podman", "buildah"]
                .into_iter()
                .filter_map(|it| Some(Self { kind: kind_of(it).ok()?, program: it.to_owned() }))
                .collect(),
        };
        builders.into_iter().find(Self::answers).context(
            "no builder of images answers; install docker (with its daemon running), podman or \
             buildah, or name one with --builder",
        )
    }

    /// A client without its daemon is no builder.
    fn answers(&self) -> bool {
        let mut command = Command::new(&self.program);
        command.arg("info").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    /// Builds an image; what the builder says goes to the terminal.
    pub fn build(&self, order: &Order<'_>) -> Result<()> {
        let arguments = build_arguments(self.kind, order);
        let mut command = Command::new(&self.program);
        command.args(&arguments).current_dir(repository::root());
        let status = command.status().with_context(|| format!("failed to run {}", self.program))?;
        ensure!(status.success(), "{} {} failed ({status})", self.program, arguments.join(" "));
        Ok(())
    }

    /// Runs a command in an image, as the image's own user, and gives its answer.
    pub fn answer(&self, image: &str, command: &[String]) -> Result<Answer> {
        let output = match self.kind {
            Kind::Docker | Kind::Podman => {
                let (program, rest) = command.split_first().context("no command was given")?;
                self.run(
                    &[&["run", "--rm", "--entrypoint", program, image], &words(rest)[..]].concat(),
                )?
            }
            Kind::Buildah => self.in_working_container(image, command)?,
        };
        let words =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        Ok(Answer { success: output.status.success(), words: words.into_owned() })
    }

    fn in_working_container(&self, image: &str, command: &[String]) -> Result<Output> {
        let made = self.run(&["from", image])?;
        let container = String::from_utf8_lossy(&made.stdout).trim().to_owned();
        if !made.status.success() || container.is_empty() {
            bail!(
                "{} from {image} failed: {}",
                self.program,
                String::from_utf8_lossy(&made.stderr)
            );
        }
        let run = ["run", "--isolation", "chroot", &container, "--"];
        let output = self.run(&[&run[..], &words(command)].concat());
        self.run(&["rm", &container])?;
        output
    }

    fn run(&self, arguments: &[&str]) -> Result<Output> {
        let mut command = Command::new(&self.program);
        command.args(arguments).stdin(Stdio::null());
        command.output().with_context(|| format!("failed to run {}", self.program))
    }
}

fn words(command: &[String]) -> Vec<&str> {
    command.iter().map(String::as_str).collect()
}

fn kind_of(program: &str) -> Result<Kind> {
    match Path::new(program).file_name().and_then(|name| name.to_str()) {
        Some("docker") => Ok(Kind::Docker),
        Some("podman") => Ok(Kind::Podman),
        Some("buildah") => Ok(Kind::Buildah),
        _ => bail!("--builder {program}: only docker, podman and buildah are known"),
    }
}

fn build_arguments(kind: Kind, order: &Order<'_>) -> Vec<String> {
    let Order { target, name, debian, executables } = order;
    let mut arguments: Vec<String> = match kind {
        // The plugin, for a stage can only be replaced there.
        Kind::Docker => vec!["buildx".to_owned(), "build".to_owned(), "--load".to_owned()],
        Kind::Podman => vec!["build".to_owned()],
        // It needs no right to mount or to make namespaces.
        Kind::Buildah => vec!["build".to_owned(), "--isolation".to_owned(), "chroot".to_owned()],
    };
    let mut option = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
    option("--file", "images/Dockerfile".to_owned());
    option("--target", (*target).to_owned());
    option("--tag", (*name).to_owned());
    option("--build-arg", format!("DEBIAN={debian}"));
    if let Some(folder) = executables {
        option("--build-context", format!("executables={}", folder.display()));
    }
    arguments.push(".".to_owned());
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_builder_is_told_by_its_name_wherever_it_is() {
        assert_eq!(kind_of("/usr/bin/podman").unwrap(), Kind::Podman);
        assert!(kind_of("make").unwrap_err().to_string().contains("--builder make"));
    }

    #[test]
    fn executables_that_are_built_already_replace_the_build() {
        let order = Order {
            target: "foundry-api",
            name: "foundry-api:1",
            debian: "debian:trixie-slim",
            executables: Some(Path::new("/built")),
        };
        assert_eq!(
            build_arguments(Kind::Buildah, &order).join(" "),
            "build --isolation chroot --file images/Dockerfile --target foundry-api --tag \
             foundry-api:1 --build-arg DEBIAN=debian:trixie-slim --build-context \
             executables=/built ."
        );
        let compiled = build_arguments(Kind::Docker, &Order { executables: None, ..order });
        assert!(!compiled.iter().any(|it| it == "--build-context"), "{compiled:?}");
    }
}
