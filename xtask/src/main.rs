//! `cargo xtask …`: everything a person does with this repository.

mod bench;
mod chart;
mod check;
mod cli;
mod control_plane;
mod demo;
mod docs;
mod flux;
mod generate;
mod go;
mod helm;
mod images;
mod kwok;
mod printer;
mod repository;
mod requirements;
mod test;
mod tools;

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;

fn main() -> ExitCode {
    testenv::install_tls_provider();
    match cli::Cli::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            printer::complain(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// The runtime of one verb.
fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("failed to start an async runtime")
}
