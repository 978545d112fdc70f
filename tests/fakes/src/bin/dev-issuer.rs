//! The development issuer as a process. Whoever reaches it gets any token.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use fakes::issuer::Issuer;
use fakes::process;

/// Signs tokens for whoever asks, until it is asked to end. Never for production.
#[derive(Debug, Parser)]
struct Args {
    /// Address to listen on; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Folder that keeps the signing key, so that tokens outlive a restart.
    #[arg(long)]
    key_dir: PathBuf,
    /// File to write the port to.
    #[arg(long)]
    port_file: Option<PathBuf>,
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
    let issuer = Issuer::listen(args.listen, &args.key_dir).await?;
    if let Some(file) = &args.port_file {
        process::write_port(file, issuer.address().port())?;
    }
    process::say(&format!("dev-issuer listens on {}", issuer.url()))?;
    process::asked_to_end().await?;
    issuer.stop().await;
    Ok(())
}
