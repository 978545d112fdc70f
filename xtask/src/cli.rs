//! The command line.

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::{
    bench, check, control_plane, demo, flux, generate, helm, images, kwok, requirements, test,
};

/// Foundry's own tooling.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// A control plane, the operator, the API and a thinking agent, on this machine.
    Demo(demo::Args),
    /// Every suite, on a real control plane, SQLite and PostgreSQL.
    Test(test::Args),
    /// What the compiler does not hold the repository to.
    Check(check::Args),
    /// Writes every checked-in file that is made from code.
    Generate(generate::Args),
    /// Builds the Kubernetes control plane from its Go modules, once.
    ControlPlane(control_plane::Args),
    /// Builds Helm from its Go module, once; the chart's tests run it.
    Helm(helm::Args),
    /// Builds the images, by docker, podman or buildah.
    Images(images::Args),
    /// Builds KWOK from its Go module, once; tests and benches have it play nodes.
    Kwok(kwok::Args),
    /// Builds Flux' controllers from their Go modules, once; the GitOps suite runs them.
    Flux(flux::Args),
    /// For each requirement, the tests that name it.
    Requirements(requirements::Args),
    /// Measures what the project promises in figures.
    Bench(bench::Args),
}

impl Cli {
    /// Runs the verb.
    pub fn run(&self) -> Result<()> {
        match &self.verb {
            Verb::Demo(args) => demo::run(args),
            Verb::Test(args) => test::run(args),
            Verb::Check(args) => check::run(args),
            Verb::Generate(args) => generate::run(args),
            Verb::ControlPlane(args) => control_plane::run(args),
            Verb::Helm(args) => helm::run(args),
            Verb::Images(args) => images::run(args),
            Verb::Kwok(args) => kwok::run(args),
            Verb::Flux(args) => flux::run(args),
            Verb::Requirements(args) => requirements::run(args),
            Verb::Bench(args) => bench::run(args),
        }
    }
}
