//! The stand-in for GitHub's pull requests as a process.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser;
use fakes::github::{GitHub, Options};
use fakes::process;

/// Keeps pull requests of the bare repositories of a folder until it is asked to end.
#[derive(Debug, Parser)]
struct Args {
    /// Address to listen on; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Folder with the bare repositories: acme/greeting.git is acme/greeting.
    #[arg(long)]
    repositories: PathBuf,
    /// File with the one token that is let in.
    #[arg(long)]
    token_file: PathBuf,
    /// File that gets a line of JSON for each pull request made or changed.
    #[arg(long)]
    record: Option<PathBuf>,
    /// File to write the port to.
    #[arg(long)]
    port_file: Option<PathBuf>,
    /// File with what is to be refused, read anew at each request.
    #[arg(long)]
    faults: Option<PathBuf>,
    /// Ends with the process that started it.
    #[arg(long, env = "FOUNDRY_PDEATHSIG", value_parser = clap::builder::BoolishValueParser::new(), action = clap::ArgAction::Set, default_value = "0")]
    die_with_parent: bool,
}

fn main() -> ExitCode {
    let args = Args::parse();
    process::run(serve(args))
}

async fn serve(args: Args) -> anyhow::Result<()> {
    if args.die_with_parent {
        process::die_with_parent()?;
    }
    let token = std::fs::read_to_string(&args.token_file)
        .with_context(|| format!("failed to read the token from {}", args.token_file.display()))?;
    let github = GitHub::listen(Options {
        listen: args.listen,
        repositories: args.repositories,
        token: token.trim().to_owned(),
        record: args.record,
        faults: args.faults,
    })
    .await?;
    if let Some(file) = &args.port_file {
        process::write_port(file, github.address().port())?;
    }
    process::say(&format!("github-stand-in listens on {}", github.api_url()))?;
    process::asked_to_end().await?;
    github.stop().await;
    Ok(())
}
