//! The scripted model as a process: a script in, a port out, every request captured.

use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Parser, ValueEnum};
use fakes::model::file::ScriptFile;
use fakes::model::{Bodies, ModelServer};
use fakes::process;

/// Serves a scripted model over both wires until it is asked to end.
#[derive(Debug, Parser)]
struct Args {
    /// Address to listen on; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Script file, YAML or JSON; given more than once, what the first says comes first.
    #[arg(long, required = true)]
    script: Vec<PathBuf>,
    /// File to write the port to.
    #[arg(long)]
    port_file: Option<PathBuf>,
    /// File that gets each request as one line of JSON when its reply has ended.
    #[arg(long)]
    capture: Option<PathBuf>,
    /// Which of these lines have the request's body.
    #[arg(long, value_enum, default_value = "all")]
    capture_bodies: CaptureBodies,
    /// Ends with the process that started it.
    #[arg(long, env = "FOUNDRY_PDEATHSIG", value_parser = clap::builder::BoolishValueParser::new(), action = clap::ArgAction::Set, default_value = "0")]
    die_with_parent: bool,
}

/// Which lines of the capture file have the request's body.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum CaptureBodies {
    /// Each.
    All,
    /// The first of each conversation: enough for a long run, and far smaller.
    First,
}

fn main() -> ExitCode {
    let args = Args::parse();
    process::run(serve(args))
}

async fn serve(args: Args) -> anyhow::Result<()> {
    if args.die_with_parent {
        process::die_with_parent()?;
    }
    let scripts = args.script.iter().map(|file| ScriptFile::read(file));
    let scripts = scripts.collect::<anyhow::Result<Vec<_>>>()?;
    let server = ModelServer::listen(args.listen)
        .await
        .with_context(|| format!("failed to listen on {}", args.listen))?;
    if let Some(file) = args.capture {
        // Now, not at the first request: whoever started it still listens.
        let opened = File::options().create(true).append(true).open(&file);
        opened.with_context(|| format!("failed to write requests to {}", file.display()))?;
        let bodies = match args.capture_bodies {
            CaptureBodies::All => Bodies::All,
            CaptureBodies::First => Bodies::First,
        };
        server.capture_to(file, bodies);
    }
    server.keep_nothing(); // who captures reads the file, and a long run is large
    for script in scripts {
        script.play_on(&server);
    }
    if let Some(file) = &args.port_file {
        process::write_port(file, server.address().port())?;
    }
    process::say(&format!("scripted-model listens on {}", server.url()))?;
    process::asked_to_end().await?;
    server.stop().await;
    server.finish().map_err(|complaints| anyhow::anyhow!(complaints))
}
