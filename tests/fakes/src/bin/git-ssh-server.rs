//! The git server as a process: bare repositories of a folder, over SSH.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

use anyhow::Context as _;
use clap::Parser;
use fakes::git::openssh::Sshd;
use fakes::git::{BareRepository, GitServer, Options};
use fakes::process;

/// Serves bare repositories over SSH to the one key it made, until it is asked to end.
#[derive(Debug, Parser)]
struct Args {
    /// Address to listen on; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Folder with the bare repositories: acme/greeting.git is acme/greeting.
    #[arg(long)]
    repositories: PathBuf,
    /// Folder that keeps host key, client key and the file of known hosts; made when missing.
    #[arg(long)]
    key_dir: PathBuf,
    /// File to write the port to.
    #[arg(long)]
    port_file: Option<PathBuf>,
    /// File with what is to go wrong, read anew at each connection.
    #[arg(long)]
    faults: Option<PathBuf>,
    /// A repository made from the files of a folder when it is not there yet, as
    /// acme/greeting=FOLDER.
    #[arg(long)]
    init_from: Vec<InitFrom>,
    /// Serves by the sshd of this machine.
    #[arg(long)]
    openssh: bool,
    /// Ends with the process that started it.
    #[arg(long, env = "FOUNDRY_PDEATHSIG", value_parser = clap::builder::BoolishValueParser::new(), action = clap::ArgAction::Set, default_value = "0")]
    die_with_parent: bool,
}

#[derive(Clone, Debug)]
struct InitFrom {
    repository: String,
    files: PathBuf,
}

impl FromStr for InitFrom {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (repository, files) = text
            .split_once('=')
            .ok_or("give it as REPOSITORY=FOLDER, such as acme/greeting=src")?;
        Ok(Self { repository: repository.to_owned(), files: files.into() })
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    process::run(serve(args))
}

async fn serve(args: Args) -> anyhow::Result<()> {
    if args.die_with_parent {
        process::die_with_parent()?;
    }
    std::fs::create_dir_all(&args.repositories)
        .with_context(|| format!("failed to make the folder {}", args.repositories.display()))?;
    for InitFrom { repository, files } in &args.init_from {
        let path = args.repositories.join(format!("{repository}.git"));
        if !path.exists() {
            BareRepository::make(path, files)?;
        }
    }
    let openssh = if args.openssh { Some(Sshd::find()?) } else { None };
    let server = GitServer::listen(Options {
        listen: args.listen,
        repositories: args.repositories,
        keys: Some(args.key_dir),
        faults: args.faults,
        openssh,
    })
    .await?;
    if let Some(file) = &args.port_file {
        process::write_port(file, server.port())?;
    }
    process::say(&format!("git-ssh-server listens on ssh://{}", server.host()))?;
    process::asked_to_end().await?;
    server.stop().await;
    let complaints = server.complaints();
    anyhow::ensure!(complaints.is_empty(), "{}", complaints.join("; "));
    Ok(())
}
